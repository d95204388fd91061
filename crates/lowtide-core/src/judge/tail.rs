//! Rule "straight end": ends of the floor line that one straight line may describe. What comes
//! before such an end is start-up, warm-up or an earlier course; the verdict is about the end.

use std::ops::Range;

use super::line::FloorLine;
use super::rule::Rule;
use super::words::percent;
use crate::stats;
use crate::verdict::Evidence;

pub(super) const RULE: Rule = Rule::named("straight end");

/// Points without which an end is not looked at, ...
const LEAST: usize = 4;
/// ... and without which there is no line and no error of it at all.
pub(super) const FEWEST: usize = 3;
/// Rounding and ripple below this share of the level are no information.
const RIPPLE: f64 = 0.0005;
/// Ends that are tried beside the breaks of the line: every twentieth of it, for growth in stairs,
/// which has a break at every stair.
const GRID: usize = 20;
const GRID_ENDS: usize = 14;
/// A pace that changes by less than this share of it from end to end is one pace, ...
const STRAIGHT: f64 = 0.35;
/// ... if no part of it runs at half of it, or at twice.
const EVEN: Range<f64> = 0.5..2.0;
/// The stretches before the tail that show whether growth is slowing, as shares of the tail.
const BEFORE: [f64; 2] = [0.25, 1.0];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tail {
    /// Where it starts in the line.
    pub start: usize,
    pub points: usize,
    pub from: f64,
    pub to: f64,
    /// Floor at its start and at its end, by its own line.
    pub level: f64,
    pub level_end: f64,
    pub slope: f64,
    pub low: f64,
    pub high: f64,
    /// Slope of its newer half.
    pub newer: f64,
    /// By how much each fifth stands above the one before, as a share of an even rise.
    pub fifths: [f64; 4],
    /// Its pace without its first fifth, and without its last, against its own.
    pub cuts: [f64; 2],
    /// How much its pace changes from end to end, as a share of it, and how far that may be off.
    pub bend: f64,
    pub bend_reach: f64,
    /// Pace of the stretches before it against its own.
    pub before: [Option<f64>; 2],
    /// The highest floor before it.
    pub held_before: f64,
    pub noise: f64,
    pub rises: f64,
    /// Whether slope and interval are those of the median already.
    by_median: bool,
}

impl Tail {
    pub(super) fn length(&self) -> f64 {
        self.to - self.from
    }

    pub(super) fn growth(&self) -> f64 {
        self.slope * self.length()
    }

    /// Works out what is only asked of growth that counts: how straight it is and what came before.
    pub(crate) fn look_closer(&mut self, line: &FloorLine, smooth: &[f64]) {
        let (xs, ys) = (&line.xs[self.start..], &line.ys[self.start..]);
        let rest = &smooth[self.start..];
        self.fifths = fifths(xs, rest, self.slope);
        self.cuts = cuts(xs, ys, self.slope);
        (self.bend, self.bend_reach) =
            stats::bend(xs, ys, self.noise / 2.0).unwrap_or((0.0, f64::INFINITY));
        self.before = BEFORE.map(|share| before(line, self.start, self.slope, share));
        self.held_before = smooth[..self.start].iter().copied().fold(0.0, f64::max);
        self.rises = stats::effective_rises(rest);
    }

    /// Takes the median of all slopes, which single wild windows do not move, for its slope.
    pub(crate) fn by_median(&mut self, line: &FloorLine) {
        if self.by_median {
            return;
        }
        let (xs, ys) = (&line.xs[self.start..], &line.ys[self.start..]);
        if let Some(median) = stats::slope_interval(xs, ys, self.noise / 2.0) {
            (self.slope, self.low, self.high) = median;
        }
        self.by_median = true;
    }

    /// One pace describes it, whatever came before: no part runs at half of it, or at twice.
    pub(crate) fn is_straight(&self) -> bool {
        let even = |pace: &f64| EVEN.contains(pace);
        self.bend.abs() < STRAIGHT && self.fifths.iter().chain(&self.cuts).all(even)
    }

    /// What speaks for one pace, in words.
    pub(crate) fn keeps_its_pace(&self, whole: &FloorLine) -> Evidence {
        RULE.says(format!(
            "it keeps its pace for {} of what was watched, in about {:.0} rises; the newer part grows {:.2} times as fast as the older",
            percent(self.length() / whole.span()),
            self.rises,
            self.pace()
        ))
    }

    /// Pace of the newer fifths against that of the older ones.
    pub(super) fn pace(&self) -> f64 {
        let [a, b, c, d] = self.fifths;
        if a + b > 0.0 {
            (c + d) / (a + b)
        } else {
            f64::INFINITY
        }
    }
}

/// Where the ends worth looking at begin: first the line's own last pieces, newest first, then the
/// grid, longest first.
pub(super) fn starts(line: &FloorLine, smooth: &[f64], noise: f64) -> Vec<usize> {
    let mut starts = stats::last_breaks(&line.xs, smooth, noise * noise);
    for k in 0..GRID_ENDS {
        let start = k * line.len() / GRID;
        if !starts.contains(&start) {
            starts.push(start);
        }
    }
    starts
}

/// Noise of the line, at least its ripple.
pub(super) fn noise(line: &FloorLine) -> f64 {
    let level = stats::median(&mut line.ys.clone()).unwrap_or(0.0).abs();
    stats::noise(&line.ys).max(RIPPLE * level)
}

/// An end of the line; what is only asked of growth is left for [`Tail::look_closer`].
pub(super) fn describe(line: &FloorLine, start: usize, noise: f64) -> Option<Tail> {
    (line.len() - start >= LEAST).then(|| describe_few(line, start, noise))?
}

/// The same of three points.
pub(crate) fn describe_few(line: &FloorLine, start: usize, noise: f64) -> Option<Tail> {
    let (xs, ys) = (&line.xs[start..], &line.ys[start..]);
    if xs.len() < FEWEST {
        return None;
    }
    let whole = stats::fit(xs, ys)?;
    let (slope, low, high) = stats::slope_error(xs, ys, whole.slope, noise / 2.0)?;
    let (from, to) = (xs[0], xs[xs.len() - 1]);
    let mut tail = Tail {
        start,
        points: xs.len(),
        from,
        to,
        level: whole.at(from),
        level_end: whole.at(to),
        slope,
        low,
        high,
        newer: slope,
        fifths: [0.0; 4],
        cuts: [0.0; 2],
        bend: 0.0,
        bend_reach: f64::INFINITY,
        before: [None; 2],
        held_before: 0.0,
        noise,
        rises: 0.0,
        by_median: false,
    };
    if low > 0.0 {
        let half = xs.len() / 2;
        tail.newer = stats::fit(&xs[half..], &ys[half..])?.slope;
    }
    Some(tail)
}

fn fifths(xs: &[f64], ys: &[f64], slope: f64) -> [f64; 4] {
    let width = (xs[xs.len() - 1] - xs[0]) / 5.0;
    let mut middles = [0.0; 5];
    let mut at = 0;
    for (k, middle) in middles.iter_mut().enumerate() {
        let end = if k == 4 {
            xs.len()
        } else {
            let edge = xs[0] + width * (k + 1) as f64;
            at + xs[at..].partition_point(|x| *x < edge)
        };
        // A fifth without points (a gap) takes over the level at its edge.
        *middle = if end > at {
            stats::median(&mut ys[at..end].to_vec()).unwrap_or(ys[at])
        } else {
            ys[at.min(ys.len() - 1)]
        };
        at = end;
    }
    let even = slope * width;
    std::array::from_fn(|k| (middles[k + 1] - middles[k]) / even)
}

fn cuts(xs: &[f64], ys: &[f64], slope: f64) -> [f64; 2] {
    let fifth = (xs.len() / 5).max(1);
    let pace = |xs: &[f64], ys: &[f64]| stats::fit(xs, ys).map_or(1.0, |f| f.slope / slope);
    let end = xs.len() - fifth;
    [
        pace(&xs[fifth..], &ys[fifth..]),
        pace(&xs[..end], &ys[..end]),
    ]
}

fn before(line: &FloorLine, start: usize, slope: f64, share: f64) -> Option<f64> {
    let (from, to) = (line.xs[start], line.last_x());
    let earliest = from - share * (to - from);
    let first = line.xs.partition_point(|x| *x < earliest);
    if start < first + 2 || slope <= 0.0 {
        return None;
    }
    let piece = stats::fit(&line.xs[first..=start], &line.ys[first..=start])?;
    Some(piece.slope / slope)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{end_of, look, names, surely_leaks_after_seconds};
    use crate::verdict::{Axis, Class};

    #[test]
    fn a_line_is_straight_and_a_bend_is_not() {
        let is_straight = |shape: fn(f64) -> f64| end_of(shape).1.is_straight();
        assert!(is_straight(|x| 1000.0 + 10.0 * x));
        assert!(!is_straight(|x| 1000.0 + 100.0 * x.sqrt()));
        assert!(!is_straight(|x| 1000.0 + 0.2 * x * x));
    }

    #[test]
    fn a_leak_names_its_straight_end() {
        let seconds = 1.1 * surely_leaks_after_seconds();
        let leak = look(Axis::Time, seconds as usize, |x| 1000.0 + x);
        assert_eq!(leak.verdict, Class::Leak, "{:#?}", leak.evidence);
        assert!(names(&leak, RULE), "{:#?}", leak.evidence);
    }
}
