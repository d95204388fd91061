//! Rule "hardly begun": the first seconds of a job say nothing of it, however often they were sampled.

use super::decide::Case;
use super::line::FloorLine;
use super::rule::Rule;
use super::steady::few_points;
use super::tail::Tail;
use super::words::stretch;
use super::{limit, would_change};
use crate::units::show_bytes;
use crate::verdict::{Axis, Verdict};

pub(super) const RULE: Rule = Rule::named("hardly begun");

/// A job that has just begun is level for some seconds whatever it does later.
const LEAST_SECONDS: f64 = 12.0;
/// Shorter growth is start-up: the straight fills at the start of the shared traces end within 90 s.
const FIRST_SECONDS: f64 = 75.0;

impl Case<'_> {
    /// Some seconds of a run that goes on for longer.
    pub(super) fn has_hardly_begun(&self) -> bool {
        let seconds = limit::pace(self.series).map(|pace| self.fine.span() * pace);
        let half_way = |total: f64| 2.0 * self.fine.last_x() >= total;
        seconds.is_some_and(|seconds| seconds < LEAST_SECONDS)
            && self.fine.len() > few_points::LEAST_TO_DECIDE
            && !self.context.over
            && !self.context.total_steps.is_some_and(half_way)
    }

    pub(super) fn hardly_begun(&self, mut verdict: Verdict) -> Verdict {
        verdict.evidence.push(RULE.says(format!(
            "{} and some seconds; nothing is decided before there is more to compare",
            stretch(self.axis, self.fine.span())
        )));
        verdict.evidence.push(would_change::by("some more seconds"));
        verdict
    }

    /// Ten times a run that has hardly begun is no horizon on which growth could be too slow to matter.
    pub(super) fn too_short_for_creep(&self, whole: &FloorLine) -> bool {
        let few = self.series.count() < few_points::FEW as u64;
        let short = self.axis == Axis::Time && whole.span() < FIRST_SECONDS;
        few || short
    }

    pub(super) fn creep_or_growth(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        tail: &Tail,
    ) -> Verdict {
        verdict.evidence.push(RULE.says(format!(
            "it grows by {} over {}: too short a look to call it creep",
            show_bytes(tail.growth()),
            stretch(self.axis, tail.length())
        )));
        verdict.decides_at = Some(whole.last_x() + whole.span());
        verdict
            .evidence
            .push(would_change::by("the same pace for longer"));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{is_held_back_by, look};
    use crate::verdict::Axis;

    #[test]
    fn ten_seconds_decide_nothing() {
        is_held_back_by(&look(Axis::Time, 10, |_| 1000.0), RULE);
    }

    /// Ten times a minute is no horizon on which growth could be too slow to matter.
    #[test]
    fn a_minute_is_too_short_for_creep() {
        is_held_back_by(&look(Axis::Time, 60, |x| 1000.0 + 0.22 * x), RULE);
        // What doubles the process in an hour is no creep, however short the look.
        let verdict = look(Axis::Time, 60, |x| 1000.0 + x);
        assert!(verdict.growing && !verdict.creep, "{verdict:#?}");
    }
}
