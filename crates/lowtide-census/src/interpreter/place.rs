//! Where `_PyRuntime` lies: the symbol of the program itself or of a library that is Python's by its name, in
//! files as the process sees them (its own root, deleted, replaced).

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use lowtide_core::look::PythonVersion;
use lowtide_sys::memory::elf::{Elf, ReadAt};
use lowtide_sys::memory::{Deadline, Mapping, Mappings, files};
use lowtide_sys::proc::Proc;
use rustix::fs::{FileType, Mode, OFlags};

use crate::refusal::Refusal;

/// A process with more Pythons than this has none that matters.
const MOST: usize = 8;

/// One `_PyRuntime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub runtime: u64,
    pub version: Option<PythonVersion>,
}

/// All of them: a file can be mapped twice, and only one of the two is alive.
pub(super) fn find(proc: &Proc, pid: u32) -> Result<Vec<Place>, Refusal> {
    let mappings = Mappings::without_sizes(proc, pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/maps"))?;
    let (mut places, mut pypy, mut python) = (Vec::new(), false, false);
    let mut first = None;
    for mapping in &mappings.list {
        let name = mappings.name(mapping);
        // From its beginning: later parts of a file are mapped apart.
        if mapping.inode == 0 || mapping.offset != 0 || places.len() >= MOST {
            continue;
        }
        let program = *first.get_or_insert(mapping.inode) == mapping.inode;
        pypy |= file_name(name).contains("pypy");
        let named_so = file_name(name).contains("python");
        python |= named_so
            && mappings
                .list
                .iter()
                .any(|one| one.inode == mapping.inode && one.execute);
        if program || named_so {
            places.extend(in_file(proc, pid, mapping, name, program));
        }
    }
    match places.is_empty() {
        false => Ok(places),
        true if pypy => Err(Refusal::PyPy),
        // Modules are named for Python too, but MicroPython has none, and is none of ours either.
        true if python => Err(Refusal::NoSymbols),
        true => Err(Refusal::NotPython),
    }
}

fn in_file(proc: &Proc, pid: u32, mapping: &Mapping, name: &str, program: bool) -> Option<Place> {
    // The program's own file is there even if it has no name any more. A name may be as we see it, not as the
    // process does: that of a process in a plain chroot is.
    let own = || open(proc.path(pid, "exe"), None);
    let ours = || open(name.into(), Some(mapping.inode));
    let file = match program {
        true => own().or_else(|| files::open(proc, pid, mapping, name)),
        false => files::open(proc, pid, mapping, name).or_else(ours),
    }?;
    let elf = Elf::open(&file)?;
    let runtime = symbol(&elf, "_PyRuntime").or_else(|| elf.section(".PyRuntime"))?;
    let exported = symbol(&elf, "Py_Version").and_then(|at| {
        let word = u64::from_le_bytes(elf.initial(at)?);
        PythonVersion::of_word(word)
    });
    Some(Place {
        runtime: elf.in_memory(runtime, mapping.start)?,
        version: exported.or_else(|| named(name)),
    })
}

fn open(path: PathBuf, inode: Option<u64>) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    let regular = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    (regular && inode.is_none_or(|inode| found.st_ino == inode)).then_some(file)
}

/// By the table that the loader uses, else by the one that debuggers use.
fn symbol<R: ReadAt + ?Sized>(elf: &Elf<'_, R>, name: &str) -> Option<u64> {
    let dynamic = elf.symbols().and_then(|symbols| symbols.find(name));
    dynamic
        .map(|found| found.address)
        .or_else(|| elf.static_symbol(name))
}

/// `libpython3.9.so.1.0`, `python3.10`.
fn named(name: &str) -> Option<PythonVersion> {
    let (_, rest) = file_name(name).split_once("python3.")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let minor = rest[..digits.unwrap_or(rest.len())].parse().ok()?;
    Some(PythonVersion { minor, micro: None })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_in_the_name() {
        let minor = |name| named(name).map(|version| version.minor);
        assert_eq!(minor("/usr/lib/libpython3.9.so.1.0"), Some(9));
        assert_eq!(minor("/opt/bin/python3.10"), Some(10));
        assert_eq!(minor("/opt/bin/python3.10 (deleted)"), Some(10));
        assert_eq!(minor("/usr/lib/libpython3.so"), None);
        assert_eq!(minor("/home/python3.9/bin/job"), None);
    }
}
