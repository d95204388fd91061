//! Rows whose place on the axis goes back. The judge reads along the axis, so two stretches of time in one
//! would be shuffled, and a rise between them would look like a wobble.
//!
//! What can be told apart is put right and said: rows that are newest first, neighbours that changed places,
//! a counter that began anew. Anything else is refused.

use lowtide_core::point::Point;
use lowtide_core::units::show_duration;
use lowtide_core::verdict::Axis;

use super::ImportError;
use super::table::axis_word;

/// Rows of several threads overtake each other by a little: by less than this share of the whole.
const OVERTAKES: f64 = 0.01;

/// A counter that begins anew falls back to the first part of what it had counted. Steps also go on from the
/// last checkpoint.
const ANEW: f64 = 0.1;

/// The points in an order that can be judged, and what is to be said of it.
pub(super) fn settled(
    mut points: Vec<Point>,
    axis: Axis,
) -> Result<(Vec<Point>, String), ImportError> {
    let falls: Vec<usize> = (1..points.len())
        .filter(|&at| points[at].x < points[at - 1].x)
        .collect();
    if falls.is_empty() || axis == Axis::Sample {
        return Ok((points, String::new()));
    }
    let rises = points.windows(2).any(|pair| pair[1].x > pair[0].x);
    if !rises {
        points.reverse();
        return Ok((points, ", newest first and turned round".to_owned()));
    }
    let span = Reach::of(&points).span();
    let overtaken = |at: &usize| points[*at - 1].x - points[*at].x <= OVERTAKES * span;
    let (small, large): (Vec<usize>, Vec<usize>) = falls.iter().partition(|at| overtaken(at));
    let small_note = || {
        let by = small.iter().map(|at| points[at - 1].x - points[*at].x);
        let by = by.fold(0.0, f64::max);
        let by = match axis {
            Axis::Time => show_duration(by),
            Axis::Step | Axis::Sample => format!("{by:.0}"),
        };
        let rows = match small.len() {
            1 => "1 row goes".to_owned(),
            n => format!("{n} rows go"),
        };
        format!(", {rows} back by up to {by} and were put in order")
    };
    let Some(last) = large.last().copied() else {
        let note = small_note();
        return Ok((points, note));
    };
    let mut before = Reach::default();
    let mut seen = 0;
    let mut begins_anew = |at: &usize| {
        before.add(&points[seen..*at]);
        seen = *at;
        axis == Axis::Step || before.high - points[*at].x >= (1.0 - ANEW) * before.span()
    };
    if large.iter().all(&mut begins_anew) && (points.len() - last) * 2 >= points.len() {
        let attempts = large.len() + 1;
        points.drain(..last);
        let note = format!(
            ", the last of {attempts} attempts: {} begin anew",
            axis_word(axis)
        );
        return Ok((points, note));
    }
    Err(ImportError::new(format!(
        "its {} go back {} times, and not to begin anew",
        axis_word(axis),
        large.len()
    ))
    .hint("is it one run? cut the file, or read its rows in their order: --axis sample"))
}

/// How far points reach on the axis.
struct Reach {
    low: f64,
    high: f64,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            low: f64::MAX,
            high: f64::MIN,
        }
    }
}

impl Reach {
    fn of(points: &[Point]) -> Reach {
        let mut reach = Reach::default();
        reach.add(points);
        reach
    }

    fn add(&mut self, points: &[Point]) {
        for point in points {
            self.low = self.low.min(point.x);
            self.high = self.high.max(point.x);
        }
    }

    fn span(&self) -> f64 {
        self.high - self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(axis: Axis, xs: impl IntoIterator<Item = i32>) -> Result<(Vec<f64>, String), String> {
        let points = xs.into_iter().map(|x| Point::new(x.into(), 1.0)).collect();
        match settled(points, axis) {
            Ok((points, note)) => Ok((points.iter().map(|point| point.x).collect(), note)),
            Err(error) => Err(error.message),
        }
    }

    #[test]
    fn an_axis_that_rises_is_left_alone() {
        let (xs, note) = settle(Axis::Time, [1, 2, 2, 5]).unwrap();
        assert_eq!(
            (xs.as_slice(), note.as_str()),
            (&[1.0, 2.0, 2.0, 5.0][..], "")
        );
    }

    #[test]
    fn newest_first_is_turned_round() {
        let (xs, note) = settle(Axis::Time, [5, 2, 2, 1]).unwrap();
        assert!(xs.is_sorted() && note.contains("newest first"), "{note}");
    }

    #[test]
    fn neighbours_that_changed_places_are_told() {
        let xs = (0..500).map(|x| if x % 100 == 50 { x - 2 } else { x });
        let (xs, note) = settle(Axis::Time, xs).unwrap();
        assert_eq!(xs.len(), 500);
        assert!(note.contains("5 rows go back by up to 1s"), "{note}");
    }

    #[test]
    fn a_counter_that_begins_anew_leaves_its_last_attempt() {
        for axis in [Axis::Time, Axis::Step] {
            let (xs, note) = settle(axis, (0..100).chain(0..150)).unwrap();
            assert_eq!(xs.len(), 150);
            assert!(note.contains("the last of 2 attempts"), "{note}");
        }
        // Steps go on from a checkpoint.
        let (xs, _) = settle(Axis::Step, (0..100).chain(80..300)).unwrap();
        assert_eq!(xs.len(), 220);
    }

    #[test]
    fn a_clock_that_was_set_back_is_refused() {
        let refused = settle(Axis::Time, (0..100).chain(50..300)).unwrap_err();
        assert!(refused.contains("go back 1 times"), "{refused}");
        assert!(settle(Axis::Step, (0..100).chain(0..10)).is_err());
        assert!(settle(Axis::Sample, (0..100).chain(50..300)).is_ok());
    }
}
