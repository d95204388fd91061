//! What to copy: the chunks that a first pass read, as far as they are resident, and what was mapped since.

use rustix::io::Errno;

use super::super::{Mapping, Mappings, Memory, Piece};
use super::learned::Learned;

/// Between two chunks that are asked about in one call. To ask about a page costs some nanoseconds, a call a
/// microsecond.
const GAP: u64 = 256 << 10;
/// A stretch that was mapped since the first pass is copied as a whole up to this size: Python maps room for objects
/// by the mebibyte, some of them side by side, and glibc's heap grows by less, but what is larger is data.
const LARGEST_NEW: u64 = 16 << 20;
/// And all of them up to this one, so that a program which maps without end makes the stop no longer.
pub(super) const NEW_AT_MOST: u64 = 32 << 20;
/// How far around what was read is copied, too: Python and glibc give out again what was freed, and an object that is made
/// between the first pass and the stop lies in room that held nothing then, beside others. As far as Python's
/// arenas go, the largest of which are a mebibyte.
const AROUND: u64 = 1 << 20;
/// And all of that up to this, nearest first, since tensors may lie beside objects.
const AROUND_AT_MOST: u64 = 32 << 20;
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
    /// For the chunks that were learned, by address, what was mapped all the time, and the mappings of this moment.
    pub(super) fn make<M: Memory>(
        learned: &Learned<'_, M>,
        chunks: &[(u64, u64)],
        mapped: &[(u64, u64)],
        mappings: &Mappings,
    ) -> Result<Plan, Errno> {
        let mut plan = Plan::default();
        let size = learned.chunk();
        let chunks = with_new(chunks, size, mapped, mappings);
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

/// The chunks that were learned and those between and beside them, by address: small gaps before large ones.
pub(super) fn with_surroundings(
    chunks: &[(u64, u64)],
    size: u64,
    mappings: &Mappings,
) -> Vec<(u64, u64)> {
    let mut gaps: Vec<(u64, u64)> = Vec::new();
    for mapping in mappings.list.iter().filter(anonymous) {
        let first = chunks.partition_point(|(start, _)| start + size <= mapping.start);
        let count = chunks[first..].partition_point(|(start, _)| *start < mapping.end);
        let read = &chunks[first..first + count];
        let (Some((first, _)), Some((last, _))) = (read.first(), read.last()) else {
            continue;
        };
        let (begin, end) = (
            mapping.start / size * size,
            mapping.end.next_multiple_of(size),
        );
        gaps.push((begin.max(first.saturating_sub(AROUND)), *first));
        gaps.push((last + size, end.min(last + size + AROUND)));
        for pair in read.windows(2) {
            let (from, to) = (pair[0].0 + size, pair[1].0);
            match to - from <= 2 * AROUND {
                true => gaps.push((from, to)),
                false => gaps.extend([(from, from + AROUND), (to - AROUND, to)]),
            }
        }
    }
    gaps.sort_unstable_by_key(|(from, to)| to.saturating_sub(*from));
    let mut left = AROUND_AT_MOST;
    let mut all = chunks.to_vec();
    for (from, to) in gaps {
        let Some(less) = left.checked_sub(to.saturating_sub(from)) else {
            break;
        };
        left = less;
        all.extend((from..to).step_by(size as usize).map(|start| (start, 0)));
    }
    by_address(all)
}

/// Each chunk once.
fn by_address(mut all: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    all.sort_unstable();
    // Of two with the same address the one that was read comes last, and stays.
    all.reverse();
    all.dedup_by_key(|(start, _)| *start);
    all.reverse();
    all
}

fn anonymous(mapping: &&Mapping) -> bool {
    mapping.write && !mapping.shared && mapping.inode == 0
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
    for mapping in mappings.list.iter().filter(anonymous) {
        for (start, end) in fresh(mapped, mapping) {
            if end - start <= LARGEST_NEW && bytes + (end - start) <= NEW_AT_MOST {
                bytes += end - start;
                let numbers = start / size..=(end - 1) / size;
                all.extend(numbers.map(|number| (number * size, 0)));
            }
        }
    }
    by_address(all)
}

/// What can be written to in these mappings, and is among those that could be before; both by address. Python gives
/// room back and gets it again in the same place.
pub(super) fn mapped_still(before: &[(u64, u64)], mappings: &Mappings) -> Vec<(u64, u64)> {
    let mut still = Vec::new();
    for mapping in mappings.list.iter().filter(|mapping| mapping.write) {
        let first = before.partition_point(|(_, end)| *end <= mapping.start);
        let within = before[first..]
            .iter()
            .take_while(|(start, _)| *start < mapping.end);
        still.extend(
            within.map(|(start, end)| (*start.max(&mapping.start), *end.min(&mapping.end))),
        );
    }
    still
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
