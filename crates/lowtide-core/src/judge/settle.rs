//! Rule "growth ended": where the floor settled, on what level, and that it is flat since. Flat is
//! shown by the upper bound of the slope, not assumed because no rise was found.

use std::ops::Range;

use super::line::Line;
use super::tail::{self, Tail};
use crate::stats;

/// Even at its upper bound the floor must need more than this many runs to double.
pub const HORIZON: f64 = 10.0;
/// Valleys of a saw-tooth are level when their slope may be nothing and would lift them by this share
/// of the teeth at most.
const SHARE_OF_DEPTH: f64 = 0.2;
/// The flat part has lasted at least this share of what was watched.
const LEAST_FLAT: f64 = 0.2;
/// An upper bound above this share of the pace before it does not show that growth ended.
const GOES_ON: f64 = 0.5;
/// Growth that comes in stairs pauses between them: a flat end has to be this many times as long as the
/// pauses before it. One long pause makes no stairs (a job that loads, waits and begins), so it is the
/// second longest that counts.
const LONGER: f64 = 1.5;
/// What is a rise and no pause, as a share of all that it rose by.
const STAIR: f64 = 0.02;
/// A floor that rose by less than this share of its level did not warm up.
pub const LEAST_RISE: f64 = 0.08;
/// The plateau is reached where the floor comes this close to it, as a share of the rise.
const REACHED: f64 = 0.05;

/// The end of the line since it reached its last level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    pub tail: Tail,
    pub level: f64,
    /// Rise from the lowest floor before it; 0 when there was none.
    pub rise: f64,
    pub lowest: usize,
}

impl Plateau {
    pub fn of(line: &Line, noise: f64) -> Option<Plateau> {
        let n = line.len();
        let smooth = line.smooth();
        let newest = line
            .xs
            .partition_point(|x| *x < line.last_x() - 0.25 * line.span());
        let newest = newest.min(n.saturating_sub(3));
        let level = stats::median(&mut smooth[newest..].to_vec())?;
        let lowest = (0..newest.max(1)).min_by(|a, b| smooth[*a].total_cmp(&smooth[*b]))?;
        let rise = (level - smooth[lowest]).max(0.0);
        let margin = (REACHED * rise).max(3.0 * noise);
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

    /// The longest end of the line that is shown to be flat, of the plateau and the other ends.
    /// `depth` is that of the saw-teeth, 0 without; an end that `grows` is not flat, however slow: it
    /// may meet the limit.
    pub fn flat(
        &self,
        line: &Line,
        tails: &[Tail],
        depth: f64,
        grows: impl Fn(&Tail) -> bool,
    ) -> Option<Tail> {
        let horizon = line.span() * HORIZON;
        tails
            .iter()
            .chain([&self.tail])
            .filter(|tail| {
                let slow = tail.high * horizon <= tail.level_end.abs();
                let level = tail.low <= 0.0 && tail.high * tail.length() <= SHARE_OF_DEPTH * depth;
                (slow || level) && tail.length() >= LEAST_FLAT * line.span() && !grows(tail)
            })
            .max_by(|a, b| a.length().total_cmp(&b.length()))
            .copied()
    }

    /// The flat end may be a stair of a growth that goes on: it is no longer than the stairs before it, or
    /// what came before it, for as long, grew at a pace that the end's upper bound still allows.
    pub fn may_go_on(&self, line: &Line, flat: &Tail, grows: impl Fn(&Tail) -> bool) -> bool {
        let risen = self.rise > LEAST_RISE * self.level;
        if risen && flat.length() < LONGER * self.usual_pause(line) {
            return true;
        }
        let earliest = flat.from - flat.length();
        let first = line.xs.partition_point(|x| *x < earliest);
        let piece = line.from(line.xs[first]).until(flat.from);
        tail::describe(&piece, 0, flat.noise)
            .is_some_and(|before| grows(&before) && flat.high > GOES_ON * before.slope)
    }

    /// The second longest stretch between two rises on the way to the plateau.
    fn usual_pause(&self, line: &Line) -> f64 {
        let stair = (STAIR * self.rise).max(2.0 * self.tail.noise);
        let way = self.lowest..(self.tail.start + 1).min(line.len());
        let (mut since, mut base) = (line.xs[way.start], line.ys[way.start]);
        let (mut longest, mut second) = (0.0_f64, 0.0_f64);
        for i in way {
            if line.ys[i] - base > stair {
                let pause = line.xs[i] - since;
                second = second.max(pause.min(longest));
                longest = longest.max(pause);
                since = line.xs[i];
                base = line.ys[i];
            }
        }
        second
    }

    /// Where the growth before the plateau meets it, and the pace of that growth.
    pub fn knee(&self, line: &Line) -> (f64, f64) {
        let (from, reached) = (self.lowest, self.tail.start);
        let mean = self.rise / (line.xs[reached] - line.xs[from]).max(f64::MIN_POSITIVE);
        if reached < from + 2 {
            return (line.xs[reached], mean);
        }
        // The pace of the last part of the growth, carried on until it meets the plateau: a log line
        // every tenth step would place the knee up to ten steps late otherwise.
        let part = ((reached - from) / 4).max(2);
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
        let on_it = |i: &usize| line.ys[*i] >= on - 2.0 * self.tail.noise;
        let latest = line.xs[(reached..line.len()).find(on_it).unwrap_or(reached)];
        (
            meet.clamp(x, latest),
            slope_of(from..reached).unwrap_or(mean),
        )
    }

    /// The level of the plateau where growth met it, carried back to `x`. It may sink or creep later, and
    /// its first points may still belong to the growth: the highest of several fits is right for both.
    fn level_near(&self, line: &Line, reached: usize, x: f64, slope: f64) -> f64 {
        let rest = line.len() - reached;
        let back = (0..4)
            .filter_map(|k| {
                let start = reached + k * rest / 5;
                let fit = stats::fit(&line.xs[start..], &line.ys[start..])?;
                (fit.slope < slope / 2.0).then(|| fit.at(x))
            })
            .max_by(f64::total_cmp);
        let highest = line.ys[reached..]
            .iter()
            .copied()
            .fold(self.level, f64::max);
        back.unwrap_or(self.level).min(highest)
    }
}
