//! Where the deciding line goes from here: to what the run needs at its end where growth goes on until
//! there, else along its rate. Every chart draws it.

use crate::series::Series;
use crate::verdict::{Class, Verdict};

use super::Forecast;

/// How far a forecast is drawn when nothing says how far it matters: a quarter of what was seen.
const AHEAD: f64 = 0.25;
/// And at most as far ahead as was seen: beyond that the picture would be mostly guess.
const AHEAD_AT_MOST: f64 = 1.0;

/// `beside` is what the tree held at the end without this line: an outlook is the whole tree's.
pub(super) fn forecast(verdict: &Verdict, series: &Series, beside: f64) -> Option<Forecast> {
    let (first, last) = series.buckets().first().zip(series.buckets().last())?;
    let (from, seen) = (last.last, last.last - first.first);
    // Nothing comes after a run that is over.
    let over = verdict.outlook.as_ref().and_then(|o| o.seconds) == Some(0.0);
    if seen <= 0.0 || over {
        return None;
    }
    let bytes = verdict.floor.last;
    // The run's own end, where growth goes on until there: what it comes to is the outlook's.
    let grows = verdict.growing || verdict.verdict == Class::Leak || verdict.is_under_way();
    let outlook = verdict.outlook.as_ref().filter(|_| grows);
    let end = outlook.and_then(|o| Some((o.ends_at.filter(|end| *end > from)?, o.needs)));
    // Else as far as it matters: until memory runs out, or until the verdict falls.
    let matters = match verdict.verdict {
        Class::Leak => verdict
            .oom
            .map(|oom| oom.high.unwrap_or(oom.at).max(oom.at)),
        Class::TooEarly => verdict.decides_at,
        Class::WarmUp | Class::Spikes | Class::Stable => None,
    };
    let ahead = match end {
        Some((end, _)) => (end - from).min(AHEAD_AT_MOST * seen),
        None => matters
            .map_or(AHEAD * seen, |x| (x - from) * 1.05)
            .clamp(AHEAD * seen, AHEAD_AT_MOST * seen),
    };
    // A straight way to what is needed at the end; growth does not fall before it.
    let rate = &verdict.rate;
    let slope = |needs: f64, end: f64| ((needs - beside - bytes) / (end - from)).max(0.0);
    let [low, value, high] = match end {
        Some((end, needs)) => [needs.low, needs.value, needs.high].map(|n| slope(n, end)),
        None => [rate.low, rate.value, rate.high],
    };
    Some(Forecast {
        axis: verdict.axis,
        from,
        to: from + ahead,
        bytes,
        low,
        value,
        high,
        plateau: verdict.predicted_plateau,
    })
}
