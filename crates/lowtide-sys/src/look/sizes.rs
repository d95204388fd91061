//! The size that most blocks of a class have. Above a kilobyte a class is a range, too wide to say whose
//! blocks they are; a loop that keeps one tensor a step leaves blocks of one size.

use std::collections::BTreeMap;

use lowtide_core::look::UsualSize;
use lowtide_core::units::Bytes;

use super::glibc::{ALIGN, SMALLEST};

/// Different sizes that are counted at a time. What a loop keeps is among the commonest.
const MOST: usize = 64;
/// What was not counted may be this share of a size's blocks: beyond it, nothing is said.
const UNCOUNTED: u64 = 100;

#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    counts: BTreeMap<u64, u64>,
    /// Each count may lack so many: rare sizes were dropped to make room.
    lacking: u64,
}

impl Sizes {
    pub(crate) fn add(&mut self, size: u64, count: u64) {
        if count == 0 {
            return;
        }
        *self.counts.entry(size).or_default() += count;
        if self.counts.len() > MOST {
            let least = self.counts.values().copied().min().unwrap_or(0);
            self.lacking += least;
            self.counts.retain(|_, count| *count > least);
        }
    }

    pub(crate) fn merge(&mut self, other: &Sizes) {
        self.lacking += other.lacking;
        for (size, count) in &other.counts {
            self.add(*size, *count);
        }
    }

    /// An aligned block (`posix_memalign`, which torch calls) keeps up to the smallest chunk more than was
    /// asked for, because so little cannot be split off: neighbours within that are one size, the smallest.
    pub(crate) fn usual(&self) -> Option<UsualSize> {
        let reach = |from: u64| from..from.saturating_add(SMALLEST + ALIGN);
        let near = |from: u64| self.counts.range(reach(from)).map(|(_, count)| count).sum();
        let all = self.counts.keys().map(|size| (*size, near(*size)));
        let (size, count): (u64, u64) = all.max_by_key(|(size, count)| (*count, *size))?;
        (self.lacking * UNCOUNTED <= count).then_some(UsualSize {
            size: Bytes(size),
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(sizes: &Sizes) -> Option<(u64, u64)> {
        sizes.usual().map(|usual| (usual.size.0, usual.count))
    }

    #[test]
    fn aligned_blocks_of_one_size_are_counted_together() {
        let mut sizes = Sizes::default();
        assert_eq!(usual(&sizes), None);
        for (size, count) in [(131_088, 60), (131_104, 20), (131_120, 19), (131_136, 7)] {
            sizes.add(size, count);
        }
        assert_eq!(usual(&sizes), Some((131_088, 99)));
    }

    #[test]
    fn among_many_sizes_a_common_one_is_found_and_no_other() {
        let (mut many, mut with_one) = (Sizes::default(), Sizes::default());
        for nth in 0..1000 {
            many.add(131_088 + 64 * nth, 1);
            with_one.add(131_088 + 64 * nth, 1);
            with_one.add(140_000, 3);
        }
        assert_eq!(usual(&many), None);
        let (size, count) = usual(&with_one).unwrap();
        assert_eq!(size, 140_000);
        assert!((2970..=3000).contains(&count), "{count}");
        let mut both = Sizes::default();
        both.merge(&with_one);
        both.add(140_000, 1);
        assert_eq!(usual(&both), Some((140_000, count + 1)));
    }
}
