//! Memory that was asked for in one piece and is touched bit by bit, so that growth inside it ends at its
//! size: large blocks of `malloc` ([`super::anon`] finds them by their heads) and shared memory, whose
//! size its file tells. Readers of a look compare two of these lists, so pieces that are touched as a
//! whole are in it too.
//!
//! What an allocator maps to hand out again is never here: it has no head of `malloc`, and a leak inside
//! it does not end at its size, because the next arena is mapped then.

use std::collections::HashMap;

use lowtide_core::look::Reserved;
use lowtide_core::units::Bytes;

use super::glibc::mapped::Block;
use crate::memory::{Mapping, files};
use crate::proc::Proc;

/// Smaller pieces end no growth that is worth a verdict, and there are many of them.
pub(crate) const SMALLEST: u64 = 16 << 20;
/// Enough to find in two looks the piece that grew, few enough to record. Also how many files are asked
/// for their size.
const MOST: usize = 32;
/// `st_blocks` counts in these (stat(2)), whatever the file system's own are.
const BLOCK: u64 = 512;

#[derive(Debug, Default)]
pub(super) struct Reserves {
    blocks: Vec<Reserved>,
    /// By device and inode: one file can be mapped many times.
    shared: HashMap<((u32, u32), u64), Shared>,
}

/// Shared memory, as far as it is mapped.
#[derive(Debug)]
struct Shared {
    first: Mapping,
    name: String,
    /// Offsets in the file.
    from: u64,
    to: u64,
    touched: u64,
    /// Its code is run: just-in-time compilers hand out pieces of a mapping of terabytes.
    execute: bool,
}

impl Reserves {
    /// Part of a block of `malloc`; the parts of one come in a row.
    pub(crate) fn add_block(&mut self, block: Block, touched: u64) {
        if block.size < SMALLEST {
            return;
        }
        match self.blocks.last_mut() {
            Some(last) if last.start == block.start => last.touched = last.touched + Bytes(touched),
            _ => self.blocks.push(Reserved {
                start: block.start,
                size: Bytes(block.size),
                touched: Bytes(touched),
                name: None,
            }),
        }
    }

    /// A mapping of shared memory.
    pub(crate) fn add_shared(&mut self, mapping: &Mapping, name: &str) {
        // ZGC keeps the heap of a Java machine in shared memory: that is an arena.
        if !mapping.shared || name.starts_with("/memfd:java_heap") {
            return;
        }
        let (from, to) = (
            mapping.offset,
            mapping.offset.saturating_add(mapping.size()),
        );
        let touched = mapping.rss.saturating_add(mapping.swap);
        let new = || Shared {
            first: mapping.clone(),
            name: name.to_owned(),
            from,
            to: from,
            touched: 0,
            execute: false,
        };
        let file = self
            .shared
            .entry((mapping.device, mapping.inode))
            .or_insert_with(new);
        // The same pages, mapped again, are there only once.
        if from < file.to && file.from < to {
            file.touched = file.touched.max(touched);
        } else {
            file.touched = file.touched.saturating_add(touched);
        }
        file.from = file.from.min(from);
        file.to = file.to.max(to);
        file.execute |= mapping.execute;
    }

    /// The largest pieces.
    pub(super) fn finish(self, proc: &Proc, pid: u32) -> Vec<Reserved> {
        let mut shared: Vec<Shared> = self.shared.into_values().collect();
        shared.retain(|file| !file.execute && file.to - file.from >= SMALLEST);
        shared.sort_by_key(|file| (u64::MAX - (file.to - file.from), file.first.start));
        shared.truncate(MOST);
        let mut found = self.blocks;
        found.extend(shared.iter().map(|file| {
            let stat = stat(proc, pid, file);
            file.reserved(stat)
        }));
        for piece in &mut found {
            piece.touched = piece.touched.min(piece.size);
        }
        found.retain(|piece| piece.size.0 >= SMALLEST);
        found.sort_by_key(|piece| (u64::MAX - piece.size.0, piece.start));
        found.truncate(MOST);
        found
    }
}

impl Shared {
    /// With size and bytes of the file, where they could be had.
    fn reserved(&self, file: Option<(u64, u64)>) -> Reserved {
        let mapped = self.to - self.from;
        let (size, touched) = match file {
            // Others may have touched what this process has not.
            Some((size, bytes)) if self.from == 0 && size <= self.to => (size, bytes),
            _ => (mapped, self.touched),
        };
        Reserved {
            start: self.first.start,
            size: Bytes(size),
            touched: Bytes(touched.min(size)),
            // It is the same piece after its name was removed.
            name: Some(self.name.trim_end_matches(" (deleted)").to_owned()),
        }
    }
}

/// Size and bytes in memory of a file.
fn stat(proc: &Proc, pid: u32, file: &Shared) -> Option<(u64, u64)> {
    let by_name = file.name.strip_prefix('/').and_then(|name| {
        let path = proc.path(pid, "root").join(name);
        rustix::fs::stat(path).ok()
    });
    // The name may have gone to another file since.
    let by_name = by_name.filter(|stat| stat.st_ino == file.first.inode);
    let stat =
        by_name.or_else(|| rustix::fs::stat(files::by_address(proc, pid, &file.first)).ok())?;
    let size = u64::try_from(stat.st_size).ok()?;
    let blocks = u64::try_from(stat.st_blocks).ok()?;
    Some((size, blocks.saturating_mul(BLOCK)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn mapping(start: u64, offset: u64, length: u64, rss: u64) -> Mapping {
        Mapping {
            start,
            end: start + length,
            shared: true,
            offset,
            inode: 7,
            rss,
            ..Mapping::default()
        }
    }

    fn found(reserves: Reserves) -> Vec<(u64, u64, u64)> {
        // No process: nothing can be asked, and the mappings have to do.
        let folder = tempfile::tempdir().unwrap();
        let found = reserves.finish(&Proc::at(folder.path()).unwrap(), 1);
        let pieces = found.iter();
        pieces
            .map(|piece| (piece.start, piece.size.0 / MB, piece.touched.0 / MB))
            .collect()
    }

    #[test]
    fn a_file_that_is_mapped_twice_counts_once() {
        let mut reserves = Reserves::default();
        reserves.add_shared(&mapping(0x1000_0000, 0, 64 * MB, 20 * MB), "/dev/shm/a");
        reserves.add_shared(&mapping(0x2000_0000, 0, 64 * MB, 30 * MB), "/dev/shm/a");
        // Its next piece, mapped by itself.
        reserves.add_shared(
            &mapping(0x3000_0000, 64 * MB, 32 * MB, 5 * MB),
            "/dev/shm/a",
        );
        assert_eq!(found(reserves), [(0x1000_0000, 96, 35)]);
    }

    #[test]
    fn code_private_copies_and_heaps_are_not_reserved() {
        let mut reserves = Reserves::default();
        let usual = mapping(0x1000_0000, 0, 64 * MB, MB);
        let mut other = |change: &dyn Fn(&mut Mapping), name| {
            let mut mapping = usual.clone();
            change(&mut mapping);
            reserves.add_shared(&mapping, name);
        };
        other(
            &|mapping| (mapping.shared, mapping.inode) = (false, 1),
            "/dev/shm/a",
        );
        other(
            &|mapping| (mapping.execute, mapping.inode) = (true, 2),
            "/memfd:doublemapper (deleted)",
        );
        other(&|mapping| mapping.inode = 3, "/memfd:java_heap (deleted)");
        other(
            &|mapping| (mapping.end, mapping.inode) = (mapping.start + MB, 4),
            "/dev/shm/small",
        );
        assert_eq!(found(reserves), []);
    }

    #[test]
    fn the_file_knows_better_when_all_of_it_is_mapped() {
        let mut reserves = Reserves::default();
        reserves.add_shared(
            &mapping(0x1000, 0, 64 * MB, 20 * MB),
            "/dev/shm/a (deleted)",
        );
        let file = reserves.shared.into_values().next().unwrap();
        let of = |stat| {
            let piece = file.reserved(stat);
            assert_eq!(piece.name.as_deref(), Some("/dev/shm/a"));
            (piece.size.0, piece.touched.0)
        };
        assert_eq!(of(None), (64 * MB, 20 * MB));
        assert_eq!(of(Some((64 * MB - 5, 40 * MB))), (64 * MB - 5, 40 * MB));
        assert_eq!(of(Some((50 * MB, 64 * MB))), (50 * MB, 50 * MB));
        // A file that goes on behind what is mapped says nothing about that part.
        assert_eq!(of(Some((900 * MB, 800 * MB))), (64 * MB, 20 * MB));
    }

    #[test]
    fn the_largest_come_first_and_parts_are_added_up() {
        let mut reserves = Reserves::default();
        for index in 0..100 {
            let (start, size) = (index << 32, (index + 1) * MB);
            reserves.add_block(Block { start, size }, MB);
            reserves.add_block(Block { start, size }, 2 * MB);
        }
        let found = found(reserves);
        assert_eq!(found.len(), MOST);
        assert_eq!(found[0], (99 << 32, 100, 3));
    }
}
