//! The files that a process has mapped, read as the process sees them: where the data of programs and
//! libraries lies ([`super::anon`] asks), and which interpreter runs.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use lowtide_core::look::PythonVersion;
use rustix::fs::{FileType, Mode, OFlags};

use super::elf;
use super::elf_symbol::{Elf, ReadAt};
use super::smaps::{Mappings, Vma};
use super::taxonomy::{self, Python, Sort, Sorter};
use crate::proc::Proc;

/// Programs and libraries, and where their writable data lies.
#[derive(Debug, Default)]
pub struct Programs {
    /// By name, with the address of the first mapping.
    pub files: HashMap<String, u64>,
    /// Ascending.
    pub data: Vec<(u64, u64)>,
}

pub fn programs(proc: &Proc, pid: u32, mappings: &Mappings, sorter: &Sorter) -> Programs {
    let mut programs = Programs::default();
    let page = rustix::param::page_size() as u64;
    let mut bases: HashMap<&str, &Vma> = HashMap::new();
    for vma in &mappings.list {
        let name = mappings.name(vma);
        if sorter.sort(vma.device, name) != Sort::File {
            continue;
        }
        if vma.offset == 0 {
            bases.entry(name).or_insert(vma);
        }
        let code = vma.execute || (vma.write && !vma.shared);
        let Some(base) = bases.get(name).filter(|_| code) else {
            continue;
        };
        if programs.files.contains_key(name) {
            continue;
        }
        let Some(data) = head(proc, pid, base, name).and_then(|head| elf::parse(&head)) else {
            continue;
        };
        programs.files.insert(name.to_owned(), base.start);
        for (from, to) in data.spans {
            // A file can claim anything.
            let to = base.start.checked_add(to);
            if let Some(to) = to.and_then(|to| to.checked_next_multiple_of(page)) {
                programs.data.push((base.start.saturating_add(from), to));
            }
        }
    }
    programs.data.sort_unstable();
    programs
}

/// Files that are asked for the version: the program, `libpython3.so` and the library behind it.
const MOST_INTERPRETERS: usize = 4;

/// The version of the interpreter: CPython exports it from 3.11 on, before that only names of files tell.
pub fn python_version(
    proc: &Proc,
    pid: u32,
    mappings: &Mappings,
    python: Option<Python>,
) -> Option<PythonVersion> {
    let python = python?;
    let is_interpreter = |name| taxonomy::python(std::iter::once(name)).is_some();
    let interpreters = mappings.list.iter().filter(|vma| {
        // A file from its beginning.
        vma.inode != 0 && vma.offset == 0 && is_interpreter(mappings.name(vma))
    });
    let mut exported = interpreters.take(MOST_INTERPRETERS).filter_map(|vma| {
        let file = open(proc, pid, vma, mappings.name(vma))?;
        let elf = Elf::open(&file)?;
        let symbol = elf.find("Py_Version")?;
        version(u64::from_le_bytes(elf.initial(symbol.address)?))
    });
    let exported = exported.find(|found| python.minor.is_none_or(|minor| minor == found.minor));
    exported.or(python
        .minor
        .map(|minor| PythonVersion { minor, micro: None }))
}

/// `0x030e02f0` is 3.14.2, final.
fn version(word: u64) -> Option<PythonVersion> {
    let word = u32::try_from(word).ok()?;
    let [major, minor, micro, _] = word.to_be_bytes();
    (major == 3).then_some(PythonVersion {
        minor: minor.into(),
        micro: Some(micro.into()),
    })
}

/// The beginning of a mapped file.
fn head(proc: &Proc, pid: u32, base: &Vma, name: &str) -> Option<Vec<u8>> {
    let file = open(proc, pid, base, name)?;
    let mut head = vec![0; elf::HEAD];
    let count = rustix::io::pread(&file, &mut head[..], 0).ok()?;
    head.truncate(count);
    Some(head)
}

/// Opens a mapped file as the process sees it: it may live in a container, or be deleted.
fn open(proc: &Proc, pid: u32, vma: &Vma, name: &str) -> Option<OwnedFd> {
    let open = |path: PathBuf| {
        // A path can have become a pipe since: opening must not wait.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        let mode = rustix::fs::fstat(&file).ok()?.st_mode;
        (FileType::from_raw_mode(mode) == FileType::RegularFile).then_some(file)
    };
    let in_root = name.strip_prefix('/')?;
    open(proc.path(pid, "root").join(in_root)).or_else(|| open(mapped(proc, pid, vma)))
}

/// The way to a mapped file that needs no name, but a privilege.
pub fn mapped(proc: &Proc, pid: u32, vma: &Vma) -> PathBuf {
    proc.path(pid, &format!("map_files/{:x}-{:x}", vma.start, vma.end))
}

impl ReadAt for OwnedFd {
    fn read_at(&self, at: u64, out: &mut [u8]) -> Option<()> {
        let count = rustix::io::pread(self, &mut *out, at).ok()?;
        (count == out.len()).then_some(())
    }
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
        assert_eq!(version(0x030e_02f0), three(14, 2));
        assert_eq!(version(0x030b_07f0), three(11, 7));
        assert_eq!(version(0x040b_07f0), None);
        assert_eq!(version(0x0103_0b07_f000), None);
    }
}
