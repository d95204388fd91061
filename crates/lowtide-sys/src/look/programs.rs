//! The programs and libraries that a process has mapped: where the data of each lies ([`super::anon`] asks),
//! and which interpreter runs.

use std::collections::{HashMap, HashSet};

use lowtide_core::look::PythonVersion;

use super::taxonomy::{self, Python, Sort};
use crate::memory::elf::Elf;
use crate::memory::{Mapping, Mappings, files};
use crate::proc::Proc;

/// Programs and libraries, and where their writable data lies.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Their names.
    pub files: HashSet<String>,
    /// Ascending.
    pub data: Vec<(u64, u64)>,
}

pub(super) fn find(proc: &Proc, pid: u32, mappings: &Mappings, sorts: &[Sort]) -> Programs {
    let mut programs = Programs::default();
    let page = rustix::param::page_size() as u64;
    let mut bases: HashMap<&str, &Mapping> = HashMap::new();
    for (mapping, sort) in mappings.list.iter().zip(sorts) {
        let name = mappings.name(mapping);
        if *sort != Sort::File {
            continue;
        }
        if mapping.offset == 0 {
            bases.entry(name).or_insert(mapping);
        }
        let code = mapping.execute || (mapping.write && !mapping.shared);
        let Some(base) = bases.get(name).filter(|_| code) else {
            continue;
        };
        if programs.files.contains(name) {
            continue;
        }
        let Some(file) = files::open(proc, pid, base, name) else {
            continue;
        };
        let Some(elf) = Elf::open(&file) else {
            continue;
        };
        programs.files.insert(name.to_owned());
        for (from, to) in elf.data(base.start) {
            // A file can claim anything.
            if let Some(to) = to.checked_next_multiple_of(page) {
                programs.data.push((from, to));
            }
        }
    }
    programs.data.sort_unstable();
    programs
}

/// Files that are asked for the version: the program, `libpython3.so` and the library behind it.
const MOST_INTERPRETERS: usize = 4;

/// The version of the interpreter: CPython exports it from 3.11 on, before that only names of files tell.
pub(crate) fn python_version(
    proc: &Proc,
    pid: u32,
    mappings: &Mappings,
    python: Option<Python>,
) -> Option<PythonVersion> {
    let python = python?;
    let is_interpreter = |name| taxonomy::python(std::iter::once(name)).is_some();
    let interpreters = mappings.list.iter().filter(|mapping| {
        // A file from its beginning.
        mapping.inode != 0 && mapping.offset == 0 && is_interpreter(mappings.name(mapping))
    });
    let mut exported = interpreters.take(MOST_INTERPRETERS).filter_map(|mapping| {
        let file = files::open(proc, pid, mapping, mappings.name(mapping))?;
        let elf = Elf::open(&file)?;
        let symbol = elf.symbols()?.find("Py_Version")?;
        PythonVersion::of_word(u64::from_le_bytes(elf.initial(symbol.address)?))
    });
    let exported = exported.find(|found| python.minor.is_none_or(|minor| minor == found.minor));
    exported.or(python
        .minor
        .map(|minor| PythonVersion { minor, micro: None }))
}
