//! For the few objects of a tick: what lies beside a word comes with it, since an object's type, its size and its value
//! are asked for one after the other. What was read once to be read again is asked for as a whole, with one
//! call: then the two readings are a moment apart, and the second costs next to nothing.

use std::cell::RefCell;
use std::collections::HashMap;

use lowtide_sys::memory::{Memory, Piece};

use super::Source;

/// Read at once. Of a page only a part, so no page is touched that was not asked for. One reading of a Trainer
/// (`bench/cost/inside.py`) took 70 µs with 256 bytes, 57 with 512, 55 with 1024 and 51 with 2048.
const BLOCK: u64 = 1024;
/// Blocks that are kept: some hundred are those of a loop and its objects.
const MOST: usize = 4096;

/// Reads by blocks, and keeps them for one reading.
pub(crate) struct Near<'a, M> {
    memory: &'a M,
    kept: RefCell<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Which of the blocks begins at an address.
    places: HashMap<u64, usize>,
    starts: Vec<u64>,
    /// How many bytes came of each.
    came: Vec<usize>,
    bytes: Vec<u8>,
}

impl<'a, M: Memory> Near<'a, M> {
    pub(crate) fn new(memory: &'a M) -> Near<'a, M> {
        Near {
            memory,
            kept: RefCell::default(),
        }
    }
}

impl Kept {
    fn clear(&mut self) {
        self.places.clear();
        self.starts.clear();
        self.came.clear();
        self.bytes.clear();
    }

    /// Blocks from one address to another, with one call.
    fn add(&mut self, memory: &impl Memory, start: u64, end: u64) {
        let from = self.bytes.len();
        self.bytes.resize(from + (end - start) as usize, 0);
        let came = memory.read(start, &mut self.bytes[from..]);
        for at in (start..end).step_by(BLOCK as usize) {
            let came = came
                .saturating_sub((at - start) as usize)
                .min(BLOCK as usize);
            self.places.insert(at, self.starts.len());
            self.starts.push(at);
            self.came.push(came);
            // Reading ends at the first page that is not there: of those behind it nothing is known.
            if came < BLOCK as usize {
                break;
            }
        }
        self.bytes.truncate(self.starts.len() * BLOCK as usize);
    }

    /// As much as `out` takes of the block that this address is in; returns how much that is.
    fn copy(&self, at: u64, out: &mut [u8]) -> Option<usize> {
        let within = (at % BLOCK) as usize;
        let nth = *self.places.get(&(at - within as u64))?;
        let count = out.len().min(BLOCK as usize - within);
        let from = nth * BLOCK as usize + within;
        if within + count > self.came[nth] {
            return None;
        }
        out[..count].copy_from_slice(&self.bytes[from..from + count]);
        Some(count)
    }
}

impl<M: Memory> Source for Near<'_, M> {
    fn fill(&self, at: u64, out: &mut [u8]) -> bool {
        let Some(end) = at.checked_add(out.len() as u64 + BLOCK) else {
            return false;
        };
        let kept = &mut *self.kept.borrow_mut();
        let (start, end) = (at / BLOCK * BLOCK, end / BLOCK * BLOCK);
        let mut blocks = (start..end).step_by(BLOCK as usize);
        if !blocks.all(|block| kept.places.contains_key(&block)) {
            if kept.starts.len() >= MOST {
                kept.clear();
            }
            kept.add(self.memory, start, end);
        }
        let mut done = 0;
        while done < out.len() {
            match kept.copy(at + done as u64, &mut out[done..]) {
                Some(count) => done += count,
                None => return false,
            }
        }
        true
    }

    fn anew(&self) {
        self.kept.borrow_mut().clear();
    }

    fn again(&self) {
        let kept = &mut *self.kept.borrow_mut();
        let pieces: Vec<Piece> = (kept.starts.iter())
            .map(|start| Piece {
                address: *start,
                length: BLOCK as usize,
            })
            .collect();
        self.memory
            .read_pieces(&pieces, &mut kept.bytes, &mut kept.came);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Direct;
    use lowtide_sys::memory::Image;
    use proptest::prelude::*;

    #[test]
    fn what_changed_is_seen_when_it_is_read_again_and_not_before() {
        use lowtide_sys::memory::Pages;
        use rustix::io::Errno;
        use std::cell::Cell;

        /// Every read sees the next number everywhere.
        struct Changing(Cell<u8>);
        impl Memory for Changing {
            fn page(&self) -> u64 {
                4096
            }
            fn resident(&self, _: u64, _: u64) -> Result<Pages, Errno> {
                Err(Errno::PERM)
            }
            fn read(&self, _: u64, out: &mut [u8]) -> usize {
                out.fill(self.0.replace(self.0.get() + 1));
                out.len()
            }
            fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
                self.read(0, out);
                came.clear();
                came.extend(pieces.iter().map(|piece| piece.length));
            }
            fn swapped(&self, _: u64, _: u64) -> Result<u64, Errno> {
                Ok(0)
            }
            fn in_common(&self, _: u64, _: u64) -> Result<u64, Errno> {
                Ok(0)
            }
            fn gone(&self) -> u64 {
                0
            }
            fn refused(&self) -> Option<Errno> {
                None
            }
            fn is_late(&self) -> bool {
                false
            }
        }
        let memory = Changing(Cell::new(1));
        let near = Near::new(&memory);
        assert_eq!(near.array(0x1_0000), Some([1]));
        assert_eq!(near.array(0x1_0040), Some([1]), "it came with the first");
        assert_eq!(near.array(0x2_0000), Some([2]));
        near.again();
        assert_eq!(near.array(0x1_0000), Some([3]), "both with one call");
        assert_eq!(near.array(0x2_0000), Some([3]));
        near.anew();
        assert_eq!(near.array(0x2_0000), Some([4]));
    }

    proptest! {
        #[test]
        fn it_reads_what_is_there(
            asked in proptest::collection::vec((0xff00u64..0x1_9000, 1usize..0x1800), 1..12),
            again in any::<bool>(),
        ) {
            let bytes: Vec<u8> = (0..0x8000u32).map(|n| (n * 7 % 251) as u8).collect();
            // A hole in the midst, and an end that is not that of a page.
            let image = Image::default().with(0x1_0000, &bytes[..0x3000]).with(0x1_4000, &bytes[..0x3210]);
            let near = Near::new(&image);
            for (at, length) in asked {
                let (mut one, mut other) = (vec![0; length], vec![0; length]);
                let came = Direct(&image).fill(at, &mut one);
                prop_assert_eq!(came, near.fill(at, &mut other));
                if came {
                    prop_assert_eq!(one, other);
                }
                if again {
                    near.again();
                }
            }
            prop_assert!(!near.fill(u64::MAX - 4, &mut [0; 8]));
        }
    }
}
