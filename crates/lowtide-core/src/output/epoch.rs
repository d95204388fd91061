//! How many steps an epoch has, from whatever a job prints. The line reader feeds it; what it knows
//! goes into the geometry of the marks. Each way of knowing is a witness with a range; the surest
//! one speaks, and where another contradicts it nobody does: a length that is wrong accuses.

use super::begins::Begins;
use super::parts::EpochParts;

/// Two lengths are the same within this share of them and one step: a last batch that is dropped or
/// counted, loops that count from 0 or from 1, and rounding.
const SAME: f64 = 0.02;

/// What one witness says: the length it would name, if it is sure enough, and what it rules out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochReading {
    pub value: Option<f64>,
    pub low: f64,
    pub high: f64,
}

impl EpochReading {
    fn exactly(steps: f64) -> EpochReading {
        EpochReading {
            value: Some(steps),
            low: steps,
            high: steps,
        }
    }

    fn allows(&self, steps: f64) -> bool {
        let slack = SAME * steps + 1.0;
        steps >= self.low - slack && steps <= self.high + slack
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known {
    Unknown,
    Steps(f64),
    /// Two witnesses disagree.
    Contradicted,
}

#[derive(Debug, Default)]
pub(super) struct Length {
    /// Examples by the examples of a step, or the number itself, as settings print them.
    data: Option<f64>,
    /// The total of a counter that begins anew with each epoch.
    round: Option<f64>,
    rounds_differ: bool,
    pub begins: Begins,
    pub parts: EpochParts,
    /// Steps and epochs of the whole run.
    plan: Option<(u64, u64)>,
}

impl Length {
    pub(crate) fn data_says(&mut self, steps: Option<f64>) {
        self.data = steps.filter(|s| s.is_finite() && *s > 0.0).or(self.data);
    }

    pub(super) fn planned(&mut self, steps: u64, epochs: u64) {
        // Endless data has a number of epochs beyond all steps.
        self.plan = (epochs > 0 && steps >= epochs).then_some((steps, epochs));
    }

    pub(crate) fn round_of(&mut self, steps: u64) {
        let steps = steps as f64;
        self.rounds_differ |= self
            .round
            .is_some_and(|round| !EpochReading::exactly(round).allows(steps));
        self.round = Some(steps);
    }

    /// The job began again: what it printed before is on another count.
    pub(crate) fn begin_again(&mut self) {
        self.begins = Begins::default();
        self.parts = EpochParts::default();
        (self.round, self.rounds_differ) = (None, false);
    }

    /// Steps of an epoch as the plan has them: what Trainer's own epochs are counted in.
    pub(super) fn plan(&self) -> Option<EpochReading> {
        let (steps, epochs) = self.plan?;
        let (all, count) = (steps as f64, epochs as f64);
        Some(EpochReading {
            // A run that is cut by a number of steps prints its last epoch as a whole one: a plan that
            // does not divide was cut, and of a single epoch nobody can tell.
            value: (epochs > 1 && steps % epochs == 0).then_some(all / count),
            low: all / count,
            high: if epochs > 1 {
                all / (count - 1.0)
            } else {
                f64::INFINITY
            },
        })
    }

    pub(super) fn known(&self) -> Known {
        if self.rounds_differ {
            return Known::Contradicted;
        }
        // The surest first.
        let witnesses = [
            self.data.map(EpochReading::exactly),
            self.round.map(EpochReading::exactly),
            self.begins.reading(),
            self.parts.reading(),
            self.plan(),
        ];
        let all = || witnesses.iter().flatten();
        match all().find_map(|w| w.value) {
            None => Known::Unknown,
            Some(steps) if all().all(|w| w.allows(steps)) => Known::Steps(steps),
            Some(_) => Known::Contradicted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_was_cut_says_no_length() {
        let plan = |steps, epochs| {
            let mut length = Length::default();
            length.planned(steps, epochs);
            length.known()
        };
        assert_eq!(plan(249, 3), Known::Steps(83.0));
        // `max_steps = 60` of 6,470: Trainer prints one epoch.
        assert_eq!(plan(60, 1), Known::Unknown);
        assert_eq!(plan(100, 3), Known::Unknown);
        assert_eq!(plan(60, i64::MAX as u64), Known::Unknown);
    }

    #[test]
    fn witnesses_that_disagree_are_silent() {
        let mut length = Length::default();
        length.planned(249, 3);
        length.data_says(Some(82.875));
        assert_eq!(length.known(), Known::Steps(82.875));
        length.round_of(332);
        assert_eq!(length.known(), Known::Contradicted);
    }
}
