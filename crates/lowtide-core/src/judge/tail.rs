//! Rule "straight end": the longest end of the floor line that one straight line describes. What
//! comes before it is start-up, warm-up or an earlier course; the verdict is about this part.

use super::line::Line;
use crate::stats;

/// Share of the variance that a line has to explain to stand for several pieces: growth in four or
/// more equal stairs has 0.94 (1 - 1/k²).
const EXPLAINED: f64 = 0.9;
/// A third of the tail may run at this share of the average pace at least, and at the inverse at
/// most. A bend that halves the pace is a bend.
const THIRD_PACE: f64 = 0.5;
/// Rounding and ripple below this share of the level are no information.
const RIPPLE: f64 = 0.0005;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Where it starts in the line.
    pub start: usize,
    pub points: usize,
    pub from: f64,
    pub to: f64,
    /// Floor at its start, by its own line.
    pub level: f64,
    pub slope: f64,
    pub low: f64,
    pub high: f64,
    /// Pace of its second half against the first, with the bound it stays below.
    pub pace: f64,
    pub pace_high: f64,
    pub noise: f64,
    pub rises: f64,
}

impl Tail {
    pub fn length(&self) -> f64 {
        self.to - self.from
    }

    pub fn growth(&self) -> f64 {
        self.slope * self.length()
    }
}

pub fn tail(line: &Line) -> Option<Tail> {
    let n = line.len();
    if n < 3 {
        return None;
    }
    let smooth = line.smooth();
    let level = stats::median(&mut smooth.clone())?.abs();
    let noise = stats::noise(&line.ys).max(RIPPLE * level);
    let breaks = stats::last_breaks(&line.xs, &smooth, noise * noise);
    // From the longest to the shortest: the pieces' own breaks, and a grid for growth in stairs.
    let mut starts: Vec<usize> = (0..16)
        .map(|k| k * n / 16)
        .chain(breaks.iter().copied())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let straight = starts
        .into_iter()
        .filter(|start| n - start >= 6)
        .find(|start| grows_straight(&line.xs[*start..], &smooth[*start..]));
    let last = breaks[0];
    let start = straight.map_or(last, |start| start.min(last));
    describe(line, &smooth, start, noise)
}

fn grows_straight(xs: &[f64], ys: &[f64]) -> bool {
    let Some(whole) = stats::fit(xs, ys) else {
        return false;
    };
    if whole.slope <= 0.0 || whole.explained < EXPLAINED {
        return false;
    }
    let third = (xs.len() / 3).max(3);
    let ends = [
        (&xs[..third], &ys[..third]),
        (&xs[xs.len() - third..], &ys[ys.len() - third..]),
    ];
    ends.into_iter().all(|(xs, ys)| {
        stats::fit(xs, ys).is_some_and(|part| {
            let pace = part.slope / whole.slope;
            (THIRD_PACE..=1.0 / THIRD_PACE).contains(&pace)
        })
    })
}

fn describe(line: &Line, smooth: &[f64], start: usize, noise: f64) -> Option<Tail> {
    let (xs, ys) = (&line.xs[start..], &line.ys[start..]);
    let (slope, low, high) = stats::slope_interval(xs, ys, noise / 2.0)?;
    let mut offsets: Vec<f64> = xs.iter().zip(ys).map(|(x, y)| y - slope * x).collect();
    let level = stats::median(&mut offsets)? + slope * xs[0];
    let (pace, pace_high) = pace(xs, &smooth[start..], noise);
    Some(Tail {
        start,
        points: xs.len(),
        from: xs[0],
        to: xs[xs.len() - 1],
        level,
        slope,
        low,
        high,
        pace,
        pace_high,
        noise,
        rises: stats::effective_rises(&smooth[start..]),
    })
}

/// How the second half's pace compares with the first half's, and the bound it stays below (95 %).
fn pace(xs: &[f64], ys: &[f64], noise: f64) -> (f64, f64) {
    let half = xs.len() / 2;
    let parts = (
        stats::slope_interval(&xs[..half.max(2)], &ys[..half.max(2)], noise / 2.0),
        stats::slope_interval(&xs[half..], &ys[half..], noise / 2.0),
    );
    match parts {
        (Some((first, first_low, _)), Some((second, _, second_high))) if first > 0.0 => {
            let ratio = second / first;
            let errors = ((first - first_low).powi(2) * ratio * ratio
                + (second_high - second).powi(2))
            .sqrt();
            (ratio, ratio + errors / first)
        }
        _ => (1.0, f64::INFINITY),
    }
}
