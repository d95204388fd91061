//! What glibc's `malloc` writes in front of a block: how long it is. So an object of C++ can be read as a whole
//! without knowing its class, and a pointer to a block is told from a number that looks like one.
//! (`lowtide_sys::look` goes over whole heaps by the same heads.)

use crate::source::Source;

/// The size stands right before the block, with three flags.
const SIZE_BEFORE: u64 = 8;
const FLAGS: u64 = 7;
pub(super) const PREVIOUS_IN_USE: u64 = 1;
const IS_MAPPED: u64 = 2;
pub(super) const ALIGN: u64 = 16;
/// The smallest chunk that there is: two sizes and two links.
pub(super) const SMALLEST: u64 = 32;
/// Blocks that hold objects or tables of pointers; longer ones hold data.
pub(super) const LONGEST: u64 = 1 << 20;

/// How many bytes a block has, if one of this malloc begins here that may hold objects.
pub(super) fn length<S: Source>(source: &S, block: u64) -> Option<u64> {
    if !block.is_multiple_of(ALIGN) {
        return None;
    }
    let word = source.word(block.checked_sub(SIZE_BEFORE)?)?;
    let size = word & !FLAGS;
    let right =
        word & IS_MAPPED == 0 && size.is_multiple_of(ALIGN) && (SMALLEST..=LONGEST).contains(&size);
    if !right {
        return None;
    }
    // What follows says that it is in use; and is a chunk, too.
    let next = source.word(block.checked_add(size - SIZE_BEFORE)?)?;
    (next & PREVIOUS_IN_USE == 1 && next & !FLAGS >= SMALLEST).then_some(size - SIZE_BEFORE)
}

/// The size in the head of a chunk that could be one.
pub(super) fn size(word: u64) -> Option<u64> {
    let size = word & !FLAGS;
    (size.is_multiple_of(ALIGN) && size >= SMALLEST && word & IS_MAPPED == 0).then_some(size)
}
