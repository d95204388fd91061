//! The length of an epoch from where epochs begin, when steps go on counting: `Epoch 2/10` between
//! step 250 and step 251. The end of an epoch is known at the moment it happens.

use super::epoch::EpochReading;

/// Steps that are printed every so often leave open where between two of them an epoch began. Up to
/// this share of an epoch it is well inside what the judge waits beyond its end (25 %).
const CLOSE: f64 = 0.1;

/// Epochs of one run may differ by a batch or so.
const SAME: f64 = 0.02;

#[derive(Clone, Copy, Debug)]
struct Begin {
    epoch: u64,
    /// The last step before it, and the first one after it.
    low: u64,
    high: Option<u64>,
    /// How far apart steps were printed before it.
    gap: u64,
}

#[derive(Debug, Default)]
pub(super) struct Begins {
    epoch: Option<u64>,
    step: Option<u64>,
    /// Of the running epoch: its first step, and the widest gap between two.
    first_step: Option<u64>,
    gap: u64,
    first: Option<Begin>,
    last: Option<Begin>,
    low: f64,
    high: Option<f64>,
    broken: bool,
}

impl Begins {
    /// A line names this epoch, which `opens` the run: its number is the first of all.
    pub(super) fn epoch(&mut self, epoch: u64, opens: bool) {
        match self.epoch {
            None => {
                // The first of all begins with step 0; a run that shows epoch 3 first was resumed.
                self.first = (opens && self.step.is_none()).then_some(Begin {
                    epoch,
                    low: 0,
                    high: Some(0),
                    gap: 0,
                });
                self.epoch = Some(epoch);
            }
            Some(before) if epoch > before => self.rise(epoch),
            Some(before) if epoch < before => {
                *self = Begins {
                    epoch: Some(epoch),
                    step: self.step,
                    // Steps go on and epochs begin anew: they are those of an inner loop, not passes over
                    // the data.
                    broken: self.broken || self.step.is_some(),
                    ..Begins::default()
                }
            }
            Some(_) => {}
        }
    }

    fn rise(&mut self, epoch: u64) {
        let first_step = self.first_step.take();
        let gap = std::mem::take(&mut self.gap);
        self.epoch = Some(epoch);
        let (Some(step), Some(first_step)) = (self.step, first_step) else {
            // Nothing was counted in between: a list of epochs, or another counter's.
            (self.first, self.last) = (None, None);
            return;
        };
        // Steps that did not begin with the epoch go on from a checkpoint.
        if self.last.is_none() && first_step > gap.max(1) {
            self.first = None;
        }
        let begin = Begin {
            epoch,
            low: step,
            high: None,
            gap,
        };
        match self.first {
            None => self.first = Some(begin),
            Some(first) => {
                let epochs = (epoch - first.epoch) as f64;
                let from = first.high.unwrap_or(first.low);
                self.low = self.low.max(step.saturating_sub(from) as f64 / epochs);
            }
        }
        self.last = Some(begin);
        self.check();
    }

    /// The followed counter stands here.
    pub(super) fn step(&mut self, step: u64) {
        if let Some(before) = self.step {
            if step < before {
                *self = Begins::default();
            } else if self.first_step.is_some() {
                self.gap = self.gap.max(step - before);
            }
        }
        self.step = Some(step);
        if self.first_step.is_some_and(|first| first <= step) {
            return;
        }
        self.first_step = Some(step);
        for begin in [&mut self.first, &mut self.last].into_iter().flatten() {
            begin.high.get_or_insert(step);
        }
        if let (Some(first), Some(last)) = (self.first, self.last)
            && last.epoch > first.epoch
        {
            let high = (step.saturating_sub(first.low)) as f64 / (last.epoch - first.epoch) as f64;
            self.high = Some(self.high.map_or(high, |before| before.min(high)));
        }
        self.check();
    }

    fn check(&mut self) {
        self.broken |= self
            .high
            .is_some_and(|high| self.low > high + SAME * high + 1.0);
    }

    pub(super) fn reading(&self) -> Option<EpochReading> {
        let (first, last) = (self.first?, self.last?);
        if self.broken || last.epoch <= first.epoch {
            return None;
        }
        let steps = last.low.saturating_sub(first.low) as f64;
        let began = first.high.unwrap_or(first.low).saturating_sub(first.low);
        let open = last.gap.saturating_add(began);
        let length = steps / (last.epoch - first.epoch) as f64;
        let high = self.high.unwrap_or(f64::INFINITY);
        Some(EpochReading {
            value: (steps > 0.0 && open as f64 <= CLOSE * steps)
                .then(|| length.min(high).max(self.low)),
            low: self.low,
            high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `epochs` of `length` steps, printed every `gap` steps.
    fn run(begins: &mut Begins, epochs: std::ops::RangeInclusive<u64>, length: u64, gap: u64) {
        let first = *epochs.start();
        for epoch in epochs {
            begins.epoch(epoch, epoch == 1);
            let done = (epoch - first) * length;
            (done + 1..=done + length)
                .filter(|step| step % gap == 0)
                .for_each(|step| begins.step(step));
        }
    }

    #[test]
    fn the_end_of_the_first_epoch_is_its_length() {
        let mut begins = Begins::default();
        run(&mut begins, 1..=1, 250, 1);
        assert_eq!(begins.reading(), None);
        begins.epoch(2, false);
        assert_eq!(begins.reading().unwrap().value, Some(250.0));
        // Printed every tenth step, an epoch of 83 ends after 80; later ones come closer.
        let mut rough = Begins::default();
        run(&mut rough, 1..=1, 83, 10);
        rough.epoch(2, false);
        assert_eq!(rough.reading().unwrap().value, None, "80 to 90");
        let mut rough = Begins::default();
        run(&mut rough, 1..=9, 83, 10);
        let length = rough.reading().unwrap().value.unwrap();
        assert!((82.0..=83.5).contains(&length), "{length}");
    }

    #[test]
    fn a_resumed_run_waits_for_a_whole_epoch() {
        let mut begins = Begins::default();
        begins.epoch(3, false);
        (741..=750).for_each(|step| begins.step(step));
        begins.epoch(4, false);
        assert_eq!(begins.reading(), None, "where epoch 3 began was not seen");
        (751..=1000).for_each(|step| begins.step(step));
        begins.epoch(5, false);
        assert_eq!(begins.reading().unwrap().value, Some(250.0));
        // Its epochs begin at 1 again, its steps do not.
        let mut begins = Begins::default();
        begins.epoch(1, true);
        (741..=750).for_each(|step| begins.step(step));
        begins.epoch(2, false);
        assert_eq!(begins.reading(), None);
    }

    #[test]
    fn epochs_that_begin_anew_while_steps_go_on_say_nothing() {
        let mut begins = Begins::default();
        for update in 0..3 {
            for epoch in 1..=4 {
                begins.epoch(epoch, update == 0 && epoch == 1);
                let done = 40 * update + 10 * (epoch - 1);
                (done + 1..=done + 10).for_each(|step| begins.step(step));
                assert!(
                    update == 0 || begins.reading().is_none(),
                    "{update} {epoch}"
                );
            }
        }
    }

    #[test]
    fn lists_and_epochs_of_other_lengths_say_nothing() {
        let mut begins = Begins::default();
        (1..=5).for_each(|epoch| begins.epoch(epoch, epoch == 1));
        (1..=9).for_each(|step| begins.step(step));
        begins.epoch(6, false);
        assert_eq!(begins.reading(), None);
        let mut begins = Begins::default();
        run(&mut begins, 1..=1, 250, 1);
        begins.epoch(2, false);
        (251..=300).for_each(|step| begins.step(step));
        begins.epoch(3, false);
        (301..=310).for_each(|step| begins.step(step));
        assert_eq!(begins.reading(), None, "250 steps, then 50");
    }
}
