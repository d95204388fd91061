//! Linear Backward Regression: lines through windows that reach back from the newest sample; any
//! window that rises and explains four fifths of its variance is a leak. The original then asks
//! whether the line meets the memory limit soon, which needs a limit.

use super::{Answer, Question};
use crate::stats::Sums;

const R2: f64 = 0.8;
/// The smallest window: a tenth of the history, and never under five samples.
const SHARE: usize = 10;
const FEWEST: usize = 5;

pub(super) fn ask(question: Question) -> Answer {
    let points = question.points;
    let smallest = FEWEST.max(points.len() / SHARE);
    let Some(mut sums) = Sums::new(points) else {
        return Answer::default();
    };
    if points.len() < smallest {
        return Answer::default();
    }
    let rising = points.iter().rev().enumerate().find_map(|(index, point)| {
        sums.add(point);
        if index + 1 < smallest {
            return None;
        }
        sums.line().filter(|line| line.slope > 0.0 && line.r2 > R2)
    });
    Answer {
        rate: rising.map(|line| (line.slope, f64::NAN, f64::NAN)),
        ..Answer::yes_no(rising.is_some())
    }
}
