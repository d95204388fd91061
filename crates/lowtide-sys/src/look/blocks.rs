//! Blocks of `malloc` that are mappings of their own, in anonymous memory that [`super::anon`] takes
//! apart: how much of each is resident, also where the kernel parted the mapping or where it is too
//! long to be gone through. Large ones go to [`super::reserved`].

use lowtide_core::look::{Allocator, MemoryClass};

use super::anon::{Anon, Claims};
use super::glibc::mapped::{self, Block};
use super::ledger::Blocks;
use super::reserved;
use crate::memory::{Mapping, Memory, Pages};

/// How much of a mapping that is too long is gone through at either end: 2 MB of answers each, which took
/// some 10 ms.
const NEAR: u64 = 1 << 30;
/// More pages than the kernel counted are rather what was touched between the two calls, up to this.
const WORTH_ASKING: u64 = 1 << 20;

impl<M: Memory> Anon<'_, M> {
    /// Blocks of their own, between what is claimed already.
    pub(super) fn blocks(
        &mut self,
        mapping: &Mapping,
        pages: &Pages,
        (open, reach): (Option<Block>, u64),
        claims: &mut Claims,
    ) {
        let Some(memory) = self.memory else { return };
        let mut found = Vec::from_iter(open);
        claims.spans.sort_unstable();
        let mut from = open.map_or(pages.start(), Block::end);
        for (start, end) in &claims.spans {
            let fits = |block: Block| block.end() <= *start;
            mapped::scan(memory, pages, (from, *start), fits, &mut found);
            from = from.max(*end);
        }
        // `madvise` begins behind the page with the head (numpy asks for huge pages so).
        let fits = |block: Block| {
            let last = block.start + pages.page() == mapping.end;
            block.end() <= mapping.end || (last && block.end() <= reach)
        };
        mapped::scan(memory, pages, (from, mapping.end), fits, &mut found);
        let mut blocks = Blocks::default();
        let zeros = self.zeros(mapping, pages);
        for block in found {
            let (start, end) = (block.start.max(mapping.start), block.end().min(mapping.end));
            let mut bytes = pages.bytes(start, end);
            let mut swapped = 0;
            if block.size >= reserved::SMALLEST {
                if let Some((zeros, common)) = zeros {
                    let here = memory.in_common(start, end).unwrap_or(0);
                    let here = u128::from(zeros) * u128::from(here) / u128::from(common);
                    bytes = bytes.saturating_sub(here as u64);
                }
                if mapping.swap > 0 {
                    swapped = memory.swapped(start, end).unwrap_or(0);
                }
            }
            self.block(&mut blocks, block, mapping, (bytes, swapped));
            claims.add(start, end, bytes);
        }
        self.ledger.add_blocks(MemoryClass::GlibcMapped, &blocks);
    }

    /// Bytes of a mapping that were read and never written: the page of zeros stands in for them, which
    /// the kernel counts in no size. Next to it the bytes among which they are: all that others have
    /// too, which after a fork are more.
    fn zeros(&mut self, mapping: &Mapping, pages: &Pages) -> Option<(u64, u64)> {
        let zeros = pages
            .bytes(mapping.start, mapping.end)
            .saturating_sub(mapping.anon);
        let memory = self.memory.filter(|_| zeros > WORTH_ASKING)?;
        let common = memory.in_common(mapping.start, mapping.end).ok()?;
        (common > 0).then(|| (zeros.min(common), common))
    }

    /// Takes a block into account, as far as it lies in this mapping.
    pub(super) fn block(
        &mut self,
        blocks: &mut Blocks,
        block: Block,
        mapping: &Mapping,
        (bytes, swapped): (u64, u64),
    ) {
        blocks.add(block.size, u64::from(mapping.start <= block.start), bytes);
        self.reserves.add_block(block, bytes + swapped);
        if block.end() > mapping.end {
            self.open = Some(block);
        }
    }

    /// A mapping that is too long to be gone through: only its first pages are asked for, because the
    /// kernel puts what is new below what is older. Finds the block that makes it long and those below,
    /// and returns their resident bytes.
    pub(super) fn long(&mut self, mapping: &Mapping, name: &str, open: Option<Block>) -> u64 {
        let Some(memory) = self.memory else {
            return 0;
        };
        if self.subject.allocator != Allocator::Glibc || !mapping.write || name == "[heap]" {
            return 0;
        }
        let seen = mapping.start.saturating_add(NEAR).min(mapping.end);
        let Ok(pages) = memory.resident(mapping.start, seen) else {
            self.blind = true;
            return 0;
        };
        let from = open.map_or(mapping.start, Block::end);
        let fits = |block: Block| block.end() <= mapping.end;
        let mut found = Vec::new();
        mapped::scan(memory, &pages, (from, seen), fits, &mut found);
        let (mut known, mut blocks) = (0, Blocks::default());
        for block in found {
            let mut bytes = pages.bytes(block.start, block.end());
            let mut swapped = 0;
            if block.end() > seen {
                // The kernel counted the mapping as a whole: what is not around the block is in it.
                if mapping.end - block.end() > NEAR {
                    continue;
                }
                let Ok(above) = memory.resident(block.end(), mapping.end) else {
                    self.blind = true;
                    continue;
                };
                let around =
                    pages.bytes(mapping.start, block.start) + above.bytes(block.end(), mapping.end);
                bytes = mapping.anon.saturating_sub(around);
                swapped = mapping.swap;
            }
            self.block(&mut blocks, block, mapping, (bytes, swapped));
            known += bytes;
        }
        self.ledger.add_blocks(MemoryClass::GlibcMapped, &blocks);
        known
    }
}
