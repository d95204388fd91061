//! `--baseline OTHER`: is this run's level higher, or does it grow faster, than the other's? Both
//! differences carry their interval; within the tolerance they count as equal. Less is called what it
//! is: an improvement.

use super::say::{counted, span, spread};
use super::{Change, Finding, JudgedSeries, Outcome, after};
use crate::judge::words::pace;
use crate::stats::{MOST_ALIKE, student_t};
use crate::units::{Share, show_bytes};
use crate::verdict::Class;

/// Runs of the same job differ by a few per cent (two of the founding runs by 1 to 4 % on their
/// plateau).
const TOLERANCE: Share = Share(0.05);

/// A level has a spread from so many floors on, ...
const LEAST_FLOORS: usize = 3;
/// ... and is worth two of them at least, however much neighbours resemble each other: one has no error.
const LEAST_WORTH: f64 = 2.0;

const LEVEL: &str = "baseline-level";
const RATE: &str = "baseline-rate";

/// The floor's mean after settling, and how sure it is.
struct SettledLevel {
    mean: f64,
    error: f64,
    worth: f64,
}

/// A difference to the baseline: its interval, and how much more is still the same.
#[derive(Clone, Copy)]
struct Difference {
    value: f64,
    low: f64,
    high: f64,
    allowed: f64,
}

impl Difference {
    fn new(value: f64, reach: f64, allowed: f64) -> Difference {
        Difference {
            value,
            low: value - reach,
            high: value + reach,
            allowed,
        }
    }

    fn outcome(&self) -> Outcome {
        if self.high <= self.allowed {
            Outcome::Pass
        } else if self.low > self.allowed {
            Outcome::Fail
        } else {
            Outcome::Inconclusive
        }
    }

    /// An improvement is surely less, and by more than runs differ anyway.
    fn change(&self) -> Change {
        if self.high < 0.0 && self.value < -self.allowed {
            Change::Improvement
        } else if self.low > self.allowed {
            Change::Regression
        } else if -self.allowed <= self.low && self.high <= self.allowed {
            Change::None
        } else {
            Change::NotDecided
        }
    }

    /// `1.48 GB (1.45 to 1.51) lower`, or between what it lies where it is neither.
    fn told(&self, show: impl Fn(f64) -> String) -> String {
        let (value, low, high) = (self.value, self.low, self.high);
        if low > 0.0 {
            format!("{} higher", spread(&show(value), &show(low), &show(high)))
        } else if high < 0.0 {
            format!("{} lower", spread(&show(-value), &show(-high), &show(-low)))
        } else {
            format!("a difference of {}", span(&show(low), &show(high)))
        }
    }

    /// The finding in words; `both` are the two values, and `limit` is what was allowed.
    fn found(
        &self,
        criterion: &str,
        word: &str,
        show: impl Fn(f64) -> String,
        both: &str,
        limit: &str,
    ) -> Finding {
        let told = self.told(&show);
        let (outcome, change) = (self.outcome(), self.change());
        let says = match (outcome, change) {
            (Outcome::Inconclusive, _) => {
                format!("{word} not decided: {both}, {told}, {limit}; a longer run narrows it")
            }
            (Outcome::Fail, _) => {
                let over = show(self.value - self.allowed);
                format!("{word} {told}: {both}, {limit}: {over} too much")
            }
            (Outcome::Pass, Change::Improvement) => {
                format!("{word} {told}: {both}, an improvement")
            }
            (Outcome::Pass, Change::None) => format!("{word} as before: {both}, {told}, {limit}"),
            (Outcome::Pass, _) => format!("{word} not higher: {both}, {told}, {limit}"),
        };
        let moved = show(self.value.abs());
        let brief = match change {
            Change::Improvement => format!("{word} {moved} lower"),
            Change::Regression => format!("{word} {moved} higher"),
            Change::None => format!("{word} as before"),
            Change::NotDecided if outcome == Outcome::Pass => format!("{word} not higher"),
            Change::NotDecided => format!("{word} not decided"),
        };
        Finding::new(criterion, outcome, says)
            .measured(self.low, self.high, self.allowed)
            .compared(change, brief)
    }
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

/// Whether it rises, for all that is known: then it has no plateau.
fn grows(of: JudgedSeries) -> bool {
    let verdict = of.verdict;
    verdict.verdict == Class::Leak || verdict.is_open_growth() || verdict.is_under_way()
}

fn open(criterion: &str, word: &str, why: &str) -> Finding {
    let says = format!("{word} not decided: {why}");
    Finding::new(criterion, Outcome::Inconclusive, says)
        .compared(Change::NotDecided, format!("{word} not decided"))
}

fn level(tolerance: Share, subject: JudgedSeries, baseline: JudgedSeries) -> Finding {
    let (this_grows, other_grows) = (grows(subject), grows(baseline));
    let word = match subject.verdict.verdict {
        _ if this_grows => "average floor",
        // It may not have settled.
        Class::TooEarly => "average floor",
        _ => "plateau",
    };
    let (Some(this), Some(other)) = (level_of(subject), level_of(baseline)) else {
        let why = format!(
            "fewer than {LEAST_FLOORS} points after settling in one of the runs; a longer run has more"
        );
        return open(LEVEL, word, &why);
    };
    if this_grows && other_grows {
        return open(
            LEVEL,
            word,
            "both still grow; their rates are compared below",
        );
    }
    if other_grows {
        return below_what_grows(tolerance, &this, word, baseline);
    }
    let reach = student_t(this.worth.min(other.worth) - 1.0) * this.error.hypot(other.error);
    let allowed = tolerance.0 * other.mean;
    let difference = Difference::new(this.mean - other.mean, reach, allowed);
    if this_grows && difference.outcome() != Outcome::Fail {
        // What it has held on average so far says nothing of where it ends.
        return open(
            LEVEL,
            word,
            "it still grows; a run that settles has a level to compare",
        );
    }
    let both = format!(
        "{} against the baseline's {}",
        show_bytes(this.mean),
        show_bytes(other.mean)
    );
    let limit = format!("allowed {tolerance} = {} more", show_bytes(allowed));
    difference.found(LEVEL, word, show_bytes, &both, &limit)
}

/// A baseline that still grew has no level of its own, but it had got as far as its end.
fn below_what_grows(
    tolerance: Share,
    this: &SettledLevel,
    word: &str,
    baseline: JudgedSeries,
) -> Finding {
    let reached = baseline.verdict.floor.last;
    let high = this.mean + student_t(this.worth - 1.0) * this.error;
    let both = format!(
        "{}, and the baseline had reached {} and still grew",
        show_bytes(this.mean),
        show_bytes(reached)
    );
    let allowed = reached * (1.0 + tolerance.0);
    if high > allowed {
        let why = format!("{both}; a baseline that settles has a level to compare");
        return open(LEVEL, word, &why);
    }
    Finding::new(LEVEL, Outcome::Pass, format!("{word} not higher: {both}"))
        .measured(this.mean, high, allowed)
        .compared(Change::NotDecided, format!("{word} not higher"))
}

fn rate(tolerance: Share, subject: JudgedSeries, baseline: JudgedSeries) -> Finding {
    let axis = subject.series.axis;
    if axis != baseline.series.axis {
        let why = format!(
            "the baseline counts {} and this run {}; --axis time compares both",
            counted(baseline.series.axis),
            counted(axis)
        );
        return open(RATE, "rate", &why);
    }
    let (this, other) = (&subject.verdict.rate, &baseline.verdict.rate);
    // Both slopes are uncertain; their errors add up as independent ones do.
    let reach = ((this.high - this.low) / 2.0).hypot((other.high - other.low) / 2.0);
    // As a rate the tolerance is: that share of the baseline's level over the length of this run.
    let buckets = subject.series.buckets();
    let span = match (buckets.first(), buckets.last()) {
        (Some(first), Some(last)) if last.last > first.first => last.last - first.first,
        _ => 1.0,
    };
    let allowed = tolerance.0 * baseline.verdict.floor.last.abs() / span;
    let difference = Difference::new(this.value - other.value, reach, allowed);
    let show = |slope: f64| pace(axis, slope);
    let both = format!(
        "{} against the baseline's {}",
        show(this.value),
        show(other.value)
    );
    let limit = format!("allowed {} more", show(allowed));
    difference.found(RATE, "rate", show, &both, &limit)
}
