//! Bytes at addresses that nobody vouches for. Everything that takes objects apart reads through [`Source`],
//! so a pointer that leads nowhere is an answer (`None`) and never a fault.
//!
//! [`Direct`] asks the process each time: for a few words that must be of this moment. [`Near`] takes what lies
//! beside them, too, for one reading of a few objects. [`Chunks`] keeps what it read: for a pass over all
//! objects, which lie close together.

mod near;
mod whole;

use std::cell::RefCell;
use std::collections::HashMap;

use lowtide_sys::memory::Memory;
pub(crate) use near::Near;
#[allow(unused_imports)]
pub(crate) use whole::{ByAddress, Whole};

/// What is read at once in a pass. Measured over 480,000 objects: smaller ones cost system calls, larger ones
/// copy what is not asked for.
const CHUNK: u64 = 16 << 10;
/// Chunks that are kept, 16 MB in all. Then they are let go: objects that were made together lie together,
/// so few are asked for again.
const KEPT: usize = 1024;

/// Where user space begins and ends: 47 bits on x86-64, 48 on aarch64.
const LOWEST: u64 = 0x1000;
const HIGHEST: u64 = 1 << 48;

/// Could be the address of an object, or of a table of one.
pub(crate) fn is_pointer(word: u64) -> bool {
    (LOWEST..HIGHEST).contains(&word) && word.is_multiple_of(8)
}

/// What can be read at an address.
pub trait Source {
    /// Fills `out` as a whole, or says that it could not.
    fn fill(&self, at: u64, out: &mut [u8]) -> bool;

    /// The same for what belongs to the program's own files, such as the names of its types: a page of those
    /// that is not there is one of the page cache, not one of the job's memory.
    fn fill_constant(&self, at: u64, out: &mut [u8]) -> bool {
        self.fill(at, out)
    }

    /// What was read before does not count any more.
    fn anew(&self) {}

    /// What was read since [`anew`](Source::anew) is about to be read again, to see whether it is the same.
    fn again(&self) {}

    fn array<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let mut out = [0; N];
        self.fill(at, &mut out).then_some(out)
    }

    fn word(&self, at: u64) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// A word that could be an address.
    fn pointer(&self, at: u64) -> Option<u64> {
        self.word(at).filter(|word| is_pointer(*word))
    }

    /// Words in a row.
    fn words(&self, at: u64, count: usize) -> Option<Vec<u64>> {
        let mut bytes = vec![0; count.checked_mul(8)?];
        if !self.fill(at, &mut bytes) {
            return None;
        }
        let (words, _) = bytes.as_chunks::<8>();
        Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }
}

/// Reads from the process each time.
pub struct Direct<'a, M>(pub &'a M);

impl<M: Memory> Source for Direct<'_, M> {
    fn fill(&self, at: u64, out: &mut [u8]) -> bool {
        // The end of an address space is no place to read at.
        at.checked_add(out.len() as u64).is_some() && self.0.read(at, out) == out.len()
    }
}

/// Reads by chunks, of resident pages alone, and keeps some of them.
pub struct Chunks<'a, M> {
    memory: &'a M,
    /// Of a chunk: a page at least, which may be 64 KiB on aarch64.
    size: u64,
    kept: RefCell<HashMap<u64, Chunk>>,
}

struct Chunk {
    bytes: Box<[u8]>,
    /// Which of its pages were there, one bit each.
    pages: u64,
}

impl<'a, M: Memory> Chunks<'a, M> {
    pub fn new(memory: &'a M) -> Chunks<'a, M> {
        Chunks {
            memory,
            size: CHUNK.max(memory.page()),
            kept: RefCell::default(),
        }
    }

    fn read(&self, start: u64) -> Chunk {
        let mut chunk = Chunk {
            bytes: vec![0; self.size as usize].into_boxed_slice(),
            pages: 0,
        };
        let Ok(resident) = self.memory.resident(start, start + self.size) else {
            return chunk;
        };
        let page = self.memory.page();
        let mut at = start;
        while at < start + self.size {
            let end = resident.row_end(at, start + self.size - at);
            if end <= at {
                at += page;
                continue;
            }
            let room = &mut chunk.bytes[(at - start) as usize..(end - start) as usize];
            let came = self.memory.read(at, room) as u64;
            for nth in (at - start) / page..(at - start + came) / page {
                chunk.pages |= 1 << nth;
            }
            at = end;
        }
        chunk
    }
}

impl<M: Memory> Source for Chunks<'_, M> {
    fn fill(&self, at: u64, out: &mut [u8]) -> bool {
        if at.checked_add(out.len() as u64 + self.size).is_none() {
            return false;
        }
        let page = self.memory.page();
        let mut kept = self.kept.borrow_mut();
        let mut done = 0;
        while done < out.len() {
            let from = at + done as u64;
            let start = from / self.size * self.size;
            if !kept.contains_key(&start) && kept.len() >= KEPT {
                kept.clear();
            }
            let chunk = kept.entry(start).or_insert_with(|| self.read(start));
            let within = from - start;
            let count = (self.size - within).min((out.len() - done) as u64);
            let mut pages = within / page..=(within + count - 1) / page;
            if !pages.all(|nth| chunk.pages >> nth & 1 == 1) {
                return false;
            }
            let within = within as usize..(within + count) as usize;
            out[done..done + count as usize].copy_from_slice(&chunk.bytes[within]);
            done += count as usize;
        }
        true
    }

    fn fill_constant(&self, at: u64, out: &mut [u8]) -> bool {
        self.fill(at, out) || Direct(self.memory).fill(at, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_sys::memory::Image;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_resident_is_not_read() {
        let image = Image::default()
            .with(0x1_0000, &[7; 0x1000])
            .with(0x1_3000, &[8; 0x2000]);
        let chunks = Chunks::new(&image);
        assert_eq!(chunks.word(0x1_0ff8), Some(0x0707_0707_0707_0707));
        assert_eq!(chunks.word(0x1_0ffc), None, "its end is not there");
        assert_eq!(chunks.word(0x1_1000), None);
        // Over the seam of two chunks.
        assert_eq!(chunks.array::<4>(0x1_3ffe), Some([8; 4]));
        assert_eq!(chunks.word(u64::MAX - 4), None);
        assert_eq!(image.gone(), 0, "nothing was asked for that is not there");
    }

    proptest! {
        #[test]
        fn both_ways_read_the_same(at in 0x1_0000u64..0x1_9000, length in 1usize..0x5000) {
            let bytes: Vec<u8> = (0..0x8000u32).map(|n| (n * 7 % 251) as u8).collect();
            let image = Image::default().with(0x1_0000, &bytes);
            let (mut one, mut other) = (vec![0; length], vec![0; length]);
            let came = Direct(&image).fill(at, &mut one);
            prop_assert_eq!(came, Chunks::new(&image).fill(at, &mut other));
            if came {
                prop_assert_eq!(one, other);
            }
        }
    }
}
