//! The level that a floor came to: where the end of the line reached it, how far it rose before, and where
//! that growth met it. The rules beside ask whether it is flat and whether the growth has ended.

use std::ops::Range;

use crate::judge::line::FloorLine;
use crate::judge::tail::{self, Tail};
use crate::stats;

/// The newest part of the line, as a share of it, whose middle is the level.
const NEWEST: f64 = 0.25;
/// The plateau is reached where the floor comes this close to it, as a share of the rise ...
const REACHED: f64 = 0.05;
/// ... or as so many times its noise: what lies closer is on it.
const REACHED_NOISE: f64 = 3.0;
/// The pace that meets the plateau is that of the last part of the growth, one in so many: a cache fades.
const LAST_PART: usize = 4;
/// A point of the growth stands on the plateau within this many times its noise.
const ON_IT: f64 = 2.0;
/// The level is fitted from the first points of the plateau on and without so many fifths of it: its first
/// points may still belong to the growth.
const FIFTHS: usize = 4;
/// What rises at this share of the growth's pace is growth, and no level.
const LEVEL: f64 = 0.5;

/// The end of the line since it reached its last level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plateau {
    pub tail: Tail,
    pub level: f64,
    /// Rise from the lowest floor before it; 0 when there was none.
    pub rise: f64,
    pub lowest: usize,
}

impl Plateau {
    pub(crate) fn of(line: &FloorLine, noise: f64) -> Option<Plateau> {
        let n = line.len();
        let smooth = line.smooth();
        let newest = line
            .xs
            .partition_point(|x| *x < line.last_x() - NEWEST * line.span());
        let newest = newest.min(n.saturating_sub(3));
        let level = stats::median(&mut smooth[newest..].to_vec())?;
        let lowest = (0..newest.max(1)).min_by(|a, b| smooth[*a].total_cmp(&smooth[*b]))?;
        let rise = (level - smooth[lowest]).max(0.0);
        let margin = (REACHED * rise).max(REACHED_NOISE * noise);
        let start = (lowest..n)
            .rev()
            .find(|i| smooth[*i] < level - margin)
            .map_or(0, |i| i + 1)
            .min(n.saturating_sub(4));
        let tail = tail::describe(line, start, noise)?;
        Some(Plateau {
            tail,
            level,
            rise,
            lowest,
        })
    }

    /// Where the growth before the plateau meets it, and the pace of that growth.
    pub(crate) fn knee(&self, line: &FloorLine) -> (f64, f64) {
        let (from, reached) = (self.lowest, self.tail.start);
        let mean = self.rise / (line.xs[reached] - line.xs[from]).max(f64::MIN_POSITIVE);
        if reached < from + 2 {
            return (line.xs[reached], mean);
        }
        // The pace of the last part of the growth, carried on until it meets the plateau: a log line
        // every tenth step would place the knee up to ten steps late otherwise.
        let part = ((reached - from) / LAST_PART).max(2);
        let piece = (reached - part).max(from)..reached;
        let slope_of = |piece: Range<usize>| {
            stats::fit(&line.xs[piece.clone()], &line.ys[piece])
                .map(|f| f.slope)
                .filter(|slope| *slope > 0.0)
        };
        let Some(slope) = slope_of(piece) else {
            return (line.xs[reached], mean);
        };
        let (x, y) = (line.xs[reached - 1], line.ys[reached - 1]);
        let on = self.level_near(line, reached, x, slope);
        let meet = x + (on - y) / slope;
        // Not later than the first point that stands on the plateau within its noise.
        let on_it = |i: &usize| line.ys[*i] >= on - ON_IT * self.tail.noise;
        let latest = line.xs[(reached..line.len()).find(on_it).unwrap_or(reached)];
        (
            meet.clamp(x, latest),
            slope_of(from..reached).unwrap_or(mean),
        )
    }

    /// The level of the plateau where growth met it, carried back to `x`. It may sink or creep later, and
    /// its first points may still belong to the growth: the highest of several fits is right for both.
    fn level_near(&self, line: &FloorLine, reached: usize, x: f64, slope: f64) -> f64 {
        let rest = line.len() - reached;
        let back = (0..FIFTHS)
            .filter_map(|k| {
                let start = reached + k * rest / (FIFTHS + 1);
                let fit = stats::fit(&line.xs[start..], &line.ys[start..])?;
                (fit.slope < LEVEL * slope).then(|| fit.at(x))
            })
            .max_by(f64::total_cmp);
        let highest = line.ys[reached..]
            .iter()
            .copied()
            .fold(self.level, f64::max);
        back.unwrap_or(self.level).min(highest)
    }
}
