//! A RESIN-like rule for one series. RESIN compares many hosts; what is left for one is its idea of
//! severity: the newest level stands far out of the earlier ones, and it came there by a steady
//! rise of bucket means rather than by a jump.

use super::{Answer, Question};
use crate::stats::{deviation, mean};

const BUCKETS: usize = 10;
/// The newest bucket must stand this many deviations above the first half.
const SIGMAS: f64 = 3.0;
/// Of the five steps of the second half, so many must lead up.
const RISES: usize = 4;

pub(super) fn ask(question: Question) -> Answer {
    let n = question.points.len();
    if n < BUCKETS {
        return Answer::default();
    }
    let values: Vec<f64> = question.points.iter().map(|p| p.bytes).collect();
    let means: Vec<f64> = (0..BUCKETS)
        .map(|b| mean(&values[b * n / BUCKETS..(b + 1) * n / BUCKETS]))
        .collect();
    let before = &means[..BUCKETS / 2];
    let apart = means[BUCKETS - 1] - mean(before) > SIGMAS * deviation(before);
    let rises = means[BUCKETS / 2 - 1..]
        .windows(2)
        .filter(|w| w[1] > w[0])
        .count();
    Answer::yes_no(apart && rises >= RISES)
}
