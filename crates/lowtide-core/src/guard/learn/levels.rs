//! What steps do to the level: the floors they leave, how high they go, how fast both rise.

use std::collections::VecDeque;

use crate::stats;

use super::rises::{Point, Rises, mean_rise, steepest, without_the_one_jump};

/// Levels that a pace of growth is read from: one for each step that was seen. A leak that begins late is
/// soon most of them.
const LEVELS: usize = 24;
/// The least that show what a step does to the level, and the least that make a pace.
const LEAST_LEVELS: usize = 4;
const LEAST_PACE: usize = 6;
/// A floor is sure when so many ticks could have met it.
const SURE_TICKS: u32 = 4;
/// Steps that a pace is read from: what was before may have ended. Where looks meet few of them, some
/// levels are kept all the same.
const PACE_STEPS: u64 = 16;
const KEPT_LEVELS: usize = 7;
/// Levels whose floors, and whose crests, the next ones are like.
const FLOOR_LEVELS: usize = 4;
const CREST_LEVELS: usize = 8;
/// Ticks in each of them that show their floors.
const MET_TICKS: u32 = 2;
/// The interval of a pace from few points is wide; no more than this times the pace is believed.
const MOST_DOUBT: f64 = 1.5;
/// A step may go so much further above its floor than any before.
const SWING_MORE: f64 = 1.4;
/// Without steps, growth is foreseen for this long.
const BLIND_SECONDS: f64 = 10.0;

/// The lowest and the highest level seen at one step.
#[derive(Clone, Copy, Debug)]
struct StepLevel {
    step: Option<u64>,
    seconds: f64,
    floor: f64,
    crest: f64,
    ticks: u32,
    /// The floor is not below this: a save that takes little shows much of it.
    bound: f64,
}

/// What a tick met.
#[derive(Clone, Copy, Debug)]
pub(super) enum Met {
    /// Training, with this peak since the last tick.
    Step { crest: f64 },
    /// A save or an evaluation, which may take this much.
    Interlude { height: f64 },
}

#[derive(Clone, Debug, Default)]
pub(in crate::guard) struct Levels {
    levels: VecDeque<StepLevel>,
    /// How far a step went above the floor that it left. Peaks are seen when they are the highest so far: a flat
    /// job shows them once.
    swing: f64,
    /// What is sure of the floors, the oldest first.
    sure: Vec<Point>,
    /// How far these rise, without a jump that came only once.
    rises: Rises,
    /// By how much in a step; in a second where no steps are told.
    pace: Option<f64>,
    /// How far the highest of the crests rises: the kernel keeps peaks, so these are sure even where ticks are few.
    crest_rises: Rises,
    /// The highest crest of the first steps, and of those that are forgotten: peaks show only when they are the
    /// highest.
    first_crest: f64,
    crest_before: f64,
    /// The greatest rise in a step that was ever seen.
    steepest: f64,
}

impl Levels {
    /// What is kept when all else begins anew.
    pub(super) fn begin_anew(&self) -> Levels {
        Levels {
            swing: self.swing,
            steepest: self.steepest,
            ..Levels::default()
        }
    }

    /// A tick at this step of a job that is past its first ones. A save or an evaluation is at or above the floor,
    /// too, and shows nothing of what steps take.
    pub(super) fn see(&mut self, step: Option<u64>, seconds: f64, used: f64, met: Met) {
        let (crest, ticks, bound) = match met {
            Met::Step { crest } => (crest, 1, f64::NEG_INFINITY),
            Met::Interlude { height } => (0.0, 0, used - height),
        };
        match self.levels.back_mut() {
            Some(level) if step.is_some() && level.step == step => {
                level.crest = level.crest.max(crest);
                level.floor = level.floor.min(used);
                level.ticks += ticks;
                level.bound = level.bound.max(bound);
            }
            _ => self.levels.push_back(StepLevel {
                step,
                seconds,
                floor: used,
                crest,
                ticks,
                bound,
            }),
        }
        self.first_crest = match self.first_crest {
            known if self.levels.len() > LEAST_LEVELS => known,
            known => known.max(crest),
        };
        self.forget(step.unwrap_or(0));
        self.learn_swing();
        self.sure = self.sure_floors();
        self.steepest = self.steepest.max(steepest(&self.sure));
        let dense = self.floors_are_met();
        let floors = without_the_one_jump(self.sure.clone(), dense);
        self.pace = pace(&floors);
        if step.is_some() {
            let least = mean_rise(&floors);
            self.pace = Some(self.pace.map_or(least, |pace| pace.max(least)));
            self.rises = Rises::of(&floors);
            self.crest_rises = if dense {
                Rises::default()
            } else {
                Rises::of(&without_the_one_jump(self.highest_crests(), false))
            };
        }
    }

    fn forget(&mut self, newest: u64) {
        let is_old = |level: &StepLevel| level.step.is_some_and(|old| old + PACE_STEPS < newest);
        while self.levels.len() > LEVELS
            || (self.levels.len() > KEPT_LEVELS && self.levels.front().is_some_and(is_old))
        {
            let forgotten = self.levels.pop_front().map_or(0.0, |level| level.crest);
            self.crest_before = self.crest_before.max(forgotten);
        }
    }

    /// Enough steps were seen to know what one does to the level.
    pub(in crate::guard) fn knows_steps(&self) -> bool {
        self.sure.len() >= LEAST_LEVELS && self.tells_steps()
    }

    fn tells_steps(&self) -> bool {
        self.levels.back().is_some_and(|level| level.step.is_some())
    }

    /// How far a step goes above the floor that it leaves: what it gives back.
    pub(in crate::guard) fn swing(&self) -> f64 {
        self.swing
    }

    /// The ticks of the last step that is over.
    pub(super) fn ticks_of_last_step(&self) -> u32 {
        self.levels
            .iter()
            .nth_back(1)
            .map_or(0, |level| level.ticks)
    }

    /// By how much the crests have risen since the first steps, beyond what one step may go above another.
    pub(super) fn crest_grown(&self) -> f64 {
        self.second_crest() - self.first_crest - (SWING_MORE - 1.0) * self.swing
    }

    /// What is sure of the newest floor.
    pub(super) fn newest_sure_floor(&self) -> Option<f64> {
        Some(self.sure.last()?.bytes)
    }

    /// The floor at a tick, and not lower than all that steps give back.
    pub(super) fn least_floor(&self, used: f64) -> f64 {
        let floor = self
            .levels
            .back()
            .map_or(used, |level| level.floor.min(used));
        floor.max(used - SWING_MORE * self.swing)
    }

    /// Of those that are over: the newest is not.
    fn learn_swing(&mut self) {
        let mut left = f64::INFINITY;
        for level in self.levels.iter().rev() {
            if left.is_finite() {
                self.swing = self.swing.max(level.crest - level.floor.max(left));
            }
            left = left.min(level.floor);
        }
    }

    /// How high a step may go, from how high the newest ones went.
    pub(in crate::guard) fn next_crest(&self) -> f64 {
        self.second_crest() + (SWING_MORE - 1.0) * self.swing
    }

    /// The highest but one of the newest: one alone may be a blip.
    fn second_crest(&self) -> f64 {
        let (mut highest, mut second) = (0.0, 0.0);
        for level in self.levels.iter().rev().take(CREST_LEVELS) {
            if level.crest > highest {
                (highest, second) = (level.crest, highest);
            } else if level.crest > second {
                second = level.crest;
            }
        }
        second
    }

    /// The level without what a step takes and gives back. A tick may have met the top of a step: the floor
    /// is no higher than that of the step before and what a step may add. In training, what is further above it
    /// than steps go is there to stay.
    pub(super) fn floor(&self, used: f64, trains: bool) -> f64 {
        let Some(newest) = self.levels.back() else {
            return used;
        };
        let mut floor = used.min(newest.floor);
        if !self.knows_steps() {
            return floor;
        }
        for before in self.levels.iter().rev().take(FLOOR_LEVELS) {
            let (Some(step), Some(at)) = (newest.step, before.step) else {
                return floor;
            };
            let steps = step.saturating_sub(at) as f64;
            floor = floor.min(before.floor + self.growth_within(steps));
        }
        if trains {
            floor.max(used - SWING_MORE * self.swing)
        } else {
            floor
        }
    }

    /// The highest level that what is sure of the steps before lets one expect now, with so many times their swing;
    /// and with the steepest rise that there ever was.
    pub(super) fn expected(&self, now: Option<u64>, times: f64, ever: bool) -> f64 {
        let (Some(sure), Some(now)) = (self.sure.last(), now) else {
            return f64::NEG_INFINITY;
        };
        let steps = now.saturating_sub(sure.step.unwrap_or(now)) as f64;
        let ever = if ever { self.steepest } else { 0.0 };
        let each = self.growth_within(1.0).max(ever);
        sure.bytes + self.growth_within(steps) + times * (self.swing + each)
    }

    /// What the floor may rise by within so many steps: by its pace, or as it once did.
    pub(in crate::guard) fn growth_within(&self, steps: f64) -> f64 {
        let pace = self.pace.unwrap_or(0.0).max(0.0);
        if !self.tells_steps() {
            return pace * BLIND_SECONDS;
        }
        if !self.knows_steps() {
            return 0.0;
        }
        (pace * steps).max(self.rises.within(steps))
    }

    /// What floors or crests may rise by.
    pub(in crate::guard) fn any_growth_within(&self, steps: f64) -> f64 {
        self.growth_within(steps)
            .max(self.crest_rises.within(steps))
    }

    /// How high the next steps may go by the peaks that the kernel kept, whatever ticks have met.
    pub(in crate::guard) fn crest_within(&self, steps: f64) -> f64 {
        self.second_crest() + self.crest_rises.within(steps)
    }

    /// The same as for the floor, for what the judge says has ended: what the steps since then show.
    pub(in crate::guard) fn growth_since(&self, step: u64, steps: f64) -> f64 {
        let is_before = |floor: &Point| floor.step.is_none_or(|at| at < step);
        let from = self.sure.partition_point(is_before);
        Rises::of(&without_the_one_jump(
            self.sure[from..].to_vec(),
            self.floors_are_met(),
        ))
        .within(steps)
    }

    /// Ticks meet steps anywhere between floor and crest: a floor is the lowest of a step's ticks and of those
    /// after it, and is sure when these are some. Before, it is what is left when a step gives back all
    /// that steps do.
    fn sure_floors(&self) -> Vec<Point> {
        let given_back = SWING_MORE * self.swing;
        let (mut ticks, mut lowest) = (0, f64::INFINITY);
        let mut floors = Vec::with_capacity(self.levels.len());
        for (back, level) in self.levels.iter().rev().enumerate() {
            // The newest step is not over: its floor may be to come.
            ticks += if back > 0 { level.ticks } else { 0 };
            lowest = lowest.min(level.floor);
            let unsure = if ticks >= SURE_TICKS { 0.0 } else { given_back };
            floors.push(Point {
                step: level.step,
                seconds: level.seconds,
                bytes: (lowest - unsure).max(level.bound.min(lowest)),
            });
        }
        floors.reverse();
        for at in 1..floors.len() {
            floors[at].bytes = floors[at].bytes.max(floors[at - 1].bytes);
        }
        floors
    }

    /// Ticks are so many that they show the floors of the newest steps.
    fn floors_are_met(&self) -> bool {
        let newest = self.levels.iter().rev().skip(1).take(FLOOR_LEVELS);
        newest.clone().count() == FLOOR_LEVELS
            && newest.clone().all(|level| level.ticks >= MET_TICKS)
    }

    fn highest_crests(&self) -> Vec<Point> {
        let mut highest = self.crest_before;
        let highest = self.levels.iter().map(|level| {
            highest = highest.max(level.crest);
            Point {
                step: level.step,
                seconds: level.seconds,
                bytes: highest,
            }
        });
        highest.collect()
    }
}

fn pace(floors: &[Point]) -> Option<f64> {
    if floors.len() < LEAST_PACE {
        return None;
    }
    let at = |floor: &Point| floor.step.map_or(floor.seconds, |step| step as f64);
    let xs: Vec<f64> = floors.iter().map(at).collect();
    let ys: Vec<f64> = floors.iter().map(|floor| floor.bytes).collect();
    let (value, _, high) = stats::slope_interval(&xs, &ys, 0.0)?;
    Some(high.clamp(value, (MOST_DOUBT * value).max(value)))
}
