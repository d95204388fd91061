//! Every count that was kept, at each point of a floor.

use crate::judge::Looked;
use crate::judge::line::Line;
use crate::run::happened::Count;
use crate::run::parts::Held;
use crate::series::Series;
use crate::verdict::{Axis, Verdict};

use super::{Counted, LEAST_UNITS};

pub(super) fn all_units(
    verdict: &Verdict,
    series: &Series,
    looked: &Looked,
    counted: Counted<'_>,
    line: &Line,
) -> Vec<(&'static str, Vec<f64>)> {
    let on_steps = verdict.axis == Axis::Step;
    let mut all = Vec::new();
    if on_steps {
        all.push(("step", line.xs.clone()));
        if let Some(epoch) = looked.epoch {
            let each = epoch.examples_per_step.unwrap_or(1.0);
            let seen = |x: &f64| (x - epoch.begin).clamp(0.0, epoch.steps) * each;
            all.push(("new-example", line.xs.iter().map(seen).collect()));
        }
    }
    let seconds: Option<Vec<f64>> = line.xs.iter().map(|x| seconds_at(series, *x)).collect();
    if let Some(seconds) = seconds {
        all.push(("time", seconds));
    }
    let count = |count: &Count| -> Vec<f64> {
        let before = |x: &f64| {
            if on_steps {
                count.before(*x, |at| at.step)
            } else {
                count.before(*x, |at| Some(at.seconds))
            }
        };
        line.xs.iter().map(before).collect()
    };
    if let Some(happened) = counted.happened.filter(|_| verdict.axis != Axis::Sample) {
        for (name, events) in [
            ("evaluation", &happened.evaluations),
            ("save", &happened.saves),
            ("epoch", &happened.epochs),
            ("log", &happened.logs),
            ("recompile", &happened.slow_steps),
            ("worker-start", &happened.worker_starts),
        ] {
            let units = count(events);
            let meant = name != "recompile" || counted.compiles;
            if meant && different(&units) > LEAST_UNITS {
                all.push((name, units));
            }
        }
    }
    if let Some(held) = counted.held {
        let mapped: Option<Vec<f64>> = line
            .xs
            .iter()
            .map(|x| file_at(held, on_steps, *x))
            .collect();
        let mapped = mapped.filter(|mapped| {
            let (first, last) = (mapped[0], mapped[mapped.len() - 1]);
            // Libraries are mapped too: only what is large against the growth can drive it.
            last - first > 0.5 * verdict.growth.as_ref().map_or(0.0, |g| g.bytes)
        });
        all.extend(mapped.map(|mapped| ("file-bytes", mapped)));
    }
    all
}

pub(super) fn different(units: &[f64]) -> usize {
    1 + units.windows(2).filter(|w| w[1] > w[0]).count()
}

/// The time at a place on the axis, from the newest point of the bucket that holds it.
fn seconds_at(series: &Series, x: f64) -> Option<f64> {
    let buckets = series.buckets();
    let at = buckets.partition_point(|bucket| bucket.last < x);
    let here = buckets.get(at).or(buckets.last())?;
    if series.axis == Axis::Time {
        return Some(x);
    }
    let (to, seconds) = (here.last, here.seconds?);
    let before = at.checked_sub(1).and_then(|before| buckets.get(before));
    match before.and_then(|b| Some((b.last, b.seconds?))) {
        Some((from, since)) if to > from => {
            let share = ((x - from) / (to - from)).clamp(0.0, 1.0);
            Some(since + share * (seconds - since))
        }
        _ => Some(seconds),
    }
}

fn file_at(held: &Held, on_steps: bool, x: f64) -> Option<f64> {
    let place = |at: &crate::run::happened::At| if on_steps { at.step } else { Some(at.seconds) };
    let mut before = None;
    for parts in held.parts.iter() {
        let Some(at) = place(&parts.at) else { continue };
        if at >= x {
            return Some(match before {
                Some((from, bytes)) if at > from => {
                    bytes + (parts.file - bytes) * (x - from) / (at - from)
                }
                _ => parts.file,
            });
        }
        before = Some((at, parts.file));
    }
    before.map(|(_, bytes)| bytes)
}
