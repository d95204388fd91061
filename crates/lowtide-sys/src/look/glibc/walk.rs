//! From chunk to chunk through a heap: sizes lead on, and whether a chunk is in use stands in the one
//! behind it. The target runs meanwhile, so any head can be out of date: one that makes no sense is read
//! anew, and if it still makes none the walk looks for the next row of chunks that does.

use std::collections::HashSet;

use super::{ALIGN, HEAD, IS_MAPPED, OF_THREAD, PREVIOUS_IN_USE, SMALLEST, Window};
use crate::look::ledger::Blocks;
use crate::memory::Memory;

/// What one heap holds.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Chunks in use, their heads included.
    pub live: Blocks,
    /// Resident whole pages that `malloc_trim` would return.
    pub free: u64,
    /// Resident bytes where no row of chunks could be made out.
    pub lost: u64,
}

/// A head that makes no sense is read anew this often: what is being split or joined is whole again
/// within nanoseconds.
const TRIES: u32 = 3;
/// So many chunks in a row are no accident: each has 60 bits that must be right.
const ROW: u32 = 6;
/// A foreign user of `brk` can lie between two rows; one larger than this is not worth the reading.
const LONGEST_SEARCH: u64 = 64 << 20;
/// `struct malloc_chunk` in mtrim(): trimming begins behind all the links that a large chunk can have.
const LINKS: u64 = 48;
/// Chunks between two readings of the clock, which costs more than a chunk.
const CLOCK_EVERY: u64 = 4096;
/// Fast lists hold chunks up to this size.
const LARGEST_CACHED: u64 = 128;
/// No single chunk of a heap is larger.
const LARGEST: u64 = 1 << 42;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The heap that `brk` grows; `malloc_trim` also cuts its end.
    Main,
    /// `malloc_trim` leaves the end of a thread's heap as it is.
    Thread,
}

/// Walks the chunks from `start` to `end`. `cached` are chunks that are free and do not look so.
pub(crate) fn walk(
    window: &mut Window<'_, impl Memory>,
    start: u64,
    end: u64,
    owner: Owner,
    cached: &HashSet<u64>,
) -> Heap {
    let mut walker = Walker {
        window,
        end,
        owner,
        cached,
        free: (start, start),
        heap: Heap::default(),
    };
    walker.run(start);
    walker.trim();
    walker.heap
}

/// Whether a row of chunks begins here.
pub(crate) fn is_row(window: &Window<'_, impl Memory>, start: u64, end: u64, owner: Owner) -> bool {
    let mut at = start;
    for _ in 0..ROW {
        let Some(size) = window.peek(at).and_then(|head| size(head, at, end, owner)) else {
            return false;
        };
        at += size;
        if at >= end {
            return true;
        }
    }
    true
}

/// The size of a chunk, if it can be one.
fn size(head: super::Head, at: u64, end: u64, owner: Owner) -> Option<u64> {
    let size = head.size();
    // Any bytes can stand here: no sum may be made before this.
    if size > LARGEST {
        return None;
    }
    // Where glibc found that somebody else had moved the break, it leaves two posts of 16 bytes. A
    // thread's flag is on chunks in use only, so it tells nothing where it is missing.
    let post = size == HEAD as u64;
    let right = (size >= SMALLEST || post)
        && size.is_multiple_of(ALIGN)
        && !head.is(IS_MAPPED)
        && !(owner == Owner::Main && head.is(OF_THREAD));
    // The heap may have grown since its end was read; the last chunk then ends at a later page.
    let fits = at + size <= end || (at + size).is_multiple_of(4096);
    (right && fits).then_some(size)
}

struct Walker<'w, 'a, M> {
    window: &'w mut Window<'a, M>,
    end: u64,
    owner: Owner,
    cached: &'w HashSet<u64>,
    /// Free chunks in a row, which `malloc_trim` joins before it returns them.
    free: (u64, u64),
    heap: Heap,
}

impl<M: Memory> Walker<'_, '_, M> {
    fn run(&mut self, start: u64) {
        let mut at = start;
        let mut chunks = 0u64;
        while at < self.end {
            chunks += 1;
            if chunks.is_multiple_of(CLOCK_EVERY) && self.window.is_over() {
                break;
            }
            match self.chunk(at) {
                Some(next) => at = next,
                None => {
                    let from = at;
                    at = self.search(at + ALIGN).unwrap_or(self.end);
                    self.heap.lost += self.window.pages().bytes(from, at);
                }
            }
        }
        // Time ran out: the rest is not understood.
        self.heap.lost += self.window.pages().bytes(at, self.end);
    }

    /// Accounts for the chunk here; returns where the next one begins, `None` if there is none.
    fn chunk(&mut self, at: u64) -> Option<u64> {
        for _ in 0..TRIES {
            if let Some((size, next)) = self.read(at) {
                self.account(at, size, next);
                return Some(at + size);
            }
            self.window.forget();
        }
        None
    }

    /// The size of a chunk and how the one behind it describes it.
    fn read(&mut self, at: u64) -> Option<(u64, Next)> {
        let size = self
            .window
            .head(at)
            .and_then(|head| size(head, at, self.end, self.owner))?;
        let behind = at + size;
        if behind >= self.end {
            return Some((size, Next::End));
        }
        // Made since the list of pages was read, at the expense of the unused end: nothing that was
        // resident then lies behind it.
        let pages = self.window.pages();
        if !pages.has(behind) && pages.next(behind).is_none() {
            return Some((size, Next::SaysUsed));
        }
        let next = self.window.head(behind)?;
        // The last words of a full heap of a thread: a post, then a size of zero.
        let last = behind + 2 * HEAD as u64 >= self.end && next.size() <= HEAD as u64;
        if !last {
            self::size(next, behind, self.end, self.owner)?;
        }
        if next.is(PREVIOUS_IN_USE) {
            return Some((size, Next::SaysUsed));
        }
        // A free chunk has its size at its end too.
        (next.previous == size).then_some((size, Next::SaysFree))
    }

    fn account(&mut self, at: u64, size: u64, next: Next) {
        let is_cached = || size <= LARGEST_CACHED && self.cached.contains(&at);
        let pages = self.window.pages();
        match next {
            Next::SaysUsed if size < SMALLEST => self.trim(),
            Next::SaysUsed if self.cached.is_empty() || !is_cached() => {
                self.trim();
                let read = at + size <= self.window.end();
                let bytes = if read {
                    size
                } else {
                    pages.bytes(at, at + size)
                };
                self.heap.live.add(size, 1, bytes);
            }
            Next::SaysUsed | Next::SaysFree => {
                if self.free.1 != at {
                    self.trim();
                    self.free.0 = at;
                }
                self.free.1 = at + size;
            }
            Next::End if self.owner == Owner::Main => {
                let from = if self.free.1 == at { self.free.0 } else { at };
                if from == at {
                    self.trim();
                }
                self.free = (0, 0);
                // systrim(): all of the last chunk but its smallest size, in whole pages.
                let whole = at + size - from;
                let cut = whole.saturating_sub(SMALLEST + 1) / pages.page() * pages.page();
                self.heap.free += pages.bytes(at + size - cut, at + size);
            }
            Next::End => self.trim(),
        }
    }

    /// The row of free chunks has ended: counts what would be returned of it.
    fn trim(&mut self) {
        let (from, to) = std::mem::take(&mut self.free);
        if from < to {
            let pages = self.window.pages();
            let (from, to) = trimmed(from, to - from, pages.page());
            self.heap.free += pages.bytes(from, to);
        }
    }

    /// The next place where a row of chunks begins.
    fn search(&mut self, from: u64) -> Option<u64> {
        let stop = self.end.min(from + LONGEST_SEARCH);
        let mut at = from;
        while at < stop {
            if !self.window.pages().has(at) {
                at = self.window.pages().next(at)?;
                continue;
            }
            let Some(head) = self.window.head(at) else {
                // Returned since the pages were listed.
                if self.window.is_over() {
                    return None;
                }
                let page = self.window.pages().page();
                at = (at + 1).next_multiple_of(page);
                continue;
            };
            let can_be = size(head, at, self.end, self.owner).is_some();
            if can_be && is_row(self.window, at, self.end, self.owner) {
                return Some(at);
            }
            at += ALIGN;
            if at.is_multiple_of(super::LARGEST_PIECE) && self.window.is_over() {
                return None;
            }
        }
        None
    }
}

enum Next {
    SaysUsed,
    SaysFree,
    /// Nothing is behind it: the unused end of the heap.
    End,
}

/// mtrim(): which pages of a free chunk are given back.
fn trimmed(at: u64, size: u64, page: u64) -> (u64, u64) {
    let from = (at + LINKS).next_multiple_of(page);
    let to = (at + size) / page * page;
    if size < page - 1 + LINKS || to <= from {
        (from, from)
    } else {
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Head;
    use super::*;
    use crate::memory::Image;
    use proptest::prelude::*;

    fn head(word: u64) -> Head {
        let mut bytes = [0; HEAD];
        bytes[8..].copy_from_slice(&word.to_le_bytes());
        Head::of(bytes)
    }

    #[test]
    fn only_what_can_be_a_chunk_is_one() {
        let can = |word: u64, owner: Owner| size(head(word), 0x1000, 0x9010, owner);
        assert_eq!(can(0x51, Owner::Main), Some(0x50));
        assert_eq!(can(0x55, Owner::Thread), Some(0x50));
        // Of the wrong owner, mapped, off the grid, too small, beyond the end.
        assert_eq!(can(0x55, Owner::Main), None);
        assert_eq!(can(0x53, Owner::Main), None);
        assert_eq!(can(0x58, Owner::Main), None);
        assert_eq!(can(0x1, Owner::Main), None);
        assert_eq!(
            can(0x9000 | 1, Owner::Main),
            Some(0x9000),
            "ends at a later page"
        );
        assert_eq!(can(0x9020 | 1, Owner::Main), None);
        // Free in a thread's heap, and a post.
        assert_eq!(can(0x51, Owner::Thread), Some(0x50));
        assert_eq!(can(0x11, Owner::Thread), Some(0x10));
    }

    const START: u64 = 0x5555_5556_0000;

    /// A heap as `malloc` leaves it: chunks one behind the other, each with the word that describes it.
    #[derive(Default)]
    struct Chunks {
        bytes: Vec<u8>,
        /// The size of the chunk before, if that one is free.
        free: Option<u64>,
    }

    impl Chunks {
        fn with(mut self, size: u64, in_use: bool) -> Chunks {
            self.bytes
                .extend(self.free.unwrap_or(0x5a5a_5a5a).to_le_bytes());
            let flag = u64::from(self.free.is_none()) * PREVIOUS_IN_USE;
            self.bytes.extend((size | flag).to_le_bytes());
            self.bytes
                .resize(self.bytes.len() + size as usize - HEAD, 0x5a);
            self.free = (!in_use).then_some(size);
            self
        }

        fn used(self, size: u64, count: usize) -> Chunks {
            (0..count).fold(self, |chunks, _| chunks.with(size, true))
        }

        fn at(&self) -> u64 {
            START + self.bytes.len() as u64
        }
    }

    /// Walks a heap of `length` bytes.
    fn walked(image: &Image, length: u64, cached: &[u64]) -> Heap {
        let end = START + length;
        let pages = image.resident(START, end).unwrap();
        let cached = cached.iter().copied().collect();
        let mut window = Window::new(image, &pages);
        walk(&mut window, START, end, Owner::Main, &cached)
    }

    fn counts(heap: &Heap) -> Vec<(String, u64)> {
        let classes = heap.live.classes();
        classes
            .map(|(name, of_class)| (name, of_class.count))
            .collect()
    }

    fn pair(name: &str, count: u64) -> (String, u64) {
        (name.to_owned(), count)
    }

    #[test]
    fn chunks_in_use_are_told_from_free_ones() {
        let chunks = Chunks::default().used(80, 30);
        // In a fast list: free, and nothing in the heap says so.
        let cached = chunks.at();
        let chunks = chunks.used(64, 2).used(208, 100);
        // Free, with four whole pages behind its links.
        assert_eq!(chunks.bytes.len(), 0x5b20);
        let chunks = chunks.with(0x5000, false).used(208, 5);
        let length = (chunks.bytes.len() as u64).next_multiple_of(4096) + 4096;
        let top = length - chunks.bytes.len() as u64;
        let chunks = chunks.with(top, true);
        let image = Image::default().with(START, &chunks.bytes);
        let heap = walked(&image, length, &[cached]);
        assert_eq!(
            counts(&heap),
            [
                pair("64 B blocks", 1),
                pair("80 B blocks", 30),
                pair("208 B blocks", 105)
            ]
        );
        assert_eq!(heap.live.bytes, 64 + 30 * 80 + 105 * 208);
        // The end of the heap is cut too, by whole pages.
        assert_eq!(heap.free, 4 * 4096 + (top - SMALLEST - 1) / 4096 * 4096);
        assert_eq!((heap.lost, image.gone()), (0, 0));
    }

    #[test]
    fn the_walk_goes_on_behind_what_it_cannot_read() {
        let chunks = Chunks::default().used(512, 64);
        let length = chunks.bytes.len() as u64;
        let image = Image::default().with(START, &chunks.bytes);
        assert_eq!(
            counts(&walked(&image, length, &[])),
            [pair("512 B blocks", 63)]
        );
        // The third page is gone when its turn comes, then somebody else's data.
        let gone = image.vanishing(START + 0x2000, START + 0x3000);
        let heap = walked(&gone, length, &[]);
        let other = Image::default()
            .with(START, &chunks.bytes)
            .with(START + 0x2000, &[0xff; 0x1000]);
        let beside = walked(&other, length, &[]);
        for heap in [heap, beside] {
            // The last one before it is not described by any that could be read.
            assert_eq!(counts(&heap), [pair("512 B blocks", 63 - 9)]);
            assert_eq!(heap.lost, 9 * 512);
        }
    }

    /// Sizes that lie: of nothing, beyond the end, into the middle of another, and of the whole space.
    #[test]
    fn sizes_that_lie_end_the_walk_or_are_passed_over() {
        let honest = Chunks::default().used(512, 64).bytes;
        let length = honest.len() as u64;
        for lie in [
            0,
            1,
            0x21,
            0x200f,
            u64::MAX,
            LARGEST | 1,
            (length - 0x1000) | 1,
            0x211,
        ] {
            let image = Image::default()
                .with(START, &honest)
                .with(START + 20 * 512 + 8, &lie.to_le_bytes());
            let heap = walked(&image, length, &[]);
            let known = heap.live.bytes + heap.free + heap.lost;
            assert!(known <= length, "{lie:#x}: {heap:?}");
            assert!(heap.live.bytes >= 18 * 512, "{lie:#x}: {heap:?}");
            assert_eq!(image.gone(), 0, "{lie:#x}");
        }
    }

    proptest! {
        /// Any bytes end, and give no more than is there.
        #[test]
        fn any_bytes_are_survived(
            words in proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..0x4000], 0..3000),
            hole in 0u64..6,
        ) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let image = Image::default().with(START, &bytes);
            let image = image.vanishing(START + hole * 0x1000, START + (hole + 1) * 0x1000);
            let length = (bytes.len() as u64).next_multiple_of(4096);
            let heap = walked(&image, length, &[]);
            prop_assert!(heap.live.bytes + heap.free + heap.lost <= length, "{heap:?}");
        }
    }

    #[test]
    fn only_whole_pages_behind_the_links_are_returned() {
        assert_eq!(trimmed(0x1000, 0x3000, 4096), (0x2000, 0x4000));
        assert_eq!(trimmed(0x0fd0, 0x1030, 4096), (0x1000, 0x2000));
        // The links reach into the page that would be whole.
        assert_eq!(trimmed(0x0fe0, 0x1020, 4096), (0x2000, 0x2000));
        let (from, to) = trimmed(0x1010, 0x1000, 4096);
        assert_eq!(from, to);
    }
}
