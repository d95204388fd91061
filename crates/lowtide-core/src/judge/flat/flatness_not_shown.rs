//! Rule "flatness is not shown": it neither grows nor is it known to be flat.

use crate::judge::decide::Case;
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::{pace, place};
use crate::judge::would_change;
use crate::verdict::Verdict;

pub(crate) const RULE: Rule = Rule::named("flatness is not shown");

/// It may be shown after as long again, or after this share of what was watched.
const LONGER: f64 = 0.25;

impl Case<'_> {
    pub(in crate::judge) fn unsettled(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        tail: &Tail,
    ) -> Verdict {
        if let Some(reserve) = self.touched() {
            return self.under_way(verdict, reserve);
        }
        verdict.evidence.push(RULE.says(format!(
            "the slope since {} may still be up to {}",
            place(self.axis, tail.from),
            pace(self.axis, tail.high)
        )));
        verdict.decides_at = Some(whole.last_x() + tail.length().max(LONGER * whole.span()));
        verdict.safe_until_then = self.safe(whole, tail, verdict.decides_at);
        verdict.evidence.push(would_change::by(
            "a longer look at the same level would show that it is flat",
        ));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::judge;
    use crate::judge::testing::{is_held_back_by, names};
    use crate::point::{Context, Point};
    use crate::series::Series;
    use crate::units::Bytes;
    use crate::verdict::{Axis, Class, Meter};

    /// The last attempt of a guarded leak: nine steps of 5 MB each under the noise of its batches. Seen to
    /// rise, at a pace that matters, and hidden by noise: neither flat nor creep.
    #[test]
    fn growth_that_noise_hides_is_not_called_flat() {
        let held = [
            (30.0, 546.7),
            (31.0, 555.9),
            (32.0, 561.6),
            (33.0, 567.6),
            (34.0, 565.7),
            (35.0, 575.3),
            (36.0, 581.0),
            (37.0, 585.6),
            (38.0, 588.1),
            (39.0, 594.8),
        ];
        let mut series = Series::new(Axis::Step, Meter::Held);
        for (nth, (step, megabytes)) in held.into_iter().enumerate() {
            for above in [0.0, 18.0] {
                series.push(Point {
                    seconds: Some(nth as f64 * 0.42),
                    ..Point::new(step, 1e6 * (megabytes + above))
                });
            }
        }
        let context = Context {
            marked: true,
            first_step: Some(30.0),
            total_steps: Some(40.0),
            over: true,
            ..Context::default()
        };
        let verdict = judge(&series, &context);
        is_held_back_by(&verdict, RULE);
        assert!(!verdict.creep);
    }

    /// A short attempt: a first step, then 4.6 MB a step under a limit that is twenty steps away: too slow
    /// to double, but nothing that may be called flat.
    #[test]
    fn growth_that_meets_the_limit_soon_is_never_flat() {
        let points: Vec<Point> = (0..36)
            .map(|sample| {
                let step = f64::from(sample / 4);
                let first = if step == 0.0 { 25.0 } else { 0.0 };
                Point::new(step, 1e6 * (550.0 - first + 4.6 * step))
            })
            .collect();
        let series = Series::from_points(Axis::Step, Meter::Held, &points);
        let under = |limit: u64| {
            let context = Context {
                limit: Some(Bytes(limit)),
                ..Context::default()
            };
            judge(&series, &context)
        };
        assert_eq!(under(680_000_000).verdict, Class::TooEarly);
        let roomy = under(20_000_000_000);
        assert_eq!(roomy.verdict, Class::Stable);
        assert!(!names(&roomy, RULE));
    }
}
