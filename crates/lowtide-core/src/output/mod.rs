//! Reads training steps from a job's own output: no change to the job, no parsing by the user.
//!
//! The keeper (or whoever tails a log file) feeds bytes as they come; out come [`Mark`]s for the
//! recording and the judge. One file per format: [`bar`] (tqdm, Rich, Keras), [`trainer`]
//! (dictionaries and settings), [`plain`] (`Step 10: …`), [`state`] (`trainer_state.json`);
//! [`choose`] decides which counter is the one, [`lines`] cuts the bytes into lines.

mod bar;
mod choose;
mod lines;
mod plain;
mod state;
mod text;
mod trainer;

pub use choose::Counter;
pub use lines::Lines;
pub use state::{StateError, trainer_state};

use bar::Bar;
use choose::{Chooser, Meaning, Sighting};
use trainer::{DictKind, LogDict, Settings};

use crate::mark::{Geometry, Mark, MarkSource, Phase};
use crate::units::Micros;

/// Trainer prints epochs with two digits: from half an epoch on, the length of an epoch that follows
/// from step and epoch is within one per cent.
const EPOCH_KNOWN_FROM: f64 = 0.5;

/// A counter that restarts after it came this close to its total has finished its round (loops that
/// print every tenth batch stop short of the total); one that restarts earlier is a new attempt.
const ROUND_DONE: f64 = 0.9;

/// Bytes in, marks out. Memory is bounded by one line and a few dozen counters.
#[derive(Debug, Default)]
pub struct StepReader {
    lines: Lines,
    reader: LineReader,
}

impl StepReader {
    pub fn new() -> StepReader {
        StepReader::default()
    }

    /// Follows one counter and no other: a second reading of the same log.
    pub fn following(counter: Counter) -> StepReader {
        StepReader {
            lines: Lines::default(),
            reader: LineReader {
                chooser: Chooser::fixed(counter),
                ..LineReader::default()
            },
        }
    }

    /// The marks that these bytes complete. `at` is when they arrived.
    pub fn feed(&mut self, bytes: &[u8], at: Micros) -> Vec<Mark> {
        let mut marks = Vec::new();
        let reader = &mut self.reader;
        self.lines
            .feed(bytes, |line| reader.line(line, at, &mut marks));
        marks
    }

    /// The marks of a last line without an end.
    pub fn finish(&mut self, at: Micros) -> Vec<Mark> {
        let mut marks = Vec::new();
        let reader = &mut self.reader;
        self.lines.finish(|line| reader.line(line, at, &mut marks));
        marks
    }

    /// One line that somebody else has cut already.
    pub fn line(&mut self, line: &str, at: Micros) -> Vec<Mark> {
        let mut marks = Vec::new();
        self.reader.line(line, at, &mut marks);
        marks
    }

    /// The counter that is followed, for "steps from `Step N`".
    pub fn counter(&self) -> Option<&Counter> {
        self.reader.chooser.followed()
    }
}

/// The step that a line itself names, such as 10 in `Step 10: RAM 5552 MB`, and the word for it.
pub fn printed_step(line: &str) -> Option<(u64, &'static str)> {
    let plain = plain::parse(line)?;
    let counts = matches!(
        plain.word,
        plain::Word::GlobalStep | plain::Word::Step | plain::Word::Iteration
    );
    (counts && plain.purpose == bar::Purpose::Unknown).then(|| (plain.n, plain.word.shown()))
}

#[derive(Debug, Default)]
struct LineReader {
    chooser: Chooser,
    geometry: Geometry,
    planned_epochs: Option<u64>,
    planned_steps: Option<u64>,
    /// Which block of settings we are in.
    block: Option<Phase>,
    round: Round,
    /// `Epoch 3/10` on a line of its own: the number, and the lowest seen (0 or 1 begins).
    epoch_line: Option<u64>,
    first_epoch: Option<u64>,
    step: Option<u64>,
    epoch: Option<f64>,
    phase: Option<Phase>,
    /// The result of the last evaluation stands in the log.
    eval_printed: bool,
    /// Of the last dictionary, until a step is seen that belongs to it.
    dict_epoch: Option<f64>,
}

/// Where the followed counter stands, over its restarts.
#[derive(Debug, Default)]
struct Round {
    offset: u64,
    n: u64,
    total: Option<u64>,
    epoch: Option<u64>,
    restarts: u64,
}

impl Round {
    /// The step over all rounds; the epochs done and their length, where the counter restarts with
    /// each epoch; and whether the job began again.
    fn advance(&mut self, seen: &Sighting, first_epoch: u64) -> (u64, Option<(u64, u64)>, bool) {
        let mut per_epoch = None;
        let mut new_attempt = false;
        if let Some((epoch, total)) = seen.epoch.zip(seen.total).filter(|_| seen.per_epoch) {
            let done = epoch - first_epoch.min(epoch);
            let before = self.offset.saturating_add(self.n);
            // Lightning resets the bar of an epoch that is over before it names the next one.
            if seen.n == 0 && self.epoch == Some(epoch) && self.total == Some(self.n) {
                return (before, Some((done, total)), false);
            }
            self.offset = done.saturating_mul(total);
            new_attempt = self.offset.saturating_add(seen.n) < before;
            per_epoch = Some((done, total));
        } else if seen.n < self.n {
            let near = |total: u64| self.n as f64 >= ROUND_DONE * total as f64;
            let next = self.total.is_some_and(near)
                || matches!((self.epoch, seen.epoch), (Some(was), Some(is)) if is > was);
            if next {
                self.offset = self.offset.saturating_add(self.total.unwrap_or(self.n));
                self.restarts += 1;
            } else {
                // From its start or from a checkpoint.
                (self.offset, self.restarts) = (0, 0);
                new_attempt = true;
            }
        }
        if per_epoch.is_none() && self.restarts > 0 {
            per_epoch = seen.total.map(|total| (self.restarts, total));
        }
        self.n = seen.n;
        self.total = seen.total;
        self.epoch = seen.epoch;
        (self.offset.saturating_add(seen.n), per_epoch, new_attempt)
    }
}

impl LineReader {
    fn line(&mut self, line: &str, at: Micros, marks: &mut Vec<Mark>) {
        let mut mark = Mark {
            at,
            source: MarkSource::Output,
            ..Mark::default()
        };
        let before = mark.clone();
        self.read(line, &mut mark);
        if mark != before {
            marks.push(mark);
        }
    }

    fn read(&mut self, line: &str, mark: &mut Mark) {
        if let Some(phase) = trainer::heading(line) {
            self.block = Some(phase);
            self.enter(phase, mark);
            return;
        }
        if let Some(settings) = trainer::settings(line) {
            // An evaluation prints its own number of examples.
            if self.block != Some(Phase::Eval) {
                self.settings(&settings, mark);
            }
            return;
        }
        if let Some(dict) = trainer::log_dict(line) {
            self.dict(&dict, mark);
            return;
        }
        if let Some(bar) = Bar::parse(line) {
            self.sighting(Sighting::of_bar(&bar), mark);
            return;
        }
        if let Some(plain) = plain::parse(line) {
            self.sighting(Sighting::of_plain(&plain), mark);
            return;
        }
        if line.contains("Traceback (most recent call last)") {
            self.chooser.crashed();
        } else if line.trim_start().to_ascii_lowercase().starts_with("epoch")
            && let Some((epoch, _)) = bar::epoch_in(line)
        {
            self.epoch_line = Some(epoch);
            self.note_first(epoch);
            // Printed when an epoch begins: those before it are done.
            self.at_epoch(
                (epoch - self.first_epoch.unwrap_or(0).min(epoch)) as f64,
                mark,
            );
        }
    }

    fn settings(&mut self, found: &Settings, mark: &mut Mark) {
        self.geometry.merge(&found.geometry);
        self.planned_epochs = found.epochs.or(self.planned_epochs);
        self.planned_steps = found.total_steps.or(self.planned_steps);
        if let (Some(total), Some(batch)) = (found.total_batch, self.geometry.batch) {
            let one = batch.saturating_mul(self.geometry.accumulate.unwrap_or(1).max(1));
            if self.geometry.accumulate.is_some() && one > 0 && total % one == 0 {
                self.geometry.world = Some(total / one);
            }
        }
        if let (None, Some(steps), Some(epochs)) = (
            self.geometry.examples,
            self.planned_steps,
            self.planned_epochs,
        ) {
            self.geometry.epoch_steps = Some(steps as f64 / epochs.max(1) as f64);
        }
        self.chooser.confirm(self.planned_steps);
        mark.geometry = Some(self.geometry);
        mark.total_steps = found.total_steps;
    }

    fn dict(&mut self, dict: &LogDict, mark: &mut Mark) {
        match dict.kind {
            DictKind::Train => {
                if self.planned_steps.is_none() {
                    self.chooser.confirm(None);
                }
                self.enter(Phase::Train, mark);
            }
            DictKind::Eval => {
                self.eval_printed = true;
                self.enter(Phase::Train, mark);
            }
            DictKind::Summary => self.enter(Phase::End, mark),
        }
        if let Some(epoch) = dict.epoch {
            self.at_epoch(epoch, mark);
            self.dict_epoch = Some(epoch);
        }
        // Without a bar the dictionary is the counter: by its own step, or by the epoch.
        if self.chooser.followed().is_none() {
            let from_epoch = || {
                let length = match (self.planned_steps, self.planned_epochs) {
                    (Some(steps), Some(epochs)) if epochs > 0 => Some(steps as f64 / epochs as f64),
                    _ => self.geometry.steps_per_epoch(),
                };
                Some((dict.epoch? * length?).round() as u64)
            };
            if let Some(step) = dict.step.or_else(from_epoch) {
                self.at_step(step, self.planned_steps, mark);
            }
        }
    }

    fn sighting(&mut self, mut seen: Sighting, mark: &mut Mark) {
        if seen.per_epoch {
            seen.epoch = seen.epoch.or(self.epoch_line);
        }
        match self.chooser.see(&seen, self.planned_steps) {
            Meaning::Other => {}
            // Trainer redraws the full bar of an evaluation once more after printing its result.
            Meaning::Eval if self.eval_printed && seen.total == Some(seen.n) => {}
            Meaning::Eval => {
                self.eval_printed = false;
                self.enter(Phase::Eval, mark);
            }
            Meaning::Epoch => self.at_epoch(seen.n as f64, mark),
            Meaning::NewStep => {
                self.round = Round::default();
                self.step = None;
                self.count(&seen, mark);
            }
            Meaning::Step => self.count(&seen, mark),
        }
    }

    fn count(&mut self, seen: &Sighting, mark: &mut Mark) {
        if let Some(epoch) = seen.epoch {
            self.note_first(epoch);
        }
        let first_epoch = self.first_epoch.unwrap_or(0);
        let (step, per_epoch, new_attempt) = self.round.advance(seen, first_epoch);
        if new_attempt {
            self.phase = None;
            self.enter(Phase::Start, mark);
        } else if self.phase != Some(Phase::End) || self.step != Some(step) {
            // The full bar is drawn once more after the end.
            self.enter(Phase::Train, mark);
        }
        if let Some((_, total)) = per_epoch.filter(|(_, total)| *total > 0) {
            self.at_step(step, None, mark);
            self.at_epoch(step as f64 / total as f64, mark);
            self.epoch_is(total as f64, mark);
        } else {
            self.at_step(step, seen.total, mark);
        }
        if let Some(epoch) = self.dict_epoch.take().filter(|e| *e >= EPOCH_KNOWN_FROM)
            && per_epoch.is_none()
            && self.geometry.examples.is_none()
        {
            self.epoch_is(step as f64 / epoch, mark);
        }
    }

    fn note_first(&mut self, epoch: u64) {
        // People count epochs from 0 or from 1; a run that shows 5 first was resumed.
        let first = if epoch == 0 { 0 } else { 1 };
        self.first_epoch = Some(self.first_epoch.unwrap_or(1).min(first));
    }

    fn enter(&mut self, phase: Phase, mark: &mut Mark) {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            mark.phase = Some(phase);
        }
    }

    fn at_step(&mut self, step: u64, total: Option<u64>, mark: &mut Mark) {
        if self.step != Some(step) {
            self.step = Some(step);
            mark.step = Some(step);
            mark.total_steps = total;
        }
    }

    fn at_epoch(&mut self, epoch: f64, mark: &mut Mark) {
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            mark.epoch = Some(epoch);
        }
    }

    fn epoch_is(&mut self, steps: f64, mark: &mut Mark) {
        if steps > 0.0 && self.geometry.epoch_steps != Some(steps) {
            self.geometry.epoch_steps = Some(steps);
            mark.geometry = Some(self.geometry);
        }
    }
}

#[cfg(test)]
mod tests;
