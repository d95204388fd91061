//! Excursions that nobody marked, and the floor between them.

use crate::judge::excursion::{self, Excursion};
use crate::judge::line::FloorLine;
use crate::run::occurrences::{Count, Occurrences};
use crate::series::Series;
use crate::verdict::Axis;

/// Where more than this share of them was marked, the rest are the same thing: a mark was lost.
const MOSTLY: f64 = 0.5;

/// Excursions that no marked evaluation or save explains: those are counted for themselves.
pub(super) fn unmarked(
    series: &Series,
    axis: Axis,
    occurrences: Option<&Occurrences>,
) -> Vec<Excursion> {
    let found = excursion::found(series);
    let Some(occurrences) = occurrences.filter(|_| axis != Axis::Sample) else {
        return found;
    };
    let before = |count: &Count, x: f64| match axis {
        Axis::Step => count.before(x, |at| at.step),
        _ => count.before(x, |at| Some(at.seconds)),
    };
    // A mark may come a bucket earlier or later than what it takes.
    let slack = series.width().unwrap_or(1.0);
    let marked = |one: &&Excursion| {
        [&occurrences.evaluations, &occurrences.saves]
            .into_iter()
            .any(|count| before(count, one.to + slack) > before(count, one.from - slack))
    };
    if found.iter().filter(marked).count() as f64 > MOSTLY * found.len() as f64 {
        return Vec::new();
    }
    found
}

/// The line without what lies in an excursion.
pub(super) fn between(line: FloorLine, excursions: &[Excursion]) -> FloorLine {
    let outside = |x: f64| {
        let next = excursions.partition_point(|one| one.to < x);
        excursions.get(next).is_none_or(|one| x < one.from)
    };
    let mut left = FloorLine::default();
    for (i, x) in line.xs.iter().enumerate().filter(|(_, x)| outside(**x)) {
        left.xs.push(*x);
        left.ys.push(line.ys[i]);
        left.crests.push(line.crests[i]);
    }
    left
}
