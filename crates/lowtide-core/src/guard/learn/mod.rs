//! What the guard learns of a job while it runs: how long a step and a save take, what a save adds,
//! how fast the level rises. Bounded, whatever the length of the run.

mod interlude;
mod levels;
mod rises;

use std::collections::{BTreeMap, VecDeque};

use crate::mark::{Mark, Phase};
use crate::process::ProcId;
use crate::sample::{Limit, Sample};
use crate::units::{Bytes, Micros};

use super::CLOSE_LOOK;
use interlude::{Height, Interlude};
use levels::{Levels, Met};

/// Step times that are remembered; the slowest of them counts, because a step may meet a bad moment.
const STEP_TIMES: usize = 16;
/// No step is quicker than this part of the middle one.
const QUICK: f64 = 4.0;
/// Ticks within a step that show its floor.
const DENSE_TICKS: u32 = 4;
/// The share of it that they have to cover, and the widest gap between two of them.
const COVERED: f64 = 0.7;
const GAP: f64 = 0.4;
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
/// What is never planned with: allocators and the kernel's own accounting move by about this.
const MARGIN: f64 = 0.015;
/// The first steps bring optimizer state and caches: the level that a restart returns to is that of
/// the steps after them.
const FIRST_STEPS: u64 = 2;
/// Without steps, the level after this many seconds.
const FIRST_SECONDS: f64 = 30.0;
/// The machine may be as busy again as it was: what is known of late ticks halves in this time; and in that time
/// where ranks would wait for each other for ever.
const LATE_HALVES: f64 = 60.0;
const LATEST_HALVES: f64 = 600.0;
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
    /// A save or an evaluation that goes on, and one that is over but whose peak the next tick shows.
    interlude: Option<(Phase, Interlude)>,
    over: Option<(Phase, Interlude)>,
    save_seconds: Option<f64>,
    save: Option<Height>,
    eval: Option<Height>,
    /// Saves that are over, in this attempt.
    saves: u32,
    levels: Levels,
    /// Seconds, and bytes in use.
    ticks: VecDeque<(f64, f64)>,
    /// How late ticks are, in seconds; the machine is as busy for the next attempt.
    late: f64,
    latest: f64,
    peaks: BTreeMap<ProcId, Bytes>,
    baseline: Option<f64>,
}

impl Learnt {
    pub(crate) fn for_next_attempt(mut self) -> Learnt {
        // The save of a stop is often the only one, and no tick may have come after it.
        if let Some((phase, interlude)) = self.over.take().filter(|(_, over)| over.was_seen()) {
            self.learn(phase, interlude.height());
        }
        Learnt {
            step_times: self.step_times,
            save_seconds: self.save_seconds,
            save: self.save,
            eval: self.eval,
            levels: self.levels.begin_anew(),
            total: self.total,
            late: self.late,
            latest: self.latest,
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
            self.levels = self.levels.begin_anew();
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
        if let Some((before, interlude)) = self.interlude.take() {
            if before == Phase::Save {
                let took = interlude.seconds(at);
                self.save_seconds = Some(self.save_seconds.map_or(took, |known| known.max(took)));
                self.saves += 1;
            }
            self.over = Some((before, interlude));
        }
        if matches!(phase, Phase::Save | Phase::Eval) {
            let last = self.ticks.back();
            let floor = last.map(|(_, used)| self.levels.least_floor(*used));
            self.interlude = Some((phase, Interlude::begin(at, floor)));
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
        let peak = above.map(|above| used + above);
        let crest = peak.unwrap_or(used);
        let met = match (&self.interlude, &self.over) {
            (None, None) => Met::Step { crest },
            // The peak may be that of the interlude.
            (None, Some(_)) => Met::Step { crest: used },
            (Some((phase, _)), _) => Met::Interlude {
                height: self.height_of(*phase),
            },
        };
        if let Some((_, interlude)) = &mut self.interlude {
            interlude.see(used, peak);
        } else if let Some((phase, mut interlude)) = self.over.take() {
            interlude.see_after(used, peak);
            self.learn(phase, interlude.height());
        }
        self.remember(used, met, running);
    }

    fn hear_late(&mut self, late: f64, running: f64) {
        let passed = self.ticks.back().map_or(0.0, |(last, _)| running - last);
        self.late *= (-passed / LATE_HALVES).exp2();
        self.latest *= (-passed / LATEST_HALVES).exp2();
        if late <= LATEST {
            self.late = self.late.max(late);
            self.latest = self.latest.max(late);
        }
    }

    /// What such an interlude takes, as far as that is known.
    fn height_of(&self, phase: Phase) -> f64 {
        let height = if phase == Phase::Save {
            self.save
        } else {
            self.eval
        };
        height.map_or(f64::INFINITY, |height| height.expected())
    }

    fn learn(&mut self, phase: Phase, seen: Height) {
        if phase == Phase::Save {
            self.save = Some(Height::and(self.save, seen));
        } else {
            self.eval = Some(Height::and(self.eval, seen));
        }
    }

    /// The attempt was lost below this limit. A save that did not come to its end needed more than there was.
    pub(super) fn lost(&mut self, limit: Option<&Limit>) {
        let Some(((phase, interlude), limit)) = self.interlude.zip(limit) else {
            return;
        };
        if let Some(seen) = interlude.cut_off(limit.bytes.as_f64()) {
            self.learn(phase, seen);
        }
    }

    /// How far the trainers' peaks since the last tick were above what they hold now; none if there was no new one.
    fn above(&mut self, sample: &Sample) -> Option<f64> {
        let mut above = None;
        let mut peaks = BTreeMap::new();
        for reading in sample.readings.iter().filter(|reading| reading.is_alive()) {
            let before = self.peaks.get(&reading.id);
            if before.is_some_and(|before| reading.peak > *before) {
                let more = reading.peak.saturating_sub(reading.rss()).as_f64();
                above = Some(above.unwrap_or(0.0) + more);
            }
            peaks.insert(reading.id, reading.peak);
        }
        self.peaks = peaks;
        above
    }

    fn remember(&mut self, used: f64, met: Met, running: f64) {
        let step = self.last_step.map(|(_, step)| step);
        let settled = match (step, self.first_step) {
            (Some(step), Some(first)) => step >= first + FIRST_STEPS,
            _ => running >= FIRST_SECONDS,
        };
        if !settled {
            return;
        }
        self.baseline = Some(self.baseline.map_or(used, |known| known.min(used)));
        self.levels.see(step, running, used, met);
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

    /// The quickest of them; marks that were read at once tell of steps that took no time.
    pub(super) fn quickest_step(&self) -> Option<f64> {
        let mut times: Vec<f64> = self.step_times.iter().copied().collect();
        times.sort_by(f64::total_cmp);
        let middle = times.get(times.len() / 2)?;
        Some(times[0].max(middle / QUICK))
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

    /// What the job has surely added since then: floors where ticks show them, or peaks, which the kernel keeps.
    pub(super) fn grown(&self, used: f64) -> Option<f64> {
        if self.last_step.is_none() {
            return Some(used - self.baseline?);
        }
        let floor = self.levels.newest_sure_floor().unwrap_or(used);
        Some((floor - self.baseline?).max(self.levels.crest_grown()))
    }

    /// Room above the floor for the peak of a save or of an evaluation, whichever is higher.
    pub(crate) fn save_reserve(&self, limit: &Limit) -> f64 {
        let unknown = SAVE_UNKNOWN * limit.bytes.as_f64();
        let save = self.save.map_or(unknown, |save| {
            let less = if save.is_bounded() { 0.0 } else { unknown };
            (save.expected() * SAVE_MORE)
                .max(self.margin(limit))
                .max(less)
        });
        save.max(self.eval.map_or(0.0, |eval| eval.expected()))
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

    /// And where one that is later would do harm.
    pub(super) fn latest(&self) -> f64 {
        self.latest
    }

    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }

    /// The level without what a step takes and gives back.
    pub(super) fn floor(&self, used: f64) -> f64 {
        let trains = !self.is_saving() && !self.is_evaluating();
        self.levels.floor(used, trains)
    }

    /// The highest level that the steps before let one expect now, with so many times their swing.
    pub(super) fn expected(&self, times: f64, ever: bool) -> f64 {
        let step = self.last_step.map(|(_, step)| step);
        self.levels.expected(step, times, ever)
    }

    /// The newest ticks cover a whole step, so closely that they have met its floor; levels that were met higher
    /// up show no growth then: what is lower later was never there. Where steps give nothing back, any
    /// tick does.
    pub(super) fn is_dense(&self, limit: &Limit) -> bool {
        let steps = self.steps_within(1.0);
        if steps <= 0.0 || self.levels.swing() <= self.margin(limit) {
            return true;
        }
        if self.levels.ticks_of_last_step() >= DENSE_TICKS {
            return true;
        }
        let close = CLOSE_LOOK.seconds() + self.late;
        let span = (1.0 / steps).max(f64::from(DENSE_TICKS) * close);
        let widest = (GAP / steps).max(2.0 * close);
        let (mut count, mut oldest) = (0, f64::INFINITY);
        let mut before = self.ticks.back().map_or(0.0, |(at, _)| *at);
        let now = before;
        for (at, _) in self.ticks.iter().rev() {
            if now - at > span || before - at > widest {
                break;
            }
            (count, oldest, before) = (count + 1, now - at, *at);
        }
        count >= DENSE_TICKS && oldest >= COVERED / steps
    }

    /// The newest slope was read from close ticks.
    pub(crate) fn slope_is_fresh(&self) -> bool {
        let oldest = self.ticks.len().checked_sub(SLOPE_TICKS);
        let span = oldest.and_then(|oldest| Some(self.ticks.back()?.0 - self.ticks.get(oldest)?.0));
        span.is_some_and(|span| span <= FRESH_SECONDS)
    }
}
