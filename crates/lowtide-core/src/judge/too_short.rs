//! Rule "the run is too short to know": what lies beyond the last step never comes.

use super::decide::Case;
use super::rule::Rule;
use super::words::place;
use crate::verdict::{Axis, Verdict};

pub(super) const RULE: Rule = Rule::named("the run is too short to know");

impl Case<'_> {
    /// The last place of the run on the axis, where that is known.
    pub(super) fn end(&self) -> Option<f64> {
        let last = self.series.buckets().last().map_or(0.0, |b| b.last);
        let total = self.context.total_steps.filter(|_| self.axis == Axis::Step);
        match self.context.over {
            true => Some(last),
            false => total.map(|total| total.max(last)),
        }
    }

    /// Takes back a promise that the run does not live to see.
    pub(super) fn within_the_run(&self, verdict: &mut Verdict) {
        let Some(end) = self.end() else { return };
        if verdict.decides_at.is_some_and(|at| at > end) {
            verdict.decides_at = None;
            verdict.safe_until_then = None;
            verdict.evidence.push(match self.context.over {
                true => RULE.says("it is over, and that could not be decided in it"),
                false => RULE.says(format!(
                    "it ends at {}, before that could be decided",
                    place(self.axis, end)
                )),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with, names};
    use crate::mark::Geometry;
    use crate::point::Context;
    use crate::verdict::Axis;

    #[test]
    fn nothing_is_promised_beyond_the_last_step() {
        for (total, over, short) in [
            (Some(1000.0), false, false),
            (Some(110.0), false, true),
            (None, true, true),
        ] {
            let context = Context {
                geometry: Geometry {
                    epoch_steps: Some(100.0),
                    ..Geometry::default()
                },
                total_steps: total,
                over,
                ..Context::default()
            };
            let verdict = look_with(&context, Axis::Step, 60, |x| 1000.0 + 10.0 * x);
            assert_eq!(names(&verdict, RULE), short, "{:#?}", verdict.evidence);
            assert_eq!(verdict.decides_at.is_none(), short);
        }
    }
}
