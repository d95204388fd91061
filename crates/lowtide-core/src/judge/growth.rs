//! Rule "steady growth": the floor lasted in rising, kept its pace, came in many rises, and is no start-up or
//! fill that shows in its shape. Each condition that fails says what is missing. Whether steady growth ends
//! is another question ([`super::ending`]).

use super::ending::outlasts;
use super::epoch::Epoch;
use super::line::Line;
use super::tail::Tail;
use super::words::{evidence, percent, place, stretch};
use crate::units::show_bytes;
use crate::verdict::{Axis, Evidence};

/// Floor points that a straight line needs: 5 or 6 points in a row are a coincidence that people
/// post (and withdraw); 12 are what the shortest confirmed leak of the shared traces has.
pub const LEAST_POINTS: usize = 12;
/// Valleys of a saw-tooth are work cycles already: each is a collection that could not free it.
const LEAST_VALLEYS: usize = 6;
/// Below this many points only a large growth counts ...
pub const FEW_POINTS: usize = 24;
/// ... of at least this share of the level. A writer that keeps metadata until its file is closed
/// showed 17 points in a line and 13 %.
const FEW_GROWTH: f64 = 0.2;
/// Without the length of an epoch, so few steps may be a first pass over the data or a runtime that
/// settles: only a large growth counts, against the level and in bytes. Scaled-down labs fill their
/// stores straight until step 60; forked readers copy 110 MB in 31 steps.
const FEW_STEPS: f64 = 75.0;
const FEW_STEPS_BYTES: f64 = 128e6;
/// Rises that carry the growth: four stairs may be a heap that resizes itself.
const LEAST_RISES: f64 = 5.0;
/// Valleys differ in depth by nature, which concentrates the rises.
const LEAST_VALLEY_RISES: f64 = 3.5;
/// The growth has to last for this share of what was watched ...
const LEAST_SHARE: f64 = 0.32;
/// ... and longer, the larger it is against what the process held before: a store that fills
/// multiplies a process, a leak adds to it. Growth that doubles the process must have lasted nearly
/// the whole run. Size counts in full for what doubles the process within `FILL_SECONDS`, and else as
/// far as its pace may change: a fill slows down, a leak keeps its pace.
const SHARE_PER_SIZE: f64 = 0.5;
/// A replay buffer of the shared traces fills straight for half an hour and would double its process
/// in 22 minutes; at the pace of a doubling in more than an hour a fill shows its bend.
const FILL_SECONDS: f64 = 3600.0;
/// A change of the pace from end to end that is surely below this share of it says nothing against it.
const WAVERS: f64 = 0.6;
/// The same for a pace that is not known well: half the width of its interval against it. Steps are
/// counted work; on other axes only time can make up for doubt.
const SHARE_PER_DOUBT: f64 = 0.7;
const MOST_SHARE: f64 = 0.78;
/// On a time axis nothing counts work, so time has to: shorter growth is start-up. The straight
/// fills at the start of the shared traces end within 90 s.
pub const LEAST_SECONDS: f64 = 75.0;
/// When that much was watched, growth that came after the start-up needs less, if it is straight: its
/// pace changes by less than `STRAIGHT` from end to end, surely. Start-ups that look so are short.
const STRAIGHT_SECONDS: f64 = 40.0;
const STRAIGHT: f64 = 0.35;
/// What would double the process within this time is filling it: such growth has to last that long.
/// No more, because a fast leak has to be told before it is over.
const MOST_SECONDS: f64 = 480.0;
/// A bare runtime holds less than a training process does before its data: growth is compared with
/// at least this (an interpreter with its libraries).
const RUNTIME: f64 = 512e6;
/// A pace below this share of the earlier one is slowing.
const SLOWING: f64 = 0.7;
/// Cut by a fifth at either end, it keeps its pace within these bounds.
const STEADY: std::ops::Range<f64> = 0.7..1.4;
/// A pace that surely falls by this share from end to end approaches a level.
const SLOWS: f64 = -0.35;
/// The pace at the end is a third of that at the start, sure or not.
const HALTS: f64 = -1.0;
/// Where steps do not count the work, a fall of the pace by this much has to be ruled out.
const MAY_HALT: f64 = -0.6;
/// With this much bend and a stretch before it that was that many times faster, the pace is still
/// coming down. What was faster still is a start-up or a jump.
const STILL_SLOWS: f64 = -0.15;
const SLOWED: std::ops::Range<f64> = 1.1..3.5;
/// A pace that rises by more than its own size from end to end.
const RUNS_AWAY: f64 = 1.0;
/// This share of the growth has to be above everything that was held before it.
const NEW_GROUND: f64 = 0.5;
/// Each fifth of the growth stands above the one before by this share of an even rise at least.
const LEAST_FIFTH: f64 = 0.5;
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
    /// Too few points to say more than that they rise.
    pub fn few(points: usize, least: usize) -> Missing {
        let mut missing = Missing::default();
        missing.add(
            "few points",
            format!("{points} points of the floor; nothing is decided below {least}"),
            None,
        );
        missing
    }

    /// Its pace changes from end to end: no one rate describes it.
    pub fn bends(&self) -> bool {
        let bend = |says: &Evidence| {
            ["growth slows down", "growth is not steady"].contains(&says.rule.as_str())
        };
        self.says.iter().any(bend)
    }

    fn add(&mut self, rule: &str, says: String, at: Option<f64>) {
        self.says.push(evidence(rule, says));
        if let Some(at) = at {
            self.decides_at = Some(self.decides_at.map_or(at, |known| known.max(at)));
        }
    }
}

impl Missing {
    /// Least squares may be led by a few windows; the median of all slopes has to agree, and is the
    /// rate that is told then.
    pub fn unless_median_grows(&mut self, line: &Line, tail: &mut Tail) {
        tail.by_median(line);
        if tail.low <= 0.0 {
            self.add(
                "growth is not steady",
                "a few windows carry it; most pairs of points show none".to_owned(),
                Some(tail.to + tail.length() / 2.0),
            );
        }
    }
}

impl Missing {
    /// Growth within the first epoch proves nothing: it has to go on after its end.
    pub fn unless_it_outlasts(&mut self, axis: Axis, line: &Line, tail: &Tail, epoch: Epoch) {
        let goes_on = outlasts(line, tail.from, epoch.end(), epoch.faded_at());
        if tail.from < epoch.end() && !goes_on {
            self.add(
                "first pass over the data",
                format!(
                    "the epoch ended at {}; growth after it is not shown",
                    place(axis, epoch.end())
                ),
                Some(epoch.seen_at().max(tail.to + 0.25 * epoch.steps)),
            );
        }
    }
}

/// A promise of where it will be decided keeps this distance: a knee is known to two windows.
const PROMISE: f64 = 0.04;

/// How long growth has to last, at this pace.
struct Lasting {
    first: f64,
    from: f64,
    axis: Axis,
    /// Growth per unit of the axis, against what the process held before it.
    pace: f64,
    /// Half the width of the pace's interval against it.
    unsure: f64,
    /// By how much the pace may change from end to end, either way, as a share of it.
    wavers: f64,
    /// Where a fill ends is known then, and the size of the growth says nothing more.
    epoch_known: bool,
}

impl Lasting {
    fn of(first: f64, tail: &Tail, setting: Setting) -> Lasting {
        let axis = setting.axis;
        Lasting {
            first,
            from: tail.from,
            axis,
            epoch_known: setting.epoch_known,
            pace: tail.slope / tail.level.max(RUNTIME),
            unsure: match axis {
                Axis::Step => 0.0,
                Axis::Time | Axis::Sample => (tail.high - tail.low) / (2.0 * tail.slope),
            },
            wavers: tail.bend.abs() + tail.bend_reach,
        }
    }

    /// Growth until `x`, against what the process held before.
    fn size(&self, x: f64) -> f64 {
        self.pace * (x - self.from)
    }

    /// The share of the run that it has and the share that it needs, at `x`.
    fn share(&self, x: f64) -> (f64, f64) {
        let has = (x - self.from) / (x - self.first);
        if self.epoch_known {
            return (has, LEAST_SHARE);
        }
        let slow = self.axis == Axis::Time && self.pace * FILL_SECONDS < 1.0;
        let weight = if slow {
            (self.wavers / WAVERS).min(1.0)
        } else {
            1.0
        };
        let size = weight * self.size(x);
        let need = LEAST_SHARE + SHARE_PER_SIZE * size + SHARE_PER_DOUBT * self.unsure;
        (has, need.min(MOST_SHARE))
    }

    fn seconds(&self, x: f64) -> f64 {
        let straight = self.wavers <= STRAIGHT && x - self.first >= LEAST_SECONDS;
        let least = if straight {
            STRAIGHT_SECONDS
        } else {
            LEAST_SECONDS
        };
        match self.axis {
            Axis::Time => (MOST_SECONDS * self.size(x)).clamp(least, MOST_SECONDS),
            Axis::Step | Axis::Sample => 0.0,
        }
    }

    /// Where it will have lasted long enough, if it goes on like this.
    fn decides_at(&self, last: f64) -> Option<f64> {
        let step = (last - self.first) / 20.0;
        (1..400).map(|k| last + step * f64::from(k)).find(|x| {
            let (has, need) = self.share(*x);
            has >= need + PROMISE && x - self.from >= self.seconds(*x)
        })
    }
}

/// What growth is asked about, beside its own shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub axis: Axis,
    /// The line is made of the valleys of saw-teeth.
    pub toothed: bool,
    /// The length of an epoch is known, which tells a first pass over the data better than any count.
    pub epoch_known: bool,
}

pub fn missing(whole: &Line, line: &Line, tail: &Tail, setting: Setting) -> Missing {
    let Setting { axis, toothed, .. } = setting;
    let mut missing = Missing::default();
    let (first, last) = (whole.first_x(), whole.last_x());
    let watched = last - first;
    let lasting = Lasting::of(first, tail, setting);
    let size = lasting.size(tail.to);
    let (share, need) = lasting.share(tail.to);
    if share < need {
        missing.add(
            "growth must outlast what came before",
            format!(
                "it grows since {}, {} of what was watched; growth by {} needs {}",
                place(axis, tail.from),
                percent(share),
                percent(size),
                percent(need)
            ),
            lasting.decides_at(last),
        );
    }
    let seconds = lasting.seconds(tail.to);
    if tail.length() < seconds {
        missing.add(
            "time stands for work",
            format!(
                "growth by {} was seen for {}; a store that fills looks the same, and {} would tell more",
                percent(size),
                stretch(axis, tail.length()),
                stretch(axis, seconds)
            ),
            lasting.decides_at(last),
        );
    }
    let spacing = watched / (line.len().max(2) - 1) as f64;
    let least = if toothed { LEAST_VALLEYS } else { LEAST_POINTS };
    if tail.points < least {
        missing.add(
            "few points",
            format!(
                "{} points in a row are not enough to know; {least} are asked for",
                tail.points
            ),
            Some(last + spacing * (least - tail.points) as f64),
        );
    } else if !toothed && tail.points < FEW_POINTS && tail.growth() < FEW_GROWTH * tail.level {
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
    let few_steps = axis == Axis::Step && !setting.epoch_known && tail.length() < FEW_STEPS;
    let much = (FEW_GROWTH * tail.level).max(FEW_STEPS_BYTES);
    if few_steps && tail.growth() < much {
        missing.add(
            "few steps",
            format!(
                "{} in {}: a first pass over the data or a runtime that settles does that too; fewer than {FEW_STEPS} steps need {}",
                show_bytes(tail.growth()),
                stretch(axis, tail.length()),
                show_bytes(much)
            ),
            Some(tail.from + FEW_STEPS + spacing),
        );
    }
    if tail.level_end - tail.held_before < NEW_GROUND * tail.growth() {
        missing.add(
            "it held as much before",
            format!(
                "the floor was at {} before it grew to {}",
                show_bytes(tail.held_before),
                show_bytes(tail.level_end)
            ),
            Some(last + tail.length()),
        );
    }
    if tail.rises
        < if toothed {
            LEAST_VALLEY_RISES
        } else {
            LEAST_RISES
        }
    {
        missing.add(
            "growth in few jumps",
            format!(
                "{} came in about {}; a heap that resizes itself does that too",
                show_bytes(tail.growth()),
                match tail.rises.round() {
                    many if many > 1.0 => format!("{many:.0} rises"),
                    _ => "one rise".to_owned(),
                }
            ),
            Some(last + tail.length()),
        );
    }
    if tail.pace() < SLOWING {
        missing.add(
            "growth slows down",
            format!(
                "its newer part runs at {} of the older part's pace",
                percent(tail.pace().max(0.0))
            ),
            Some(last + tail.length()),
        );
    } else if tail.fifths.iter().any(|rise| *rise < LEAST_FIFTH) {
        missing.add(
            "growth is not steady",
            "cut in five, not every part stands clearly above the one before".to_owned(),
            Some(last + tail.length() / 2.0),
        );
    } else if tail.cuts.iter().any(|pace| !STEADY.contains(pace)) {
        missing.add(
            "growth is not steady",
            "without its first or its last fifth the pace is another".to_owned(),
            Some(last + tail.length() / 2.0),
        );
    } else if tail.bend > RUNS_AWAY {
        missing.add(
            "growth is not steady",
            "it came faster at the end: one jump would do that".to_owned(),
            Some(last + tail.length() / 2.0),
        );
    } else if slows(tail, axis) {
        missing.add(
            "growth slows down",
            format!("its pace fell by {} from end to end", percent(-tail.bend)),
            Some(last + tail.length()),
        );
    } else if axis != Axis::Step && tail.bend - tail.bend_reach < MAY_HALT {
        missing.add(
            "growth is not steady",
            "its pace is not known well enough to tell that it does not slow down".to_owned(),
            Some(last + tail.length() / 2.0),
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

/// Whether the pace comes down: surely and by much, or a little on top of a faster stretch before.
fn slows(tail: &Tail, axis: Axis) -> bool {
    let surely = tail.bend + tail.bend_reach < 0.0;
    let slowed = tail
        .before
        .map(|pace| pace.is_some_and(|pace| SLOWED.contains(&pace)));
    tail.bend < HALTS
        || surely && (tail.bend < SLOWS || tail.points < FEW_POINTS)
        || slowed.contains(&true) && tail.bend < STILL_SLOWS
        || slowed == [true, true] && axis == Axis::Step
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
