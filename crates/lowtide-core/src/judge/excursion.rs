//! Excursions in the series itself: rises that stand clear of the floors on both sides and come down
//! again, again and again, whoever makes them (an evaluation that nobody marked, a save). `explain` lays
//! growth against their number; the judge may ask where they were.
//!
//! A bucket that holds a short rise has a low floor and a high crest; a long one fills whole buckets.
//! Both are crests over a local base, the higher of the floors shortly before and shortly after: that
//! follows a leak and its stairs, and what only rises or only falls is no excursion.

use crate::series::{Bucket, Series};
use crate::stats;

/// Fewer are no pattern: three fit any growth.
pub const LEAST: usize = 4;
/// How far the base looks to each side, as a share of the buckets: one in so many ...
const NEAR: usize = 12;
/// ... and at least so many buckets.
const LEAST_NEAR: usize = 3;
/// An excursion is higher than what every step does by this many times its spread: the crests of steps
/// are no bell curve, and of 256 buckets some stand far out.
const CLEAR: f64 = 8.0;
/// And from this share of the level on; below it is ripple, as with teeth.
const LEAST_RISE: f64 = 0.02;
/// Of the same kind as the others: at least this share of their usual height.
const ALIKE: f64 = 0.5;
/// The floors before and after differ by this share of the rise at most: what an evaluation keeps is
/// less than what it needs.
const LIKE_BEFORE: f64 = 0.5;
/// Excursions take less of the axis than this. A saw-tooth stands above half its height for half of the
/// time; an evaluation that takes a third of a run is long.
const MOST_TIME: f64 = 1.0 / 3.0;
/// The width of a normal distribution between its first quarter and its middle, in deviations.
const QUARTER: f64 = 0.6745;

/// One of them, on the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excursion {
    pub from: f64,
    pub to: f64,
    /// Over the floors around it.
    pub rise: f64,
}

/// Where they begin on the axis. Empty when there are fewer than [`LEAST`].
pub fn excursions(series: &Series) -> Vec<f64> {
    found(series).iter().map(|one| one.from).collect()
}

/// The same with their ends and heights.
pub fn found(series: &Series) -> Vec<Excursion> {
    let buckets = series.buckets();
    let near = (buckets.len() / NEAR).max(LEAST_NEAR);
    if buckets.len() < 2 * near {
        return Vec::new();
    }
    let heights = heights(buckets, near);
    let mut floors: Vec<f64> = buckets.iter().map(|bucket| bucket.floor).collect();
    let (Some(usual), Some(quarter), Some(level)) = (
        stats::median(&mut heights.clone()),
        stats::quantile(&mut heights.clone(), 0.25),
        stats::median(&mut floors),
    ) else {
        return Vec::new();
    };
    // The lower half says how much steps differ: excursions are all in the upper one.
    let clear = (CLEAR * (usual - quarter) / QUARTER).max(LEAST_RISE * level);
    let all = runs(buckets, &heights, usual + clear);
    let mut rises: Vec<f64> = all.iter().map(|one| one.rise).collect();
    let Some(middle) = stats::median(&mut rises) else {
        return Vec::new();
    };
    // Loading at the start rises once and higher; ripple is lower: neither is one of them.
    let alike: Vec<Excursion> = all
        .into_iter()
        .filter(|one| one.rise >= ALIKE * middle)
        .collect();
    let high = heights
        .iter()
        .filter(|height| **height >= usual + ALIKE * (middle - usual));
    let brief = (high.count() as f64) < MOST_TIME * buckets.len() as f64;
    if alike.len() < LEAST || !brief {
        return Vec::new();
    }
    alike
}

fn lowest(part: &[Bucket]) -> f64 {
    part.iter()
        .map(|bucket| bucket.floor)
        .fold(f64::INFINITY, f64::min)
}

/// Of each crest over the floors around it, not its own: a bucket with a stair in it has the lower one.
/// The outermost buckets have a floor on one side only, and no height.
fn heights(buckets: &[Bucket], near: usize) -> Vec<f64> {
    (0..buckets.len())
        .map(|at| {
            let before = lowest(&buckets[at.saturating_sub(near)..at]);
            let after = lowest(&buckets[at + 1..(at + near + 1).min(buckets.len())]);
            let height = buckets[at].crest - before.max(after);
            if height.is_finite() { height } else { 0.0 }
        })
        .collect()
}

/// Neighbours above the mark are one excursion, if it came down to about where it rose from: the top of
/// a long tooth rose from higher up.
fn runs(buckets: &[Bucket], heights: &[f64], mark: f64) -> Vec<Excursion> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < buckets.len() {
        let above = heights[at..].iter().take_while(|height| **height > mark);
        let (begin, end) = (at, at + above.count());
        at = end + 1;
        if begin == end {
            continue;
        }
        let before = lowest(&buckets[begin.saturating_sub(LEAST_NEAR)..=begin]);
        let after = lowest(&buckets[end - 1..(end + LEAST_NEAR).min(buckets.len())]);
        let rise = heights[begin..end].iter().copied().fold(0.0, f64::max);
        if (before - after).abs() <= LIKE_BEFORE * rise {
            runs.push(Excursion {
                from: buckets[begin].first,
                to: buckets[end - 1].last,
                rise,
            });
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Point;
    use crate::verdict::{Axis, Meter};

    const MB: f64 = 1e6;

    fn series(n: u32, shape: impl Fn(f64) -> f64) -> Series {
        let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) % 1000) / 1000.0 * 4.0 * MB;
        let points: Vec<Point> = (0..n)
            .map(|i| Point::new(f64::from(i), shape(f64::from(i)) + noise(i)))
            .collect();
        Series::from_points(Axis::Step, Meter::Held, &points)
    }

    fn spike(x: f64, every: f64, lasts: f64) -> f64 {
        if x >= every && x % every < lasts {
            300.0 * MB
        } else {
            0.0
        }
    }

    #[test]
    fn short_and_long_excursions_are_counted_one_by_one() {
        for lasts in [1.0, 5.0, 60.0] {
            let flat = series(3650, |x| 900.0 * MB + spike(x, 237.0, lasts));
            let leak = series(3650, |x| (900.0 + 0.06 * x) * MB + spike(x, 237.0, lasts));
            for series in [flat, leak] {
                let places = excursions(&series);
                let width = series.width().unwrap();
                assert_eq!(places.len(), 15, "{lasts}: {places:?}");
                for (n, place) in places.iter().enumerate() {
                    let truth = 237.0 * (n + 1) as f64;
                    assert!((place - truth).abs() <= width, "{place} for {truth}");
                }
            }
        }
    }

    #[test]
    fn a_short_series_shows_them_too() {
        let short = series(120, |x| 900.0 * MB + spike(x, 20.0, 3.0));
        assert_eq!(excursions(&short).len(), 5);
    }

    #[test]
    fn a_peak_at_the_start_does_not_hide_them() {
        let loads = |x: f64| if x < 20.0 { 3000.0 * MB } else { 0.0 };
        let places = excursions(&series(3600, |x| {
            900.0 * MB + loads(x) + spike(x, 237.0, 2.0)
        }));
        assert_eq!(places.iter().filter(|place| **place > 100.0).count(), 15);
    }

    #[test]
    fn teeth_ripple_lines_and_few_spikes_are_none() {
        for every in [40.0, 120.0, 237.0, 400.0, 600.0] {
            let saw = series(3600, |x| (900.0 + 300.0 * (x % every) / every) * MB);
            assert_eq!(excursions(&saw), Vec::<f64>::new(), "teeth every {every}");
            let rising = series(3600, |x| {
                (900.0 + 0.06 * x + 300.0 * (x % every) / every) * MB
            });
            assert_eq!(excursions(&rising), Vec::<f64>::new());
        }
        let flat = series(3600, |_| 900.0 * MB);
        let line = series(3600, |x| (900.0 + x) * MB);
        let stairs = series(3600, |x| (900.0 + 100.0 * (x / 237.0).floor()) * MB);
        let few = series(3600, |x| 900.0 * MB + spike(x, 1000.0, 5.0));
        for none in [flat, line, stairs, few] {
            assert_eq!(excursions(&none), Vec::<f64>::new());
        }
    }
}
