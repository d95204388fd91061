//! What is known of a process before its memory is read: its mappings and what each is, its programs, who
//! serves its `malloc`, and which Python it runs.

use lowtide_core::look::Allocator;

use super::programs::{self, Programs};
use super::taxonomy::{self, Python, Sort, Sorter};
use crate::memory::{Mapping, Mappings};
use crate::proc::{Proc, limits};

/// Without `ulimit -s`, glibc's choice for a thread.
const USUAL_STACK: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct Subject {
    pub mappings: Mappings,
    /// What each mapping is, in their order.
    pub sorts: Vec<Sort>,
    pub programs: Programs,
    pub allocator: Allocator,
    pub python: Option<Python>,
    /// How long a thread's stack may be.
    pub stack: u64,
}

impl Subject {
    pub(super) fn new(proc: &Proc, pid: u32, mappings: Mappings) -> Subject {
        let mut buffer = Vec::new();
        let sorter = match proc.read(pid, "mountinfo", &mut buffer) {
            Ok(()) => Sorter::new(&buffer),
            Err(_) => Sorter::default(),
        };
        let stack = match proc.read(pid, "limits", &mut buffer) {
            Ok(()) => limits::parse(&buffer).stack,
            Err(_) => None,
        };
        let sort = |mapping: &Mapping| sorter.sort(mapping.device, mappings.name(mapping));
        let sorts: Vec<Sort> = mappings.list.iter().map(sort).collect();
        Subject {
            programs: programs::find(proc, pid, &mappings, &sorts),
            allocator: taxonomy::allocator(mappings.files()),
            python: taxonomy::python(mappings.files()),
            stack: stack.map_or(USUAL_STACK, |stack| stack.0),
            mappings,
            sorts,
        }
    }

    /// libc's writable data, where the state of the main heap lies.
    pub(crate) fn libc(&self) -> Option<(u64, u64)> {
        let found = self.mappings.list.iter().find(|mapping| {
            mapping.write && mapping.anon > 0 && taxonomy::is_libc(self.mappings.name(mapping))
        })?;
        Some((found.start, found.end))
    }

    /// For every mapping, where the row of writable anonymous ones ends that it lies in: a block that goes
    /// on in the next mapping cannot go further than that.
    pub(super) fn reaches(&self) -> Vec<u64> {
        let mut reaches = vec![0; self.mappings.list.len()];
        let mut above: Option<(u64, u64)> = None;
        let mappings = self.mappings.list.iter().zip(&self.sorts);
        for (slot, (mapping, sort)) in reaches.iter_mut().zip(mappings).rev() {
            let reach = above
                .filter(|(start, _)| *start == mapping.end)
                .map_or(mapping.end, |(_, reach)| reach);
            let can_hold = *sort == Sort::Anon && mapping.write && !mapping.shared;
            *slot = reach;
            above = can_hold.then_some((mapping.start, reach));
        }
        reaches
    }
}
