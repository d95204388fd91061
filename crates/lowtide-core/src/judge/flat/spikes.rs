//! Rule "spikes": excursions over the floor that come down again.

use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::stats;
use crate::units::show_bytes;
use crate::verdict::Evidence;

pub(crate) const RULE: Rule = Rule::named("spikes");

/// The first part of what was watched, as a share of it: loading peaks, and what comes down with them,
/// belong to start-up.
const START_UP: f64 = 1.0 / 8.0;

/// An excursion is worth naming from this share of the floor on ...
const NAMED: f64 = 0.1;
/// ... and makes the run one of spikes, whatever its start-up, from this share on.
const LARGE: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Swing {
    /// The largest rise of a crest over the floors on both sides of it.
    pub highest: f64,
    pub level: f64,
}

/// The line after start-up.
pub(crate) fn body(line: &FloorLine) -> FloorLine {
    line.from(line.first_x() + START_UP * line.span())
}

impl Swing {
    pub(crate) fn of(line: &FloorLine) -> Option<Swing> {
        let body = body(line);
        let level = stats::median(&mut body.ys.clone())?;
        // What only rises comes down to no later floor, and what only falls rose from no earlier one.
        let mut after = vec![f64::INFINITY; body.ys.len()];
        for at in (1..body.ys.len()).rev() {
            after[at - 1] = after[at].min(body.ys[at]);
        }
        let mut before = f64::INFINITY;
        let mut highest: f64 = 0.0;
        for ((crest, y), after) in body.crests.iter().zip(&body.ys).zip(&after) {
            before = before.min(*y);
            highest = highest.max(crest - before.max(*after));
        }
        Some(Swing { highest, level })
    }

    pub(crate) fn says(&self) -> Evidence {
        RULE.says(format!(
            "excursions of up to {} over a floor of {} come down again",
            show_bytes(self.highest),
            show_bytes(self.level)
        ))
    }

    pub(crate) fn named(&self) -> bool {
        self.highest > NAMED * self.level
    }

    pub(crate) fn large(&self) -> bool {
        self.highest > LARGE * self.level
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::judge;
    use crate::judge::testing::{look, names};
    use crate::mark::Phase;
    use crate::point::{Context, Point};
    use crate::series::Series;
    use crate::verdict::{Axis, Class, Meter};

    /// Looks that met nothing but the evaluation at their step.
    #[test]
    fn evaluations_that_marks_tell_are_still_spikes() {
        let points: Vec<Point> = (0..60)
            .map(|step| {
                let evaluates = step % 10 == 9;
                Point {
                    phase: Some(if evaluates { Phase::Eval } else { Phase::Train }),
                    ..Point::new(f64::from(step), if evaluates { 1.3e9 } else { 0.5e9 })
                }
            })
            .collect();
        let context = Context {
            marked: true,
            first_step: Some(0.0),
            ..Context::default()
        };
        let series = Series::from_points(Axis::Step, Meter::Held, &points);
        let verdict = judge(&series, &context);
        assert_eq!(verdict.verdict, Class::Spikes);
        assert!(names(&verdict, RULE));
    }

    /// Memory that is given back little by little rose nowhere.
    #[test]
    fn a_fall_is_no_spike() {
        let verdict = look(Axis::Step, 100, |x| 5000.0 - 30.0 * x);
        assert_ne!(verdict.verdict, Class::Spikes, "{:#?}", verdict.evidence);
        assert_eq!(verdict.leaking, Some(false));
    }
}
