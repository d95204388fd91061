//! Bounds on levels that were seen: `--max-swing` (after settling), `--max-peak`, `--min-headroom`.

use super::say::too_much;
use super::{Criteria, Finding, Headroom, JudgedSeries, Outcome, after};
use crate::judge::words::place;
use crate::units::{Bytes, show_bytes};

/// Fewer points after settling say nothing about how much it swings.
const LEAST: usize = 3;

pub(super) fn max_swing(bound: Bytes, criteria: &Criteria, subject: JudgedSeries) -> Finding {
    let name = "max-swing";
    let axis = subject.series.axis;
    let from = match (&criteria.settled_by, subject.verdict.settled_at) {
        (Some(bound), _) if bound.axis == axis => bound.at,
        (_, Some(at)) => at,
        _ => subject.series.buckets().first().map_or(0.0, |b| b.first),
    };
    let rest = after(subject.series, from);
    // How far memory climbs above the lowest point before: a level that falls is no swing.
    let mut low = f64::INFINITY;
    let (mut swing, mut at) = (0f64, from);
    for bucket in rest {
        low = low.min(bucket.floor);
        if bucket.crest - low > swing {
            (swing, at) = (bucket.crest - low, bucket.first);
        }
    }
    if rest.is_empty() || (rest.len() < LEAST && swing <= bound.as_f64()) {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            format!(
                "not decided: {} of {LEAST} points from {} on; a longer run has them",
                rest.len(),
                place(axis, from)
            ),
        );
    }
    let outcome = if swing <= bound.as_f64() {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    let says = format!(
        "climbs {} above its low (at {}, from {} on), allowed {bound}{}",
        show_bytes(swing),
        place(axis, at),
        place(axis, from),
        too_much(swing, bound.as_f64())
    );
    Finding::new(name, outcome, says).measured(swing, swing, bound.as_f64())
}

fn peak(subject: JudgedSeries) -> Option<(f64, f64)> {
    subject
        .series
        .buckets()
        .iter()
        .map(|b| (b.crest, b.first))
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

pub(super) fn max_peak(bound: Bytes, subject: JudgedSeries) -> Finding {
    let name = "max-peak";
    let Some((peak, at)) = peak(subject) else {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            "not decided: there is no point".to_owned(),
        );
    };
    let outcome = if peak <= bound.as_f64() {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    let says = format!(
        "peak {} at {}, allowed {bound}{}",
        show_bytes(peak),
        place(subject.series.axis, at),
        too_much(peak, bound.as_f64())
    );
    Finding::new(name, outcome, says).measured(peak, peak, bound.as_f64())
}

pub(super) fn min_headroom(bound: &Headroom, subject: JudgedSeries) -> Finding {
    let name = super::MIN_HEADROOM;
    let (Some(limit), Some((peak, _))) = (subject.verdict.limit, peak(subject)) else {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            "not decided: the limit is not known; say it: --limit 32GB".to_owned(),
        );
    };
    let needed = match bound {
        Headroom::Size(bytes) => bytes.as_f64(),
        Headroom::Share(share) => share.0 * limit,
    };
    // Others count against the limit too: the run knows what they left.
    let left = (limit - peak).min(subject.verdict.headroom.unwrap_or(f64::INFINITY));
    let outcome = if left >= needed {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    let there = match left >= 0.0 {
        true => format!("{} left", show_bytes(left)),
        false => format!("{} over the limit", show_bytes(-left)),
    };
    let short = match outcome {
        Outcome::Fail => format!(": {} too little", show_bytes(needed - left)),
        _ => String::new(),
    };
    let says = format!(
        "{there} at the peak of {} with a limit of {}, wanted {} left{short}",
        show_bytes(peak),
        show_bytes(limit),
        show_bytes(needed)
    );
    Finding::new(name, outcome, says).measured(left, left, needed)
}
