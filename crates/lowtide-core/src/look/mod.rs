//! A look: where the bytes of one process are. Whoever looked gives the same value: a header, what could
//! not be seen, and any number of breakdowns, each *by* something. Examiners make looks (`lowtide-sys`
//! from the mappings, `lowtide-census` from Python's objects, the Python package from inside), the recorder stores them, `explain` compares two
//! of them breakdown by breakdown, the report shows every breakdown that is there.
//!
//! Somebody who can take a process apart in a new way adds a [`By`] and makes parts; nothing between
//! the examiner and the views has to know.

mod heap;
mod largest;
mod layout;
mod missing;
mod names;

pub use heap::{Amount, CodePlace, End, HeldGroup, Holder, PythonHeap, Unaccounted};
pub use layout::{Allocator, Counts, Layout, MemoryClass, Pool, PythonVersion, Reserved};
pub use missing::{Missing, Said};
pub use names::{By, Examiner};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::later;
use crate::process::ProcId;
use crate::sample::Gap;
use crate::units::{Bytes, Micros};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    pub at: Micros,
    pub id: ProcId,
    pub why: LookWhy,
    pub examiner: Examiner,
    /// anon + shmem + swap of the process at the same moment; none where the examiner cannot know it.
    pub held: Option<Bytes>,
    pub cost: Cost,
    /// What it could not see. Empty: it is whole.
    #[serde(default)]
    pub missing: Vec<Missing>,
    /// Each [`By`] at most once.
    #[serde(default)]
    pub breakdowns: Vec<Breakdown>,
    /// What only the examiner of mappings knows.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// What only an examiner of Python's objects knows.
    #[serde(default)]
    pub objects: Option<Objects>,
    /// What only a census of Python's heap knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<PythonHeap>,
}

/// Somebody who can tell where the bytes of a process are. What schedules looks drives any number of
/// them, one after the other and on one budget, and knows nothing else of them.
pub trait Examine: Send {
    /// Looks into a process, which is not changed, and stopped only where the user asked for it. Sets the look's cost: it is what the
    /// budget pays.
    fn examine(&mut self, id: ProcId, options: Options) -> Result<Look, Gap>;
}

/// What a look is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The moment, on the run's clock.
    pub at: Micros,
    pub why: LookWhy,
    /// After this much time on a processor the rest stays unread.
    pub within: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub wall: Micros,
    pub cpu: Micros,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookWhy {
    /// The start-up is over.
    Start,
    /// The schedule said so: each look comes later than the one before.
    Due,
    /// The verdict changed.
    Verdict,
    /// The guard warned.
    Guard,
    /// Somebody asked: `lowtide census`.
    Asked,
    /// A reason of a later lowtide.
    #[serde(other)]
    Other,
}

/// The bytes of a process, or some of them, cut in one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    pub by: By,
    /// In the examiner's order, each name at most once; parts that hold nothing are left out.
    pub parts: Vec<Part>,
    /// Parts that were too many to name, together. Each of them is smaller than those in `parts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    /// How many; none where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// None where only a number is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Counts in anon + shmem + swap: not file pages that can be dropped, nor memory of a GPU.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub held: bool,
    /// Of a breakdown by mapping.
    #[serde(
        default,
        deserialize_with = "later::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub class: Option<MemoryClass>,
    /// The largest of what it is made of: block sizes of an allocator, names of files or shared memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<PartMember>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartMember {
    /// `80 B blocks`, `/dev/shm/torch_*`, `train.arrow`.
    pub name: String,
    pub count: u64,
    pub bytes: Bytes,
    /// Of blocks whose name is a range of sizes: the size that most of them have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual: Option<UsualSize>,
}

/// Blocks of one size, as their allocator counts it: with its head, and rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsualSize {
    pub size: Bytes,
    pub count: u64,
}

impl PartMember {
    pub fn new(name: impl Into<String>, count: u64, bytes: Bytes) -> PartMember {
        PartMember {
            name: name.into(),
            count,
            bytes,
            usual: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rest {
    pub parts: u64,
    pub count: Option<u64>,
    pub bytes: Option<Bytes>,
}

/// Counts beside the breakdowns, of a process with Python in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objects {
    /// Objects that the garbage collector knows.
    pub tracked: u64,
    /// Tensors that hang on a graph.
    pub with_graph: u64,
    #[serde(default)]
    pub cuda: Option<Cuda>,
}

/// torch's own counters, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cuda {
    pub allocated: Bytes,
    pub reserved: Bytes,
    #[serde(default)]
    pub pinned: Option<Bytes>,
}

impl Look {
    /// One that has seen nothing yet.
    pub fn new(at: Micros, id: ProcId, why: LookWhy, examiner: Examiner) -> Look {
        Look {
            at,
            id,
            why,
            examiner,
            held: None,
            cost: Cost::default(),
            missing: Vec::new(),
            breakdowns: Vec::new(),
            layout: None,
            objects: None,
            heap: None,
        }
    }

    pub fn breakdown(&self, by: &By) -> Option<&Breakdown> {
        self.breakdowns.iter().find(|one| one.by == *by)
    }

    /// What a class of memory holds, by the mappings.
    pub fn bytes(&self, class: MemoryClass) -> Bytes {
        let of_class = |part: &&Part| part.class == Some(class);
        let part = self
            .breakdown(&By::Mapping)
            .and_then(|mappings| mappings.parts.iter().find(of_class));
        part.and_then(|part| part.bytes).unwrap_or_default()
    }
}

impl Breakdown {
    pub fn new(by: By, parts: Vec<Part>) -> Breakdown {
        let rest = None;
        Breakdown { by, parts, rest }
    }

    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Of all parts, named or not.
    pub fn count(&self) -> u64 {
        let rest = self.rest.and_then(|rest| rest.count);
        let named = self.parts.iter().filter_map(|part| part.count);
        named.chain(rest).sum()
    }
}

impl Part {
    pub fn new(name: impl Into<String>, count: Option<u64>, bytes: Option<Bytes>) -> Part {
        Part {
            name: name.into(),
            count,
            bytes,
            held: true,
            class: None,
            members: Vec::new(),
        }
    }

    /// One of a breakdown by mapping.
    pub fn of_class(class: MemoryClass, bytes: Bytes, members: Vec<PartMember>) -> Part {
        Part {
            held: class.is_held(),
            class: Some(class),
            members,
            ..Part::new(class.name(), None, Some(bytes))
        }
    }
}

fn yes() -> bool {
    true
}

fn is_yes(held: &bool) -> bool {
    *held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_of_a_newer_version_keeps_what_can_be_understood() {
        let newer = r#"{"at":1,"id":{"pid":7,"start":9},"why":"due","examiner":"core-file","held":5,
            "cost":{"wall":4,"cpu":5,"io":6},"missing":[{"kind":"too-dark","lux":3},{"kind":"unlisted"}],
            "breakdowns":[
                {"by":"colour","parts":[{"name":"red","count":3,"shade":1}],"order":"rainbow"},
                {"by":"mapping","parts":[{"name":"ice","class":"frozen","bytes":8},
                    {"name":"x","class":"stack","bytes":2}]}],
            "layout":{"allocator":"snmalloc","pools":["arrow","rivers"],"python":null},"mood":"good"}"#;
        let look: Look = serde_json::from_str(newer).unwrap();
        assert_eq!(look.examiner, Examiner::Other("core-file".to_owned()));
        assert_eq!(look.missing, [Missing::Unknown, Missing::Unlisted]);
        let colour = By::Other("colour".to_owned());
        assert_eq!(look.breakdown(&colour).unwrap().count(), 3);
        let mappings = &look.breakdown(&By::Mapping).unwrap().parts;
        assert_eq!((mappings[0].class, mappings[0].held), (None, true));
        assert_eq!(look.bytes(MemoryClass::Stack), Bytes(2));
        let layout = look.layout.clone().unwrap();
        assert_eq!(
            (layout.allocator, layout.pools),
            (Allocator::Unknown, vec![Pool::Arrow])
        );
        let again: Look = serde_json::from_str(&serde_json::to_string(&look).unwrap()).unwrap();
        assert_eq!(again, look);
    }

    #[test]
    fn what_is_missing_has_the_name_that_its_json_has() {
        let bytes = Bytes(1);
        let (what, error) = ("pagemap".to_owned(), "gone".to_owned());
        let allocator = Allocator::Musl;
        let at = Micros(1);
        let all = [
            Missing::TimeRanOut { work: at, wall: at },
            Missing::Unlisted,
            Missing::Changed { by: bytes },
            Missing::Denied { what: what.clone() },
            Missing::Failed { what, error },
            Missing::UnknownAllocator { allocator },
            Missing::FreeThreaded,
            Missing::BrokenHeaps { bytes },
            Missing::Sparse { bytes },
            Missing::Undecoded {
                what: "tensors".to_owned(),
                count: 3,
            },
            Missing::Elsewhere {
                seen: crate::units::Share(0.1),
            },
            Missing::Unknown,
        ];
        assert_eq!(all.each_ref().map(Missing::kind), Missing::KINDS);
        for missing in all {
            let json = serde_json::to_value(&missing).unwrap();
            assert_eq!(json["kind"], missing.kind());
            assert_eq!(serde_json::from_value::<Missing>(json).unwrap(), missing);
        }
    }
}
