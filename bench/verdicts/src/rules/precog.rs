//! PrecogMF: the series is max-filtered and cut at change points (modified z-score of the
//! differences). The rising lines of the first half are what is normal; a line from some change
//! point to now that is steeper or longer than any of those is a leak. Without seasons and without
//! the exit-time test.

use super::{Answer, Question};
use crate::stats::{Line, fit, median};
use lowtide_core::point::Point;

const FEWEST: usize = 10;
const R2: f64 = 0.8;
/// Width of the max filter in samples.
const FILTER: usize = 3;
/// Iglewicz and Hoaglin's limit for the modified z-score.
const OUTLIER: f64 = 3.5;
/// A line needs this many samples.
const SEGMENT: usize = 5;
/// Change points that are tried, newest first: a noisy series has thousands.
const TRIED: usize = 200;

pub(super) fn ask(question: Question) -> Answer {
    if question.points.len() < FEWEST {
        return Answer::default();
    }
    let points = max_filtered(question.points);
    let changes = changes(&points);
    let half = points.len() / 2;
    let rising = |part: &[Point]| -> Option<Line> {
        (part.len() >= SEGMENT)
            .then(|| fit(part))?
            .filter(|line| line.slope > 0.0 && line.r2 > R2)
    };
    let (mut steepest, mut longest) = (0.0_f64, 0);
    for ends in changes.windows(2).filter(|ends| ends[1] <= half) {
        if let Some(line) = rising(&points[ends[0]..ends[1]]) {
            steepest = steepest.max(line.slope);
            longest = longest.max(ends[1] - ends[0]);
        }
    }
    let found = changes.iter().rev().take(TRIED).find_map(|&from| {
        let part = &points[from..];
        rising(part).filter(|line| line.slope > steepest || part.len() > longest)
    });
    Answer {
        rate: found.map(|line| (line.slope, f64::NAN, f64::NAN)),
        ..Answer::yes_no(found.is_some())
    }
}

fn max_filtered(points: &[Point]) -> Vec<Point> {
    (0..points.len())
        .map(|i| {
            let window = &points[i.saturating_sub(FILTER - 1)..=i];
            let top = window
                .iter()
                .map(|p| p.bytes)
                .fold(f64::NEG_INFINITY, f64::max);
            Point::new(points[i].x, top)
        })
        .collect()
}

/// The beginning, every sample after an unusual difference, and the end.
fn changes(points: &[Point]) -> Vec<usize> {
    let steps: Vec<f64> = points.windows(2).map(|w| w[1].bytes - w[0].bytes).collect();
    let middle = median(&steps);
    let spread = median(&steps.iter().map(|d| (d - middle).abs()).collect::<Vec<_>>());
    let mut changes = vec![0];
    changes.extend(
        (1..points.len()).filter(|&i| (0.6745 * (steps[i - 1] - middle)).abs() > OUTLIER * spread),
    );
    changes.push(points.len());
    changes.dedup();
    changes
}
