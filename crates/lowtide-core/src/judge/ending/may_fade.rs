//! Rule "growth may be fading": a cache that is filled by drawing, a vocabulary, a heap that fragments grow ever
//! slower, for as long as they are watched, and any short piece of such a curve is straight. So growth that is to
//! be a leak has to keep its pace, surely: over all of it, or, where it was faster before, from some place on
//! without bending as a curve would that fades since then.

use super::{Ending, Knowledge};
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::{self, Tail};
use crate::stats;

pub(crate) const RULE: Rule = Rule::named("growth may be fading");

/// The first part of growth, against which the rest is laid.
const OLDER: f64 = 0.25;
/// What fades is at this share of its older pace at most: words that are new by Heaps' law with an exponent of 0.7,
/// which is more than languages have, are at 55 %, the square root at 43 %.
const FADED: f64 = 0.6;
/// Points without which a pace is chance.
const LEAST_PIECE: usize = 4;
/// Times the reach of a 95 % interval: two to one. To be surer costs many leaks for few accusations that it spares (found 71
/// instead of 75 % of the zoo's generated leaks with twice as much, accused 4.2 instead of 4.3 % of its harmless series).
const SURELY: f64 = 0.25;
/// Growth that was this many times as fast before may be one curve with what is left of it.
const FASTER: f64 = 1.25;
/// And it is no such curve if it bends, surely, by less than this share of what the curve would.
const LESS_BENT: f64 = 0.5;

impl Knowledge<'_> {
    /// Growth since `begin` surely keeps its pace.
    pub(super) fn keeps_pace(&self, begin: f64) -> bool {
        keeps_pace(self.line, self.line.first_x(), begin)
    }

    /// It lasted long enough, but that its pace does not fade is not shown.
    pub(super) fn may_fade(&self, tail: &Tail) -> Ending {
        Ending::Open {
            says: RULE.says(
                "what is filled by drawing, or by what is new, grows ever slower without an end in sight; that this keeps its pace is not sure yet",
            ),
            decides_at: Some(tail.to + LONGER * tail.length()),
        }
    }
}

/// It may be sure when it was seen for that much longer, as a share of what was seen.
const LONGER: f64 = 0.5;

/// Whether what grew since `begin` surely keeps its pace; `whole` is where all growth of the line began.
pub(crate) fn keeps_pace(line: &FloorLine, whole: f64, begin: f64) -> bool {
    let grown = line.from(begin);
    let noise = tail::noise(line) / 2.0;
    let to = line.last_x();
    let cut = (begin + OLDER * (to - begin)).max(grown.xs.get(LEAST_PIECE).copied().unwrap_or(to));
    let (older, newer) = (grown.until(cut), line.from(cut));
    let Some(((older, off_older), (newer, off))) = pace(&older, noise).zip(pace(&newer, noise))
    else {
        return false;
    };
    let off = SURELY * off.hypot(FADED * off_older);
    newer - off >= FADED * older && !goes_on_fading(line, whole, begin, noise)
}

/// A pace and how far it may be off.
fn pace(part: &FloorLine, noise: f64) -> Option<(f64, f64)> {
    let fit = stats::fit(&part.xs, &part.ys).filter(|_| part.len() >= LEAST_PIECE)?;
    let (slope, low, _) = stats::slope_error(&part.xs, &part.ys, fit.slope, noise)?;
    Some((slope, slope - low))
}

/// Growth was faster before `begin`, and goes on as the power of its length that leads from there to here would.
fn goes_on_fading(line: &FloorLine, whole: f64, begin: f64, noise: f64) -> bool {
    let to = line.last_x();
    let share = (begin - whole) / (to - whole);
    let heights = [whole, begin, to].map(|x| line.at(x));
    let [Some(low), Some(middle), Some(high)] = heights else {
        return false;
    };
    if share <= 0.0 || share >= 1.0 || high <= middle {
        return false;
    }
    let faster = (middle - low) / (high - middle) * (1.0 - share) / share;
    if faster < FASTER {
        return false;
    }
    let piece = line.from(begin);
    let Some((bend, reach)) = stats::bend(&piece.xs, &piece.ys, noise) else {
        return true;
    };
    // The height at `begin` is a power of its share of the way: that power, and how the pace would change from there on.
    let power = ((middle - low) / (high - low)).ln() / share.ln();
    let mean = (1.0 - share.powf(power)) / (1.0 - share);
    let bends = power * (1.0 - share.powf(power - 1.0)) / mean;
    bend - SURELY * reach < LESS_BENT * bends
}

#[cfg(test)]
mod tests {
    use super::keeps_pace;
    use crate::judge::testing::end_of;

    fn noise(x: f64) -> f64 {
        ((x * 7919.0) % 97.0) / 97.0 - 0.5
    }

    #[test]
    fn a_line_keeps_its_pace_and_a_root_does_not() {
        let keeps = |shape: &dyn Fn(f64) -> f64| keeps_pace(&end_of(shape).0, 0.0, 0.0);
        assert!(keeps(&|x| 1000.0 + 10.0 * x + 20.0 * noise(x)));
        for power in [0.4, 0.5, 0.6, 0.7] {
            assert!(!keeps(&|x| 1000.0 + 60.0 * x.powf(power) + 5.0 * noise(x)));
        }
        assert!(!keeps(&|x| 1000.0 + 600.0 * (1.0 - (-x / 25.0).exp())));
        // So much noise that it may be anything.
        assert!(!keeps(&|x| 1000.0 + 10.0 * x + 600.0 * noise(x)));
    }

    /// Any late piece of a root is straight; that it was faster before gives it away.
    #[test]
    fn a_late_piece_of_a_root_is_known_by_what_came_before() {
        for begin in [8.0, 16.0, 24.0, 32.0] {
            let (root, _) = end_of(|x| 1000.0 + 60.0 * x.sqrt() + noise(x));
            assert!(!keeps_pace(&root, 0.0, begin), "{begin}");
        }
        let start_up = |x: f64| 1000.0 + 60.0 * x.min(12.0) + 10.0 * (x - 12.0).max(0.0);
        assert!(keeps_pace(&end_of(start_up).0, 0.0, 12.0));
    }
}
