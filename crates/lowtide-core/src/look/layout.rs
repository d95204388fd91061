//! What only the examiner of mappings knows: the classes of memory, whose `malloc` it is, which pieces
//! were reserved as a whole, which libraries keep arenas, the interpreter.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::later;
use crate::units::Bytes;

/// How the process's address space is laid out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    pub allocator: Allocator,
    /// Large pieces of memory that were reserved as a whole and are touched bit by bit, largest first:
    /// growth inside one ends at its size. Never an allocator's arena, which is used again and again.
    #[serde(default)]
    pub reserved: Vec<Reserved>,
    /// Libraries in the process that keep memory of their own.
    #[serde(default, deserialize_with = "later::only_known")]
    pub pools: Vec<Pool>,
    /// The interpreter, where there is one and its version could be read.
    pub python: Option<PythonVersion>,
    /// Counts that playbook entries ask for.
    #[serde(default)]
    pub counts: Counts,
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

impl PythonVersion {
    /// As CPython exports it: `0x030e02f0` is 3.14.2, final.
    pub fn of_word(word: u64) -> Option<PythonVersion> {
        let word = u32::try_from(word).ok()?;
        let [major, minor, micro, _] = word.to_be_bytes();
        (major == 3).then_some(PythonVersion {
            minor: minor.into(),
            micro: Some(micro.into()),
        })
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}", self.minor)?;
        self.micro.map_or(Ok(()), |micro| write!(f, ".{micro}"))
    }
}

/// The classes of memory, each resident byte in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryClass {
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

impl MemoryClass {
    /// Counts in anon + shmem + swap.
    pub fn is_held(self) -> bool {
        !matches!(self, MemoryClass::FileClean | MemoryClass::Device)
    }

    pub fn name(self) -> &'static str {
        match self {
            MemoryClass::PythonLive => "Python small objects",
            MemoryClass::PythonSlack => "Python pools, free but held",
            MemoryClass::GlibcLive => "malloc blocks in use",
            MemoryClass::GlibcFree => "malloc, freed but held",
            MemoryClass::GlibcHoles => "malloc, holes between blocks",
            MemoryClass::GlibcMapped => "malloc, large blocks of their own",
            MemoryClass::Stack => "thread stacks",
            MemoryClass::Program => "data of programs and libraries",
            MemoryClass::OtherAnon => "other anonymous memory",
            MemoryClass::Shared => "shared memory",
            MemoryClass::FileDirty => "file pages, written",
            MemoryClass::FileClean => "file pages, clean",
            MemoryClass::Device => "device memory, mapped",
            MemoryClass::Swapped => "swapped out",
        }
    }
}

impl fmt::Display for MemoryClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
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

impl Allocator {
    /// Whose it is; none where nobody is known.
    pub fn owner(self) -> Option<&'static str> {
        match self {
            Allocator::Glibc => Some("glibc"),
            Allocator::Jemalloc => Some("jemalloc"),
            Allocator::Tcmalloc => Some("tcmalloc"),
            Allocator::Mimalloc => Some("mimalloc"),
            Allocator::Musl => Some("musl"),
            Allocator::Unknown => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_word() {
        let three = |minor, micro| {
            Some(PythonVersion {
                minor,
                micro: Some(micro),
            })
        };
        assert_eq!(PythonVersion::of_word(0x030e_02f0), three(14, 2));
        assert_eq!(PythonVersion::of_word(0x030b_07f0), three(11, 7));
        assert_eq!(three(11, 7).unwrap().to_string(), "3.11.7");
        assert_eq!(PythonVersion::of_word(0x040b_07f0), None);
        assert_eq!(PythonVersion::of_word(0x0103_0b07_f000), None);
    }
}
