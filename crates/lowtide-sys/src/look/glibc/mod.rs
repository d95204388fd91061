//! glibc's `malloc`, read from outside by what `malloc.c` writes in front of every block: no symbols, no
//! version. The layout is that of all 64-bit machines (x86-64 and aarch64), glibc 2.17 to 2.41.
//!
//! [`walk`] goes from chunk to chunk, [`arenas`] finds the heaps of threads, [`cached`] the small chunks
//! that are free and do not look so, [`mapped`] the blocks that are mappings of their own.

pub(super) mod arenas;
pub(super) mod cached;
pub(super) mod mapped;
pub(super) mod walk;

use crate::memory::{Memory, Pages};

/// `malloc_chunk`: the size of the chunk before (valid only if that one is free), then its own size.
pub(super) const HEAD: usize = 16;
pub(crate) const ALIGN: u64 = 16;
/// The lowest bits of a size: the chunk before is in use; mapped by itself; of a thread's arena.
pub(crate) const PREVIOUS_IN_USE: u64 = 1;
pub(crate) const IS_MAPPED: u64 = 2;
pub(crate) const OF_THREAD: u64 = 4;
const FLAGS: u64 = 7;
/// MINSIZE: two sizes and two links.
pub(crate) const SMALLEST: u64 = 32;

/// The two words in front of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub previous: u64,
    word: u64,
}

impl Head {
    pub(super) fn of(bytes: [u8; HEAD]) -> Head {
        let [previous, word] =
            [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes")));
        Head { previous, word }
    }

    pub(super) fn size(self) -> u64 {
        self.word & !FLAGS
    }

    pub(super) fn is(self, flag: u64) -> bool {
        self.word & flag != 0
    }
}

/// Reading goes up in pieces that grow while it stays in a row: a heap of small blocks is read in few
/// calls, one of large blocks only where blocks begin.
const FIRST_PIECE: u64 = 4 << 10;
const LARGEST_PIECE: u64 = 128 << 10;

/// A piece of the target's memory, moved upwards.
pub(super) struct Window<'a, M> {
    memory: &'a M,
    pages: &'a Pages,
    bytes: Vec<u8>,
    start: u64,
    piece: u64,
}

impl<'a, M: Memory> Window<'a, M> {
    pub(super) fn new(memory: &'a M, pages: &'a Pages) -> Window<'a, M> {
        Window {
            memory,
            pages,
            bytes: Vec::new(),
            start: 0,
            piece: FIRST_PIECE,
        }
    }

    pub(super) fn pages(&self) -> &'a Pages {
        self.pages
    }

    pub(super) fn is_over(&self) -> bool {
        self.memory.is_over()
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// What was read may have changed: the next read is a new one.
    pub(super) fn forget(&mut self) {
        self.bytes.clear();
    }

    /// The head at an address, reading on if need be.
    pub(super) fn head(&mut self, address: u64) -> Option<Head> {
        if let Some(head) = self.known(address) {
            return Some(head);
        }
        if !self.pages.has(address) {
            return None;
        }
        let near = !self.bytes.is_empty() && address.abs_diff(self.end()) < self.piece;
        self.piece = if near {
            (self.piece * 2).min(LARGEST_PIECE)
        } else {
            FIRST_PIECE
        };
        let end = self.pages.row_end(address, self.piece);
        self.start = address;
        self.bytes.resize((end - address) as usize, 0);
        let got = self.memory.read(address, &mut self.bytes);
        self.bytes.truncate(got);
        self.known(address)
    }

    /// The head at an address, leaving the window where it is.
    pub(super) fn peek(&self, address: u64) -> Option<Head> {
        if let Some(head) = self.known(address) {
            return Some(head);
        }
        if !self.pages.has(address) {
            return None;
        }
        let mut bytes = [0; HEAD];
        (self.memory.read(address, &mut bytes) == HEAD).then(|| Head::of(bytes))
    }

    fn known(&self, address: u64) -> Option<Head> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(HEAD)?)?;
        Some(Head::of(bytes.try_into().ok()?))
    }
}
