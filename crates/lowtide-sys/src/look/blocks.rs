//! Blocks of `malloc` that are mappings of their own, in anonymous memory that [`super::anon`] takes
//! apart: how much of each is resident, also where the kernel parted the mapping or where it is too
//! long to be gone through. Large ones go to [`super::reserved`].

use lowtide_core::look::{Allocator, Kind};

use super::anon::{Anon, Claims};
use super::glibc::mapped::{self, Block};
use super::ledger::Blocks;
use super::pages::Pages;
use super::reserved;
use super::smaps::Vma;

/// How much of a mapping that is too long is gone through at either end: 2 MB of answers each, which took
/// some 10 ms.
const NEAR: u64 = 1 << 30;
/// More pages than the kernel counted are rather what was touched between the two calls, up to this.
const WORTH_ASKING: u64 = 1 << 20;

impl Anon<'_> {
    /// Blocks of their own, between what is claimed already.
    pub fn blocks(
        &mut self,
        vma: &Vma,
        pages: &Pages,
        (open, reach): (Option<Block>, u64),
        claims: &mut Claims,
    ) {
        let Some(memory) = &self.memory else { return };
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
            let last = block.start + pages.page() == vma.end;
            block.end() <= vma.end || (last && block.end() <= reach)
        };
        mapped::scan(memory, pages, (from, vma.end), fits, &mut found);
        let mut blocks = Blocks::default();
        let zeros = self.zeros(vma, pages);
        for block in found {
            let (start, end) = (block.start.max(vma.start), block.end().min(vma.end));
            let mut bytes = pages.bytes(start, end);
            let mut swapped = 0;
            if block.size >= reserved::SMALLEST
                && let Some(memory) = &mut self.memory
            {
                if let Some((zeros, common)) = zeros {
                    let here = memory.in_common(start, end).unwrap_or(0);
                    let here = u128::from(zeros) * u128::from(here) / u128::from(common);
                    bytes = bytes.saturating_sub(here as u64);
                }
                if vma.swap > 0 {
                    swapped = memory.swapped(start, end).unwrap_or(0);
                }
            }
            self.block(&mut blocks, block, vma, (bytes, swapped));
            claims.add(start, end, bytes);
        }
        self.ledger.add_blocks(Kind::GlibcMapped, &blocks);
    }

    /// Bytes of a mapping that were read and never written: the page of zeros stands in for them, which
    /// the kernel counts in no size. Next to it the bytes among which they are: all that others have
    /// too, which after a fork are more.
    fn zeros(&mut self, vma: &Vma, pages: &Pages) -> Option<(u64, u64)> {
        let zeros = pages.bytes(vma.start, vma.end).saturating_sub(vma.anon);
        let memory = self.memory.as_mut().filter(|_| zeros > WORTH_ASKING)?;
        let common = memory.in_common(vma.start, vma.end).ok()?;
        (common > 0).then(|| (zeros.min(common), common))
    }

    /// Takes a block into account, as far as it lies in this mapping.
    pub fn block(
        &mut self,
        blocks: &mut Blocks,
        block: Block,
        vma: &Vma,
        (bytes, swapped): (u64, u64),
    ) {
        blocks.add(block.size, u64::from(vma.start <= block.start), bytes);
        self.reserves.add_block(block, bytes + swapped);
        if block.end() > vma.end {
            self.open = Some(block);
        }
    }

    /// A mapping that is too long to be gone through: only its first pages are asked for, because the
    /// kernel puts what is new below what is older. Finds the block that makes it long and those below,
    /// and returns their resident bytes.
    pub fn long(&mut self, vma: &Vma, name: &str, open: Option<Block>) -> u64 {
        let Some(memory) = &mut self.memory else {
            return 0;
        };
        if self.allocator != Allocator::Glibc || !vma.write || name == "[heap]" {
            return 0;
        }
        let seen = vma.start.saturating_add(NEAR).min(vma.end);
        let Ok(pages) = memory.pages(vma.start, seen) else {
            self.blind = true;
            return 0;
        };
        let from = open.map_or(vma.start, Block::end);
        let fits = |block: Block| block.end() <= vma.end;
        let mut found = Vec::new();
        mapped::scan(memory, &pages, (from, seen), fits, &mut found);
        let (mut known, mut blocks) = (0, Blocks::default());
        for block in found {
            let mut bytes = pages.bytes(block.start, block.end());
            let mut swapped = 0;
            if block.end() > seen {
                // The kernel counted the mapping as a whole: what is not around the block is in it.
                let Some(memory) = self
                    .memory
                    .as_mut()
                    .filter(|_| vma.end - block.end() <= NEAR)
                else {
                    continue;
                };
                let Ok(above) = memory.pages(block.end(), vma.end) else {
                    self.blind = true;
                    continue;
                };
                let around =
                    pages.bytes(vma.start, block.start) + above.bytes(block.end(), vma.end);
                bytes = vma.anon.saturating_sub(around);
                swapped = vma.swap;
            }
            self.block(&mut blocks, block, vma, (bytes, swapped));
            known += bytes;
        }
        self.ledger.add_blocks(Kind::GlibcMapped, &blocks);
        known
    }
}
