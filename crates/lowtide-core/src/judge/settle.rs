//! Rule "growth ended": where the floor settled, on what level, and that it is flat since. Flat is
//! shown by the upper bound of the slope, not assumed because no rise was found.

use super::line::Line;
use super::tail::Tail;
use crate::stats;

/// Even at its upper bound the tail must need more than this many runs to double.
pub const HORIZON: f64 = 10.0;
/// Or the upper bound allows at most this share of the earlier rise again.
const SHARE_OF_RISE: f64 = 0.1;
/// The flat part has lasted at least this share of what was watched.
const LEAST_FLAT: f64 = 0.2;
/// A floor that rose by less than this share of its level did not warm up.
pub const LEAST_RISE: f64 = 0.08;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    pub at: f64,
    /// The floor there.
    pub plateau: f64,
    /// Where the growth began and what it was.
    pub from: f64,
    pub rise: f64,
    /// Its pace just before it ended.
    pub slope: f64,
}

pub fn flat(line: &Line, tail: &Tail, rise: f64) -> bool {
    let again = tail.high.max(0.0) * line.span();
    let slow =
        again <= tail.level.abs() / HORIZON || tail.high * tail.length() <= SHARE_OF_RISE * rise;
    slow && tail.length() >= LEAST_FLAT * line.span()
}

/// Where the growth before the tail meets the tail's own line.
pub fn settled(line: &Line, tail: &Tail) -> Option<Settled> {
    let before = &line.ys[..tail.start];
    let (lowest, low) = before
        .iter()
        .enumerate()
        .min_by(|a, b| a.1.total_cmp(b.1))
        .map(|(i, y)| (i, *y))?;
    let rise = tail.level - low;
    if rise <= 0.0 {
        return None;
    }
    // The first point that stands on the plateau, within the tail's own ripple.
    let margin = (3.0 * tail.noise).max(0.03 * rise);
    let reached = (lowest..line.len()).find(|i| line.ys[*i] >= on(tail, line.xs[*i]) - margin)?;
    // The pace of the last part of the growth, carried on until it meets the plateau.
    let part = (reached - lowest).div_ceil(4).max(1);
    let from = reached.saturating_sub(part + 1).max(lowest);
    let slope = if reached > from + 1 {
        stats::fit(&line.xs[from..reached], &line.ys[from..reached]).map(|f| f.slope)
    } else {
        None
    };
    let previous = reached.saturating_sub(1);
    let mut at = line.xs[reached];
    let mut pace = rise / (line.xs[reached] - line.xs[lowest]).max(f64::MIN_POSITIVE);
    if let Some(slope) = slope.filter(|s| *s > 0.0) {
        pace = slope;
        let meet = line.xs[previous] + (on(tail, line.xs[previous]) - line.ys[previous]) / slope;
        at = meet.clamp(line.xs[previous], line.xs[reached]);
    }
    Some(Settled {
        at,
        plateau: on(tail, at.max(tail.from)),
        from: line.xs[lowest],
        rise,
        slope: pace,
    })
}

fn on(tail: &Tail, x: f64) -> f64 {
    tail.level + tail.slope * (x - tail.from)
}
