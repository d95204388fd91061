//! `--max-rate`: the floor rises by no more than so much, with the interval of its slope.

use super::{Finding, JudgedSeries, Outcome, RateBound};
use crate::judge::words::pace;
use crate::series::Series;
use crate::verdict::{Axis, Class, Verdict};

pub(super) fn max_rate(bound: &RateBound, subject: JudgedSeries) -> Finding {
    let axis = subject.series.axis;
    let name = "max-rate";
    let Some(scale) = scale(bound.per, subject.series) else {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            format!(
                "the bound is per {}, and the source counts {axis}s only",
                bound.per
            ),
        );
    };
    let rate = &subject.verdict.rate;
    let (low, high) = (rate.low * scale, rate.high * scale);
    let shown = format!(
        "floor rises by {} ({} to {}), allowed {}",
        pace(bound.per, rate.value * scale),
        pace(bound.per, low),
        pace(bound.per, high),
        pace(bound.per, bound.bytes)
    );
    let (outcome, says) = if high <= bound.bytes {
        (Outcome::Pass, shown)
    } else if low > bound.bytes && goes_on(subject.verdict) {
        (Outcome::Fail, shown)
    } else if low > bound.bytes {
        // Growth that may still end is no failure yet.
        (
            Outcome::Inconclusive,
            format!("{shown}, but growth may still end"),
        )
    } else {
        (Outcome::Inconclusive, shown)
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
