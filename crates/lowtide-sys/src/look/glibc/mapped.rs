//! Blocks that glibc mapped by themselves (above 128 KiB at first, up to 32 MiB later): a mapping that
//! begins with a head whose size is the mapping's own. The kernel joins neighbours, so such a head is
//! looked for at every resident page that nobody else claims. An aligned block (`posix_memalign`) has a
//! second head in front of its aligned bytes; the first one stays where it was, with the whole size.

use super::{HEAD, Head, IS_MAPPED, OF_THREAD, PREVIOUS_IN_USE};
use crate::memory::{Batch, Memory, Pages};

/// The threshold can be set lower than 128 KiB (MALLOC_MMAP_THRESHOLD_), but a head in the middle of a
/// mapping that claims less than this is more likely somebody's data.
const SMALLEST: u64 = 32 << 10;
/// Any bytes can stand where a size is expected; the whole address space is 2^57 bytes at most.
const LARGEST: u64 = 1 << 46;
/// Pages that are asked for at once when the last ones were no block's beginning.
const MOST_AT_ONCE: usize = 512;

/// A block, by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub start: u64,
    pub size: u64,
}

impl Block {
    pub(crate) fn end(self) -> u64 {
        self.start + self.size
    }
}

/// Looks for blocks that begin between two addresses and can be there as a whole.
pub(crate) fn scan(
    memory: &impl Memory,
    pages: &Pages,
    (from, to): (u64, u64),
    fits: impl Fn(Block) -> bool,
    found: &mut Vec<Block>,
) {
    let (mut asked, mut batch) = (Vec::new(), Batch::<HEAD>::default());
    let mut at_once = 1;
    let mut at = from;
    while !memory.is_over() {
        asked.clear();
        while asked.len() < at_once
            && let Some(next) = pages.next(at).filter(|next| *next < to)
        {
            asked.push(next);
            at = next + pages.page();
        }
        if asked.is_empty() {
            return;
        }
        let heads = batch.read(memory, &asked);
        at_once = (at_once * 2).min(MOST_AT_ONCE);
        for (start, head) in asked.iter().zip(heads) {
            let size = head.and_then(|head| size(Head::of(*head), pages.page()));
            let block = size.map(|size| Block {
                start: *start,
                size,
            });
            if let Some(block) = block.filter(|block| fits(*block)) {
                found.push(block);
                // Its inside is the program's own: go on behind it.
                at = block.end();
                at_once = 1;
                break;
            }
        }
    }
}

/// The size of a block of its own, if this is the head of one.
fn size(head: Head, page: u64) -> Option<u64> {
    // From glibc 2.43 on the head itself is not counted.
    let size = match head.size() {
        size if size.is_multiple_of(page) => size,
        size => size.checked_add(HEAD as u64)?,
    };
    let right = head.previous == 0
        && head.is(IS_MAPPED)
        && !head.is(PREVIOUS_IN_USE)
        && !head.is(OF_THREAD)
        && size.is_multiple_of(page)
        && (SMALLEST..=LARGEST).contains(&size);
    right.then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_with_the_flag_are_blocks() {
        let of = |previous: u64, word: u64| {
            let mut bytes = [0; HEAD];
            bytes[..8].copy_from_slice(&previous.to_le_bytes());
            bytes[8..].copy_from_slice(&word.to_le_bytes());
            size(Head::of(bytes), 4096)
        };
        assert_eq!(of(0, 0x21002), Some(0x21000));
        assert_eq!(of(0, 0x20ff2), Some(0x21000));
        for (previous, word) in [
            (0, 0x21001),
            (0, 0x21000),
            (0, 0x21012),
            (0, 0x1002),
            (8, 0x21002),
            (0, !5),
        ] {
            assert_eq!(of(previous, word), None, "{word:#x}");
        }
    }
}
