//! Anonymous memory, taken apart. The kernel joins neighbouring mappings into one, so a mapping is no
//! unit: arenas of Python, heaps of glibc, blocks of their own, stacks and data of libraries can lie
//! in one row; and it parts them by what was asked for with `madvise`, so a block can go on in the
//! next one. Each reader claims the stretches it knows; what is left is a stack's or nobody's.

use lowtide_core::look::{Allocator, MemoryClass, Missing};
use lowtide_core::units::Bytes;
use rustix::io::Errno;

use super::glibc::mapped::Block;
use super::glibc::walk::{Heap, Owner, walk};
use super::glibc::{Window, arenas, cached};
use super::ledger::{Blocks, Ledger};
use super::pymalloc::{self, Shape};
use super::refusal;
use super::reserved::Reserves;
use super::subject::Subject;
use crate::memory::{Mapping, Memory, Pages};

/// Mappings above this length with less than one page in so many are not gone through: `pagemap`
/// answers for every page of the mapping, resident or not, and a reserve of 1 TB is 2 GB of answers.
const LONG: u64 = 4 << 30;
const SPARSE: u64 = 512;
/// Guards below stacks are a page by default; programs ask for more, never for this much.
const LARGEST_GUARD: u64 = 1 << 20;

/// The loader takes some kilobytes of the heap before `malloc` does (glibc 2.35), and a chunk or two can
/// be in motion: that is no hole in the picture.
const WORTH_TELLING: u64 = 64 << 10;
/// Nor is one byte in so many of all that the process holds: it changes no share that anybody is told.
const ONE_IN: u64 = 200;

/// Takes mappings apart, one after the other.
pub(crate) struct Anon<'a, M> {
    /// Without it, mappings are all that is told apart.
    pub memory: Option<&'a M>,
    pub subject: &'a Subject,
    pub ledger: Ledger,
    pub reserves: Reserves,
    /// A block that goes on in the next mapping.
    pub open: Option<Block>,
    /// Thread arenas of glibc.
    pub arenas: u64,
    /// Bytes in mappings that were too long and too empty.
    sparse: u64,
    /// Bytes of heaps in which no chunks could be made out.
    lost: u64,
    /// Bytes that were there when the mappings were listed, and given back before they were read.
    pub returned: u64,
    /// The pages of a mapping could not be asked for.
    pub blind: bool,
}

/// What is known of one mapping.
pub(crate) struct Claims {
    pub spans: Vec<(u64, u64)>,
    bytes: u64,
}

impl Claims {
    pub(crate) fn add(&mut self, from: u64, to: u64, bytes: u64) {
        self.spans.push((from, to));
        self.bytes += bytes;
    }
}

impl<'a, M: Memory> Anon<'a, M> {
    pub(crate) fn new(subject: &'a Subject, memory: Option<&'a M>) -> Anon<'a, M> {
        Anon {
            memory,
            subject,
            ledger: Ledger::default(),
            reserves: Reserves::default(),
            open: None,
            arenas: 0,
            sparse: 0,
            lost: 0,
            returned: 0,
            blind: false,
        }
    }

    /// `before` is the mapping below, `reach` the end of the row of such mappings that this one is in.
    pub(crate) fn take_apart(
        &mut self,
        mapping: &Mapping,
        name: &str,
        before: Option<&Mapping>,
        reach: u64,
    ) {
        let open = self.open.take().filter(|block| mapping.start < block.end());
        if let Some(block) = open.filter(|block| mapping.end <= block.end()) {
            // All of it is one block's: no page needs to be asked for.
            let mut blocks = Blocks::default();
            self.block(&mut blocks, block, mapping, (mapping.anon, mapping.swap));
            self.ledger.add_blocks(MemoryClass::GlibcMapped, &blocks);
            return;
        }
        if mapping.anon == 0 {
            return;
        }
        let too_long = mapping.size() > LONG && mapping.size() / mapping.anon > SPARSE;
        if too_long {
            let known = self.long(mapping, name, open);
            self.sparse += mapping.anon.saturating_sub(known);
            self.rest(
                mapping,
                name,
                before,
                None,
                mapping.anon.saturating_sub(known),
            );
            return;
        }
        let pages = match self.memory {
            Some(memory) if !memory.is_late() => memory.resident(mapping.start, mapping.end).ok(),
            _ => None,
        };
        let Some(pages) = pages else {
            self.blind = true;
            self.rest(mapping, name, before, None, mapping.anon);
            return;
        };
        let gone = self.memory.map(M::gone);
        let claims = self.claims(mapping, name, &pages, (open, reach));
        let there = self.still_there(mapping, &pages, gone);
        self.returned += mapping.anon - there;
        let left = there.saturating_sub(claims.bytes);
        self.rest(mapping, name, before, Some((&pages, &claims)), left);
    }

    /// Lets every reader claim the stretches that it knows.
    fn claims(
        &mut self,
        mapping: &Mapping,
        name: &str,
        pages: &Pages,
        (open, reach): (Option<Block>, u64),
    ) -> Claims {
        let mut claims = Claims {
            spans: Vec::new(),
            bytes: 0,
        };
        self.data(pages, &mut claims);
        if name != "[heap]" {
            self.small_objects(mapping, pages, &mut claims);
        }
        if self.subject.allocator == Allocator::Glibc && mapping.write {
            if name == "[heap]" {
                self.main_heap(pages, &mut claims);
            } else {
                self.thread_heaps(pages, &mut claims);
                self.blocks(mapping, pages, (open, reach), &mut claims);
            }
        }
        claims
    }

    /// The kernel's count is the one that growth is measured by: pages of zeros that were only ever read
    /// are present too, and belong to nobody. Fewer pages than that: some were returned since, as happens
    /// to all of a large block that is freed. `gone` is what was missed before this mapping was read.
    fn still_there(&self, mapping: &Mapping, pages: &Pages, gone: Option<u64>) -> u64 {
        let there = pages.bytes(mapping.start, mapping.end).min(mapping.anon);
        if let Some(memory) = self.memory
            && Some(memory.gone()) != gone
            && let Ok(now) = memory.resident(mapping.start, mapping.end)
        {
            return there.min(now.bytes(mapping.start, mapping.end));
        }
        there
    }

    /// Zero-filled data of programs and libraries, as long as their files say.
    fn data(&mut self, pages: &Pages, claims: &mut Claims) {
        let data = &self.subject.programs.data;
        let first = data.partition_point(|(_, to)| *to <= pages.start());
        for (from, to) in data[first..]
            .iter()
            .take_while(|(from, _)| *from < pages.end())
        {
            let (from, to) = ((*from).max(pages.start()), (*to).min(pages.end()));
            let bytes = pages.bytes(from, to);
            claims.add(from, to, bytes);
            self.ledger.add(MemoryClass::Program, bytes);
        }
    }

    fn small_objects(&mut self, mapping: &Mapping, pages: &Pages, claims: &mut Claims) {
        let Some((memory, python)) = self.memory.zip(self.subject.python) else {
            return;
        };
        if !mapping.write {
            return;
        }
        let shapes = match python.minor {
            Some(minor) => vec![Shape::of(minor)],
            None => vec![Shape::LARGE, Shape::SMALL],
        };
        for shape in shapes {
            let pools = pymalloc::scan(memory, pages, shape, mapping.huge > 0);
            if pools.spans.is_empty() {
                continue;
            }
            self.ledger.add_blocks(MemoryClass::PythonLive, &pools.live);
            self.ledger.add(MemoryClass::PythonSlack, pools.slack);
            for (from, to) in pools.spans {
                claims.add(from, to, pages.bytes(from, to));
            }
            return;
        }
    }

    fn main_heap(&mut self, pages: &Pages, claims: &mut Claims) {
        let Some(memory) = self.memory else { return };
        let data = (self.subject.libc()).and_then(|(from, to)| memory.resident(from, to).ok());
        let state = data.and_then(|data| cached::main_state(memory, &data, pages));
        let cached = state.map(|state| cached::chunks(memory, state, pages));
        let (start, end) = (pages.start(), pages.end());
        let mut window = Window::new(memory, pages);
        let heap = walk(
            &mut window,
            start,
            end,
            Owner::Main,
            &cached.unwrap_or_default(),
        );
        self.heap(&heap, start, end, pages, claims);
    }

    fn thread_heaps(&mut self, pages: &Pages, claims: &mut Claims) {
        let Some(memory) = self.memory else { return };
        for found in arenas::scan(memory, pages) {
            self.arenas += u64::from(found.is_first);
            self.heap(&found.heap, found.start, found.end, pages, claims);
        }
    }

    fn heap(&mut self, heap: &Heap, from: u64, to: u64, pages: &Pages, claims: &mut Claims) {
        let resident = pages.bytes(from, to);
        let understood = resident.saturating_sub(heap.lost);
        claims.add(from, to, understood);
        self.lost += heap.lost;
        self.ledger.add_blocks(MemoryClass::GlibcLive, &heap.live);
        self.ledger.add(MemoryClass::GlibcFree, heap.free);
        let holes = understood.saturating_sub(heap.live.bytes + heap.free);
        self.ledger.add(MemoryClass::GlibcHoles, holes);
    }

    /// Nothing kept it from finding every block.
    pub(crate) fn saw_all(&self) -> bool {
        !self.blind && self.memory.is_some_and(|memory| memory.refused().is_none())
    }

    /// What nobody claimed: a stack, if a guard lies below; else nobody's.
    fn rest(
        &mut self,
        mapping: &Mapping,
        name: &str,
        before: Option<&Mapping>,
        known: Option<(&Pages, &Claims)>,
        left: u64,
    ) {
        let guarded = before.is_some_and(|guard| {
            guard.is_closed() && guard.end == mapping.start && guard.size() <= LARGEST_GUARD
        });
        let mut stack = 0;
        if guarded && mapping.write && name != "[heap]" {
            let top = mapping
                .start
                .saturating_add(self.subject.stack)
                .min(mapping.end);
            stack = match known {
                Some((pages, claims)) => {
                    let claimed = claims.spans.iter();
                    let claimed = claimed.map(|(a, b)| pages.bytes(*a, (*b).min(top)));
                    pages
                        .bytes(mapping.start, top)
                        .saturating_sub(claimed.sum())
                }
                None if mapping.size() <= self.subject.stack => left,
                None => 0,
            }
            .min(left);
        }
        self.ledger.add(MemoryClass::Stack, stack);
        let name = if name.is_empty() { "no name" } else { name };
        self.ledger
            .add_member(MemoryClass::OtherAnon, name, 1, left - stack);
    }

    /// It ended under the look: what was read is no picture of it.
    pub(crate) fn has_ended(&self) -> bool {
        let refused = self.memory.and_then(M::refused);
        refused == Some(Errno::SRCH)
    }

    /// What this could not see.
    pub(crate) fn what_is_missing(&self, held: u64, missing: &mut Vec<Missing>) {
        if let Some(errno) = self.memory.and_then(M::refused) {
            missing.push(refusal(errno, "the process's memory"));
        }
        let allocator = self.subject.allocator;
        if allocator != Allocator::Glibc {
            missing.push(Missing::UnknownAllocator { allocator });
        }
        let python = self.subject.python;
        if python.is_some_and(|python| python.free_threaded) {
            missing.push(Missing::FreeThreaded);
        }
        if self.lost > WORTH_TELLING.max(held / ONE_IN) {
            let bytes = Bytes(self.lost);
            missing.push(Missing::BrokenHeaps { bytes });
        }
        if self.sparse > 0 {
            let bytes = Bytes(self.sparse);
            missing.push(Missing::Sparse { bytes });
        }
    }
}
