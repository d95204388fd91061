//! What the guard learns of a job while it runs: how long a step and a save take, what a save adds,
//! how fast the level rises. Bounded, whatever the length of the run.

use std::collections::{BTreeMap, VecDeque};

use crate::mark::{Mark, Phase};
use crate::process::ProcId;
use crate::sample::{Limit, Sample};
use crate::stats;
use crate::units::{Bytes, Micros};

/// Step times that are remembered; the slowest of them counts, because a step may meet a bad moment.
const STEP_TIMES: usize = 16;
/// Levels that a pace of growth is read from: one for each step that was seen.
const LEVELS: usize = 48;
/// And the least that make a pace.
const LEAST_LEVELS: usize = 4;
/// The interval of a pace from few points is wide; no more than this times the pace is believed.
const MOST_DOUBT: f64 = 2.0;
/// Ticks that the newest slope is read from, and the peaks between ticks.
const TICKS: usize = 16;
/// The newest slope needs two intervals that agree: one may be a burst.
const SLOPE_TICKS: usize = 3;
/// A slope over ticks further apart than this may be a burst that is over: closer ones come first.
const FRESH_SECONDS: f64 = 0.5;
/// What a save may take until one was seen: Trainer and torch.save write a CPU model without a
/// second copy, a GPU model passes through host memory once. A guess, told as one in the docs.
const SAVE_UNKNOWN: f64 = 0.05;
/// The next save may take a quarter more than any before.
const SAVE_MORE: f64 = 1.25;
/// What is never planned with: allocators and the kernel's own accounting move by about this.
const MARGIN: f64 = 0.01;
/// The first steps bring optimizer state and caches: the level that a restart returns to is that of
/// the steps after them.
const FIRST_STEPS: u64 = 2;
/// Without steps, the level after this many seconds.
const FIRST_SECONDS: f64 = 30.0;
/// Without steps, growth is foreseen for this long.
const BLIND_SECONDS: f64 = 10.0;

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
    /// Saves that are over, in this attempt.
    saves: u32,
    levels: VecDeque<StepFloor>,
    /// Seconds, bytes in use, and how far the peak since the last tick was above them.
    ticks: VecDeque<(f64, f64, f64)>,
    /// How late these ticks were, in seconds; the machine is as busy for the next attempt.
    late: VecDeque<f64>,
    peaks: BTreeMap<ProcId, Bytes>,
    baseline: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Save {
    since: Micros,
    level: Option<f64>,
    crest: f64,
}

/// The lowest level seen at one step.
#[derive(Clone, Copy, Debug)]
struct StepFloor {
    step: Option<u64>,
    seconds: f64,
    floor: f64,
}

impl Learnt {
    pub(crate) fn for_next_attempt(self) -> Learnt {
        Learnt {
            step_times: self.step_times,
            save_seconds: self.save_seconds,
            save_bytes: self.save_bytes,
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
            let level = self.ticks.back().map(|(_, used, _)| *used);
            self.save = Some(Save {
                since: at,
                level,
                crest: 0.0,
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
        self.late.push_back(sample.late.seconds());
        if self.late.len() > TICKS {
            self.late.pop_front();
        }
        let Some(used) = used else { return };
        self.ticks.push_back((running, used, above));
        if self.ticks.len() > TICKS {
            self.ticks.pop_front();
        }
        let crest = used + above;
        if let Some(save) = &mut self.save {
            save.crest = save.crest.max(crest);
        } else if let Some(save) = self.save_over.take() {
            let level = save.level.unwrap_or(used);
            let took = (save.crest.max(crest) - level).max(0.0);
            self.save_bytes = Some(self.save_bytes.map_or(took, |known| known.max(took)));
        }
        self.remember(used, running);
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

    fn remember(&mut self, used: f64, running: f64) {
        let trains = matches!(self.phase, None | Some(Phase::Train));
        if !trains {
            return;
        }
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
                level.floor = level.floor.min(used)
            }
            _ => self.levels.push_back(StepFloor {
                step,
                seconds: running,
                floor: used,
            }),
        }
        if self.levels.len() > LEVELS {
            self.levels.pop_front();
        }
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

    pub(crate) fn step_seconds(&self) -> Option<f64> {
        self.step_times.iter().copied().reduce(f64::max)
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

    /// What the level was when the first steps were done.
    pub(super) fn baseline(&self) -> Option<f64> {
        self.baseline
    }

    /// Room for the peak of a save or of a step, whichever is higher.
    pub(crate) fn save_reserve(&self, limit: &Limit) -> f64 {
        let save = self
            .save_bytes
            .map_or(SAVE_UNKNOWN * limit.bytes.as_f64(), |seen| {
                (seen * SAVE_MORE).max(self.margin(limit))
            });
        let swing = self
            .ticks
            .iter()
            .map(|(_, _, above)| *above)
            .fold(0.0, f64::max);
        save.max(swing)
    }

    pub(super) fn margin(&self, limit: &Limit) -> f64 {
        MARGIN * limit.bytes.as_f64()
    }

    /// The newest slope in bytes a second: the lower of the last interval's and the last two's.
    pub(crate) fn raw_slope(&self) -> f64 {
        if self.ticks.len() < SLOPE_TICKS {
            return 0.0;
        }
        let newest = self.ticks[self.ticks.len() - 1];
        (2..=SLOPE_TICKS)
            .map(|back| {
                let (seconds, used, _) = self.ticks[self.ticks.len() - back];
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

    /// How late the latest of the newest ticks was.
    pub(crate) fn late_by(&self) -> f64 {
        self.late.iter().copied().fold(0.0, f64::max)
    }

    /// How far apart the newest levels are.
    pub(super) fn swing(&self) -> f64 {
        let levels = || self.ticks.iter().map(|(_, used, _)| *used);
        let (low, high) = (
            levels().fold(f64::INFINITY, f64::min),
            levels().fold(0.0, f64::max),
        );
        (high - low).max(0.0)
    }

    /// The newest slope was read from close ticks.
    pub(crate) fn slope_is_fresh(&self) -> bool {
        let oldest = self.ticks.len().checked_sub(SLOPE_TICKS);
        let span = oldest.and_then(|oldest| Some(self.ticks.back()?.0 - self.ticks.get(oldest)?.0));
        span.is_some_and(|span| span <= FRESH_SECONDS)
    }

    /// What the level may rise by while this many further steps and the running one are done.
    pub(crate) fn growth_until(&self, ahead: u64) -> f64 {
        match self.growth_per_step() {
            Some(each) => each.max(0.0) * (ahead + 1) as f64,
            None => self.growth_per_second().unwrap_or(0.0).max(0.0) * BLIND_SECONDS,
        }
    }

    fn growth_per_step(&self) -> Option<f64> {
        let steps: Option<Vec<f64>> = self
            .levels
            .iter()
            .map(|level| level.step.map(|step| step as f64))
            .collect();
        self.pace(&steps?)
    }

    pub(crate) fn growth_per_second(&self) -> Option<f64> {
        let seconds: Vec<f64> = self.levels.iter().map(|level| level.seconds).collect();
        self.pace(&seconds)
    }

    fn pace(&self, xs: &[f64]) -> Option<f64> {
        if xs.len() < LEAST_LEVELS {
            return None;
        }
        let floors: Vec<f64> = self.levels.iter().map(|level| level.floor).collect();
        let (value, _, high) = stats::slope_interval(xs, &floors, 0.0)?;
        Some(high.clamp(value, (MOST_DOUBT * value).max(value)))
    }
}
