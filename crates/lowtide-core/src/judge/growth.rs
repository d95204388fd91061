//! Rule "enough to accuse": growth is a leak only when it lasted, kept its pace, came in many rises
//! and is not a fill in disguise. Each condition that fails says what is missing.

use super::line::Line;
use super::tail::Tail;
use super::words::{evidence, percent, place, stretch};
use crate::units::show_bytes;
use crate::verdict::{Axis, Evidence};

/// Floor points that a straight line needs: 5 or 6 points in a row are a coincidence that people
/// post (and withdraw); 12 are what the shortest confirmed leak of the shared traces has.
pub const LEAST_POINTS: usize = 12;
/// Below this many points only a large growth counts ...
const FEW_POINTS: usize = 24;
/// ... of at least this share of the level. A writer that keeps metadata until its file is closed
/// showed 17 points in a line and 13 %.
const FEW_GROWTH: f64 = 0.2;
/// Rises that carry the growth: four stairs may be a heap that resizes itself.
const LEAST_RISES: f64 = 5.0;
/// The growth has to last for this share of what was watched ...
const LEAST_SHARE: f64 = 0.34;
/// ... and longer, the larger it is against what the process held before: a store that fills
/// multiplies a process, a leak adds to it. Growth that doubles the process must have lasted nearly
/// the whole run.
const SHARE_PER_SIZE: f64 = 0.55;
const MOST_SHARE: f64 = 0.78;
/// On a time axis nothing counts work, so time has to: shorter growth is start-up. The straight
/// fills at the start of the shared traces end within 90 s.
const LEAST_SECONDS: f64 = 100.0;
/// Growth of this share of the process needs that time; twice the growth needs twice the time.
const SIZE_PER_SECONDS: f64 = 0.25;
/// A bare runtime holds less than a training process does before its data: growth is compared with
/// at least this (an interpreter with its libraries).
const RUNTIME: f64 = 256e6;
/// A pace below this share of the earlier one is slowing.
const SLOWING: f64 = 0.5;
/// The same when it is certain (the bound of the interval).
const SURELY_SLOWING: f64 = 0.85;
/// A final pause this many times longer than any before it may be the end of the growth.
const LONG_PAUSE: f64 = 1.5;
const LEAST_PAUSE: f64 = 0.12;

/// What is missing before growth can be called a leak, and where on the axis it could be there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Missing {
    pub says: Vec<Evidence>,
    pub decides_at: Option<f64>,
}

impl Missing {
    fn add(&mut self, rule: &str, says: String, at: Option<f64>) {
        self.says.push(evidence(rule, says));
        if let Some(at) = at {
            self.decides_at = Some(self.decides_at.map_or(at, |known| known.max(at)));
        }
    }
}

/// Growth against what the process held before it.
fn size(tail: &Tail) -> f64 {
    tail.growth() / tail.level.max(RUNTIME)
}

pub fn missing(line: &Line, tail: &Tail, axis: Axis) -> Missing {
    let mut missing = Missing::default();
    let (first, last) = (line.first_x(), line.last_x());
    let watched = last - first;
    let size = size(tail);
    let share = tail.length() / watched;
    let need = (LEAST_SHARE + SHARE_PER_SIZE * size).min(MOST_SHARE);
    if share < need {
        let at = (tail.from - need * first) / (1.0 - need);
        missing.add(
            "growth must outlast what came before",
            format!(
                "it grows since {}, {} of what was watched; growth by {} needs {}",
                place(axis, tail.from),
                percent(share),
                percent(size),
                percent(need)
            ),
            Some(at),
        );
    }
    let seconds = LEAST_SECONDS * (size / SIZE_PER_SECONDS).max(1.0);
    if axis == Axis::Time && tail.length() < seconds {
        missing.add(
            "time stands for work",
            format!(
                "growth by {} was seen for {}; a store that fills looks the same, and {} would tell more",
                percent(size),
                stretch(axis, tail.length()),
                stretch(axis, seconds)
            ),
            Some(tail.from + seconds),
        );
    }
    let spacing = watched / (line.len().max(2) - 1) as f64;
    if tail.points < LEAST_POINTS {
        missing.add(
            "few points",
            format!(
                "{} points in a row are not enough to know; {LEAST_POINTS} are asked for",
                tail.points
            ),
            Some(last + spacing * (LEAST_POINTS - tail.points) as f64),
        );
    } else if tail.points < FEW_POINTS && tail.growth() < FEW_GROWTH * tail.level {
        missing.add(
            "few points",
            format!(
                "{} points and {} of growth: fewer than {FEW_POINTS} points need {}",
                tail.points,
                percent(tail.growth() / tail.level),
                percent(FEW_GROWTH)
            ),
            Some(last + spacing * (FEW_POINTS - tail.points) as f64),
        );
    }
    if tail.rises < LEAST_RISES {
        missing.add(
            "growth in few jumps",
            format!(
                "{} came in about {:.0} rises; a heap that resizes itself does that too",
                show_bytes(tail.growth()),
                tail.rises.max(1.0)
            ),
            Some(last + tail.length()),
        );
    }
    if tail.pace < SLOWING || tail.pace_high < SURELY_SLOWING {
        missing.add(
            "growth slows down",
            format!(
                "the second half of it runs at {} of the first half's pace",
                percent(tail.pace.max(0.0))
            ),
            Some(last + tail.length()),
        );
    }
    if let Some(pause) = final_pause(line, tail) {
        missing.add(
            "growth may have ended",
            format!(
                "nothing grew for the last {}, longer than any pause before",
                stretch(axis, pause)
            ),
            Some(last + pause),
        );
    }
    missing
}

/// The quiet stretch at the end, when it is longer than the ones before it.
fn final_pause(line: &Line, tail: &Tail) -> Option<f64> {
    let (xs, ys) = (&line.xs[tail.start..], &line.ys[tail.start..]);
    let step = (0.02 * tail.growth()).max(tail.noise);
    let (mut since, mut base, mut longest, mut current) = (xs[0], ys[0], 0.0f64, 0.0f64);
    for (x, y) in xs.iter().zip(ys) {
        current = x - since;
        if y - base > step {
            longest = longest.max(current);
            since = *x;
            base = *y;
            current = 0.0;
        }
    }
    (current > LONG_PAUSE * longest && current > LEAST_PAUSE * tail.length()).then_some(current)
}
