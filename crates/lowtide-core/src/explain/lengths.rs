//! How the holders that are read on every tick became longer: by how much with every step, whether one ever got shorter,
//! and whether what was in it went. Facts, as the censuses are; no verdict follows from them.

use crate::census;
use crate::look::{End, Holder};
use crate::run::{HolderTrack, LengthAt, Taken};
use crate::stats;
use crate::units::{grouped, show_bytes, show_duration};

use super::HolderGrowth;

/// Readings without which nothing is told: fewer are a few seconds.
const LEAST: u64 = 5;
/// Holders that are told of: nobody reads further.
const LINES: usize = 8;
/// An item whose worth is not known is taken for this much: a small object.
const ITEM: f64 = 100.0;
/// One that got longer by less than this share of what the first one did, in bytes, is left out.
const MATTERS: f64 = 0.01;
/// What a reading is off by along steps: it comes up to a step before or after the mark that it is set against.
const OFF: f64 = 1.0;

/// Those that became longer, or have more slots filled; the most bytes first. The newest census among `looks` says what may
/// end each, and which code may touch it.
pub(super) fn grown(tracks: &[HolderTrack], looks: &[Taken]) -> Vec<HolderGrowth> {
    let heaps = looks
        .iter()
        .rev()
        .filter_map(|taken| taken.look.heap.as_ref());
    let known: Vec<&Holder> = heaps.flat_map(|heap| &heap.holders).collect();
    let mut grown: Vec<HolderGrowth> = tracks.iter().filter_map(growth).collect();
    for one in &mut grown {
        let found = known.iter().find(|holder| holder.name == one.name);
        one.facts = found.map_or_else(Vec::new, |holder| facts(holder, one.last));
    }
    let weight = |one: &HolderGrowth| one.bytes.unwrap_or((one.last - one.first) as f64 * ITEM);
    grown.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let most = grown.first().map_or(0.0, weight);
    grown.retain(|one| weight(one) >= MATTERS * most);
    grown.truncate(LINES);
    grown
}

/// What is known of a holder that is so long by now: an end that was passed ended nothing.
fn facts(holder: &Holder, length: u64) -> Vec<String> {
    let mut holder = holder.clone();
    let holds = |end: &End| end.length().is_none_or(|at| at >= length);
    holder.ends.retain(holds);
    census::facts(&holder)
}

fn growth(track: &HolderTrack) -> Option<HolderGrowth> {
    let (first, last) = (track.moments.first()?, track.moments.last()?);
    let readings = track.moments.count();
    let filled = track.filled.filter(|[first, last]| last > first);
    let more = match (last.length.checked_sub(first.length)?, filled) {
        (0, Some([first, last])) => last - first,
        (0, None) => return None,
        (more, _) => more,
    };
    if readings < LEAST {
        return None;
    }
    // Steps may be known some seconds later than the first reading: they count where most readings have one.
    let stepped: Vec<f64> = track.moments.iter().filter_map(|one| one.step).collect();
    let most = 2 * stepped.len() > track.moments.iter().count();
    let steps = stepped.first().copied().zip(last.step).filter(|_| most);
    let steps = steps
        .map(|(first, last)| last - first)
        .filter(|steps| *steps > 0.0);
    let mut growth = HolderGrowth {
        name: track.holder.name.clone(),
        kind: track.holder.kind.clone(),
        first: first.length,
        last: last.length,
        filled,
        per_unit: None,
        low: None,
        high: None,
        unit: if steps.is_some() { "step" } else { "minute" }.to_owned(),
        readings,
        steps,
        seconds: last.seconds - first.seconds,
        falls: track.falls,
        absences: track.absences,
        renewals: track.renewals,
        bytes: (track.holder.each).map(|each| each.as_f64() * more as f64),
        says: String::new(),
        facts: Vec::new(),
    };
    // Where it fell, or began anew, one pace says nothing.
    if track.falls == 0 && track.renewals == 0 && last.length > first.length {
        let pace = pace(track, steps.is_some());
        growth.per_unit = pace.map(|(value, ..)| value);
        growth.low = pace.map(|(_, low, _)| low.max(0.0));
        growth.high = pace.map(|(.., high)| high);
    }
    growth.says = says(&growth);
    Some(growth)
}

/// Items for each step, or each minute, with a 95 % interval.
fn pace(track: &HolderTrack, by_steps: bool) -> Option<(f64, f64, f64)> {
    let place = |one: &LengthAt| match by_steps {
        true => one.step,
        false => Some(one.seconds / 60.0),
    };
    let points = track.moments.iter();
    let points = points.filter_map(|one| Some((place(one)?, one.length as f64)));
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.unzip();
    let across = (ys.last()? - ys.first()?) / (xs.last()? - xs.first()?);
    let off = if by_steps { OFF * across } else { 0.0 };
    stats::slope_interval(&xs, &ys, off)
}

/// `train.CACHE (list): +1.000 a step (95 % interval 0.998 to 1.002), 412 -> 1,615; it never got shorter in 214 readings
/// over 1,203 steps`.
fn says(growth: &HolderGrowth) -> String {
    let HolderGrowth { name, kind, .. } = growth;
    let mut says = format!("{name} ({kind}): ");
    if let (Some(value), Some(low), Some(high)) = (growth.per_unit, growth.low, growth.high) {
        says += &format!(
            "+{} a {} (95 % interval {} to {}), ",
            short(value),
            growth.unit,
            short(low),
            short(high)
        );
    }
    says += &match growth.filled {
        Some([first, last]) if growth.first == growth.last => {
            let (first, last) = (grouped(first), grouped(last));
            format!("{first} -> {last} of {} slots filled", grouped(growth.last))
        }
        _ => format!("{} -> {}", grouped(growth.first), grouped(growth.last)),
    };
    if let Some(bytes) = growth.bytes.filter(|bytes| *bytes >= 1.0) {
        says += &format!(", about {} more", show_bytes(bytes));
    }
    let over = match growth.steps {
        Some(1.0) => "1 step".to_owned(),
        Some(steps) => format!("{} steps", grouped(steps as u64)),
        None => show_duration(growth.seconds),
    };
    let readings = grouped(growth.readings);
    let fell = match growth.falls {
        0 => format!("it never got shorter in {readings} readings over {over}"),
        1 => format!("it got shorter once in {readings} readings over {over}"),
        falls => format!(
            "it got shorter {} times in {readings} readings over {over}",
            grouped(falls)
        ),
    };
    let anew = match growth.renewals {
        // Items in their old places may still be others: what is freed last is used again first.
        0 => String::new(),
        1 => "; once nothing was left of what it had".to_owned(),
        times => format!("; {} times nothing was left of what it had", grouped(times)),
    };
    let absent = match growth.absences {
        0 => String::new(),
        1 => "; once it was not there".to_owned(),
        times => format!("; {} times it was not there", grouped(times)),
    };
    says + "; " + &fell + &anew + &absent
}

/// `1.000`, `12.0`, `1,204`.
fn short(value: f64) -> String {
    match value.abs() {
        ..10.0 => format!("{value:.3}"),
        10.0..1000.0 => format!("{value:.1}"),
        _ => grouped(value.max(0.0).round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;
    use crate::followed::{Followed, FollowedHolder, HolderReading, Lengths};
    use crate::mark::{Mark, MarkSource};
    use crate::process::ProcId;
    use crate::run::Run;
    use crate::units::{Bytes, Micros};

    const ID: ProcId = ProcId { pid: 7, start: 1 };

    #[test]
    fn what_was_passed_ended_nothing() {
        let attribute = "capacity".to_owned();
        let holder = Holder {
            name: "Buffer.items".to_owned(),
            path: Vec::new(),
            kind: "list".to_owned(),
            length: Some(2_090),
            keeps: Bytes(1),
            of: Vec::new(),
            also_held_by: None,
            ends: vec![End::Declared {
                attribute,
                at: 3_000,
            }],
            adds: Vec::new(),
            empties: Vec::new(),
            address: 0,
        };
        assert_eq!(facts(&holder, 3_000).len(), 1);
        assert!(facts(&holder, 3_001).is_empty());
    }

    /// Read once a second, of a loop with five steps a second (or none that is told).
    fn told(steps: bool, readings: impl Fn(u64) -> [HolderReading; 2]) -> Vec<String> {
        told_from(if steps { 0 } else { u64::MAX }, readings)
    }

    /// With steps from this second on.
    fn told_from(known: u64, readings: impl Fn(u64) -> [HolderReading; 2]) -> Vec<String> {
        let mut run = Run::new();
        let holder = |name: &str| FollowedHolder {
            name: name.to_owned(),
            kind: "list".to_owned(),
            each: Some(Bytes(1_000_000)),
        };
        run.apply(&Entry::Followed(Followed {
            at: Micros(0),
            id: ID,
            list: 0,
            holders: vec![holder("train.CACHE"), holder("train.other")],
        }));
        for second in 0..=240 {
            let at = Micros(second * 1_000_000);
            if second >= known {
                run.apply(&Entry::Mark(Mark {
                    at,
                    step: Some(5 * second),
                    source: MarkSource::Callback,
                    ..Mark::default()
                }));
            }
            let readings = readings(second).map(Some).to_vec();
            let id = ID;
            let list = 0;
            run.apply(&Entry::Lengths(Lengths {
                at,
                id,
                list,
                readings,
            }));
        }
        let grown = grown(run.holders(ID), run.looks(ID));
        grown.into_iter().map(|growth| growth.says).collect()
    }

    fn of(length: u64) -> HolderReading {
        HolderReading {
            length,
            capacity: None,
            filled: None,
            renewed: false,
        }
    }

    #[test]
    fn one_that_gets_longer_with_every_step_is_told_with_its_pace() {
        let told_by_steps = told(true, |second| [of(400 + 5 * second), of(30)]);
        assert_eq!(
            told_by_steps,
            [
                "train.CACHE (list): +1.000 a step (95 % interval 0.999 to 1.001), 400 -> 1,600, about 1.20 GB more; it never \
                 got shorter in 241 readings over 1,200 steps"
            ]
        );
        let told_by_time = told(false, |second| [of(400 + 5 * second), of(30)]);
        assert_eq!(
            told_by_time,
            [
                "train.CACHE (list): +300.0 a minute (95 % interval 300.0 to 300.0), 400 -> 1,600, about 1.20 GB more; it never \
                 got shorter in 241 readings over 4m 00s"
            ]
        );
    }

    #[test]
    fn steps_that_are_known_a_little_later_count() {
        let told = told_from(20, |second| [of(400 + 5 * second), of(30)]);
        let says = &told[0];
        assert!(says.contains(": +1.000 a step ("), "{says}");
        assert!(says.ends_with("in 241 readings over 1,100 steps"), "{says}");
        let few = told_from(150, |second| [of(400 + 5 * second), of(30)]);
        assert!(few[0].contains(": +300.0 a minute ("), "{few:?}");
    }

    #[test]
    fn one_that_falls_or_begins_anew_has_no_pace() {
        let teeth = told(true, |second| [of(10 + second % 50), of(30)]);
        assert_eq!(
            teeth,
            [
                "train.CACHE (list): 10 -> 50, about 40.0 MB more; it got shorter 4 times in 241 readings over 1,200 steps"
            ]
        );
        // Emptied and filled again between two readings, it was never seen shorter.
        let renewed = |second: u64| HolderReading {
            renewed: second % 60 == 30,
            ..of(400 + second)
        };
        let anew = told(true, |second| [renewed(second), of(30)]);
        assert_eq!(
            anew,
            [
                "train.CACHE (list): 400 -> 640, about 240 MB more; it never got shorter in 241 readings over 1,200 steps; 4 times \
                 nothing was left of what it had"
            ]
        );
    }

    #[test]
    fn slots_that_are_filled_are_told_and_what_stays_is_not() {
        let slots = |second: u64| HolderReading {
            filled: Some(12 + second),
            ..of(663)
        };
        assert_eq!(
            told(true, |second| [of(30), slots(second)]),
            [
                "train.other (list): 12 -> 252 of 663 slots filled, about 240 MB more; it never got shorter in 241 readings over \
                 1,200 steps"
            ]
        );
        assert!(told(true, |_| [of(30), of(663)]).is_empty());
        assert!(told(true, |second| [of(300 - second), of(663)]).is_empty());
    }
}
