//! A straight line through all samples, called a leak when it rises, explains four fifths of the
//! variance, and its slope is "significant" as if samples were independent.

use super::{Answer, Question};
use crate::stats::{fit, t_limit};

const R2: f64 = 0.8;

pub(super) fn ask(question: Question) -> Answer {
    let Some(line) = fit(question.points) else {
        return Answer::default();
    };
    let significant = line.t > t_limit(question.points.len() as f64 - 2.0);
    Answer {
        rate: Some((
            line.slope,
            line.slope - line.slope / line.t * 1.96,
            line.slope + line.slope / line.t * 1.96,
        )),
        ..Answer::yes_no(line.slope > 0.0 && line.r2 > R2 && significant)
    }
}
