//! What the guard learns of a job while it runs: how long a step and a save take, what a save adds,
//! how fast the level rises. Bounded, whatever the length of the run.

use std::collections::{BTreeMap, VecDeque};

use crate::mark::{Mark, Phase};
use crate::process::ProcId;
use crate::sample::{Limit, Sample};
use crate::stats;
use crate::units::{Bytes, Micros};

use super::CLOSE_LOOK;

/// Step times that are remembered; the slowest of them counts, because a step may meet a bad moment.
const STEP_TIMES: usize = 16;
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
/// Ticks within a step that show its floor.
const DENSE_TICKS: u32 = 4;
/// The share of it that they have to cover.
const COVERED: f64 = 0.7;
/// The interval of a pace from few points is wide; no more than this times the pace is believed.
const MOST_DOUBT: f64 = 1.5;
/// Ticks that are kept: as many as cover a second of close ones.
const TICKS: usize = 24;
/// The newest slope needs three intervals that agree: one may be a burst.
const SLOPE_TICKS: usize = 4;
/// A slope over ticks further apart than this may be a burst that is over: closer ones come first.
const FRESH_SECONDS: f64 = 0.5;
/// What a save may take until one was seen: Trainer and torch.save write a CPU model without a
/// second copy, a GPU model passes through host memory once. A guess, told as one in the docs.
const SAVE_UNKNOWN: f64 = 0.05;
/// The next save may take a quarter more than any before.
const SAVE_MORE: f64 = 1.25;
/// And a step may go so much further above its floor.
const SWING_MORE: f64 = 1.4;
/// What is never planned with: allocators and the kernel's own accounting move by about this.
const MARGIN: f64 = 0.01;
/// The first steps bring optimizer state and caches: the level that a restart returns to is that of
/// the steps after them.
const FIRST_STEPS: u64 = 2;
/// Without steps, the level after this many seconds.
const FIRST_SECONDS: f64 = 30.0;
/// Without steps, growth is foreseen for this long.
const BLIND_SECONDS: f64 = 10.0;
/// The machine may be as busy again as it was: what is known of late ticks halves in this time.
const LATE_HALVES: f64 = 60.0;
/// A tick that is later than this shows no busy machine: it slept, or we were stopped.
const LATEST: f64 = 5.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Learnt {
    /// The newest step of each sender.
    steps: BTreeMap<u32, u64>,
    first_step: Option<u64>,
    total: Option<u64>,
    phase: Option<Phase>,
    last_step: Option<(Micros, u64)>,
    step_times: VecDeque<f64>,
    save: Option<Save>,
    /// A save that is over but whose peak the next tick shows.
    save_over: Option<Save>,
    save_seconds: Option<f64>,
    save_bytes: Option<f64>,
    /// How far a step went above the floor that it left. Peaks are seen when they are the highest so far: a flat
    /// job shows them once.
    swing: f64,
    /// What an evaluation adds to the floor at its highest.
    eval_bytes: f64,
    /// Saves that are over, in this attempt.
    saves: u32,
    levels: VecDeque<StepLevel>,
    /// What is sure of their floors, the oldest first.
    sure: Vec<SureFloor>,
    /// The same, without a jump that came only once: what growth is read from.
    pace_floors: Vec<SureFloor>,
    /// The paces that these show, per step and per second.
    paces: (Option<f64>, Option<f64>),
    /// Seconds, and bytes in use.
    ticks: VecDeque<(f64, f64)>,
    /// How late ticks are, in seconds; the machine is as busy for the next attempt.
    late: f64,
    peaks: BTreeMap<ProcId, Bytes>,
    baseline: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Save {
    since: Micros,
    /// The floor it began at, as far as that was known; the lowest and the highest level since.
    floor: Option<f64>,
    low: f64,
    crest: f64,
    ticks: u32,
}

/// Ticks in a save that show what it takes. With fewer, the first one after it counts too, and may
/// have met further steps.
const TICKS_IN_SAVE: u32 = 2;

impl Save {
    fn see(&mut self, used: f64, crest: f64) {
        self.low = self.low.min(used);
        self.crest = self.crest.max(crest);
        self.ticks += 1;
    }

    fn see_after(&mut self, used: f64, crest: f64) {
        self.low = self.low.min(used);
        if self.ticks < TICKS_IN_SAVE {
            self.crest = self.crest.max(crest);
        }
    }

    /// What it took. Steps since the last tick may have raised the floor that it began at.
    fn took(&self) -> f64 {
        self.crest - self.floor.map_or(self.low, |floor| floor.max(self.low))
    }
}

/// Step, seconds, bytes.
type SureFloor = (Option<u64>, f64, f64);

/// The lowest and the highest level seen at one step.
#[derive(Clone, Copy, Debug)]
struct StepLevel {
    step: Option<u64>,
    seconds: f64,
    floor: f64,
    crest: f64,
    ticks: u32,
}

impl Learnt {
    pub(crate) fn for_next_attempt(mut self) -> Learnt {
        // The save of a stop is often the only one, and no tick may have come after it.
        if let Some(save) = self.save_over.take().filter(|save| save.crest > 0.0) {
            let floor = save.floor.unwrap_or(save.low);
            self.learn_save(save.crest - floor);
        }
        Learnt {
            step_times: self.step_times,
            save_seconds: self.save_seconds,
            save_bytes: self.save_bytes,
            eval_bytes: self.eval_bytes,
            swing: self.swing,
            total: self.total,
            late: self.late,
            ..Learnt::default()
        }
    }

    pub(super) fn mark(&mut self, mark: &Mark) {
        if let Some(step) = mark.step {
            self.steps.insert(mark.rank.unwrap_or(0), step);
        }
        // One rank's clock is enough.
        if mark.rank.is_some_and(|rank| rank != 0) {
            return;
        }
        self.total = mark.total_steps.or(self.total);
        if let Some(phase) = mark.phase {
            self.enter(phase, mark.at);
        }
        let Some(step) = mark.step else { return };
        if self.first_step.is_none() {
            // What was seen before is start-up, however long it took.
            self.first_step = Some(step);
            self.levels.clear();
            self.sure.clear();
            self.pace_floors.clear();
            self.paces = (None, None);
            self.baseline = None;
        }
        match self.last_step {
            Some((_, last)) if step <= last => {}
            Some((at, last)) => {
                let each = mark.at.since(at).seconds() / (step - last) as f64;
                self.step_times.push_back(each);
                if self.step_times.len() > STEP_TIMES {
                    self.step_times.pop_front();
                }
                self.last_step = Some((mark.at, step));
            }
            None => self.last_step = Some((mark.at, step)),
        }
    }

    fn enter(&mut self, phase: Phase, at: Micros) {
        if Some(phase) == self.phase {
            return;
        }
        self.phase = Some(phase);
        if phase == Phase::Save {
            self.save = Some(Save {
                since: at,
                floor: self.floor_at_last_step(),
                low: f64::INFINITY,
                crest: 0.0,
                ticks: 0,
            });
        } else if let Some(save) = self.save.take() {
            let took = at.since(save.since).seconds();
            self.save_seconds = Some(self.save_seconds.map_or(took, |known| known.max(took)));
            self.save_over = Some(save);
            self.saves += 1;
        }
        // What an evaluation or a save takes is no part of a step's time.
        if let Some((since, _)) = &mut self.last_step {
            *since = at;
        }
    }

    pub(super) fn tick(&mut self, sample: &Sample, used: Option<f64>, running: f64) {
        let above = self.above(sample);
        self.hear_late(sample.late.seconds(), running);
        let Some(used) = used else { return };
        self.ticks.push_back((running, used));
        if self.ticks.len() > TICKS {
            self.ticks.pop_front();
        }
        let crest = used + above;
        if let Some(save) = &mut self.save {
            save.see(used, crest);
        } else if let Some(mut save) = self.save_over.take() {
            save.see_after(used, crest);
            self.learn_save(save.took());
        }
        if self.phase == Some(Phase::Eval) {
            self.eval_bytes = self.eval_bytes.max(crest - self.floor(used));
        }
        self.remember(used, crest, running);
    }

    /// The floor that the newest step ended at: it may be further than the last tick has seen.
    fn floor_at_last_step(&self) -> Option<f64> {
        let level = self.levels.back()?;
        let steps = self
            .last_step
            .zip(level.step)
            .map(|((_, last), seen)| last.saturating_sub(seen));
        Some(level.floor + steps.map_or(0.0, |steps| self.growth_within(steps as f64)))
    }

    fn hear_late(&mut self, late: f64, running: f64) {
        let passed = self.ticks.back().map_or(0.0, |(last, _)| running - last);
        self.late *= (-passed / LATE_HALVES).exp2();
        if late <= LATEST {
            self.late = self.late.max(late);
        }
    }

    fn learn_save(&mut self, took: f64) {
        let took = took.max(0.0);
        self.save_bytes = Some(self.save_bytes.map_or(took, |known| known.max(took)));
    }

    /// The attempt was lost below this limit. A save that did not come to its end needed more than there was.
    pub(super) fn lost(&mut self, limit: Option<&Limit>) {
        if let (
            Some(Save {
                floor: Some(floor), ..
            }),
            Some(limit),
        ) = (self.save, limit)
        {
            self.learn_save(limit.bytes.as_f64() - floor);
        }
    }

    /// How far the trainers' peaks since the last tick were above what they hold now.
    fn above(&mut self, sample: &Sample) -> f64 {
        let mut above = 0.0;
        let mut peaks = BTreeMap::new();
        for reading in sample.readings.iter().filter(|reading| reading.is_alive()) {
            let before = self.peaks.get(&reading.id);
            if before.is_some_and(|before| reading.peak > *before) {
                above += reading.peak.saturating_sub(reading.rss()).as_f64();
            }
            peaks.insert(reading.id, reading.peak);
        }
        self.peaks = peaks;
        above
    }

    fn remember(&mut self, used: f64, crest: f64, running: f64) {
        // A save or an evaluation is at or above the floor, too; how far above is no step's swing.
        let trains = matches!(self.phase, None | Some(Phase::Train));
        let crest = if trains { crest } else { used };
        let step = self.last_step.map(|(_, step)| step);
        let settled = match (step, self.first_step) {
            (Some(step), Some(first)) => step >= first + FIRST_STEPS,
            _ => running >= FIRST_SECONDS,
        };
        if !settled {
            return;
        }
        self.baseline = Some(self.baseline.map_or(used, |known| known.min(used)));
        match self.levels.back_mut() {
            Some(level) if step.is_some() && level.step == step => {
                level.crest = level.crest.max(crest);
                level.floor = level.floor.min(used);
                level.ticks += 1;
            }
            _ => self.levels.push_back(StepLevel {
                step,
                seconds: running,
                floor: used,
                crest,
                ticks: 1,
            }),
        }
        let newest = step.unwrap_or(0);
        let is_old = |level: &StepLevel| level.step.is_some_and(|old| old + PACE_STEPS < newest);
        while self.levels.len() > LEVELS
            || (self.levels.len() > KEPT_LEVELS && self.levels.front().is_some_and(is_old))
        {
            self.levels.pop_front();
        }
        self.learn_swing();
        self.sure = self.sure_floors();
        self.pace_floors = without_the_one_jump(&self.sure);
        self.paces = self.read_paces();
    }

    pub(super) fn step_of_this_attempt(&self) -> Option<u64> {
        self.steps.values().max().copied()
    }

    /// Steps done in this attempt.
    pub(crate) fn steps_done(&self) -> u64 {
        let first = self.first_step.unwrap_or(0);
        self.step_of_this_attempt()
            .map_or(0, |step| step.saturating_sub(first))
    }

    pub(crate) fn steps_left(&self) -> Option<u64> {
        let total = self.total.filter(|total| *total > 0)?;
        Some(total.saturating_sub(self.step_of_this_attempt()?))
    }

    /// The slowest of the newest steps.
    pub(crate) fn step_seconds(&self) -> Option<f64> {
        self.step_times.iter().copied().reduce(f64::max)
    }

    /// The quickest of them.
    pub(super) fn quickest_step(&self) -> Option<f64> {
        self.step_times.iter().copied().reduce(f64::min)
    }

    /// How many steps pass in this time, as they usually are.
    pub(super) fn steps_within(&self, seconds: f64) -> f64 {
        let sum: f64 = self.step_times.iter().sum();
        if sum > 0.0 {
            seconds * self.step_times.len() as f64 / sum
        } else {
            0.0
        }
    }

    pub(crate) fn save_seconds(&self) -> Option<f64> {
        self.save_seconds
    }

    pub(super) fn saves(&self) -> u32 {
        self.saves
    }

    pub(crate) fn is_saving(&self) -> bool {
        self.phase == Some(Phase::Save)
    }

    pub(super) fn is_evaluating(&self) -> bool {
        self.phase == Some(Phase::Eval)
    }

    /// What the level was when the first steps were done.
    pub(super) fn baseline(&self) -> Option<f64> {
        self.baseline
    }

    /// What the job has surely added since then.
    pub(super) fn grown(&self, used: f64) -> Option<f64> {
        let floor = self.sure.last().filter(|_| self.last_step.is_some());
        let floor = floor.map_or(used, |(_, _, floor)| *floor);
        Some(floor - self.baseline?)
    }

    /// Room above the floor for the peak of a save or of an evaluation, whichever is higher.
    pub(crate) fn save_reserve(&self, limit: &Limit) -> f64 {
        let save = self
            .save_bytes
            .map_or(SAVE_UNKNOWN * limit.bytes.as_f64(), |seen| {
                (seen * SAVE_MORE).max(self.margin(limit))
            });
        save.max(self.eval_bytes)
    }

    pub(super) fn margin(&self, limit: &Limit) -> f64 {
        MARGIN * limit.bytes.as_f64()
    }

    /// The newest slope in bytes a second: the lowest of the last interval's, the last two's and the last three's.
    pub(crate) fn raw_slope(&self) -> f64 {
        if self.ticks.len() < SLOPE_TICKS {
            return 0.0;
        }
        let newest = self.ticks[self.ticks.len() - 1];
        (2..=SLOPE_TICKS)
            .map(|back| {
                let (seconds, used) = self.ticks[self.ticks.len() - back];
                let passed = newest.0 - seconds;
                if passed > 0.0 {
                    (newest.1 - used) / passed
                } else {
                    0.0
                }
            })
            .fold(f64::INFINITY, f64::min)
            .max(0.0)
    }

    /// How late a tick may be.
    pub(crate) fn late_by(&self) -> f64 {
        self.late
    }

    /// Enough steps were seen to know what one does to the level.
    pub(super) fn knows_steps(&self) -> bool {
        self.sure.len() >= LEAST_LEVELS && self.last_step.is_some()
    }

    /// How far a step goes above the floor that it leaves: what it gives back.
    pub(super) fn swing(&self) -> f64 {
        self.swing
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

    /// How high a step may go, from how high the newest ones went. One alone may be a blip.
    pub(super) fn next_crest(&self) -> f64 {
        let (mut highest, mut second) = (0.0, 0.0);
        for level in self.levels.iter().rev().take(CREST_LEVELS) {
            if level.crest > highest {
                (highest, second) = (level.crest, highest);
            } else if level.crest > second {
                second = level.crest;
            }
        }
        second + (SWING_MORE - 1.0) * self.swing
    }

    /// The level without what a step takes and gives back. A tick may have met the top of a step: the floor
    /// is no higher than that of the step before and what a step may add. What is further above it than
    /// steps go is there to stay.
    pub(super) fn floor(&self, used: f64) -> f64 {
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
        if self.is_saving() || self.is_evaluating() {
            return floor;
        }
        floor.max(used - SWING_MORE * self.swing())
    }

    /// The highest level that what is sure of the steps before lets one expect now, with so many times their swing.
    pub(super) fn expected(&self, times: f64) -> f64 {
        let (Some((step, _, floor)), Some((_, now))) = (self.sure.last(), self.last_step) else {
            return f64::NEG_INFINITY;
        };
        let steps = now.saturating_sub(step.unwrap_or(now)) as f64;
        let each = self.growth_within(1.0);
        floor + self.growth_within(steps) + times * (self.swing() + each)
    }

    /// The newest ticks cover a whole step, so closely that they have met its floor; levels that were met higher
    /// up show no growth then: what is lower later was never there. Where steps give nothing back, any
    /// tick does.
    pub(super) fn is_dense(&self, limit: &Limit) -> bool {
        let steps = self.steps_within(1.0);
        if steps <= 0.0 || self.swing <= self.margin(limit) {
            return true;
        }
        let before = self.levels.iter().nth_back(1);
        if before.is_some_and(|level| level.ticks >= DENSE_TICKS) {
            return true;
        }
        let close = f64::from(DENSE_TICKS) * (CLOSE_LOOK.seconds() + self.late);
        let span = (1.0 / steps).max(close);
        let now = self.ticks.back().map_or(0.0, |(at, _)| *at);
        let newest = self.ticks.iter().rev().map(|(at, _)| now - at);
        let newest = newest.take_while(|ago| *ago <= span);
        let (count, oldest) = newest.fold((0, 0.0), |(count, _), ago| (count + 1, ago));
        count >= DENSE_TICKS && oldest >= COVERED / steps
    }

    /// The newest slope was read from close ticks.
    pub(crate) fn slope_is_fresh(&self) -> bool {
        let oldest = self.ticks.len().checked_sub(SLOPE_TICKS);
        let span = oldest.and_then(|oldest| Some(self.ticks.back()?.0 - self.ticks.get(oldest)?.0));
        span.is_some_and(|span| span <= FRESH_SECONDS)
    }

    /// What the floor may rise by within so many steps: by its pace, or as it once did.
    pub(crate) fn growth_within(&self, steps: f64) -> f64 {
        if !self.knows_steps() {
            return self.growth_per_second().unwrap_or(0.0).max(0.0) * BLIND_SECONDS;
        }
        let each = self
            .paces
            .0
            .unwrap_or(0.0)
            .max(mean_rise(&self.pace_floors));
        (each * steps).max(rise_within(steps, &self.pace_floors))
    }

    /// The same, for what the judge says has ended: what the steps since then show.
    pub(super) fn growth_since(&self, step: u64, steps: f64) -> f64 {
        let is_before = |floor: &SureFloor| floor.0.is_none_or(|at| at < step);
        let from = self.sure.partition_point(is_before);
        rise_within(steps, &without_the_one_jump(&self.sure[from..]))
    }

    /// Ticks meet steps anywhere between floor and crest: a floor is the lowest of a step's ticks and of those
    /// after it, and is sure when these are some. Before, it is what is left when a step gives back all
    /// that steps do.
    fn sure_floors(&self) -> Vec<SureFloor> {
        let given_back = SWING_MORE * self.swing();
        let (mut ticks, mut lowest) = (0, f64::INFINITY);
        let mut floors = Vec::with_capacity(self.levels.len());
        for (back, level) in self.levels.iter().rev().enumerate() {
            // The newest step is not over: its floor may be to come.
            ticks += if back > 0 { level.ticks } else { 0 };
            lowest = lowest.min(level.floor);
            let unsure = if ticks >= SURE_TICKS { 0.0 } else { given_back };
            floors.push((level.step, level.seconds, lowest - unsure));
        }
        floors.reverse();
        for at in 1..floors.len() {
            floors[at].2 = floors[at].2.max(floors[at - 1].2);
        }
        floors
    }

    pub(crate) fn growth_per_second(&self) -> Option<f64> {
        self.paces.1
    }

    fn read_paces(&self) -> (Option<f64>, Option<f64>) {
        let steps: Option<Vec<f64>> = self
            .pace_floors
            .iter()
            .map(|(step, _, _)| step.map(|step| step as f64))
            .collect();
        if let Some(each) = steps.and_then(|steps| self.pace(&steps)) {
            return (Some(each), Some(each * self.steps_within(1.0)));
        }
        if self.last_step.is_some() {
            return (None, None);
        }
        let seconds: Vec<f64> = self
            .pace_floors
            .iter()
            .map(|(_, seconds, _)| *seconds)
            .collect();
        (None, self.pace(&seconds))
    }

    fn pace(&self, xs: &[f64]) -> Option<f64> {
        if xs.len() < LEAST_PACE {
            return None;
        }
        let floors: Vec<f64> = self
            .pace_floors
            .iter()
            .map(|(_, _, floor)| *floor)
            .collect();
        let (value, _, high) = stats::slope_interval(xs, &floors, 0.0)?;
        Some(high.clamp(value, (MOST_DOUBT * value).max(value)))
    }
}

/// The greatest rise of these floors within so many steps.
fn rise_within(steps: f64, floors: &[SureFloor]) -> f64 {
    let mut rise: f64 = 0.0;
    for (at, (later, _, high)) in floors.iter().enumerate() {
        for (earlier, _, low) in &floors[..at] {
            let (Some(later), Some(earlier)) = (later, earlier) else {
                return 0.0;
            };
            let apart = later.saturating_sub(*earlier).max(1) as f64;
            rise = rise.max((high - low) * (steps / apart).min(1.0));
        }
    }
    rise
}

/// By how much they rise in a step, from the first to the last.
fn mean_rise(floors: &[SureFloor]) -> f64 {
    let (Some((Some(first), _, low)), Some((Some(last), _, high))) =
        (floors.first(), floors.last())
    else {
        return 0.0;
    };
    ((high - low) / last.saturating_sub(*first).max(1) as f64).max(0.0)
}

/// A single step may bring what comes once (a cache, a larger batch), and nobody expects it again before it
/// came twice: the steepest rise counts as much as the second.
fn without_the_one_jump(floors: &[SureFloor]) -> Vec<SureFloor> {
    let apart = |pair: &[SureFloor]| match (pair[0].0, pair[1].0) {
        (Some(earlier), Some(later)) => later.saturating_sub(earlier).max(1) as f64,
        _ => 1.0,
    };
    let (mut steepest, mut second, mut at) = (0.0, 0.0, None);
    for (index, pair) in floors.windows(2).enumerate() {
        let rise = (pair[1].2 - pair[0].2) / apart(pair);
        if rise > steepest {
            (steepest, second, at) = (rise, steepest, Some(index));
        } else if rise > second {
            second = rise;
        }
    }
    let mut floors = floors.to_vec();
    if let Some(at) = at {
        let once = (steepest - second) * apart(&floors[at..at + 2]);
        for floor in &mut floors[at + 1..] {
            floor.2 -= once;
        }
    }
    floors
}
