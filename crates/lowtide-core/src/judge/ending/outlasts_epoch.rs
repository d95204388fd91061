//! Rule "growth outlasts the epoch": whatever is kept once per example has ended when a pass over the data is
//! over. Growth that goes on after it at the same pace is something else.

use super::{Ending, Knowledge, first_pass, since};
use crate::judge::epoch::{AT_THE_START, Epoch};
use crate::judge::line::FloorLine;
use crate::judge::prior::Lasted;
use crate::judge::rule::Rule;
use crate::judge::tail::{self, Tail};
use crate::judge::words::{epoch_length, place};
use crate::stats;

pub(crate) const RULE: Rule = Rule::named("growth outlasts the epoch");

/// Half an epoch before the newest piece of growth belongs to it if it rose at this share of its pace, ...
const NO_PAUSE: f64 = 0.5;
/// ... by at least so many points: a slope of fewer is chance.
const LEAST_PIECE: usize = 4;
/// Growth that began after the first pass has to go on for this many epochs of its own: where it began is
/// known less well than where the first pass did.
const SEEN_LATE: f64 = 1.5;
/// Times the reach of a 95 % interval: it is asked again at every look, and one wrong answer is too many.
const SURELY: f64 = 1.5;
/// Growth began where the line through these shares of it begins: below, noise and rounding hide it; above, it may
/// have slowed down.
const RISES: [f64; 2] = [0.1, 0.3];
/// What keeps less of its pace than this share of the way from a store that fades to growth that goes on is no
/// growth that goes on: 70 % in the quarter of an epoch after the first pass.
const KEEPS_PACE: f64 = 0.375;

/// The pace, against that of its first pass, at which a cache that is filled by drawing with replacement grows in so
/// many epochs after it: 52 % in the next quarter, 12 % in the next five. Workers and ranks that share a pass are at
/// half their pace then ([`Epoch::passes`]) and fade slowly.
fn fades_to(epoch: Epoch, after: f64) -> f64 {
    if epoch.passes > 1.0 {
        return 0.5;
    }
    let missing = |epochs: f64| (-epochs).exp();
    (missing(1.0) - missing(1.0 + after)) / (after * (1.0 - missing(1.0)))
}

/// Whether growth that began at `since` goes on after its own first pass, which ended at `first_end`: as fast as
/// growth that goes on, and surely faster than a store that fades. The longer it was seen to, the less of the pace it
/// had before counts: of a pass of a few steps that pace is known badly.
pub(crate) fn outlasts(line: &FloorLine, since: f64, first_end: f64, epoch: Epoch) -> bool {
    let end = first_end + (epoch.passes - 1.0) * epoch.steps;
    let (grown, rest) = (line.from(since), line.from(end));
    let noise = tail::noise(line) / 2.0;
    // With how far it may be off.
    let pace = |part: &FloorLine| {
        let slope = stats::fit(&part.xs, &part.ys).filter(|_| part.len() >= LEAST_PIECE)?;
        let (slope, low, _) = stats::slope_error(&part.xs, &part.ys, slope.slope, noise)?;
        Some((slope, SURELY * (slope - low)))
    };
    let before = pace(&grown.until(first_end)).or_else(|| pace(&grown));
    let Some(((before, off_before), (after, off))) = before.zip(pace(&rest)) else {
        return false;
    };
    let fading = fades_to(epoch, (line.last_x() - end) / epoch.steps);
    let keeps = fading + KEEPS_PACE * (1.0 - fading);
    after >= keeps * before && after - off >= fading * (before + off_before)
}

impl Knowledge<'_> {
    /// Growth that began with the first pass is past it; growth that began later has to go on for a pass
    /// of its own. So does the newest straight piece of growth that was faster before: a start-up, and then a leak.
    pub(super) fn by_epoch(&self, tail: &Tail, epoch: Epoch) -> Ending {
        let left = self.leaves_its_level(tail, epoch).unwrap_or(epoch.begin);
        let since = self.began(tail, epoch).max(left);
        let newest = tail.from.max(left);
        let is_late = |begin: f64| begin > epoch.begin + AT_THE_START * epoch.steps;
        // Beyond the pass itself, as long as few of the stores that are larger than a pass take.
        let longer = self.prior.sure_after(|length| self.lasted(length));
        let longer = longer.unwrap_or(f64::INFINITY);
        let needs = |begin: f64| {
            let seen = match is_late(begin) {
                true => begin + (epoch.passes - 1.0 + SEEN_LATE) * epoch.steps,
                false => epoch.seen_at().max(begin + epoch.passes * epoch.steps),
            };
            seen.max(begin + longer)
        };
        let passes = |begin: f64| outlasts(self.line, begin, begin + epoch.steps, epoch);
        let outlasted = |begin: f64| {
            tail.to >= needs(begin) && passes(begin) && (is_late(begin) || passes(epoch.begin))
        };
        let Some(begin) = [since, newest].into_iter().find(|begin| outlasted(*begin)) else {
            return first_pass::nothing_has_passed_it(self.axis, tail, epoch, needs(since));
        };
        if ![since, newest]
            .into_iter()
            .any(|begin| outlasted(begin) && self.keeps_pace(begin))
        {
            return self.may_fade(tail);
        }
        // Who tells of epochs is answered sooner, and the answer is no surer for it.
        let surely = self.prior.leaks(Lasted {
            told: false,
            ..self.lasted(tail.to - begin)
        });
        Ending::Passed {
            says: RULE.says(format!(
                "an epoch is {}; it grows since {} and has not ended with it, for {:.1} epochs: few stores are that much larger than the data",
                epoch_length(self.axis, epoch.steps),
                place(self.axis, tail.from),
                (tail.to - begin) / epoch.steps
            )),
            surely,
        }
    }

    /// Where growth began that has not paused since: the newest straight piece of it often begins later.
    fn began(&self, tail: &Tail, epoch: Epoch) -> f64 {
        let half = 0.5 * epoch.steps;
        let mut began = since(self.line, tail);
        while began > epoch.begin {
            let piece = self.line.from(began - half).until(began);
            let rises = piece.len() >= LEAST_PIECE
                && stats::fit(&piece.xs, &piece.ys)
                    .is_some_and(|fit| fit.slope >= NO_PAUSE * tail.slope);
            if !rises {
                break;
            }
            began -= half;
        }
        began
    }

    /// Where the floor left the level from which it grew, by how it rose: a straight piece that begins before
    /// that may lie well enough on the line.
    fn leaves_its_level(&self, tail: &Tail, epoch: Epoch) -> Option<f64> {
        let watched = self.line.from(epoch.begin);
        let smooth = watched.smooth();
        let level = stats::median(&mut smooth.get(..LEAST_PIECE)?.to_vec())?;
        // Behind the newest place at which less than this share of the growth was there.
        let reaches = |share: f64| {
            let height = level + share * (tail.level_end - level);
            let below = smooth.iter().rposition(|y| *y < height)?;
            let (x, y) = (watched.xs[below], smooth[below]);
            let (next, above) = (watched.xs.get(below + 1)?, smooth[below + 1]);
            Some(x + (next - x) * (height - y) / (above - y))
        };
        let [low, high] = RISES.map(reaches);
        let (low, high) = (low?, high?);
        let to_the_level = RISES[0] / (RISES[1] - RISES[0]);
        let left = low - to_the_level * (high - low);
        // Points that rise already are no level.
        (left > watched.xs[LEAST_PIECE - 1]).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::prior::Prior;
    use crate::judge::testing::{look_with_epoch, names, surely_leaks_after};
    use crate::verdict::Class;

    #[test]
    fn growth_past_the_epoch_is_a_leak() {
        for epoch in [20.0, 50.0, 400.0] {
            let sure = surely_leaks_after(Some(epoch), None);
            assert!(sure > 2.0 * epoch, "stores are larger than a pass, too");
            for (share, leaks) in [(0.9, false), (1.1, true)] {
                let n = (share * sure) as usize;
                let verdict = look_with_epoch(epoch, n, |x| 1000.0 + 10.0 * x);
                assert_eq!(names(&verdict, RULE), leaks, "{n}: {:#?}", verdict.evidence);
                assert_eq!(verdict.verdict == Class::Leak, leaks);
            }
        }
    }

    /// What it stands on is the prior's own probability.
    #[test]
    fn the_longer_it_goes_on_the_surer_it_is() {
        let sure = surely_leaks_after(Some(50.0), None);
        let odds = [1.2, 2.0, 4.0].map(|share| {
            let verdict = look_with_epoch(50.0, (share * sure) as usize, |x| 1000.0 + 10.0 * x);
            verdict.basis.unwrap().stands_on[0]
        });
        let least = Prior::PUBLISHED.sure;
        assert!(odds[0] >= (least / (1.0 - least)).ln(), "{odds:?}");
        assert!(odds.is_sorted_by(|a, b| a < b), "{odds:?}");
    }

    /// Growth that began after the first pass needs a pass of its own.
    #[test]
    fn late_growth_has_a_first_pass_too() {
        let late = |x: f64| 1000.0 + 10.0 * (x - 80.0).max(0.0);
        let sure = surely_leaks_after(Some(50.0), None);
        for (share, leaks) in [(0.9, false), (1.2, true)] {
            let n = (80.0 + share * sure) as usize;
            let verdict = look_with_epoch(50.0, n, late);
            assert_eq!(names(&verdict, RULE), leaks, "{n}: {:#?}", verdict.evidence);
            assert_eq!(verdict.verdict == Class::Leak, leaks);
        }
    }

    /// An epoch of a few steps, of which a moment of the first held more: its pace seems twice as fast, and five
    /// epochs at one pace speak against that.
    #[test]
    fn one_uneven_epoch_does_not_hide_growth_over_five() {
        let uneven = |x: f64| if x < 3.0 { -30.0 } else { 0.0 };
        let leak = look_with_epoch(12.0, 72, |x| 1000.0 + 4.0 * x + uneven(x));
        assert_eq!(leak.verdict, Class::Leak, "{:#?}", leak.evidence);
    }

    /// However long it is watched, and with however much noise.
    #[test]
    fn a_cache_that_is_filled_with_replacement_never_outlasts_the_epoch() {
        let noise = |x: f64| ((x * 7919.0) % 97.0) / 97.0;
        for (steps, share) in [(12.0, 0.0), (40.0, 0.02), (100.0, 0.05), (100.0, 0.2)] {
            for n in (steps as usize..12 * steps as usize).step_by(3) {
                let fills = |x: f64| 800.0 * (1.0 - (-x / steps).exp());
                let verdict =
                    look_with_epoch(steps, n, |x| 1000.0 + fills(x) + 800.0 * share * noise(x));
                assert_ne!(verdict.verdict, Class::Leak, "{steps} {n}: {verdict:#?}");
            }
        }
    }

    /// Something that is kept once per example from some step on, within the first epoch or after it: its own
    /// pass ends later than the data's, and it is accused at no moment.
    #[test]
    fn a_pass_of_its_own_is_no_leak_wherever_it_began() {
        for begun in [10.0, 20.0, 27.0, 44.0, 70.0, 95.0, 130.0, 210.0] {
            let seen = |x: f64| ((x - begun).max(0.0) / 100.0).min(1.0);
            let long = begun + 1.3 * surely_leaks_after(Some(100.0), None);
            for n in (90..long as usize).step_by(3) {
                let verdict = look_with_epoch(100.0, n, |x| 1000.0 + 500.0 * seen(x));
                assert_ne!(verdict.verdict, Class::Leak, "{begun} {n}: {verdict:#?}");
            }
        }
    }

    /// A start-up that goes on over two epochs, and then a leak at a tenth of its pace.
    #[test]
    fn a_leak_after_a_faster_start_up_has_a_pass_of_its_own() {
        let level = |x: f64| 14.0 + 1.2 * x.min(57.0) + 0.2 * (x - 57.0).max(0.0);
        let leak = look_with_epoch(25.0, 146, level);
        assert_eq!(leak.verdict, Class::Leak, "{:#?}", leak.evidence);
    }
}
