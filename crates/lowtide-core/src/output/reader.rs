//! One line after the other becomes marks: asks each format whether the line is its own, and folds
//! the answers into the step, the phase, the geometry and the number of steps. Fed by
//! [`super::StepReader`].

use super::bar::{self, Bar, Purpose};
use super::choose::{Chooser, Counter, Meaning, Sighting};
use super::epoch::{Known, Length};
use super::lone_index::LoneIndex;
use super::named::epoch_line;
use super::parts::EpochPart;
use super::plain;
use super::round::LoopRound;
use super::text::{jobs_own, may_tell};
use super::trainer::{self, DictKind, LogDict, Settings};

use crate::mark::{Geometry, Mark, MarkSource, Phase, TrainingLoop};
use crate::units::Micros;

/// A length of an epoch is told anew when it changed by this share: each print of a part of an epoch
/// changes it a little, and recordings need not hold that.
const CHANGED: f64 = 0.001;

#[derive(Debug, Default)]
pub(super) struct LineReader {
    chooser: Chooser,
    geometry: Geometry,
    planned: Settings,
    /// Which block of settings we are in.
    block: Option<Phase>,
    round: LoopRound,
    length: Length,
    epochs: Epochs,
    /// As many epochs as the job's command names.
    told_epochs: Option<u64>,
    step: Option<u64>,
    epoch: Option<f64>,
    phase: Option<Phase>,
    /// The result of the last evaluation stands in the log.
    eval_printed: bool,
    /// The result is all that was seen of an evaluation: no bar showed it.
    only_result: bool,
    /// A part of an epoch, until a step is seen that belongs to it.
    part: Option<Printed>,
    /// The last `[25] epoch=0.31`, and whether such numbers do not rise with the epoch.
    index: Option<(u64, f64)>,
    no_index: bool,
    /// The same without an epoch: `[25] loss=0.31`.
    lone_index: LoneIndex,
    /// Whose output this is, from the first line on that only one of them prints.
    training_loop: Option<TrainingLoop>,
    /// The step that the last line named; none if that was not looked for.
    printed: Option<Option<(u64, &'static str)>>,
}

/// What lines say of epochs.
#[derive(Debug, Default)]
struct Epochs {
    /// `Epoch 3/10` on a line of its own, and whether no counter was seen since.
    line: Option<u64>,
    fresh: bool,
    /// The number seen first of all, and the one epochs are counted from.
    seen_first: Option<u64>,
    first: Option<u64>,
    count: Option<u64>,
}

impl Epochs {
    fn note(&mut self, epoch: u64, count: Option<u64>, from_zero: bool) {
        // People count epochs from 0 or from 1; a run that shows 5 first was resumed.
        self.first = Some(self.first.unwrap_or(1).min(epoch.min(1)));
        let seen_first = *self.seen_first.get_or_insert(epoch);
        // `Epoch 0/10` is one of ten for some and of eleven for others.
        if seen_first == 1 || (seen_first == 0 && from_zero) {
            self.count = count.or(self.count);
        }
    }

    /// The first epoch of a run from its start.
    fn opens(&self, epoch: u64) -> bool {
        epoch <= 1 && self.seen_first == Some(epoch)
    }
}

#[derive(Clone, Copy, Debug)]
struct Printed {
    part: EpochPart,
    /// The step that was seen last, and the one that was printed with it.
    from: Option<u64>,
    own: Option<u64>,
}

impl LineReader {
    pub(super) fn following(counter: Counter) -> LineReader {
        LineReader {
            chooser: Chooser::fixed(counter),
            ..LineReader::default()
        }
    }

    pub(super) fn of_job(told_epochs: Option<u64>) -> LineReader {
        LineReader {
            told_epochs,
            ..LineReader::default()
        }
    }

    pub(super) fn counter(&self) -> Option<&Counter> {
        self.chooser.followed()
    }

    /// The step that the last line named, unless nobody looked for it.
    pub(super) fn printed(&self) -> Option<Option<(u64, &'static str)>> {
        self.printed
    }

    pub(super) fn line(&mut self, line: &str, at: Micros, marks: &mut Vec<Mark>) {
        self.printed = None;
        if !may_tell(line) {
            return;
        }
        let line = jobs_own(line);
        let mut mark = Mark {
            at,
            source: MarkSource::Output,
            ..Mark::default()
        };
        let before = mark.clone();
        self.read(line, &mut mark);
        self.tell_length(&mut mark);
        if mark != before {
            mark.training_loop = self.training_loop;
        }
        if std::mem::take(&mut self.only_result) {
            marks.push(Mark {
                phase: Some(Phase::Eval),
                ..before.clone()
            });
            mark.phase = Some(Phase::Train);
        }
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
            if dict.trainers_own {
                self.training_loop.get_or_insert(TrainingLoop::Trainer);
            }
            self.dict(&dict, mark);
            return;
        }
        if let Some(bar) = Bar::parse(line) {
            if self.training_loop.is_none() && bar::is_lightnings(line) {
                self.training_loop = Some(TrainingLoop::Lightning);
            }
            self.sighting(Sighting::of_bar(&bar), mark);
            return;
        }
        let plain = plain::parse(line);
        self.printed = Some(plain.as_ref().and_then(super::named_by));
        if let Some(plain) = plain {
            self.sighting(Sighting::of_plain(&plain), mark);
            return;
        }
        if line.contains("Traceback (most recent call last)") {
            self.chooser.crashed();
        } else if let Some((epoch, count)) = epoch_line(line) {
            self.epochs.line = Some(epoch);
            self.epochs.fresh = true;
            self.epochs.note(epoch, count, false);
            self.length.begins.epoch(epoch, self.epochs.opens(epoch));
            // Printed when an epoch begins: those before it are done.
            let first = self.epochs.first.unwrap_or(0);
            self.at_epoch((epoch - first.min(epoch)) as f64, mark);
        }
    }

    fn settings(&mut self, found: &Settings, mark: &mut Mark) {
        self.geometry.merge(&found.geometry);
        let all = &mut self.planned;
        all.epochs = found.epochs.or(all.epochs);
        all.total_steps = found.total_steps.or(all.total_steps);
        all.total_batch = found.total_batch.or(all.total_batch);
        all.epoch_steps = found.epoch_steps.or(all.epoch_steps);
        let Settings {
            epochs,
            total_steps,
            total_batch,
            epoch_steps,
            ..
        } = *all;
        let geometry = &mut self.geometry;
        if let (Some(total), Some(batch), Some(accumulate)) =
            (total_batch, geometry.batch, geometry.accumulate)
        {
            let one = batch.saturating_mul(accumulate.max(1));
            if one > 0 && total % one == 0 {
                geometry.world = Some(total / one);
            }
        }
        // Where neither the examples of a step nor the batches in it are printed, examples by batch is
        // only what is left when nothing else speaks: the geometry computes that itself.
        let per_step = match (total_batch, geometry.accumulate) {
            (Some(total), _) => Some(total as f64),
            (None, Some(_)) => geometry.examples_per_step(),
            (None, None) => None,
        };
        let by_examples = geometry
            .examples
            .zip(per_step)
            .map(|(n, each)| n as f64 / each);
        self.length
            .data_says(by_examples.or(epoch_steps.map(|steps| steps as f64)));
        if let (Some(steps), Some(epochs)) = (total_steps, epochs) {
            self.length.planned(steps, epochs);
        }
        self.chooser.confirm(total_steps);
        mark.geometry = Some(self.geometry);
        mark.total_steps = found.total_steps.filter(|total| self.step <= Some(*total));
    }

    fn dict(&mut self, dict: &LogDict, mark: &mut Mark) {
        match dict.kind {
            DictKind::Train => {
                if self.planned.total_steps.is_none() {
                    self.chooser.confirm(None);
                }
                self.enter(Phase::Train, mark);
            }
            DictKind::Eval => {
                self.eval_printed = true;
                self.only_result = self.phase != Some(Phase::Eval);
                self.enter(Phase::Train, mark);
            }
            DictKind::Summary => self.enter(Phase::End, mark),
        }
        if let Some(epoch) = dict.epoch {
            self.at_epoch(epoch, mark);
        }
        if self.chooser.followed().is_some() {
            self.keep(dict.part, dict.step);
            return;
        }
        // Without a bar the dictionary is the counter: by its own step, or by the epoch.
        if let (Some(step), Some(part)) = (dict.step, dict.part) {
            self.length.parts.see(step, step, part);
        }
        let from_epoch = || {
            let length = self.geometry.steps_per_epoch();
            // Trainer's own epochs have whole steps.
            let planned = self.length.plan().and_then(|plan| plan.value);
            let length = match (length, planned) {
                (Some(length), Some(planned)) if (length - planned).abs() <= 1.0 => planned,
                (length, planned) => length.or(planned)?,
            };
            Some((dict.epoch? * length).round() as u64)
        };
        if let Some(step) = dict.step.or_else(from_epoch) {
            self.at_step(step, self.planned.total_steps, mark);
        }
    }

    fn keep(&mut self, part: Option<EpochPart>, own: Option<u64>) {
        if let Some(part) = part {
            self.part = Some(Printed {
                part,
                from: self.step,
                own,
            });
        }
    }

    fn sighting(&mut self, mut seen: Sighting, mark: &mut Mark) {
        if seen.is_index() && !self.index_rises(&seen) {
            return;
        }
        if seen.purpose != Purpose::Eval
            && let Some(epoch) = seen.epoch
        {
            self.epochs.note(epoch, seen.epochs, seen.from_zero);
        }
        seen.epoch = seen.epoch.or(self.epochs.line);
        if seen.is_keras() && self.evaluates(&seen) {
            self.enter(Phase::Eval, mark);
            return;
        }
        if self.told_epochs.is_some()
            && seen.total == self.told_epochs
            && self.chooser.is_first_and_nameless(&seen)
        {
            seen.purpose = Purpose::Epochs;
        }
        match self.chooser.see(&seen, self.planned.total_steps) {
            Meaning::Other => self.keep(seen.part, None),
            // Trainer redraws the full bar of an evaluation once more after printing its result.
            Meaning::Eval if self.eval_printed && seen.total == Some(seen.n) => {}
            Meaning::Eval => {
                self.eval_printed = false;
                self.enter(Phase::Eval, mark);
            }
            Meaning::Epoch => {
                if seen.purpose == Purpose::Epochs {
                    self.epochs.count = seen.total.or(self.epochs.count);
                }
                self.at_epoch(seen.n as f64, mark);
            }
            Meaning::NewStep => {
                self.round = LoopRound::default();
                self.length.begin_again();
                self.part = None;
                self.step = None;
                self.count(&seen, mark);
            }
            Meaning::Step => self.count(&seen, mark),
        }
    }

    /// `[25] epoch=0.31` counts when number and epoch rise together; the number of a process does not.
    fn index_rises(&mut self, seen: &Sighting) -> bool {
        let Some(part) = seen.part else {
            return self.lone_index.rises(seen.n);
        };
        let before = self.index.replace((seen.n, part.epoch));
        self.no_index |= before.is_some_and(|(n, epoch)| (seen.n > n) != (part.epoch > epoch));
        before.is_some_and(|(n, _)| seen.n > n) && !self.no_index
    }

    /// Keras draws the same bar for `evaluate` and `predict`; only `fit` names an epoch before it.
    fn evaluates(&self, seen: &Sighting) -> bool {
        self.epochs.line.is_some()
            && !self.epochs.fresh
            && self.round.total().is_some()
            && (seen.total != self.round.total() || (self.round.full() && !self.round.at(seen.n)))
    }

    fn count(&mut self, seen: &Sighting, mark: &mut Mark) {
        self.epochs.fresh = false;
        let named = self.epoch.is_some() || self.planned.epochs.is_some();
        let first_epoch = self.epochs.first.unwrap_or(0);
        let place = self.round.advance(seen, first_epoch, named);
        let step = place.step;
        if place.new_attempt {
            self.length.begin_again();
            self.part = None;
            self.phase = None;
            self.enter(Phase::Start, mark);
        } else if self.phase != Some(Phase::End) || self.step != Some(step) {
            // The full bar is drawn once more after the end.
            self.enter(Phase::Train, mark);
        }
        if let Some(epoch) = seen.epoch {
            self.length.begins.epoch(epoch, self.epochs.opens(epoch));
        }
        self.length.begins.step(step);
        let count = self.planned.epochs.or(self.epochs.count);
        if let Some(length) = place.per_epoch {
            self.length.round_of(length);
            let total = count.and_then(|count| count.checked_mul(length));
            self.at_step(step, total, mark);
            self.at_epoch(step as f64 / length as f64, mark);
        } else {
            let whole = place.whole || count == Some(1) || seen.total == self.planned.total_steps;
            let total = seen.total.filter(|_| whole);
            if let (Some(total), Some(epochs), None) =
                (total, self.planned.epochs, self.planned.total_steps)
                && self.chooser.counts_whole_run()
            {
                self.length.planned(total, epochs);
            }
            self.at_step(step, total, mark);
        }
        self.part_at(step, seen.part);
    }

    /// The parts of an epoch that go with this step: one printed with it, or before it.
    fn part_at(&mut self, step: u64, with_it: Option<EpochPart>) {
        let parts = &mut self.length.parts;
        if let Some(printed) = self.part.take().filter(|_| with_it.is_none()) {
            let from = printed.from.unwrap_or(0);
            match printed.own {
                Some(own) if (from..=step).contains(&own) => parts.see(own, own, printed.part),
                Some(_) => {}
                None if self.chooser.follows_bar() => parts.see(step, step, printed.part),
                None => parts.see(from, step, printed.part),
            }
        }
        if let Some(part) = with_it {
            parts.see(step, step, part);
        }
    }

    /// Puts what is known of the length of an epoch into the geometry, and takes back what is not
    /// known any more.
    fn tell_length(&mut self, mark: &mut Mark) {
        let told = self.geometry.steps_per_epoch();
        let now = match self.length.known() {
            Known::Steps(steps) => steps,
            Known::Contradicted => Geometry::UNKNOWN,
            // Nothing was said, or nothing but examples and batch.
            Known::Unknown if self.geometry.epoch_steps.is_none() => return,
            Known::Unknown => Geometry::UNKNOWN,
        };
        if (told.unwrap_or(Geometry::UNKNOWN) - now).abs() > CHANGED * now {
            self.geometry.epoch_steps = Some(now);
            mark.geometry = Some(self.geometry);
        }
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
            // A total that was passed is none.
            mark.total_steps = total.filter(|total| *total >= step);
        }
    }

    fn at_epoch(&mut self, epoch: f64, mark: &mut Mark) {
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            mark.epoch = Some(epoch);
        }
    }
}
