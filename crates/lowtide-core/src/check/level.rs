//! Bounds on levels that were seen: `--max-swing` (after settling), `--max-peak`, `--min-headroom`.

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
    let mut swing = 0f64;
    for bucket in rest {
        low = low.min(bucket.floor);
        swing = swing.max(bucket.crest - low);
    }
    if rest.is_empty() || (rest.len() < LEAST && swing <= bound.as_f64()) {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            format!("only {} points from {} on", rest.len(), place(axis, from)),
        );
    }
    let outcome = if swing <= bound.as_f64() {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    let says = format!(
        "from {} on it climbs at most {} above its low, allowed {bound}",
        place(axis, from),
        show_bytes(swing)
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
        return Finding::new(name, Outcome::Inconclusive, "there is no point".to_owned());
    };
    let outcome = if peak <= bound.as_f64() {
        Outcome::Pass
    } else {
        Outcome::Fail
    };
    let says = format!(
        "peak {} at {}, allowed {bound}",
        show_bytes(peak),
        place(subject.series.axis, at)
    );
    Finding::new(name, outcome, says).measured(peak, peak, bound.as_f64())
}

pub(super) fn min_headroom(bound: &Headroom, subject: JudgedSeries) -> Finding {
    let name = "min-headroom";
    let (Some(limit), Some((peak, _))) = (subject.verdict.limit, peak(subject)) else {
        return Finding::new(
            name,
            Outcome::Inconclusive,
            "the limit is not known; say it: --limit 32GB".to_owned(),
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
    let says = format!(
        "{} left at the peak of {} below {}, wanted {}",
        show_bytes(left),
        show_bytes(peak),
        show_bytes(limit),
        show_bytes(needed)
    );
    Finding::new(name, outcome, says).measured(left, left, needed)
}
