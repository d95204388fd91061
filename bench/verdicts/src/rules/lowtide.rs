//! lowtide's own judge, asked as the program asks it.

use lowtide_core::judge::judge;
use lowtide_core::series::Series;

use super::{Answer, Question};

pub(super) fn ask(question: Question) -> Answer {
    let series = Series::from_points(question.axis, question.meter, question.points);
    let verdict = judge(&series, question.context);
    let said: Vec<String> = verdict
        .evidence
        .iter()
        .map(|e| format!("{}: {}", e.rule, e.says))
        .collect();
    Answer {
        class: Some(verdict.verdict),
        grows: verdict.steady,
        rate: Some((verdict.rate.value, verdict.rate.low, verdict.rate.high)),
        reason: said.join("; "),
    }
}
