//! Whether Python holds more and more objects: the count of its cyclic collector, laid against the axis.
//!
//! The count is exact only where a full collection has just counted. Between two of them it holds what a younger
//! collection found alive and what has died since, which any loop has, and which rises with every step until the
//! next one: that is the collector's saw-tooth, and no rise. So only readings right after a full collection are
//! points of this line (`ProcessTrack::objects`), and where there are too few of them nothing is said.

use crate::judge::line::FloorLine;
use crate::point::Context;
use crate::series::Series;
use crate::stats;
use crate::units::{grouped, three_significant};
use crate::verdict::Axis;

use super::ObjectGrowth;
use super::signs::Course;

/// Full collections without which there is no line.
const LEAST_POINTS: usize = 4;
/// They lie apart by this share of the growing part at least: those at one end of it say nothing of the rest.
const COVERS: f64 = 0.5;
/// What was made between the collection and the reading counts too: up to a tick's young objects, as a share of all.
const GRAIN: f64 = 0.005;
/// A pace that changes by less than this share of it from end to end is one pace, as of the floor, ...
const STRAIGHT: f64 = 0.35;
/// ... and neither half runs at half of it, or at twice: else it fades, or has only begun.
const EVEN: std::ops::Range<f64> = 0.5..2.0;
/// An interval that reaches further than this share of the pace to either side tells no pace.
const VAGUE: f64 = 0.25;

/// None where nothing is known for sure, which is not the same as no rise.
pub(super) fn rise(counted: &Series, context: &Context, course: &Course) -> Option<ObjectGrowth> {
    if course.grew <= 0.0 {
        return None;
    }
    let (line, _) = FloorLine::fine(counted, context);
    let line = line.from(course.from).until(f64::next_up(course.to));
    if line.len() < LEAST_POINTS || line.span() < COVERS * (course.to - course.from) {
        return None;
    }
    let level = stats::median(&mut line.ys.clone())?;
    let coarse = line.coarse();
    let (value, low, high) = stats::slope_interval(&coarse.xs, &coarse.ys, GRAIN * level)?;
    let half = line.first_x() + line.span() / 2.0;
    let older = line.until(half);
    let newer = line.from(older.xs.last().copied()?);
    let even = |part: &FloorLine| {
        stats::fit(&part.xs, &part.ys).is_some_and(|fit| EVEN.contains(&(fit.slope / value)))
    };
    let bend = stats::bend(&coarse.xs, &coarse.ys, GRAIN * level);
    let straight = bend.is_none_or(|(bend, _)| bend.abs() < STRAIGHT);
    let sure = low > 0.0 && (high - low) / 2.0 <= VAGUE * value;
    let steady = sure && straight && even(&older) && even(&newer);
    steady.then(|| told(counted.axis, (value, low, high), &line))
}

fn told(axis: Axis, (value, low, high): (f64, f64, f64), line: &FloorLine) -> ObjectGrowth {
    // Time is told per minute, as everywhere.
    let (units, each) = match axis {
        Axis::Step => (1.0, "step"),
        Axis::Time => (60.0, "minute"),
        Axis::Sample => (1.0, "sample"),
    };
    let (value, low, high) = (value * units, low * units, high * units);
    let (first, last) = (line.ys[0], line.ys[line.len() - 1]);
    let short = in_short(value, each);
    let says = format!(
        "{short} (95 % interval {} to {}): Python's collector tracks {} -> {}, by {} of its full collections",
        plain(low),
        plain(high),
        grouped(first as u64),
        grouped(last as u64),
        line.len()
    );
    ObjectGrowth {
        per_unit: value,
        low,
        high,
        unit: each.to_owned(),
        first,
        last,
        says,
    }
}

/// `objects rise by 3 per step`
pub(super) fn in_short(value: f64, unit: &str) -> String {
    format!("objects rise by {} per {unit}", plain(value))
}

/// `3`, `2.9`, `0.12`, `1,204`.
fn plain(value: f64) -> String {
    if value >= 1000.0 {
        return grouped(value.round() as u64);
    }
    let text = three_significant(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Point;
    use crate::verdict::Meter;

    const COURSE: Course = Course {
        grew: 5e8,
        level: 2e9,
        from: 0.0,
        to: 1000.0,
        begin: 0.0,
        end: 1000.0,
        settled: None,
        creeps: false,
        rate: 5e5,
        rises: 100.0,
        teeth: false,
        decides_at: None,
    };

    /// Full collections at every so many steps.
    fn counted(every: usize, count: impl Fn(f64) -> f64) -> Series {
        let points: Vec<Point> = (0..=1000)
            .step_by(every)
            .map(|step| Point::new(step as f64, count(step as f64).round()))
            .collect();
        Series::from_points(Axis::Step, Meter::Objects, &points)
    }

    fn said(series: &Series) -> Option<String> {
        rise(series, &Context::default(), &COURSE).map(|found| found.says)
    }

    #[test]
    fn a_steady_rise_is_told_with_its_spread() {
        let young = |step: f64| (step as u64).wrapping_mul(2_654_435_761) % 100;
        let series = counted(100, |step| 48_000.0 + 3.0 * step + young(step) as f64);
        let found = rise(&series, &Context::default(), &COURSE).unwrap();
        assert!(found.low <= 3.0 && 3.0 <= found.high, "{found:?}");
        assert!(found.says.starts_with(&found.in_short()), "{found:?}");
        assert!(found.says.contains(" per step (95 % interval "));
        assert!(found.says.ends_with("by 11 of its full collections"));
        let exact = said(&counted(100, |step| 48_000.0 + 30.0 * step)).unwrap();
        assert!(exact.starts_with("objects rise by 30 per step"), "{exact}");
    }

    #[test]
    fn time_is_told_by_the_minute() {
        let points: Vec<Point> = (0..=20)
            .map(|nth| {
                let second = 50.0 * f64::from(nth);
                Point::new(second, 48_000.0 + 20.0 * second)
            })
            .collect();
        let series = Series::from_points(Axis::Time, Meter::Objects, &points);
        let says = said(&series).unwrap();
        assert!(
            says.starts_with("objects rise by 1,200 per minute"),
            "{says}"
        );
    }

    #[test]
    fn what_is_no_steady_rise_is_not_told() {
        // Level, with what a tick makes.
        let young = |step: f64| (step as u64).wrapping_mul(2_654_435_761) % 200;
        assert_eq!(
            said(&counted(50, |step| 48_000.0 + young(step) as f64)),
            None
        );
        // It fades, or has only begun.
        assert_eq!(
            said(&counted(50, |step| 48_000.0 + 900.0 * step.sqrt())),
            None
        );
        assert_eq!(
            said(&counted(50, |step| 48_000.0 + 90.0 * step.min(300.0))),
            None
        );
        assert_eq!(
            said(&counted(50, |step| 48_000.0 + 90.0 * (step - 700.0).max(0.0))),
            None
        );
        // One stair.
        let stair = |step: f64| 48_000.0 + if step < 500.0 { 0.0 } else { 9_000.0 };
        assert_eq!(said(&counted(50, stair)), None);
        // Teeth.
        assert_eq!(
            said(&counted(50, |step| 48_000.0 + 40.0 * (step % 250.0))),
            None
        );
        // Too few collections, or all at one end.
        assert_eq!(said(&counted(400, |step| 48_000.0 + 30.0 * step)), None);
        let mut late = counted(1001, |_| 48_000.0);
        for step in 900..=1000 {
            let step = f64::from(step);
            late.push(Point::new(step, 48_000.0 + 30.0 * step));
        }
        let late_course = Course {
            from: 1.0,
            ..COURSE
        };
        assert_eq!(rise(&late, &Context::default(), &late_course), None);
        // Nothing grew that it could explain.
        let calm = Course {
            grew: 0.0,
            ..COURSE
        };
        let series = counted(50, |step| 48_000.0 + 30.0 * step);
        assert_eq!(rise(&series, &Context::default(), &calm), None);
    }
}
