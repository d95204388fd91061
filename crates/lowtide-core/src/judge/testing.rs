//! Series by formula, for the tests beside the rules.

use super::judge;
use super::line::FloorLine;
use super::prior::{Lasted, Prior};
use super::rule::Rule;
use super::tail::{self, Tail};
use crate::mark::Geometry;
use crate::point::{Context, Point};
use crate::series::Series;
use crate::verdict::{Axis, Class, Meter, Verdict};

/// The verdict on `n` points of a shape in megabytes.
pub(super) fn look(axis: Axis, n: usize, shape: impl Fn(f64) -> f64) -> Verdict {
    look_with(&Context::default(), axis, n, shape)
}

pub(crate) fn look_with(
    context: &Context,
    axis: Axis,
    n: usize,
    shape: impl Fn(f64) -> f64,
) -> Verdict {
    let points: Vec<Point> = (0..n)
        .map(|i| Point::new(i as f64, 1e6 * shape(i as f64)))
        .collect();
    judge(&Series::from_points(axis, Meter::Held, &points), context)
}

/// The same on steps, with the length of an epoch.
pub(crate) fn look_with_epoch(steps: f64, n: usize, shape: impl Fn(f64) -> f64) -> Verdict {
    let context = Context {
        geometry: Geometry {
            epoch_steps: Some(steps),
            ..Geometry::default()
        },
        ..Context::default()
    };
    look_with(&context, Axis::Step, n, shape)
}

/// How long growth has to go on, on the axis, until it is surely a leak: in epochs of that length, if they are known,
/// at so many seconds per unit, if there is a clock.
pub(crate) fn surely_leaks_after(epoch: Option<f64>, pace: Option<f64>) -> f64 {
    let lasted = |length: f64| Lasted {
        told: false,
        epochs: epoch.map(|epoch| length / epoch),
        steps: Some(length),
        seconds: pace.map(|pace| length * pace),
    };
    Prior::PUBLISHED.sure_after(lasted).unwrap()
}

/// The same on the time axis, without epochs.
pub(super) fn surely_leaks_after_seconds() -> f64 {
    surely_leaks_after(None, Some(1.0))
}

pub(super) fn names(verdict: &Verdict, rule: Rule) -> bool {
    verdict.evidence.iter().any(|said| rule.said(said))
}

/// The rule keeps it from being decided.
#[track_caller]
pub(crate) fn is_held_back_by(verdict: &Verdict, rule: Rule) {
    assert_eq!(verdict.verdict, Class::TooEarly, "{:#?}", verdict.evidence);
    assert!(!verdict.steady, "{:#?}", verdict.evidence);
    assert!(names(verdict, rule), "{:#?}", verdict.evidence);
}

/// Growth is shown; whether it ends is another question, which `ending/` answers.
#[track_caller]
pub(crate) fn grows_steadily(verdict: &Verdict) {
    assert!(verdict.steady && verdict.growing, "{:#?}", verdict.evidence);
}

/// A line of 64 points, and all of it as its own end.
pub(super) fn end_of(shape: impl Fn(f64) -> f64) -> (FloorLine, Tail) {
    let xs: Vec<f64> = (0..64).map(f64::from).collect();
    let ys: Vec<f64> = xs.iter().map(|x| shape(*x)).collect();
    let line = FloorLine {
        crests: ys.clone(),
        xs,
        ys,
    };
    let mut tail = tail::describe(&line, 0, tail::noise(&line)).unwrap();
    tail.look_closer(&line, &line.smooth());
    (line, tail)
}
