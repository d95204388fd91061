//! What to copy: the chunks that a first pass read, as far as they are resident, and what was mapped since.

use rustix::io::Errno;

use super::super::{Mapping, Mappings, Memory, Piece};
use super::learned::Learned;

/// Between two chunks that are asked about in one call. To ask about a page costs some nanoseconds, a call a
/// microsecond.
const GAP: u64 = 256 << 10;
/// A stretch that was mapped since the first pass is copied as a whole up to this size: Python maps room for objects
/// by the mebibyte and glibc's heap grows by less, but what is larger is data.
const LARGEST_NEW: u64 = 4 << 20;
/// And all of them up to this one, so that a program which maps without end makes the stop no longer.
pub(super) const NEW_AT_MOST: u64 = 32 << 20;
/// Of one piece, so that the time is looked at often enough.
const LONGEST: u64 = 1 << 20;

/// What to copy, by address.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) pieces: Vec<Piece>,
    pub(super) bytes: u64,
    /// What was looked at: a page in there that is not among the pieces was not there.
    pub(super) looked: Vec<(u64, u64)>,
}

impl Plan {
    /// For the chunks that were learned, by address, and the mappings of this moment.
    pub(super) fn make<M: Memory>(
        learned: &Learned<'_, M>,
        chunks: &[(u64, u64)],
        mappings: &Mappings,
    ) -> Result<Plan, Errno> {
        let mut plan = Plan::default();
        let size = learned.chunk();
        let chunks = with_new(chunks, size, &learned.mapped, mappings);
        let mut rest = &chunks[..];
        // What others write too is of no moment, and what nobody writes can be read at any.
        let private = |mapping: &&Mapping| mapping.read && mapping.write && !mapping.shared;
        for mapping in mappings.list.iter().filter(private) {
            // One chunk may lie in several mappings.
            let first = rest.partition_point(|(start, _)| start + size <= mapping.start);
            rest = &rest[first..];
            let count = rest.partition_point(|(start, _)| *start < mapping.end);
            let near = |one: &(u64, u64), other: &(u64, u64)| other.0 <= one.0 + size + GAP;
            for group in rest[..count].chunk_by(near) {
                plan.group(learned, mapping, group)?;
            }
        }
        Ok(plan)
    }

    /// Chunks that lie near to each other, as far as they are in a mapping.
    fn group<M: Memory>(
        &mut self,
        learned: &Learned<'_, M>,
        mapping: &Mapping,
        group: &[(u64, u64)],
    ) -> Result<(), Errno> {
        let (page, size) = (learned.memory.page(), learned.chunk());
        let (Some((first, _)), Some((last, _))) = (group.first(), group.last()) else {
            return Ok(());
        };
        let within = |start: u64, end: u64| (start.max(mapping.start), end.min(mapping.end));
        let (start, end) = within(*first, last + size);
        let resident = learned.memory.resident(start, end)?;
        for (chunk, read) in group {
            let (start, end) = within(*chunk, chunk + size);
            // Other pages of a file are there, too; they are not copied, and so not known.
            if mapping.inode == 0 {
                self.looked.push((start, end));
            }
            for at in (start..end).step_by(page as usize) {
                // A page of a file is the program's own once it has written to it. Until then it is not
                // resident in our sense; but if it was read it may be asked for again, and be written to in between.
                let of_file = mapping.inode != 0 && read >> ((at - chunk) / page) & 1 == 1;
                if resident.has(at) || of_file {
                    self.add(at, page.min(end - at));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, address: u64, length: u64) {
        self.bytes += length;
        match self.pieces.last_mut() {
            Some(last)
                if last.address + last.length as u64 == address
                    && last.length as u64 + length <= LONGEST =>
            {
                last.length += length as usize;
            }
            _ => self.pieces.push(Piece {
                address,
                length: length as usize,
            }),
        }
    }
}

/// The chunks that were learned and those that have been mapped since, by address.
fn with_new(
    chunks: &[(u64, u64)],
    size: u64,
    mapped: &[(u64, u64)],
    mappings: &Mappings,
) -> Vec<(u64, u64)> {
    let mut all = chunks.to_vec();
    let mut bytes = 0;
    let anonymous = |mapping: &&Mapping| mapping.write && !mapping.shared && mapping.inode == 0;
    for mapping in mappings.list.iter().filter(anonymous) {
        for (start, end) in fresh(mapped, mapping) {
            if end - start <= LARGEST_NEW && bytes + (end - start) <= NEW_AT_MOST {
                bytes += end - start;
                let numbers = start / size..=(end - 1) / size;
                all.extend(numbers.map(|number| (number * size, 0)));
            }
        }
    }
    all.sort_unstable();
    // Of two with the same address the one that was read comes last, and stays.
    all.reverse();
    all.dedup_by_key(|(start, _)| *start);
    all.reverse();
    all
}

/// The parts of a mapping where nothing was mapped before; `mapped` is by address.
fn fresh(mapped: &[(u64, u64)], mapping: &Mapping) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    let first = mapped.partition_point(|(_, end)| *end <= mapping.start);
    let mut at = mapping.start;
    for (start, end) in &mapped[first..] {
        if *start >= mapping.end {
            break;
        }
        if at < *start {
            parts.push((at, *start));
        }
        at = at.max(*end);
    }
    if at < mapping.end {
        parts.push((at, mapping.end));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ground_is_what_was_not_mapped() {
        let before = [(10, 20), (20, 30), (50, 60), (90, 100)];
        let parts = |start, end| {
            let mapping = Mapping {
                start,
                end,
                ..Mapping::default()
            };
            fresh(&before, &mapping)
        };
        assert_eq!(parts(0, 10), [(0, 10)]);
        assert_eq!(parts(12, 28), []);
        assert_eq!(parts(5, 70), [(5, 10), (30, 50), (60, 70)]);
        assert_eq!(parts(55, 95), [(60, 90)]);
    }
}
