//! Every count that was kept, at each point of a floor.

use crate::judge::Examined;
use crate::judge::line::FloorLine;
use crate::run::levels::Held;
use crate::run::occurrences::At;
use crate::series::Series;
use crate::verdict::{Axis, Verdict};

use super::{CountedBeside, LEAST_UNITS};

/// Mapped files drive a growth only if they grew by this share of it: libraries are mapped too.
const MAPPED: f64 = 0.5;

/// A count by its name, at each point.
type Units = (&'static str, Vec<f64>);

pub(super) fn all_units(
    verdict: &Verdict,
    series: &Series,
    examined: &Examined,
    counted: CountedBeside<'_>,
    line: &FloorLine,
) -> Vec<Units> {
    let on_steps = verdict.axis == Axis::Step;
    let mut all = Vec::new();
    if on_steps {
        all.push(("step", line.xs.clone()));
        if let Some(epoch) = examined.epoch {
            let each = epoch.examples_per_step.unwrap_or(1.0);
            let seen = |x: &f64| (x - epoch.begin).clamp(0.0, epoch.steps) * each;
            all.push(("new-example", line.xs.iter().map(seen).collect()));
        }
    }
    let seconds: Option<Vec<f64>> = line.xs.iter().map(|x| seconds_at(series, *x)).collect();
    all.extend(seconds.map(|seconds| ("time", seconds)));
    if verdict.axis != Axis::Sample {
        all.extend(events(counted, line, on_steps));
    }
    let grew = verdict.growth.as_ref().map_or(0.0, |growth| growth.bytes);
    all.extend(mapped(counted, line, on_steps, grew));
    all
}

/// What happened often enough within the line.
fn events(counted: CountedBeside<'_>, line: &FloorLine, on_steps: bool) -> Vec<Units> {
    let Some(occurrences) = counted.occurrences else {
        return Vec::new();
    };
    let place = |at: &At| if on_steps { at.step } else { Some(at.seconds) };
    [
        ("evaluation", &occurrences.evaluations),
        ("save", &occurrences.saves),
        ("epoch", &occurrences.epochs),
        ("log", &occurrences.logs),
        ("recompile", &occurrences.slow_steps),
        ("worker-start", &occurrences.worker_starts),
    ]
    .into_iter()
    .filter(|(name, _)| *name != "recompile" || counted.compiles)
    .map(|(name, count)| {
        let before = |x: &f64| count.before(*x, place);
        (name, line.xs.iter().map(before).collect())
    })
    .filter(|(_, units): &Units| different(units) > LEAST_UNITS)
    .collect()
}

/// Bytes of files mapped, where they are large against the growth.
fn mapped(
    counted: CountedBeside<'_>,
    line: &FloorLine,
    on_steps: bool,
    grew: f64,
) -> Option<Units> {
    let held = counted.held?;
    let at = line.xs.iter().map(|x| file_at(held, on_steps, *x));
    let mapped = at.collect::<Option<Vec<f64>>>()?;
    let more = mapped.last()? - mapped.first()?;
    (more > MAPPED * grew).then_some(("file-bytes", mapped))
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
    let place = |at: &At| if on_steps { at.step } else { Some(at.seconds) };
    let mut before = None;
    for levels in held.levels.iter() {
        let Some(at) = place(&levels.at) else {
            continue;
        };
        if at >= x {
            return Some(match before {
                Some((from, bytes)) if at > from => {
                    bytes + (levels.file - bytes) * (x - from) / (at - from)
                }
                _ => levels.file,
            });
        }
        before = Some((at, levels.file));
    }
    before.map(|(_, bytes)| bytes)
}
