//! Rule "growth must outlast what came before": a start-up is over soon, and a store that fills multiplies a
//! process where a leak adds to it.

use super::lasting::Lasting;
use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::{percent, place};
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("growth must outlast what came before");

/// The growth has to last for this share of what was watched ...
const LEAST_SHARE: f64 = 0.32;
/// ... and longer, the larger it is against what the process held before. Growth that doubles the process
/// must have lasted nearly the whole run. Size counts in full for what doubles the process within
/// `FILL_SECONDS`, and else as far as its pace may change: a fill slows down, a leak keeps its pace.
const SHARE_PER_SIZE: f64 = 0.5;
/// A replay buffer of the shared traces fills straight for half an hour and would double its process
/// in 22 minutes; at the pace of a doubling in more than an hour a fill shows its bend.
const FILL_SECONDS: f64 = 3600.0;
/// A change of the pace from end to end that is surely below this share of it says nothing against it.
const WAVERS: f64 = 0.6;
/// The same for a pace that is not known well: half the width of its interval against it. Steps are
/// counted work; on other axes only time can make up for doubt.
const SHARE_PER_DOUBT: f64 = 0.7;
/// No more is asked for than this share: what comes first is start-up, and has to be allowed.
const MOST_SHARE: f64 = 0.78;

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail, lasting: &Lasting) -> Option<Lack> {
    let (share, need) = lasting.share(tail.to);
    (share < need).then(|| Lack {
        says: RULE.says(format!(
            "it grows since {}, {} of what was watched; growth by {} needs {}",
            place(growing.axis, tail.from),
            percent(share),
            percent(lasting.size(tail.to)),
            percent(need)
        )),
        decides_at: lasting.decides_at(growing.last()),
    })
}

impl Lasting {
    /// The share of the run that it has and the share that it needs, at `x`.
    pub(super) fn share(&self, x: f64) -> (f64, f64) {
        let has = (x - self.from) / (x - self.first);
        if self.epoch_known {
            return (has, LEAST_SHARE);
        }
        let slow = self.axis == Axis::Time && self.pace * FILL_SECONDS < 1.0;
        let weight = if slow {
            (self.wavers / WAVERS).min(1.0)
        } else {
            1.0
        };
        let size = weight * self.size(x);
        let need = LEAST_SHARE + SHARE_PER_SIZE * size + SHARE_PER_DOUBT * self.unsure;
        (has, need.min(MOST_SHARE))
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{grows_steadily, is_held_back_by, look};
    use crate::verdict::{Axis, Class};

    fn late(x: f64) -> f64 {
        1000.0 + 0.3 * (x - 800.0).max(0.0)
    }

    #[test]
    fn late_growth_has_to_last() {
        is_held_back_by(&look(Axis::Time, 1050, late), RULE);
        let verdict = look(Axis::Time, 1500, late);
        grows_steadily(&verdict);
        assert!((verdict.rate.value / 0.3e6 - 1.0).abs() < 0.02);
    }

    /// The place that is told is a place where it will be decided, if it goes on like this.
    #[test]
    fn what_is_promised_is_kept() {
        let at = look(Axis::Time, 1100, late).decides_at.unwrap();
        assert!((11_000.0..12_500.0).contains(&at), "{at}");
        let verdict = look(Axis::Time, (at * 1.05) as usize, late);
        assert_eq!(verdict.verdict, Class::Leak, "{verdict:#?}");
    }

    /// A pace that is known to stay tells a leak of any size; a fill would double the process sooner.
    #[test]
    fn a_large_slow_ramp_is_found_like_a_small_one() {
        for height in [0.2, 0.5, 1.0] {
            let shape = |x: f64| 3000.0 * (1.0 + height * (x - 3500.0).max(0.0) / 6500.0);
            grows_steadily(&look(Axis::Time, 10_000, shape));
        }
        let fill = |x: f64| 800.0 + (x - 500.0).max(0.0);
        is_held_back_by(&look(Axis::Time, 1000, fill), RULE);
    }
}
