//! All measured signs in one place: what the playbook's signatures look at, whether they come from a
//! recording or from a bare log. What was not measured is `None`, never a zero.

use std::collections::BTreeMap;

use crate::look::{By, Counts, Cuda, MemoryClass, Pool, PythonVersion};
use crate::mark::TrainingLoop;
use crate::run::cleanups::Cleaned;
use crate::run::levels::Levels;
use crate::run::occurrences::At;
use crate::run::surroundings::Surroundings;
use crate::units::show_bytes;
use crate::verdict::{Axis, Bound, Class, Meter};

use super::hook::Hook;
use super::{BreakdownGrowth, Driver, Held, HolderGrowth, Memory, ObjectGrowth};

/// Reserved space explains a growth from this share of it on: the judge asks for as much of an end.
const FILLS: f64 = 0.9;

/// Looks that saw less than this share of the growth say nothing about it.
pub(crate) const COVERS: f64 = 0.2;

/// Growth of others below this share of the growth is its echo.
const ECHO: f64 = 0.3;

/// First and last of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstAndLast<T> {
    pub first: T,
    pub last: T,
}

#[derive(Clone, Debug)]
pub(crate) struct Signs {
    pub class: Class,
    /// It grows now, whether that is known to be a leak or not decided yet.
    pub growing: bool,
    /// Where growth must end, if somebody knows.
    pub bound: Option<Bound>,
    pub axis: Axis,
    pub meter: Meter,
    /// A recording; else a bare file, which shows one number and nothing else.
    pub recorded: bool,
    pub course: Course,
    pub drivers: Vec<Driver>,
    pub epoch: Option<EpochSign>,
    pub job: JobSigns,
    pub memory: Option<Memory>,
    /// Who holds what came, by two censuses.
    pub held: Option<Held>,
    /// Time ran out in a look: what was not read counts as memory of no kind.
    pub unread: bool,
    pub counts: Option<FirstAndLast<Counts>>,
    /// Growth of glibc's blocks by size, from the looks.
    pub blocks: Option<Blocks>,
    /// Freed but held by glibc at the later look.
    pub freed: Option<f64>,
    /// Growth of shared memory by name, from the looks.
    pub shared: Vec<(String, f64)>,
    /// Growth inside memory that was reserved before, from the looks; none where no piece grew.
    pub reserved: Option<ReservedSign>,
    /// Libraries that keep arenas of their own, at the later look.
    pub pools: Vec<Pool>,
    pub python: Option<PythonVersion>,
    /// Of the suspect process.
    pub levels: Option<FirstAndLast<Levels>>,
    pub threads: Option<Climb>,
    /// Open files of it; they are counted rarely.
    pub files: Option<Climb>,
    /// What Python's own objects say.
    pub objects: Option<ObjectsSign>,
    /// Those that became longer, read on every tick.
    pub holders: Vec<HolderGrowth>,
    /// The collector's own count of them, where it rises steadily.
    pub object_growth: Option<ObjectGrowth>,
    /// What clean-ups gave back, by part.
    pub cleaned: BTreeMap<String, Cleaned>,
    pub roles: Vec<RoleSign>,
    /// What the suspect process grew by itself, where all of its role or the tree is judged.
    pub own_grew: Option<f64>,
    /// What processes of other roles than the suspect's grew by meanwhile.
    pub beside: f64,
    /// Loader workers that were looked into, at least twice.
    pub workers_looked_into: usize,
    /// What forked processes copied; none without any that was looked at carefully.
    pub copies: Option<Copies>,
    pub evaluation: PhaseExcursion,
    pub save: PhaseExcursion,
    pub counted: Counted,
    pub surroundings: Option<FirstAndLast<Surroundings>>,
    /// Growth of the watched process and of everything.
    pub watched_grew: Option<f64>,
    pub tree_grew: Option<f64>,
    /// Growth of each rank's process.
    pub ranks: Vec<(u32, f64)>,
}

/// A count at the start, halfway and at the end: what climbs with the steps is no pool that starts late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Climb {
    pub first: f64,
    pub half: f64,
    pub last: f64,
}

/// Pieces of memory that were asked for before the first look and were touched further until the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReservedSign {
    pub pieces: usize,
    /// What was touched between the looks.
    pub grew: f64,
    /// All that is touched, and their size: where it ends.
    pub touched: f64,
    pub size: f64,
    /// Of the one that grew most, if it is shared memory.
    pub name: Option<String>,
}

/// How the floor went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Course {
    /// Bytes of the growth that the verdict speaks of; 0 when nothing grew.
    pub grew: f64,
    pub level: f64,
    pub from: f64,
    pub to: f64,
    /// First and last place that was watched.
    pub begin: f64,
    pub end: f64,
    /// Where growth ended.
    pub settled: Option<f64>,
    /// It still rises since, too slowly to matter.
    pub creeps: bool,
    /// Bytes per unit of the axis, while it grows.
    pub rate: f64,
    /// How many equal rises would be as concentrated as these.
    pub rises: f64,
    pub teeth: bool,
    pub decides_at: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EpochSign {
    pub steps: f64,
    pub begin: f64,
    pub end: f64,
    /// How many examples a step takes is known.
    pub counted: bool,
    /// Growth ended with it.
    pub with_it: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct JobSigns {
    pub name: String,
    pub command: Vec<String>,
    /// None: unknown.
    pub training_loop: Option<TrainingLoop>,
    /// Of the suspect process.
    pub role: String,
    pub argv: String,
    pub env: Vec<(String, String)>,
    pub libtorch: bool,
    pub libcuda: bool,
    pub forked: bool,
    pub trains: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Blocks {
    /// Blocks below a kilobyte: nodes, not data.
    pub small: f64,
    /// In the heap, between the first and the last mmap threshold of glibc: 128 kB to 32 MB.
    pub large: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObjectsSign {
    pub looks: usize,
    pub span: FirstAndLast<ObjectCount>,
    /// What the process grew by between the two.
    pub held: f64,
}

/// Objects and tensors that Python knew at one look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ObjectCount {
    pub at: At,
    /// On all devices.
    pub tensors: f64,
    /// Of storages in host memory.
    pub host_bytes: f64,
    pub with_graph: f64,
    /// That the garbage collector knows.
    pub objects: f64,
    pub cuda: Option<Cuda>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoleSign {
    pub role: String,
    /// Most that lived at a time.
    pub count: usize,
    pub own: f64,
    /// Growth of what they add to an honest sum.
    pub grew: f64,
    /// That is known: some of them were there for long.
    pub known: bool,
    pub class: Class,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Copies {
    pub forked: usize,
    /// Forks whose shared pages were not read, or not since much of the growth.
    pub unread: usize,
    /// Private pages of all of them.
    pub private: f64,
    /// What they took by themselves since the fork.
    pub taken: f64,
}

impl Copies {
    pub(crate) fn copied(&self) -> f64 {
        (self.private - self.taken).max(0.0)
    }
}

/// What evaluations, or saves, took on top.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PhaseExcursion {
    pub seen: usize,
    /// The usual height above what training held before, the smallest and the largest.
    pub rise: f64,
    pub least: f64,
    pub most: f64,
    /// What usually stayed.
    pub kept: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub evaluations: u64,
    pub saves: u64,
    pub logs: u64,
    pub epochs: u64,
    pub worker_starts: u64,
    /// Of them, at or after the first evaluation.
    pub later_workers: u64,
    pub slow_steps: u64,
    pub paced: bool,
}

impl Signs {
    /// How this is hooked into the job's own loop.
    pub(crate) fn hook(&self, hook: Hook) -> &'static str {
        hook.in_words(self.job.training_loop)
    }

    pub(crate) fn blank(class: Class, axis: Axis, meter: Meter) -> Signs {
        Signs {
            class,
            growing: class == Class::Leak,
            bound: None,
            axis,
            meter,
            recorded: false,
            course: Course::default(),
            drivers: Vec::new(),
            epoch: None,
            job: JobSigns::default(),
            memory: None,
            held: None,
            unread: false,
            counts: None,
            blocks: None,
            freed: None,
            shared: Vec::new(),
            reserved: None,
            pools: Vec::new(),
            python: None,
            levels: None,
            threads: None,
            files: None,
            objects: None,
            holders: Vec::new(),
            object_growth: None,
            cleaned: BTreeMap::new(),
            roles: Vec::new(),
            own_grew: None,
            beside: 0.0,
            workers_looked_into: 0,
            copies: None,
            evaluation: PhaseExcursion::default(),
            save: PhaseExcursion::default(),
            counted: Counted::default(),
            surroundings: None,
            watched_grew: None,
            tree_grew: None,
            ranks: Vec::new(),
        }
    }

    /// The first driver, and those that cannot be told from it.
    pub(crate) fn may_be_driven_by(&self, name: &str) -> bool {
        let mut tied = self.drivers.iter().enumerate();
        tied.any(|(i, driver)| driver.name == name && (i == 0 || driver.tied))
    }

    /// The first driver, and nothing can be mistaken for it.
    pub(crate) fn is_driven_by(&self, name: &str) -> Option<&Driver> {
        let first = self.drivers.first().filter(|driver| driver.name == name)?;
        let alone = self.drivers.iter().skip(1).all(|other| !other.tied);
        alone.then_some(first)
    }

    /// The bytes by mapping: the breakdown that has all of them.
    pub(crate) fn mapped(&self) -> Option<&BreakdownGrowth> {
        self.memory.as_ref()?.by(&By::Mapping)
    }

    /// What grew between the looks, when that was enough of the growth to speak of.
    pub(crate) fn memory_that_grew(&self) -> Option<&BreakdownGrowth> {
        self.mapped()
            .filter(|mapped| mapped.grew > 0.0 && mapped.grew >= COVERS * self.to_be_seen())
    }

    /// What looks into the suspect process can see of the growth.
    pub(crate) fn to_be_seen(&self) -> f64 {
        let own = self.own_grew.filter(|own| *own > 0.0);
        own.map_or(self.course.grew, |own| own.min(self.course.grew))
    }

    /// A type of Python objects that grew and whose name has one of these words in it, with how much.
    pub(crate) fn type_that_grew(&self, words: &[&str]) -> Option<String> {
        let types = self.memory.as_ref()?.by(&By::PythonType)?;
        let named = |name: &str| words.iter().any(|word| name.contains(word));
        let part = types
            .parts
            .iter()
            .find(|part| part.grew > 0.0 && named(&part.name))?;
        let more = part
            .more
            .map_or(String::new(), |more| format!("{more} more, "));
        Some(format!("{} ({more}{})", part.name, show_bytes(part.grew)))
    }

    /// Share of the growth that these classes of memory hold.
    pub(crate) fn share(&self, classes: &[MemoryClass]) -> Option<f64> {
        let memory = self.memory_that_grew().filter(|_| !self.unread)?;
        let of = memory
            .parts
            .iter()
            .filter(|part| part.class.is_some_and(|class| classes.contains(&class)));
        // Where other classes shrank, these grew by more than the process.
        Some((of.map(|part| part.grew).sum::<f64>() / memory.grew).min(1.0))
    }

    /// Share of the growth in memory of which nobody knows whose it is: the looks are incomplete, or a library or another
    /// malloc keeps arenas of its own, in which anything may lie.
    pub(crate) fn of_no_known_kind(&self) -> f64 {
        let whole = |memory: &BreakdownGrowth| memory.missing.is_empty();
        if self.pools.is_empty() && self.mapped().is_some_and(whole) {
            return 0.0;
        }
        self.share(&[MemoryClass::OtherAnon]).unwrap_or(1.0)
    }

    /// What speaks of one process speaks of the growth: that process, or those of its role, carry it.
    pub(crate) fn is_of_the_process(&self) -> bool {
        !self.recorded || self.beside < ECHO * self.course.grew
    }

    /// Share of the growth that touched what was reserved before.
    pub(crate) fn reserved_share(&self) -> f64 {
        let memory = self.memory_that_grew().filter(|_| !self.unread);
        match (memory, &self.reserved) {
            (Some(memory), Some(reserved)) => (reserved.grew / memory.grew).min(1.0),
            _ => 0.0,
        }
    }

    /// The growth is reserved space that is being touched, nearly all of it.
    pub(crate) fn fills(&self) -> Option<&ReservedSign> {
        let fills = self.reserved_share() >= FILLS;
        self.reserved.as_ref().filter(|_| fills)
    }

    pub(crate) fn role(&self, name: &str) -> Option<&RoleSign> {
        self.roles.iter().find(|role| role.role == name)
    }

    /// How long the loop went on after the growth ended.
    pub(crate) fn after(&self) -> f64 {
        let settled = self.course.settled;
        settled.map_or(0.0, |at| (self.course.end - at).max(0.0))
    }
}
