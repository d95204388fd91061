//! Rule "growth outlasts the epoch": whatever is kept once per example has ended when a pass over the data is
//! over. Growth that goes on after it at the same pace is something else.

use super::{Ending, Knowledge, first_pass, since};
use crate::judge::epoch::Epoch;
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
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
/// Growth that goes on after the first pass over the data keeps at least this share of the pace it had in
/// it: a cache that is filled by drawing with replacement runs at 52 % of it in the next quarter epoch.
const KEEPS_PACE: f64 = 0.7;

/// Whether growth that began at `since` goes on after `end` at the pace it had until `first_end`.
pub(crate) fn outlasts(line: &FloorLine, since: f64, first_end: f64, end: f64) -> bool {
    let slope = |part: &FloorLine| {
        (part.len() >= LEAST_PIECE)
            .then(|| stats::fit(&part.xs, &part.ys))
            .flatten()
            .map(|fit| fit.slope)
    };
    let grown = line.from(since);
    let Some(after) = slope(&line.from(end)) else {
        return false;
    };
    let before = slope(&grown.until(first_end)).or_else(|| slope(&grown));
    before.is_some_and(|before| after >= KEEPS_PACE * before)
}

impl Knowledge<'_> {
    /// Growth that began with the first pass is past it; growth that began later has to go on for a pass
    /// of its own.
    pub(super) fn by_epoch(&self, tail: &Tail, epoch: Epoch) -> Ending {
        let since = self.began(tail, epoch).max(epoch.begin);
        let late = since >= epoch.end();
        let needed = if late {
            since + (epoch.passes - 1.0 + SEEN_LATE) * epoch.steps
        } else {
            epoch.seen_at()
        };
        let (first_end, end) = (since + epoch.steps, since + epoch.passes * epoch.steps);
        let goes_on = !late || outlasts(self.line, since, first_end, end);
        if tail.to < needed || !goes_on {
            return first_pass::nothing_has_passed_it(self.axis, tail, epoch, needed);
        }
        Ending::Passed(RULE.says(format!(
            "an epoch is {}; it grows since {} and has not ended with it",
            epoch_length(self.axis, epoch.steps),
            place(self.axis, tail.from)
        )))
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
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with_epoch, names};
    use crate::verdict::Class;

    #[test]
    fn growth_past_the_epoch_is_a_leak() {
        let leak = look_with_epoch(50.0, 120, |x| 1000.0 + 10.0 * x);
        assert_eq!(leak.verdict, Class::Leak, "{:#?}", leak.evidence);
        assert!(names(&leak, RULE));
    }

    /// Growth that began after the first pass needs a pass of its own.
    #[test]
    fn late_growth_has_a_first_pass_too() {
        let late = |x: f64| 1000.0 + 10.0 * (x - 80.0).max(0.0);
        for (n, leaks) in [(140, false), (190, true)] {
            let verdict = look_with_epoch(50.0, n, late);
            assert_eq!(names(&verdict, RULE), leaks, "{n}: {:#?}", verdict.evidence);
            assert_eq!(verdict.verdict == Class::Leak, leaks);
        }
    }
}
