//! What an examiner of Python's heap knows beside the breakdowns: who holds what, what may end that, which code
//! does it, and what of the heap it cannot account for. `lowtide-census` makes it from outside, the Python package
//! from inside; [`crate::census`] compares two of them, and the views show it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::PythonVersion;
use crate::units::{Bytes, Micros, grouped};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PythonHeap {
    pub python: PythonVersion,
    /// The training step at that moment, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// All that were found.
    pub objects: u64,
    /// Theirs, with what lies behind them in this process's memory: storages of tensors, buffers of arrays.
    pub bytes: Bytes,
    /// How long the process stood still; none where it ran on meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Micros>,
    /// Largest first.
    #[serde(default)]
    pub holders: Vec<Holder>,
    #[serde(default)]
    pub unaccounted: Unaccounted,
}

/// What keeps objects alive: mostly a container that somebody named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// As a person would write it: `train.CACHE`, `Metrics.rows of train.metrics`, `seen in main() train.py:41`.
    pub name: String,
    /// From the root on, one step each: `module train`, `.CACHE`, `["items"]`, `[13580]`.
    #[serde(default)]
    pub path: Vec<String>,
    /// Its type: `list`, `dict`, `collections.deque`.
    pub kind: String,
    /// How many it has; none where that has no meaning.
    #[serde(default)]
    pub length: Option<u64>,
    /// What would be freed with it.
    pub keeps: Bytes,
    /// What that is, largest first. A group has the name here that its part has in a breakdown.
    #[serde(default)]
    pub of: Vec<HeldGroup>,
    /// Another holder that has most of the same objects too: freeing one of them frees nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also_held_by: Option<String>,
    /// Facts that may end its growth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<End>,
    /// Code that may add to it, by reading alone: aliases and C are not seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds: Vec<CodePlace>,
    /// Code that may empty it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empties: Vec<CodePlace>,
    /// Of the container, for who reads it again; 0 where it is not known.
    #[serde(default)]
    pub address: u64,
}

/// Objects of one kind that a holder keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldGroup {
    /// `Tensor cpu float32 [3, 1344, 1344]`, `dict`.
    pub name: String,
    pub count: u64,
    pub bytes: Bytes,
}

/// A fact that may end a holder's growth. None of them is a verdict: a program may still put another container in
/// its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum End {
    /// `of` is the type that has it: `deque`.
    MaxLen { of: String, at: u64 },
    /// Of a `functools.lru_cache`.
    CacheSize { at: u64 },
    /// Of a `queue.Queue`.
    QueueSize { at: u64 },
    /// Its length stays, and its slots are filled one after the other, each once.
    Slots {
        filled: u64,
        of: u64,
        /// What filling the others will take, where that is known beforehand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes_to_come: Option<Bytes>,
    },
    /// Its keys are items of another container, which has `at` of them.
    Keys { of: String, at: u64 },
    /// Its owner has an attribute that says so: `capacity`.
    Declared { attribute: String, at: u64 },
    /// A newer version of lowtide wrote it.
    #[serde(other)]
    Unknown,
}

impl End {
    /// Their names in JSON.
    pub const KINDS: [&str; 7] = [
        "max-len",
        "cache-size",
        "queue-size",
        "slots",
        "keys",
        "declared",
        "unknown",
    ];

    /// How many it can have: its length there, or of slots those that are filled.
    pub fn length(&self) -> Option<u64> {
        match self {
            End::MaxLen { at, .. }
            | End::CacheSize { at }
            | End::QueueSize { at }
            | End::Keys { at, .. }
            | End::Declared { at, .. } => Some(*at),
            End::Slots { of, .. } => Some(*of),
            End::Unknown => None,
        }
    }
}

/// For people: `ends at 1,000: deque.maxlen`.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nobody but the program's own code holds to that.
        if let End::Declared { attribute, at } = self {
            return write!(f, "its {attribute} says {}", grouped(*at));
        }
        if let Some(at) = self.length() {
            write!(f, "ends at {}: ", grouped(at))?;
        }
        match self {
            End::MaxLen { of, .. } => write!(f, "{of}.maxlen"),
            End::CacheSize { .. } => f.write_str("maxsize of its lru_cache"),
            End::QueueSize { .. } => f.write_str("maxsize of its queue"),
            End::Slots {
                filled,
                of,
                bytes_to_come,
            } => {
                let (filled, of) = (grouped(*filled), grouped(*of));
                write!(f, "{filled} of {of} slots are filled")?;
                match bytes_to_come {
                    Some(bytes) => write!(f, ", {bytes} to come"),
                    None => Ok(()),
                }
            }
            End::Keys { of, .. } => write!(f, "its keys are those of {of}"),
            End::Declared { .. } => Ok(()),
            End::Unknown => f.write_str("an end that only a newer lowtide can name"),
        }
    }
}

/// A line of the program that does something to a holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// `Metrics.update`.
    pub function: String,
    pub file: String,
    pub line: u32,
    /// `append`, `+=`, `clear`, `del`.
    pub how: String,
}

/// For people, by the name of the file alone: `append in Metrics.update, pipeline.py:8`.
impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodePlace {
            function,
            file,
            line,
            how,
        } = self;
        let name = file.rsplit('/').next().unwrap_or(file);
        write!(f, "{how} in {function}, {name}:{line}")
    }
}

/// What a census cannot account for. All of it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unaccounted {
    /// Changed while being read, or looked like nothing known: left out.
    pub torn: Amount,
    /// In pages that could not be read: swapped out, or not there any more.
    pub unreadable: Amount,
    /// Not among what was copied while the process was stopped: left out.
    pub late: Amount,
    /// Counted, but nothing leads to them from a module, a frame or a thread: garbage that waits for the
    /// collector, or something that only C holds.
    pub unreachable: Amount,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Amount {
    pub count: u64,
    pub bytes: Bytes,
}

impl Amount {
    pub fn is_nothing(self) -> bool {
        self == Amount::default()
    }
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes + other.bytes;
    }
}

impl Unaccounted {
    /// A sentence for each that is not nothing.
    pub fn says(&self) -> Vec<String> {
        let Unaccounted {
            torn,
            unreadable,
            late,
            unreachable,
        } = *self;
        let all = [
            (torn, "changed while being read: left out"),
            (unreadable, "in pages that could not be read"),
            (late, "not copied while the process was stopped: left out"),
            (
                unreachable,
                "counted, but reached from no module, frame or thread",
            ),
        ];
        let told = all.into_iter().filter(|(amount, _)| !amount.is_nothing());
        told.map(|(amount, what)| {
            let objects = match amount.count {
                1 => "1 object".to_owned(),
                count => format!("{} objects", grouped(count)),
            };
            match amount.bytes {
                Bytes::ZERO => format!("{objects} {what}"),
                bytes => format!("{objects} ({bytes}) {what}"),
            }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_ends() -> [End; 7] {
        let of = "deque".to_owned();
        let attribute = "capacity".to_owned();
        [
            End::MaxLen { of, at: 1000 },
            End::CacheSize { at: 128 },
            End::QueueSize { at: 8 },
            End::Slots {
                filled: 12,
                of: 663,
                bytes_to_come: Some(Bytes(13_200_000_000)),
            },
            End::Keys {
                of: "train.names".to_owned(),
                at: 663,
            },
            End::Declared { attribute, at: 50 },
            End::Unknown,
        ]
    }

    #[test]
    fn ends_have_words_a_length_and_the_name_that_their_json_has() {
        let said = all_ends().map(|end| (end.to_string(), end.length()));
        let expected = [
            ("ends at 1,000: deque.maxlen", Some(1000)),
            ("ends at 128: maxsize of its lru_cache", Some(128)),
            ("ends at 8: maxsize of its queue", Some(8)),
            (
                "ends at 663: 12 of 663 slots are filled, 13.2 GB to come",
                Some(663),
            ),
            ("ends at 663: its keys are those of train.names", Some(663)),
            ("its capacity says 50", Some(50)),
            ("an end that only a newer lowtide can name", None),
        ];
        assert_eq!(said, expected.map(|(says, at)| (says.to_owned(), at)));
        for (end, kind) in all_ends().into_iter().zip(End::KINDS) {
            let json = serde_json::to_value(&end).unwrap();
            assert_eq!(json["kind"], kind);
            assert_eq!(serde_json::from_value::<End>(json).unwrap(), end);
        }
    }

    #[test]
    fn a_heap_of_a_newer_version_keeps_what_can_be_understood() {
        let newer = r#"{"python":{"minor":16,"micro":2,"build":"jit"},"objects":7,"bytes":99,"mood":"good",
            "holders":[{"name":"train.CACHE","kind":"list","keeps":9,"colour":"red",
                "ends":[{"kind":"entropy","at":"never"},{"kind":"max-len","of":"deque","at":3,"why":"told"}],
                "adds":[{"function":"f","file":"/a/b.py","line":3,"how":"append","column":7}]}],
            "unaccounted":{"torn":{"count":1,"bytes":5,"words":2},"shy":{"count":4}}}"#;
        let heap: PythonHeap = serde_json::from_str(newer).unwrap();
        let holder = &heap.holders[0];
        let of = "deque".to_owned();
        assert_eq!(holder.ends, [End::Unknown, End::MaxLen { of, at: 3 }]);
        assert_eq!((holder.length, holder.address), (None, 0));
        assert_eq!(holder.adds[0].to_string(), "append in f, b.py:3");
        assert_eq!((heap.step, heap.stopped), (None, None));
        assert_eq!(
            heap.unaccounted.says(),
            ["1 object (5 B) changed while being read: left out"]
        );
        let again = serde_json::to_string(&heap).unwrap();
        assert_eq!(serde_json::from_str::<PythonHeap>(&again).unwrap(), heap);
    }
}
