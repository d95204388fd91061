//! The founding team's tracker: the lowest of the first ten samples against the lowest of the last
//! ten; more than 100 MB is a leak. Its documents compare the ends of the whole run. Its code keeps
//! a `deque(maxlen=30)`, so the "first" ten are those of the last minute.

use super::{Answer, Question};
use lowtide_core::point::Point;

const END: usize = 10;
const KEPT: usize = 30;
const RISE: f64 = 100e6;

pub(super) fn documented(question: Question) -> Answer {
    compare(question.points)
}

pub(super) fn coded(question: Question) -> Answer {
    let from = question.points.len().saturating_sub(KEPT);
    compare(&question.points[from..])
}

fn compare(points: &[Point]) -> Answer {
    if points.len() < 2 * END {
        return Answer::default();
    }
    let lowest = |part: &[Point]| part.iter().map(|p| p.bytes).fold(f64::INFINITY, f64::min);
    let rise = lowest(&points[points.len() - END..]) - lowest(&points[..END]);
    Answer::yes_no(rise > RISE)
}
