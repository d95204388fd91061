//! A look into one process: where its bytes are, class by class. `lowtide-sys` takes it read only and
//! on a budget of its own, the recorder stores it, `explain` compares the first with the last.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process::ProcId;
use crate::units::{Bytes, Micros};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    pub at: Micros,
    pub id: ProcId,
    pub why: LookWhy,
    /// Every kind at most once, in the order of [`Kind`]; kinds that hold nothing are left out.
    pub parts: Vec<Part>,
    /// anon + shmem + swap of the process at the same moment, as the kernel counts them by mapping,
    /// without what was given back before it was read.
    pub held: Bytes,
    pub allocator: Allocator,
    /// Large pieces of memory that were reserved as a whole and are touched bit by bit, largest first:
    /// growth inside one ends at its size. Never an allocator's arena, which is used again and again.
    #[serde(default)]
    pub reserved: Vec<Reserved>,
    /// Libraries in the process that keep memory of their own.
    #[serde(default)]
    pub pools: Vec<Pool>,
    /// The interpreter, where there is one and its version could be read.
    pub python: Option<PythonVersion>,
    /// Counts that playbook entries ask for.
    pub counts: Counts,
    /// What this look could not see, in words. Empty: it is whole.
    pub incomplete: Vec<String>,
    pub wall: Micros,
    pub cpu: Micros,
}

/// How the words of a look begin that could not be finished: what was not read counts as
/// [`Kind::OtherAnon`] then.
pub const TIME_RAN_OUT: &str = "time ran out";
/// Begins what a look says into which a spike came or went: its parts are not those of one moment.
pub const CHANGED: &str = "memory changed";

impl Look {
    pub fn bytes(&self, kind: Kind) -> Bytes {
        let found = self.parts.iter().find(|part| part.kind == kind);
        found.map_or(Bytes::ZERO, |part| part.bytes)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub kind: Kind,
    pub bytes: Bytes,
    /// The largest members: block sizes of an allocator, names of files or shared memory.
    pub members: Vec<PartMember>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartMember {
    /// `80 B blocks`, `/dev/shm/torch_*`, `train.arrow`.
    pub name: String,
    pub count: u64,
    pub bytes: Bytes,
}

/// Memory that was asked for in one piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// Its address, which tells it from others in a later look. For shared memory, of its first mapping.
    pub start: u64,
    pub size: Bytes,
    /// What of it has been touched and is in memory or in swap.
    pub touched: Bytes,
    /// The name of shared memory; none for a block of `malloc`.
    pub name: Option<String>,
}

/// Names that every piece of its kind bears: they tell no piece from another.
const SHARED_NAMES: [&str; 3] = ["/dev/zero", "/SYSV", "/memfd:"];

impl Reserved {
    /// The same piece in two looks.
    pub(crate) fn is(&self, other: &Reserved) -> bool {
        let unnamed = |name: &String| SHARED_NAMES.iter().any(|of_all| name.starts_with(of_all));
        let tells = self.name.as_ref().is_some_and(|name| !unnamed(name));
        self.name == other.name && (tells || self.start == other.start)
    }
}

/// Somebody who maps large arenas and hands out parts of them: a leak in there maps nothing new, so no
/// size of a mapping says where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Arrow's default pool: mimalloc (or jemalloc) inside libarrow.
    Arrow,
    /// The heap of a Java machine.
    Jvm,
    /// torch on aarch64 has a mimalloc of its own for CPU tensors, from 2.10 on.
    Torch,
    Jemalloc,
    Tcmalloc,
    Mimalloc,
}

/// `3.14.2`; the last part is none where only a file's name told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonVersion {
    pub minor: u32,
    pub micro: Option<u32>,
}

/// The classes of memory, each resident byte in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Blocks of CPython's small-object allocator that are in use.
    PythonLive,
    /// Its pools and arenas beyond that: freed, but not returned.
    PythonSlack,
    /// glibc blocks in use, main heap and thread arenas.
    GlibcLive,
    /// Freed by the program, kept by glibc; whole pages that `malloc_trim` would return.
    GlibcFree,
    /// Freed too, but not returnable: parts of pages that also hold blocks in use, blocks kept in
    /// caches, the unused end of a thread arena.
    GlibcHoles,
    /// Blocks so large that glibc mapped them by themselves.
    GlibcMapped,
    Stack,
    /// Zero-initialised and written data of programs and libraries.
    Program,
    /// Anonymous memory that is none of the above.
    OtherAnon,
    /// Shared memory: /dev/shm, memfd, /dev/zero.
    Shared,
    /// Private copies of file pages.
    FileDirty,
    /// File pages that the kernel can drop: never part of a leak.
    FileClean,
    /// Mapped from a device.
    Device,
    Swapped,
}

impl Kind {
    /// Counts in anon + shmem + swap.
    pub fn is_held(self) -> bool {
        !matches!(self, Kind::FileClean | Kind::Device)
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::PythonLive => "Python small objects",
            Kind::PythonSlack => "Python pools, free but held",
            Kind::GlibcLive => "malloc blocks in use",
            Kind::GlibcFree => "malloc, freed but held",
            Kind::GlibcHoles => "malloc, holes between blocks",
            Kind::GlibcMapped => "malloc, large blocks of their own",
            Kind::Stack => "thread stacks",
            Kind::Program => "data of programs and libraries",
            Kind::OtherAnon => "other anonymous memory",
            Kind::Shared => "shared memory",
            Kind::FileDirty => "file pages, written",
            Kind::FileClean => "file pages, clean",
            Kind::Device => "device memory, mapped",
            Kind::Swapped => "swapped out",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
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
    /// A reason of a later lowtide.
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allocator {
    Glibc,
    Jemalloc,
    Tcmalloc,
    Mimalloc,
    Musl,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Executable mappings: they grow when code is compiled.
    pub code_maps: u64,
    pub maps: u64,
    /// Thread arenas of glibc.
    pub arenas: u64,
    pub threads: u64,
    /// Anonymous huge pages in bytes.
    pub huge: Bytes,
}
