//! Rule "limit": when memory runs out at this pace.

use super::line::FloorLine;
use super::rule::Rule;
use super::tail::Tail;
use super::words::place;
use crate::series::Series;
use crate::verdict::{Axis, Evidence, Oom, OomSeconds};

pub(super) const RULE: Rule = Rule::named("limit");

/// The newest crests are those of the last part of the line, one in so many: older ones may be of another
/// phase.
const NEWEST: usize = 8;

/// The forecast in words.
pub(super) fn says(axis: Axis, oom: &Oom) -> Evidence {
    let latest = oom
        .high
        .map_or("never".to_owned(), |high| place(axis, high));
    RULE.says(format!(
        "at this pace memory runs out at {} ({} to {latest})",
        place(axis, oom.at),
        place(axis, oom.low)
    ))
}

/// Where the newest crest, at `last`, reaches the limit, as a range on the axis.
pub(super) fn forecast(
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
pub(super) fn pace(series: &Series) -> Option<f64> {
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
pub(crate) fn newest_crest(line: &FloorLine) -> f64 {
    let from = line.len() - line.len().div_ceil(NEWEST);
    line.crests[from..].iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with, names, surely_leaks_after_seconds};
    use crate::point::Context;
    use crate::units::Bytes;
    use crate::verdict::Axis;

    #[test]
    fn a_leak_says_when_memory_runs_out() {
        let seconds = (1.1 * surely_leaks_after_seconds()) as usize;
        let under = |limit: Option<Bytes>| {
            let context = Context {
                limit,
                ..Context::default()
            };
            look_with(&context, Axis::Time, seconds, |x| 1000.0 + x)
        };
        // Full when it has grown for twice as long.
        let full = 2.0 * seconds as f64;
        let verdict = under(Some(Bytes((1e6 * (1000.0 + full)) as u64)));
        assert!(names(&verdict, RULE), "{:#?}", verdict.evidence);
        let oom = verdict.oom.unwrap();
        assert!((oom.at / full - 1.0).abs() < 0.01, "{oom:?}");
        assert!(oom.low < oom.at && oom.high.is_some_and(|high| high > oom.at));
        assert!(!names(&under(None), RULE));
    }
}
