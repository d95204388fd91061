//! What the growth is proportional to. Every count that was kept (steps, new examples, evaluations, …)
//! is laid against the floor of the growing part; the one that leaves least unexplained is named, and
//! those that this data cannot part from it are named beside it.
//!
//! Two counts with a level and a slope each are compared by the likelihood of what they leave over.
//! Neighbouring floor points resemble each other, so n of them are worth fewer (`stats::worth`).

use crate::judge::Examined;
use crate::judge::excursion::Excursion;
use crate::judge::line::FloorLine;
use crate::judge::words::{percent, unit};
use crate::run::levels::Held;
use crate::run::occurrences::Occurrences;
use crate::series::Series;
use crate::stats;
use crate::units::show_bytes;
use crate::verdict::{Axis, Class, Verdict};

use super::Driver;
use units::{all_units, different};
use unmarked::{between, unmarked};

mod units;
mod unmarked;

/// One explanation beats another when it is this many times as likely: 19 to 1 is the usual 95 %.
const LIKELIER: f64 = 20.0;
/// A loop does its work in steps, and what grows with the clock instead is rare in it, perhaps one in twenty: so much
/// likelier has time to be than steps are. Growth that bends fits one of them a little better by chance.
const RARE: f64 = 20.0;
/// What is left over is never taken to be smaller than this share of the growth: floors are read with
/// a grain (pages, arenas, the moment in the step), and below it a better fit is luck.
const GRAIN: f64 = 0.005;
/// Two counts that move together this closely are one and the same to us, whatever they leave over.
const SAME: f64 = 0.999;
/// A reading lies anywhere within its step, which has kept none or all of what it keeps: time that runs with
/// the steps to within one of them, usually, cannot be parted from them, however well it fits.
const WITHIN_A_STEP: f64 = 1.0;
/// A count explains something from this share of the variation on.
const EXPLAINS: f64 = 0.5;
/// Something must have happened this often within the growth; a single stair fits any growth.
const LEAST_UNITS: usize = 3;
/// Points that a comparison needs.
const LEAST_POINTS: usize = 5;
/// Valleys stand for the floor when there are at least this many in the growth.
const LEAST_VALLEYS: usize = 6;

/// What was counted beside the floor.
#[derive(Clone, Copy, Default)]
pub(crate) struct CountedBeside<'a> {
    pub occurrences: Option<&'a Occurrences>,
    pub held: Option<&'a Held>,
    /// Slow steps may be recompilations.
    pub compiles: bool,
}

struct Try {
    name: &'static str,
    /// Per floor point.
    units: Vec<f64>,
    fit: stats::Fit,
    left: Vec<f64>,
    /// Sum of squares that it leaves, with the grain.
    rest: f64,
}

/// Best first; empty when nothing grew.
pub(crate) fn drivers(
    verdict: &Verdict,
    series: &Series,
    examined: &Examined,
    counted: CountedBeside<'_>,
) -> Vec<Driver> {
    let Some(growth) = &verdict.growth else {
        return Vec::new();
    };
    let said = growth.driver.as_deref();
    // Growth that ended with the epoch is told from steps by what came after it; what ended
    // otherwise has no count that stops with it.
    let until = if said == Some("new-example") && verdict.verdict == Class::WarmUp {
        f64::INFINITY
    } else {
        growth.to
    };
    let excursions = unmarked(series, verdict.axis, counted.occurrences);
    let line = floor(examined, growth.from, until, &excursions);
    if line.len() < LEAST_POINTS {
        return Vec::new();
    }
    let grain = GRAIN * growth.bytes.abs();
    let noise = stats::noise(&line.ys).max(grain);
    let mut all = all_units(verdict, series, examined, counted, &line);
    let over = |x: &f64| excursions.partition_point(|one| one.to < *x) as f64;
    let units: Vec<f64> = line.xs.iter().map(over).collect();
    if different(&units) > LEAST_UNITS {
        all.push(("excursion", units));
    }
    let mut tries = all
        .into_iter()
        .filter_map(|(name, units)| attempt(name, units, &line, noise))
        .filter(|t| t.fit.slope > 0.0 && t.fit.explained >= EXPLAINS)
        .collect::<Vec<_>>();
    tries.sort_by(|a, b| a.rest.total_cmp(&b.rest));
    order_ties(&mut tries, said);
    let best = tries
        .first()
        .map(|best| (best.rest, stats::worth(&best.left)));
    let growing = growth.to;
    (0..tries.len())
        .map(|i| {
            let (rest, worth) = best.unwrap_or((1.0, 1.0));
            let tied = i > 0 && is_tied(&tries[0], &tries[i], rest, worth);
            let next = tries.get(i + 1).map(|next| next.rest / tries[i].rest);
            let first = tries[0].name;
            tell(
                &tries[i],
                &line,
                growing,
                noise,
                (tied, next, first),
                verdict,
                examined,
            )
        })
        .collect()
}

/// The floor of the growing part. Where there are excursions, what lies between them: a bucket that
/// holds one does not tell on which side of it its floor was, and valleys would be one to each.
fn floor(examined: &Examined, from: f64, until: f64, excursions: &[Excursion]) -> FloorLine {
    let cut = |line: &FloorLine| {
        let after = f64::next_up(until);
        line.from(from).until(if until.is_finite() {
            after
        } else {
            f64::INFINITY
        })
    };
    let left = between(cut(&examined.fine), excursions);
    if !excursions.is_empty() && left.len() >= LEAST_POINTS {
        return left;
    }
    let valleys = examined.valleys.as_ref().map(cut);
    match valleys.filter(|valleys| valleys.len() >= LEAST_VALLEYS) {
        Some(valleys) => valleys,
        None => cut(&examined.fine),
    }
}

fn attempt(name: &'static str, units: Vec<f64>, line: &FloorLine, noise: f64) -> Option<Try> {
    let fit = stats::fit(&units, &line.ys)?;
    let left: Vec<f64> = units
        .iter()
        .zip(&line.ys)
        .map(|(u, y)| y - fit.at(*u))
        .collect();
    let squares: f64 = left.iter().map(|r| r * r).sum();
    Some(Try {
        name,
        rest: squares + left.len() as f64 * noise * noise,
        units,
        fit,
        left,
    })
}

fn is_tied(best: &Try, other: &Try, rest: f64, worth: f64) -> bool {
    let likelihood = worth / 2.0 * (other.rest / rest).ln();
    let rare = best.name == "time" && other.name == "step";
    let needed = if rare { RARE * LIKELIER } else { LIKELIER };
    likelihood < needed.ln() || is_the_same(best, other)
}

/// Time runs with the steps until the pace changes, and with epochs that are too short for anybody to look into one.
fn is_the_same(a: &Try, b: &Try) -> bool {
    let short = |t: &Try| 2 * different(&t.units) > t.units.len();
    let rounds = |t: &Try| t.name == "step" || t.name == "epoch" && short(t);
    let smooth = |t: &Try| matches!(t.name, "time" | "step" | "new-example");
    let (of, steps) = if rounds(a) { (b, a) } else { (a, b) };
    let by_time = of.name == "time" && rounds(steps);
    if a.name == b.name || !(by_time || smooth(a) && smooth(b)) {
        return false;
    }
    stats::fit(&of.units, &steps.units).is_some_and(|fit| {
        let apart = of.units.iter().zip(&steps.units);
        let squares: f64 = apart.map(|(u, s)| (s - fit.at(*u)).powi(2)).sum();
        let apart = (squares / steps.units.len() as f64).sqrt();
        fit.explained > SAME || by_time && apart <= WITHIN_A_STEP
    })
}

/// Of those that cannot be parted the one that the judge named comes first, then the plainest.
fn order_ties(tries: &mut [Try], said: Option<&str>) {
    let Some(best) = tries.first() else { return };
    let (rest, worth) = (best.rest, stats::worth(&best.left));
    let tied = tries
        .iter()
        .filter(|t| is_tied(&tries[0], t, rest, worth))
        .count();
    let rank = |t: &Try| {
        const PLAINEST: [&str; 10] = [
            "step",
            "new-example",
            "evaluation",
            "save",
            "epoch",
            "excursion",
            "log",
            "worker-start",
            "recompile",
            "file-bytes",
        ];
        match said {
            // Where no step is printed an epoch is the unit of work; the clock is only the axis.
            Some("time") if t.name == "epoch" => 0,
            Some(said) if said == t.name => 1,
            _ => {
                2 + PLAINEST
                    .iter()
                    .position(|p| *p == t.name)
                    .unwrap_or(PLAINEST.len())
            }
        }
    };
    // Ties are not transitive: those tied with the best come first, the rest stays in order.
    let keys: Vec<bool> = tries
        .iter()
        .map(|t| is_tied(&tries[0], t, rest, worth))
        .collect();
    let names: Vec<&str> = tries
        .iter()
        .zip(&keys)
        .filter(|(_, k)| **k)
        .map(|(t, _)| t.name)
        .collect();
    tries.sort_by_key(|t| !names.contains(&t.name));
    tries[..tied].sort_by_key(rank);
}

fn tell(
    this: &Try,
    line: &FloorLine,
    growing: f64,
    noise: f64,
    (tied, margin, first): (bool, Option<f64>, &str),
    verdict: &Verdict,
    examined: &Examined,
) -> Driver {
    // The size of a unit is that of the growing part; a plateau says nothing about it.
    let part = line
        .xs
        .partition_point(|x| *x <= growing)
        .max(2)
        .min(line.len());
    let (units, ys) = (&this.units[..part], &line.ys[..part]);
    let (per_unit, low, high) = stats::slope_interval(units, ys, noise / 2.0).unwrap_or((
        this.fit.slope,
        0.0,
        2.0 * this.fit.slope,
    ));
    let seen = units.last().unwrap_or(&0.0) - units.first().unwrap_or(&0.0);
    let parts_at = tied
        .then(|| parts_at(first, this.name, line, examined))
        .flatten();
    let mut says = in_words(this, (per_unit, low, high), seen, examined);
    if tied {
        says += &format!(
            "; {}",
            cannot_part(first, this.name, parts_at, verdict.axis)
        );
    }
    Driver {
        name: this.name.to_owned(),
        per_unit,
        low,
        high,
        units: seen,
        explains: this.fit.explained.clamp(0.0, 1.0),
        margin,
        tied,
        parts_at,
        says,
    }
}

/// How much per unit, over how many, and how well that fits.
fn in_words(
    this: &Try,
    (per_unit, low, high): (f64, f64, f64),
    seen: f64,
    examined: &Examined,
) -> String {
    let explained = percent(this.fit.explained);
    if this.name == "file-bytes" {
        return format!(
            "{per_unit:.2} bytes for every byte of files mapped ({}); it explains {explained} of the variation",
            show_bytes(seen)
        );
    }
    let counted = examined
        .epoch
        .is_some_and(|e| e.examples_per_step.is_some());
    let unit = match this.name {
        // How many examples a step takes is not known: then the steps of the first pass count.
        "new-example" if !counted => "first-epoch step",
        name => unit(name),
    };
    format!(
        "{} per {unit} (95 % interval {} to {}) over {seen:.0} {unit}s; it explains {explained} of the variation",
        show_bytes(per_unit),
        show_bytes(low),
        show_bytes(high),
    )
}

/// Where the two will part, if that can be said.
fn parts_at(first: &str, other: &str, line: &FloorLine, examined: &Examined) -> Option<f64> {
    let pair = [first, other];
    if pair.contains(&"new-example") {
        return examined
            .epoch
            .map(|e| e.end())
            .filter(|end| *end > line.last_x());
    }
    if pair.contains(&"time") || pair.contains(&"log") {
        return None;
    }
    // Counts of the same course part by their stairs: twice as many of them show it.
    Some(line.last_x() + line.span())
}

fn cannot_part(first: &str, other: &str, at: Option<f64>, axis: Axis) -> String {
    let pair = [first, other];
    if let Some(at) = at {
        let about = if pair.contains(&"new-example") {
            ""
        } else {
            "about "
        };
        return format!(
            "it cannot be told from {first} before {about}{}",
            crate::judge::words::place(axis, at)
        );
    }
    if pair.contains(&"time") {
        return format!("it cannot be told from {first} while all steps take equally long");
    }
    format!("it cannot be told from {first} while both come at the same interval")
}
