//! The criteria of `lowtide check`: each compares what was measured, with its interval, with a bound
//! and says pass, fail or inconclusive. The program feeds a series and its verdict; text, JSON,
//! JUnit and annotations show the same [`Finding`]s.

mod baseline;
mod bound;
mod fits;
mod level;
mod lost;
mod rate;
mod say;
mod settled;

pub use bound::{BoundError, Headroom, RateBound, SettleBound};

use serde::Serialize;

use crate::judge::words::{place, stretch};
use crate::series::{Bucket, Series};
use crate::units::{Bytes, Share, show_bytes};
use crate::verdict::{Axis, Class, Verdict};

/// What is asked of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Criteria {
    pub max_rate: Option<RateBound>,
    pub settled_by: Option<SettleBound>,
    pub max_swing: Option<Bytes>,
    pub max_peak: Option<Bytes>,
    pub min_headroom: Option<Headroom>,
    pub min_steps: Option<f64>,
    /// The run needs less than the limit until its end.
    pub fits: bool,
    /// How much more than the baseline is still the same.
    pub tolerance: Option<Share>,
}

/// A run as the criteria see it.
#[derive(Clone, Copy, Debug)]
pub struct JudgedSeries<'a> {
    pub series: &'a Series,
    pub verdict: &'a Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Pass,
    Inconclusive,
    Fail,
}

/// What one criterion found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub criterion: String,
    pub outcome: Outcome,
    pub says: String,
    /// The measured value's interval, in bytes or on the axis; both ends equal for what was seen
    /// exactly.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub bound: Option<f64>,
    /// Whose memory it speaks of: `trainer 4647`. None for a bare series, and for what is said of the
    /// whole run.
    pub whose: Option<String>,
    /// Of a comparison with a baseline: what changed.
    pub change: Option<Change>,
    /// The same in a few words: `plateau 1.48 GB lower`.
    pub brief: Option<String>,
}

/// What became of the baseline's value. Less than the tolerance is no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    Improvement,
    None,
    Regression,
    NotDecided,
}

impl Finding {
    fn new(criterion: &str, outcome: Outcome, says: String) -> Finding {
        Finding {
            criterion: criterion.to_owned(),
            outcome,
            says,
            low: None,
            high: None,
            bound: None,
            whose: None,
            change: None,
            brief: None,
        }
    }

    fn measured(mut self, low: f64, high: f64, bound: f64) -> Finding {
        self.low = Some(low);
        self.high = Some(high);
        self.bound = Some(bound);
        self
    }

    fn compared(mut self, change: Change, brief: String) -> Finding {
        self.change = Some(change);
        self.brief = Some(brief);
        self
    }

    /// The sentence with whose memory it is.
    pub fn sentence(&self) -> String {
        match &self.whose {
            Some(whose) => format!("{whose}: {}", self.says),
            None => self.says.clone(),
        }
    }
}

/// All findings, the most important question first.
pub fn check(
    criteria: &Criteria,
    subject: JudgedSeries,
    baseline: Option<JudgedSeries>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &criteria.max_rate {
        Some(bound) => findings.push(rate::max_rate(bound, subject)),
        None => findings.extend(no_leak(criteria, subject.verdict)),
    }
    if let Some(bound) = &criteria.settled_by {
        findings.push(settled::settled_by(bound, criteria, subject));
    }
    if let Some(bound) = criteria.max_swing {
        findings.push(level::max_swing(bound, criteria, subject));
    }
    if let Some(bound) = criteria.max_peak {
        findings.push(level::max_peak(bound, subject));
    }
    if let Some(bound) = &criteria.min_headroom {
        findings.push(level::min_headroom(bound, subject));
    }
    if criteria.fits {
        findings.push(fits::fits(subject.verdict));
    }
    if let Some(steps) = criteria.min_steps {
        findings.push(min_steps(steps, subject));
    }
    if let Some(baseline) = baseline {
        findings.extend(baseline::compare(criteria.tolerance, subject, baseline));
    }
    let whose = say::whose(subject.verdict);
    for finding in &mut findings {
        let whole_run = [FITS, MIN_HEADROOM, MIN_STEPS].contains(&finding.criterion.as_str());
        finding.whose = whose.clone().filter(|_| !whole_run);
    }
    lost::leave_open(&mut findings, subject, baseline);
    findings
}

/// One failure fails the check; else one open question leaves it open.
pub fn overall(findings: &[Finding]) -> Outcome {
    findings
        .iter()
        .map(|f| f.outcome)
        .max()
        .unwrap_or(Outcome::Pass)
}

/// Without a bound on the rate, a leak fails. That a verdict is not possible yet leaves the check
/// open only when nothing else was asked: a user who asks for a plateau gets that answered.
fn no_leak(criteria: &Criteria, verdict: &Verdict) -> Option<Finding> {
    // A number of steps, or a tolerance, says nothing of memory.
    let asked = criteria.settled_by.is_some()
        || criteria.max_swing.is_some()
        || criteria.max_peak.is_some()
        || criteria.min_headroom.is_some()
        || criteria.fits;
    let rate = &verdict.rate;
    let rises = say::course(verdict.axis, rate.value, rate.low, rate.high);
    let open = |word: &str| format!("{word}: {rises}, allowed 0; {}", say::decided_by(verdict));
    let (outcome, says) = match verdict.verdict {
        Class::Leak => (Outcome::Fail, format!("leak: {rises}, allowed 0")),
        Class::TooEarly if asked => return None,
        Class::TooEarly if verdict.growing => (Outcome::Inconclusive, open("growing, not decided")),
        Class::TooEarly => (Outcome::Inconclusive, too_early(verdict)),
        // An end that is only predicted passes nothing.
        Class::WarmUp if verdict.is_under_way() && asked => return None,
        Class::WarmUp if verdict.is_under_way() => (
            Outcome::Inconclusive,
            open("warm-up under way, its end is only predicted"),
        ),
        _ => (Outcome::Pass, no_growth(verdict)),
    };
    Some(Finding::new("no-leak", outcome, says))
}

/// What little is known, and what would be enough.
fn too_early(verdict: &Verdict) -> String {
    let evidence = verdict.evidence.first().map_or("", |e| e.says.as_str());
    let decided = say::decided_by(verdict);
    match evidence {
        "" => format!("too early, not decided; {decided}"),
        evidence => format!("too early, not decided: {evidence}; {decided}"),
    }
}

/// `stable, floor 1.48 GB`, `warm-up, ended at step 82, plateau 17.1 GB`.
fn no_growth(verdict: &Verdict) -> String {
    let mut says = verdict.verdict.to_string();
    if let Some(at) = verdict.settled_at {
        says += &format!(", ended at {}", place(verdict.axis, at));
    }
    match verdict.plateau {
        Some(plateau) => says += &format!(", plateau {}", show_bytes(plateau)),
        None => says += &format!(", floor {}", show_bytes(verdict.floor.last)),
    }
    if verdict.creep {
        let rate = &verdict.rate;
        let course = say::course(verdict.axis, rate.value, rate.low, rate.high);
        says += &format!("; {course}, too slowly to matter");
    }
    says
}

const FITS: &str = "fits";
const MIN_HEADROOM: &str = "min-headroom";
const MIN_STEPS: &str = "min-steps";

fn min_steps(steps: f64, subject: JudgedSeries) -> Finding {
    let axis = subject.series.axis;
    let last = subject.series.buckets().last().map_or(0.0, |b| b.last);
    let (outcome, says) = if axis != Axis::Step {
        (
            Outcome::Inconclusive,
            "not decided: the source has no steps; if its axis counts them, say --axis step"
                .to_owned(),
        )
    } else if last >= steps {
        (
            Outcome::Pass,
            format!("watched until {}", place(axis, last)),
        )
    } else {
        (
            Outcome::Inconclusive,
            format!(
                "not decided: watched until {} of {}; {} more decide it",
                place(axis, last),
                stretch(axis, steps),
                stretch(axis, steps - last)
            ),
        )
    };
    Finding::new(MIN_STEPS, outcome, says).measured(last, last, steps)
}

/// The buckets from `x` on.
fn after(series: &Series, x: f64) -> &[Bucket] {
    let buckets = series.buckets();
    &buckets[buckets.partition_point(|b| b.first < x)..]
}

#[cfg(test)]
mod sentences;
#[cfg(test)]
mod tests;
