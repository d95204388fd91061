//! A first pass that shows where to copy: it reads through, and remembers where.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

use super::super::{Mappings, Memory, Pages, Piece};

/// What is remembered as one, and copied as one: what lies beside an object that was read is likely to be asked for
/// in the second pass. The same as passes read at once, where it was measured to be best.
const CHUNK: u64 = 16 << 10;
/// Chunks that are remembered: 16 GiB of memory that is read, and 32 MB of ours. What lies behind is read late.
const MOST: usize = 1 << 20;

/// Reads from another memory and remembers where.
#[derive(Debug)]
pub struct Learned<'a, M> {
    pub(super) memory: &'a M,
    /// Where mappings were when it began that could be written to: glibc reserves room for the heaps of threads and opens it
    /// bit by bit.
    pub(super) mapped: Vec<(u64, u64)>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// By number of the chunk: which of its pages were read.
    chunks: HashMap<u64, u64>,
    /// The one before: most reads are next to each other.
    last: Option<(u64, u64)>,
}

impl<'a, M: Memory> Learned<'a, M> {
    /// `mappings` are those of the moment: what lies between them and is mapped at the stop has come since.
    pub fn new(memory: &'a M, mappings: &Mappings) -> Learned<'a, M> {
        let mapped = mappings.list.iter().filter(|mapping| mapping.write);
        Learned {
            memory,
            mapped: mapped.map(|mapping| (mapping.start, mapping.end)).collect(),
            seen: Mutex::default(),
        }
    }

    /// The size of a chunk: a page at least, which may be 64 KiB on aarch64.
    pub(super) fn chunk(&self) -> u64 {
        CHUNK.max(self.memory.page())
    }

    /// The chunks that were read from, by address, with a bit for each page that was.
    pub(super) fn chunks(&self) -> Vec<(u64, u64)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let size = self.chunk();
        let mut chunks: Vec<(u64, u64)> = (seen.chunks.iter())
            .map(|(number, pages)| (number * size, *pages))
            .collect();
        chunks.sort_unstable();
        chunks
    }

    pub(super) fn remember(&self, pieces: &[Piece]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (size, page) = (self.chunk(), self.memory.page());
        for piece in pieces {
            let last = (piece.address).checked_add((piece.length as u64).saturating_sub(1));
            // No process has memory at the end of all addresses.
            let Some(last) = last.filter(|last| *last < u64::MAX - size) else {
                continue;
            };
            for number in piece.address / size..=last / size {
                let start = number * size;
                let from = piece.address.max(start) - start;
                let to = last.min(start + size - 1) - start;
                let pages = (from / page..=to / page).fold(0, |bits, nth| bits | 1 << nth);
                seen.add(number, pages);
            }
        }
    }
}

impl Seen {
    fn add(&mut self, number: u64, pages: u64) {
        if self.last == Some((number, pages)) {
            return;
        }
        self.last = Some((number, pages));
        if self.chunks.len() < MOST || self.chunks.contains_key(&number) {
            *self.chunks.entry(number).or_default() |= pages;
        }
    }
}

impl<M: Memory> Memory for Learned<'_, M> {
    fn page(&self) -> u64 {
        self.memory.page()
    }

    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno> {
        self.memory.resident(start, end)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let length = out.len();
        self.remember(&[Piece { address, length }]);
        self.memory.read(address, out)
    }

    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
        self.remember(pieces);
        self.memory.read_pieces(pieces, out, came);
    }

    fn swapped(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.memory.swapped(start, end)
    }

    fn in_common(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.memory.in_common(start, end)
    }

    fn gone(&self) -> u64 {
        self.memory.gone()
    }

    fn refused(&self) -> Option<Errno> {
        self.memory.refused()
    }

    fn is_late(&self) -> bool {
        self.memory.is_late()
    }
}
