//! Rule "limit": when memory runs out at this pace, and whether a flat end is flat only because
//! memory is full.

use crate::verdict::{Axis, Oom, OomSeconds};

use super::line::Line;
use super::tail::Tail;
use crate::series::Series;

/// From this share of the limit on, reclaim and swapping flatten any curve.
const FULL: f64 = 0.95;

pub fn is_full(level: f64, limit: Option<f64>) -> bool {
    limit.is_some_and(|limit| level >= FULL * limit)
}

/// Where the newest crest, at `last`, reaches the limit, as a range on the axis.
pub fn forecast(
    tail: &Tail,
    (last, crest): (f64, f64),
    limit: f64,
    pace: Option<f64>,
) -> Option<Oom> {
    if tail.slope <= 0.0 {
        return None;
    }
    let room = (limit - crest).max(0.0);
    let at = |slope: f64| last + room / slope;
    let oom = Oom {
        at: at(tail.slope),
        low: at(tail.high),
        high: (tail.low > 0.0).then(|| at(tail.low)),
        seconds: None,
    };
    let seconds = pace.map(|pace| OomSeconds {
        at: (oom.at - last) * pace,
        low: (oom.low - last) * pace,
        high: oom.high.map(|high| (high - last) * pace),
    });
    Some(Oom { seconds, ..oom })
}

/// Seconds per unit of the axis, over the newer half of the run.
pub fn pace(series: &Series) -> Option<f64> {
    if series.axis == Axis::Time {
        return Some(1.0);
    }
    let buckets = series.buckets();
    let newer = &buckets[buckets.len() / 2..];
    let known = || newer.iter().filter_map(|b| Some((b.last, b.seconds?)));
    let ((x0, s0), (x1, s1)) = (known().next()?, known().next_back()?);
    (x1 > x0 && s1 > s0).then(|| (s1 - s0) / (x1 - x0))
}

/// The newest crest: what the limit will meet first.
pub fn newest_crest(line: &Line) -> f64 {
    let from = line.len() - line.len().div_ceil(8);
    line.crests[from..].iter().copied().fold(0.0, f64::max)
}
