//! The Mann-Kendall test for a trend (two-sided 5 %, ties accounted for) with Theil-Sen's slope.

use super::{Answer, Question};
use crate::stats::median;
use lowtide_core::point::Point;

const FEWEST: usize = 4;
const Z: f64 = 1.959_964;
/// All pairs of this many points at most: Theil-Sen is quadratic, and thinning hardly moves it.
const SLOPE_POINTS: usize = 400;

pub(super) fn ask(question: Question) -> Answer {
    let points = question.points;
    if points.len() < FEWEST {
        return Answer::default();
    }
    let mut values: Vec<f64> = points.iter().map(|p| p.bytes).collect();
    let n = values.len() as f64;
    let falls = falls(&mut values) as f64;
    // Sorted now: equal neighbours are ties.
    let (mut tied, mut tie_term) = (0.0, 0.0);
    for run in values.chunk_by(|a, b| a == b) {
        let t = run.len() as f64;
        tied += t * (t - 1.0) / 2.0;
        tie_term += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let pairs = n * (n - 1.0) / 2.0;
    let s = pairs - tied - 2.0 * falls;
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - tie_term) / 18.0;
    let z = if variance > 0.0 {
        (s.abs() - 1.0).max(0.0) / variance.sqrt()
    } else {
        0.0
    };
    let slope = theil_sen(points);
    Answer {
        rate: Some((slope, f64::NAN, f64::NAN)),
        ..Answer::yes_no(s > 0.0 && z > Z && slope > 0.0)
    }
}

/// Pairs in which the later value is smaller, by merge sort; leaves the values sorted.
fn falls(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = falls(left) + falls(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if right[j] < left[i] {
            count += (left.len() - i) as u64;
            merged.push(right[j]);
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    count
}

fn theil_sen(points: &[Point]) -> f64 {
    let stride = points.len().div_ceil(SLOPE_POINTS);
    let some: Vec<&Point> = points.iter().step_by(stride).collect();
    let mut slopes = Vec::with_capacity(some.len() * some.len() / 2);
    for (i, a) in some.iter().enumerate() {
        for b in &some[i + 1..] {
            if b.x != a.x {
                slopes.push((b.bytes - a.bytes) / (b.x - a.x));
            }
        }
    }
    median(&slopes)
}
