//! `--settled-by step:90`: growth has ended there, and the floor does not rise after it.

use super::{Criteria, Finding, JudgedSeries, Outcome, SettleBound, after, say};
use crate::judge::words::{place, stretch};
use crate::stats::{noise, slope_interval};
use crate::units::show_bytes;
use crate::verdict::{Axis, Class};

/// A rise after settling that is no growth, as a share of the level, unless `--max-swing` says more.
/// The founding run moved by 1.5 % on its plateau.
const LEVEL: f64 = 0.02;

/// Points after the bound without which nothing is said: a slope needs two and its error a third.
const LEAST: usize = 3;

fn finding(outcome: Outcome, says: impl Into<String>) -> Finding {
    Finding::new("settled-by", outcome, says.into())
}

pub(super) fn settled_by(
    bound: &SettleBound,
    criteria: &Criteria,
    subject: JudgedSeries,
) -> Finding {
    let axis = subject.series.axis;
    if axis != bound.axis {
        let like = match axis {
            Axis::Step => "step:90",
            Axis::Time => "time:10min",
            Axis::Sample => "sample:90",
        };
        let says = format!(
            "not decided: the bound counts {}, and the source knows {} only; a bound like {like} can be decided",
            say::counted(bound.axis),
            say::counted(axis)
        );
        return finding(Outcome::Inconclusive, says);
    }
    let rest = after(subject.series, bound.at);
    if rest.len() < LEAST {
        let says = format!(
            "not decided: {} of {LEAST} points from {} on; a longer run has them",
            rest.len(),
            place(axis, bound.at)
        );
        return finding(Outcome::Inconclusive, says);
    }
    by_the_verdict(bound, subject).unwrap_or_else(|| drift(bound, criteria, subject))
}

/// What the judge has decided already; none where it leaves the bound open.
fn by_the_verdict(bound: &SettleBound, subject: JudgedSeries) -> Option<Finding> {
    let (axis, verdict) = (subject.series.axis, subject.verdict);
    let wanted = place(axis, bound.at);
    let grows = || {
        let rate = &verdict.rate;
        let course = say::course(axis, rate.value, rate.low, rate.high);
        format!("not settled: {course} after {wanted}, allowed 0")
    };
    if verdict.verdict == Class::Leak {
        return Some(finding(Outcome::Fail, grows()));
    }
    // The end of a warm-up under way is a prediction: it cannot pass, and growth that is seen past the
    // bound fails.
    if verdict.is_under_way() {
        return Some(if verdict.growing {
            finding(Outcome::Fail, grows())
        } else {
            let decides = say::decided_by(verdict);
            let says =
                format!("not decided: its warm-up is under way, its end only predicted; {decides}");
            finding(Outcome::Inconclusive, says)
        });
    }
    // The judge's own point, known to within half the distance of its points.
    if let Some(at) = verdict.settled_at {
        let half = usual_gap(subject) / 2.0;
        let (low, high) = (at - half, at + half);
        let outcome = match () {
            () if high <= bound.at => Outcome::Pass,
            () if low > bound.at => Outcome::Fail,
            () => return None,
        };
        let around = say::span(&place(axis, low.max(0.0)), &place(axis, high));
        let late = match outcome {
            Outcome::Fail => format!(": {} too late", stretch(axis, at - bound.at)),
            _ => String::new(),
        };
        let says = format!(
            "settled at {} ({around}), allowed {wanted}{late}",
            place(axis, at)
        );
        return Some(finding(outcome, says).measured(low, high, bound.at));
    }
    let level = matches!(verdict.verdict, Class::Stable | Class::Spikes);
    level.then(|| {
        finding(
            Outcome::Pass,
            format!("it never grew, allowed until {wanted}"),
        )
    })
}

/// What the floor does from the bound on, when the verdict leaves it open.
fn drift(bound: &SettleBound, criteria: &Criteria, subject: JudgedSeries) -> Finding {
    let rest = after(subject.series, bound.at);
    let xs: Vec<f64> = rest.iter().map(|b| b.floor_at).collect();
    let floors: Vec<f64> = rest.iter().map(|b| b.floor).collect();
    let level = floors.iter().copied().fold(f64::INFINITY, f64::min);
    let allowed = criteria.max_swing.map_or(LEVEL * level, |b| b.as_f64());
    let span = xs.last().unwrap_or(&0.0) - xs.first().unwrap_or(&0.0);
    let wanted = place(subject.series.axis, bound.at);
    let Some((_, low, high)) = slope_interval(&xs, &floors, noise(&floors)) else {
        return finding(
            Outcome::Inconclusive,
            format!("not decided: the points after {wanted} show no slope; a longer run has more"),
        );
    };
    let (low, high) = (low * span, high * span);
    let outcome = if high <= allowed {
        Outcome::Pass
    } else if low > allowed {
        Outcome::Fail
    } else {
        Outcome::Inconclusive
    };
    let moved = format!(
        "after {wanted} the floor moves by {}, allowed {}",
        say::sizes(low, high),
        show_bytes(allowed)
    );
    let says = match outcome {
        Outcome::Pass => moved,
        Outcome::Fail => format!("{moved}: at least {} too much", show_bytes(low - allowed)),
        Outcome::Inconclusive => format!("{moved}; not decided: a longer run narrows it"),
    };
    finding(outcome, says).measured(low, high, allowed)
}

fn usual_gap(subject: JudgedSeries) -> f64 {
    let mut gaps: Vec<f64> = subject
        .series
        .buckets()
        .windows(2)
        .map(|w| w[1].first - w[0].first)
        .collect();
    crate::stats::median(&mut gaps).unwrap_or(0.0)
}
