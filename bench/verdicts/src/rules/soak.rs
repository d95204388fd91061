//! A soak gate from CI: the first half is warm-up and dropped; of the rest, the mean of the last
//! quarter must not be ten per cent above that of the first.

use super::{Answer, Question};
use crate::stats::mean;

const FEWEST: usize = 8;
const RISE: f64 = 1.10;

pub(super) fn ask(question: Question) -> Answer {
    let n = question.points.len();
    if n < FEWEST {
        return Answer::default();
    }
    let values: Vec<f64> = question.points[n / 2..].iter().map(|p| p.bytes).collect();
    let quarter = (values.len() / 4).max(1);
    let (first, last) = (
        mean(&values[..quarter]),
        mean(&values[values.len() - quarter..]),
    );
    Answer::yes_no(last > RISE * first)
}
