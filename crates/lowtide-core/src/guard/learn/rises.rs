//! How far a row of levels rises, from each to each.

/// Where a level was met, and how high it was, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Of a job that tells its steps.
    pub(super) step: Option<u64>,
    pub(super) seconds: f64,
    pub(super) bytes: f64,
}

impl Point {
    fn steps_since(&self, earlier: &Point) -> f64 {
        let steps = self.step.zip(earlier.step);
        steps.map_or(1.0, |(later, earlier)| {
            later.saturating_sub(earlier).max(1) as f64
        })
    }

    fn rise_since(&self, earlier: &Point) -> f64 {
        (self.bytes - earlier.bytes) / self.steps_since(earlier)
    }
}

/// The rises between all of them, in all and in a step: those that no other one exceeds in both.
#[derive(Clone, Debug, Default)]
pub(super) struct Rises(Vec<(f64, f64)>);

/// Points further apart than this are rare, and compared one by one.
const NEAR: usize = 64;

impl Rises {
    /// Of levels that never fall, in a job that tells its steps.
    pub(super) fn of(points: &[Point]) -> Rises {
        let mut highest = [0.0; NEAR];
        let mut rises = Vec::with_capacity(points.len());
        for (at, later) in points.iter().enumerate() {
            for earlier in &points[..at] {
                let (steps, rise) = (later.steps_since(earlier), later.bytes - earlier.bytes);
                match highest.get_mut(steps as usize) {
                    Some(known) if rise > *known => *known = rise,
                    Some(_) => {}
                    None => rises.push((rise, rise / steps)),
                }
            }
        }
        let mut most = 0.0;
        for (steps, rise) in highest.into_iter().enumerate() {
            if rise > most {
                most = rise;
                rises.push((rise, rise / steps as f64));
            }
        }
        Rises(rises)
    }

    /// The greatest within so many steps.
    pub(super) fn within(&self, steps: f64) -> f64 {
        let mut most = 0.0;
        for (whole, each) in &self.0 {
            let rise = whole.min(each * steps);
            most = if rise > most { rise } else { most };
        }
        most
    }
}

/// The steepest rise from one to the next, in a step.
pub(super) fn steepest(points: &[Point]) -> f64 {
    let rises = points.windows(2).map(|pair| pair[1].rise_since(&pair[0]));
    rises.fold(0.0, f64::max)
}

/// By how much they rise in a step, from the first to the last.
pub(super) fn mean_rise(points: &[Point]) -> f64 {
    match points {
        [first, .., last] if last.step.is_some() => last.rise_since(first).max(0.0),
        _ => 0.0,
    }
}

/// A single step may bring what comes once (a cache, a larger batch), and nobody expects it again before it
/// came twice: the steepest rise counts as much as the next one. Where a tick may have met it half-way it is
/// `halved`: the steeper of its neighbours belongs to it.
pub(super) fn without_the_one_jump(mut points: Vec<Point>, halved: bool) -> Vec<Point> {
    let rise = |points: &[Point], at: usize| match points.get(at..at + 2) {
        Some(pair) => pair[1].rise_since(&pair[0]),
        None => 0.0,
    };
    let steepest = |points: &[Point], parts: [usize; 2]| {
        (0..points.len().saturating_sub(1))
            .filter(|at| !parts.contains(at))
            .map(|at| (rise(points, at), at))
            .fold((0.0, None), |(most, found), (rise, at)| {
                if rise > most {
                    (rise, Some(at))
                } else {
                    (most, found)
                }
            })
    };
    let nobody = usize::MAX;
    let (_, Some(jump)) = steepest(&points, [nobody; 2]) else {
        return points;
    };
    let half = match jump.checked_sub(1) {
        _ if !halved => jump,
        Some(before) if rise(&points, before) > rise(&points, jump + 1) => before,
        _ => jump + 1,
    };
    let (next, _) = steepest(&points, [jump, half]);
    let (mut once, mut before) = (0.0, points[0]);
    for (at, lowered) in points.iter_mut().skip(1).enumerate() {
        let point = *lowered;
        if [jump, half].contains(&at) {
            let more = (point.rise_since(&before) - next).max(0.0);
            once += more * point.steps_since(&before);
        }
        lowered.bytes -= once;
        before = point;
    }
    points
}
