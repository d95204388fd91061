//! Memory of one moment: what a reading will need is copied while the process stands still, and read afterwards while
//! it runs on.
//!
//! Three steps. [`Learned`] is put before a [`Memory`] for a first pass, without a stop, and remembers where it read.
//! [`Recopy`], made of it, knows what that comes to and has the room for it ready. While the process is
//! stopped ([`crate::stop`]), [`Recopy::copy`] reads the same places again, and no others but freshly
//! grown ones; that makes [`Copied`], which answers the second pass.
//!
//! Comparing with what the first pass saw, to copy only what changed, would read as much as copying does: no use.

mod learned;
mod plan;
mod recopy;
mod rows;

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

pub use learned::Learned;
pub use recopy::{CopyError, Recopy};

use super::{Mappings, Memory, Pages, Piece};
use rows::Rows;

/// What to do where nothing was copied, and the process can have written since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// Read it from the process as it is now, and count that.
    #[default]
    Read,
    /// Answer that there is nothing, and count that.
    Refuse,
}

/// A process's memory as it was at one moment, as far as it was copied.
#[derive(Debug)]
pub struct Copied<'a, M> {
    learned: Learned<'a, M>,
    mappings: Mappings,
    rows: Rows,
    bytes: Vec<u8>,
    late: Late,
    asked_late: AtomicU64,
    gone: AtomicU64,
}

/// Who answers for a stretch of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// The copy, at this place of it.
    Copy(usize),
    /// Nobody: it was looked at, and there was nothing.
    Nothing,
    /// The process: nobody can write there.
    Constant,
    /// The process, as it is by now.
    Late,
    /// The same; there was no mapping at that moment.
    Unmapped,
}

impl<'a, M: Memory> Copied<'a, M> {
    /// Whether to read what was not copied; without a word it is read.
    pub fn with_late(mut self, late: Late) -> Self {
        self.late = late;
        self
    }

    /// What is known by now of where reading leads, for another copy: what was asked for in vain here is in that.
    pub fn into_learned(self) -> Learned<'a, M> {
        self.learned
    }

    /// Which mappings there were at that moment.
    pub fn mappings(&self) -> &Mappings {
        &self.mappings
    }

    /// How many bytes were copied.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// How many pieces were asked for that had not been copied and may be of a later moment.
    pub fn asked_late(&self) -> u64 {
        self.asked_late.load(Ordering::Relaxed)
    }

    /// Who answers at an address, and up to which one, `end` at most.
    fn from(&self, address: u64, end: u64) -> (From, u64) {
        let (row, until) = self.rows.at(address, end);
        match row {
            rows::Row::Copied(place) => return (From::Copy(place), until),
            rows::Row::Empty => return (From::Nothing, until),
            rows::Row::Unknown => {}
        }
        let list = &self.mappings.list;
        let above = list.partition_point(|mapping| mapping.end <= address);
        match list.get(above) {
            Some(mapping) if mapping.start <= address => {
                let from = if mapping.write {
                    From::Late
                } else {
                    From::Constant
                };
                (from, until.min(mapping.end))
            }
            Some(next) => (From::Unmapped, until.min(next.start)),
            None => (From::Unmapped, until),
        }
    }

    fn is_late_if(&self, late: bool) {
        self.asked_late
            .fetch_add(u64::from(late), Ordering::Relaxed);
    }

    fn fill(&self, address: u64, out: &mut [u8]) -> usize {
        let Some(end) = address.checked_add(out.len() as u64) else {
            return 0;
        };
        let length = out.len();
        self.learned.remember(&[Piece { address, length }]);
        let mut at = address;
        while at < end {
            let (from, until) = self.from(at, end);
            let room = &mut out[(at - address) as usize..(until - address) as usize];
            let came = match from {
                From::Copy(place) => match self.bytes.get(place..place + room.len()) {
                    Some(bytes) => {
                        room.copy_from_slice(bytes);
                        room.len()
                    }
                    None => 0,
                },
                From::Nothing => 0,
                From::Constant => self.learned.memory.read(at, room),
                From::Late | From::Unmapped if self.late == Late::Read => {
                    let came = self.learned.memory.read(at, room);
                    // Words that are no addresses lead to where nothing is, now as before.
                    self.is_late_if(came > 0);
                    came
                }
                From::Late | From::Unmapped => {
                    self.is_late_if(from == From::Late);
                    0
                }
            };
            at += came as u64;
            if at < until {
                self.gone.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        (at - address) as usize
    }
}

impl<M: Memory> Memory for Copied<'_, M> {
    fn page(&self) -> u64 {
        self.learned.memory.page()
    }

    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno> {
        let page = self.page();
        let mut pages = Pages::none(start, end, page);
        let mut at = start;
        while at < end {
            let (from, until) = self.from(at, end);
            // Whole pages were copied, and mappings are made of them; a stretch that is not is no reason to stand still.
            let until = until.next_multiple_of(page).min(end);
            let index = (at - start) / page;
            match from {
                From::Copy(_) => (0..(until - at) / page).for_each(|nth| pages.set(index + nth)),
                From::Nothing => {}
                From::Late | From::Unmapped if self.late == Late::Refuse => {}
                From::Constant | From::Late | From::Unmapped => {
                    let now = self.learned.memory.resident(at, until)?;
                    let mut next = now.next(at);
                    while let Some(found) = next {
                        pages.set((found - start) / page);
                        next = now.next(found + page);
                    }
                }
            }
            at = until;
        }
        Ok(pages)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        self.fill(address, out)
    }

    fn borrow(&self, address: u64, length: usize) -> Option<&[u8]> {
        let end = address.checked_add(length as u64)?;
        let (From::Copy(place), until) = self.from(address, end) else {
            return None;
        };
        self.learned.remember(&[Piece { address, length }]);
        let bytes = self.bytes.get(place..place + length);
        bytes.filter(|_| until == end)
    }

    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
        came.clear();
        let mut rest = out;
        for piece in pieces {
            let (room, behind) = std::mem::take(&mut rest).split_at_mut(piece.length);
            came.push(self.fill(piece.address, room));
            rest = behind;
        }
    }

    /// As it is now.
    fn swapped(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.learned.memory.swapped(start, end)
    }

    /// As it is now.
    fn in_common(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.learned.memory.in_common(start, end)
    }

    fn gone(&self) -> u64 {
        self.gone.load(Ordering::Relaxed)
    }

    fn refused(&self) -> Option<Errno> {
        self.learned.memory.refused()
    }

    fn is_late(&self) -> bool {
        self.learned.memory.is_late()
    }
}

#[cfg(test)]
mod tests;
