//! `[25] loss=0.31` is a step, or just as well the number of a rank: `[0] loss=…`, `[1] loss=…`, `[0] loss=…`. Ranks
//! are numbered without gaps and come again; steps do neither.

/// Rises that ranks do not make: as many of them print in one log as a large job has on a few nodes, ...
const RISES: u32 = 64;
/// ... and where numbers leave gaps, as the first ranks of some nodes do (0, 8, 16, 24).
const RISES_WITH_GAPS: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct LoneIndex {
    last: Option<u64>,
    rises: u32,
    /// Every rise left others out.
    gaps: bool,
    fell: bool,
}

impl LoneIndex {
    /// Whether such numbers are steps, as far as is known with this one.
    pub(super) fn rises(&mut self, n: u64) -> bool {
        if let Some(last) = self.last.replace(n) {
            self.fell |= n < last;
            self.gaps = n > last.saturating_add(1) && (self.gaps || self.rises == 0);
            self.rises += u32::from(n > last);
        }
        let enough = if self.gaps { RISES_WITH_GAPS } else { RISES };
        !self.fell && self.rises >= enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn believed(numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut index = LoneIndex::default();
        numbers.into_iter().filter(|n| index.rises(*n)).collect()
    }

    #[test]
    fn steps_rise_and_ranks_come_again() {
        assert_eq!(believed((10..=180).step_by(10)), [170, 180]);
        assert_eq!(believed(0..70), [64, 65, 66, 67, 68, 69]);
        assert!(believed((0..8).cycle().take(200)).is_empty());
        assert!(believed((0..64).step_by(8).cycle().take(200)).is_empty());
        assert!(believed([5; 100]).is_empty());
    }
}
