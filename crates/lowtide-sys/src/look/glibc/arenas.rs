//! Heaps of threads: reserves of 64 MiB, aligned to that, with a `heap_info` in front. The first heap of
//! an arena holds its state (`malloc_state`) behind that, then chunks.

use super::walk::{Heap, Owner, is_row, walk};
use super::{ALIGN, Window, cached};
use crate::memory::{Memory, Pages};

/// HEAP_MAX_SIZE with 8-byte words. (Another one with glibc.malloc.hugetlb is not known here.)
pub(crate) const RESERVE: u64 = 64 << 20;
/// `heap_info`: 32 bytes up to glibc 2.34, 48 since.
const INFO_SIZES: [u64; 2] = [32, 48];
const INFO: usize = 32;
/// `malloc_state` is 2,200 bytes since 2.26 and a little less before.
const STATE: u64 = 2200;
const STATES: std::ops::RangeInclusive<u64> = STATE - 40..=STATE + 16;

/// A thread's heap and where it lies.
#[derive(Debug)]
pub(crate) struct ThreadHeap {
    pub heap: Heap,
    pub start: u64,
    pub end: u64,
    /// The first heap of its arena.
    pub is_first: bool,
}

/// The heaps in one mapping.
pub(crate) fn scan(memory: &impl Memory, pages: &Pages) -> Vec<ThreadHeap> {
    let mut found = Vec::new();
    let mut at = pages.start().next_multiple_of(RESERVE);
    while at < pages.end() {
        if pages.has(at)
            && let Some(info) = Info::read(memory, at, pages.page())
        {
            found.push(heap(memory, pages, at, &info));
        }
        at += RESERVE;
    }
    found
}

fn heap(memory: &impl Memory, pages: &Pages, at: u64, info: &Info) -> ThreadHeap {
    let mut window = Window::new(memory, pages);
    let end = (at + info.size).min(pages.end());
    let is_first = info.arena & !(RESERVE - 1) == at;
    let start = if is_first {
        let after = |state: u64| (info.arena + state).next_multiple_of(ALIGN);
        let mut starts = STATES.step_by(8).map(after);
        let found = starts.find(|start| is_row(&window, *start, end, Owner::Thread));
        // A heap in full motion shows no row at times; the walk can cope with that.
        found.unwrap_or_else(|| after(STATE))
    } else {
        at + (info.arena & (RESERVE - 1))
    };
    let cached = cached::chunks(memory, info.arena, pages);
    ThreadHeap {
        heap: walk(&mut window, start, end, Owner::Thread, &cached),
        start: at,
        end,
        is_first,
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Info {
    /// Address of the arena's state.
    arena: u64,
    size: u64,
}

impl Info {
    fn read(memory: &impl Memory, at: u64, page: u64) -> Option<Info> {
        let mut bytes = [0; INFO];
        (memory.read(at, &mut bytes) == INFO).then_some(())?;
        Info::of(&bytes, at, page)
    }

    fn of(bytes: &[u8; INFO], at: u64, page: u64) -> Option<Info> {
        let word = |index: usize| {
            let bytes = &bytes[index * 8..index * 8 + 8];
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        };
        let (arena, previous, size, opened) = (word(0), word(1), word(2), word(3));
        let in_heap = INFO_SIZES.contains(&(arena & (RESERVE - 1)));
        let first = arena & !(RESERVE - 1) == at;
        let right = in_heap
            && previous.is_multiple_of(RESERVE)
            && first == (previous == 0)
            && size > 0
            && size <= opened
            && opened <= RESERVE
            && size.is_multiple_of(page);
        right.then_some(Info { arena, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Image;

    #[test]
    fn a_heap_is_known_by_its_head() {
        let info = |words: [u64; 4]| {
            let mut bytes = [0; INFO];
            for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
                slot.copy_from_slice(&word.to_le_bytes());
            }
            Info::of(&bytes, 3 * RESERVE, 4096)
        };
        let first = 3 * RESERVE + 48;
        assert!(info([first, 0, 0x21000, 0x21000]).is_some());
        assert!(info([5 * RESERVE + 32, 2 * RESERVE, 0x21000, 0x22000]).is_some());
        // No arena, sizes that are none, a first heap with one before it.
        assert!(info([0, 0, 0x21000, 0x21000]).is_none());
        assert!(info([first + 8, 0, 0x21000, 0x21000]).is_none());
        assert!(info([first, 0, 0x21010, 0x22000]).is_none());
        assert!(info([first, 0, 0x22000, 0x21000]).is_none());
        assert!(info([first, RESERVE, 0x21000, 0x21000]).is_none());
    }

    /// Two heaps of one arena, and a place where one would begin that holds something else.
    #[test]
    fn heaps_are_found_where_they_can_begin() {
        let words = |words: &[u64]| -> Vec<u8> {
            let words = words.iter();
            words.flat_map(|word| word.to_le_bytes()).collect()
        };
        let (first, second, size) = (RESERVE, 2 * RESERVE, 0x2000);
        let arena = first + 48;
        let chunk = (arena + STATE).next_multiple_of(ALIGN);
        let image = Image::default()
            .with(first, &[0; 0x2000])
            .with(first, &words(&[arena, 0, size, size]))
            // One block in use, and the end.
            .with(chunk + 8, &words(&[0x101 | 4]))
            .with(chunk + 0x108, &words(&[(first + size - chunk - 0x100) | 1]))
            .with(second, &[0; 0x2000])
            .with(second, &words(&[arena, first, size, size]))
            .with(second + 56, &words(&[(size - 48) | 1]))
            .with(3 * RESERVE, &[0xff; 0x1000]);
        let pages = image.resident(RESERVE / 2, 4 * RESERVE).unwrap();
        let found = scan(&image, &pages);
        let places: Vec<_> = found
            .iter()
            .map(|heap| (heap.start, heap.end, heap.is_first, heap.heap.live.bytes))
            .collect();
        assert_eq!(
            places,
            [
                (first, first + size, true, 0x100),
                (second, second + size, false, 0)
            ]
        );
        assert_eq!(image.gone(), 0);
    }
}
