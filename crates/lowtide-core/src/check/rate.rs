//! `--max-rate`: the floor rises by no more than so much, with the interval of its slope.

use super::{Finding, JudgedSeries, Outcome, RateBound, say};
use crate::judge::words::pace;
use crate::series::Series;
use crate::verdict::{Axis, Class, Verdict};

pub(super) fn max_rate(bound: &RateBound, subject: JudgedSeries) -> Finding {
    let axis = subject.series.axis;
    let name = "max-rate";
    let Some(scale) = scale(bound.per, subject.series) else {
        let unit = match axis {
            Axis::Time => "min".to_owned(),
            other => other.to_string(),
        };
        let says = format!(
            "not decided: the bound is per {}, and the source knows {} only; a bound like 1MB/{unit} can be decided",
            bound.per,
            say::counted(axis)
        );
        return Finding::new(name, Outcome::Inconclusive, says);
    };
    let rate = &subject.verdict.rate;
    let (value, low, high) = (rate.value * scale, rate.low * scale, rate.high * scale);
    let shown = format!(
        "{}, allowed {}",
        say::course(bound.per, value, low, high),
        pace(bound.per, bound.bytes)
    );
    let (outcome, says) = if high <= bound.bytes {
        (Outcome::Pass, shown)
    } else if low > bound.bytes && goes_on(subject.verdict) {
        let over = pace(bound.per, value - bound.bytes);
        (Outcome::Fail, format!("{shown}: {over} too much"))
    } else if low > bound.bytes {
        // Growth that may still end is no failure yet.
        let decides = say::decided_by(subject.verdict);
        let says = format!("{shown}; not decided, growth may still end: {decides}");
        (Outcome::Inconclusive, says)
    } else {
        let says = format!("{shown}; not decided: a longer run narrows the rate");
        (Outcome::Inconclusive, says)
    };
    Finding::new(name, outcome, says).measured(low, high, bound.bytes)
}

/// Growth that lasted to the end of what was watched, with no end known that may still come.
fn goes_on(verdict: &Verdict) -> bool {
    match verdict.verdict {
        Class::TooEarly => verdict.steady && verdict.bound.is_none(),
        _ => !verdict.is_under_way(),
    }
}

/// From the rate per unit of the axis to the one per unit of the bound.
fn scale(per: Axis, series: &Series) -> Option<f64> {
    if per == series.axis {
        return Some(1.0);
    }
    if per != Axis::Time {
        return None;
    }
    let timed: Vec<(f64, f64)> = series
        .buckets()
        .iter()
        .filter_map(|b| Some((b.last, b.seconds?)))
        .collect();
    let (first, last) = (timed.first()?, timed.last()?);
    let seconds = last.1 - first.1;
    (seconds > 0.0).then(|| (last.0 - first.0) / seconds)
}
