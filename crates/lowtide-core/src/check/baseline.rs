//! `--baseline OTHER`: is this run's level higher, or does it grow faster, than the other's? Both
//! differences carry their interval; within the tolerance they count as equal.

use super::{Finding, JudgedSeries, Outcome, after};
use crate::judge::words::pace;
use crate::stats::{MOST_ALIKE, student_t};
use crate::units::{Share, show_bytes};

/// Runs of the same job differ by a few per cent (two of the founding runs by 1 to 4 % on their
/// plateau).
const TOLERANCE: Share = Share(0.05);

/// A level has a spread from so many floors on, ...
const LEAST_FLOORS: usize = 3;
/// ... and is worth two of them at least, however much neighbours resemble each other: one has no error.
const LEAST_WORTH: f64 = 2.0;

/// The floor's mean after settling, and how sure it is.
struct SettledLevel {
    mean: f64,
    error: f64,
    worth: f64,
}

pub(super) fn compare(
    tolerance: Option<Share>,
    subject: JudgedSeries,
    baseline: JudgedSeries,
) -> Vec<Finding> {
    let tolerance = tolerance.unwrap_or(TOLERANCE);
    vec![
        level(tolerance, subject, baseline),
        rate(tolerance, subject, baseline),
    ]
}

fn level_of(subject: JudgedSeries) -> Option<SettledLevel> {
    let from = subject.verdict.settled_at.unwrap_or(f64::NEG_INFINITY);
    let floors: Vec<f64> = after(subject.series, from)
        .iter()
        .map(|b| b.floor)
        .collect();
    let count = floors.len() as f64;
    if floors.len() < LEAST_FLOORS {
        return None;
    }
    let mean = floors.iter().sum::<f64>() / count;
    let squares: f64 = floors.iter().map(|v| (v - mean).powi(2)).sum();
    let products: f64 = floors
        .windows(2)
        .map(|w| (w[0] - mean) * (w[1] - mean))
        .sum();
    // Neighbours that resemble each other count for less.
    let r = if squares > 0.0 {
        (products / squares).clamp(0.0, MOST_ALIKE)
    } else {
        0.0
    };
    let worth = (count * (1.0 - r) / (1.0 + r)).max(LEAST_WORTH);
    Some(SettledLevel {
        mean,
        error: (squares / (count - 1.0) / worth).sqrt(),
        worth,
    })
}

fn outcome(low: f64, high: f64, allowed: f64) -> Outcome {
    if high <= allowed {
        Outcome::Pass
    } else if low > allowed {
        Outcome::Fail
    } else {
        Outcome::Inconclusive
    }
}

fn level(tolerance: Share, subject: JudgedSeries, baseline: JudgedSeries) -> Finding {
    let name = "baseline-level";
    let (Some(this), Some(other)) = (level_of(subject), level_of(baseline)) else {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            "fewer than 3 points after settling in one of the runs".to_owned(),
        );
    };
    let difference = this.mean - other.mean;
    let reach = student_t(this.worth.min(other.worth) - 1.0) * this.error.hypot(other.error);
    let (low, high) = (difference - reach, difference + reach);
    let allowed = tolerance.0 * other.mean;
    let says = format!(
        "{} above the baseline's {} ({}), allowed {tolerance} = {}",
        show_bytes(difference),
        show_bytes(other.mean),
        super::sizes(low, high),
        show_bytes(allowed)
    );
    Finding::new(name, outcome(low, high, allowed), says).measured(low, high, allowed)
}

fn rate(tolerance: Share, subject: JudgedSeries, baseline: JudgedSeries) -> Finding {
    let name = "baseline-rate";
    let axis = subject.series.axis;
    if axis != baseline.series.axis {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            format!(
                "the baseline's axis is {}, this one's {axis}",
                baseline.series.axis
            ),
        );
    }
    let (this, other) = (&subject.verdict.rate, &baseline.verdict.rate);
    let difference = this.value - other.value;
    // Both slopes are uncertain; their errors add up as independent ones do.
    let reach = ((this.high - this.low) / 2.0).hypot((other.high - other.low) / 2.0);
    let (low, high) = (difference - reach, difference + reach);
    // As a rate the tolerance is: that share of the baseline's level over the length of this run.
    let buckets = subject.series.buckets();
    let span = match (buckets.first(), buckets.last()) {
        (Some(first), Some(last)) if last.last > first.first => last.last - first.first,
        _ => 1.0,
    };
    let allowed = tolerance.0 * baseline.verdict.floor.last.abs() / span;
    let says = format!(
        "grows by {} more than the baseline ({} to {}), allowed {}",
        pace(axis, difference),
        pace(axis, low),
        pace(axis, high),
        pace(axis, allowed)
    );
    Finding::new(name, outcome(low, high, allowed), says).measured(low, high, allowed)
}
