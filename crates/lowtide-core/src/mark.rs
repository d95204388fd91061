//! A mark is a moment that the training loop told us, by the Python package, by its output or by
//! its state file. Marks give the axis (steps), the phases and the length of an epoch.

use serde::{Deserialize, Serialize};

use crate::units::Micros;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    pub at: Micros,
    pub source: MarkSource,
    /// The process that sent it, where known.
    pub pid: Option<u32>,
    pub rank: Option<u32>,
    /// Optimizer steps done.
    pub step: Option<u64>,
    pub total_steps: Option<u64>,
    /// Epochs done, with the fraction of the running one.
    pub epoch: Option<f64>,
    pub phase: Option<Phase>,
    /// Examples seen so far.
    pub examples: Option<u64>,
    pub geometry: Option<Geometry>,
    /// Whose loop it is, where that is certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_loop: Option<TrainingLoop>,
}

impl Mark {
    /// Both as one: what is known after the later one.
    pub fn then(self, later: Mark) -> Mark {
        let geometry = match (self.geometry, later.geometry) {
            (Some(mut geometry), Some(newer)) => {
                geometry.merge(&newer);
                Some(geometry)
            }
            (one, other) => other.or(one),
        };
        Mark {
            at: later.at,
            source: later.source,
            pid: later.pid.or(self.pid),
            rank: later.rank.or(self.rank),
            step: later.step.or(self.step),
            total_steps: later.total_steps.or(self.total_steps),
            epoch: later.epoch.or(self.epoch),
            phase: later.phase.or(self.phase),
            examples: later.examples.or(self.examples),
            geometry,
            training_loop: later.training_loop.or(self.training_loop),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkSource {
    /// The Python package.
    Callback,
    /// Read from the job's own output.
    #[default]
    Output,
    /// `trainer_state.json` of the newest checkpoint.
    TrainerState,
    /// In a way that came with a later lowtide.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Start,
    Train,
    Eval,
    Save,
    End,
}

/// Who runs the loop: what can be hooked into it, and how, depends on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingLoop {
    /// Hugging Face's Trainer, and what is built on it.
    Trainer,
    Lightning,
    /// Written by hand.
    Plain,
}

impl TrainingLoop {
    /// As the Python package names it; none for a word of a later one.
    pub fn named(word: &str) -> Option<TrainingLoop> {
        match word {
            "trainer" => Some(TrainingLoop::Trainer),
            "lightning" => Some(TrainingLoop::Lightning),
            "plain" => Some(TrainingLoop::Plain),
            _ => None,
        }
    }
}

/// How the data is cut into steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    pub examples: Option<u64>,
    pub batch: Option<u64>,
    pub accumulate: Option<u64>,
    pub world: Option<u64>,
    /// Given directly, or computed from the others; [`Geometry::UNKNOWN`] takes back what was given.
    pub epoch_steps: Option<f64>,
}

impl Geometry {
    /// The length of an epoch that is not known although the other numbers, or earlier ones, would
    /// give one: what was printed contradicts itself.
    pub const UNKNOWN: f64 = 0.0;

    /// Examples per optimizer step, when the batch is known.
    pub(crate) fn examples_per_step(&self) -> Option<f64> {
        let batch = self.batch? as f64;
        Some(
            batch
                * self.accumulate.unwrap_or(1).max(1) as f64
                * self.world.unwrap_or(1).max(1) as f64,
        )
    }

    /// Optimizer steps in one pass over the data.
    pub fn steps_per_epoch(&self) -> Option<f64> {
        if let Some(steps) = self.epoch_steps {
            return (steps > 0.0).then_some(steps);
        }
        let steps = self.examples? as f64 / self.examples_per_step()?;
        (steps.is_finite() && steps > 0.0).then_some(steps)
    }

    /// Later knowledge wins field by field.
    pub fn merge(&mut self, newer: &Geometry) {
        self.examples = newer.examples.or(self.examples);
        self.batch = newer.batch.or(self.batch);
        self.accumulate = newer.accumulate.or(self.accumulate);
        self.world = newer.world.or(self.world);
        self.epoch_steps = newer.epoch_steps.or(self.epoch_steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_founding_epoch_has_82_9_steps() {
        let geometry = Geometry {
            examples: Some(663),
            batch: Some(2),
            accumulate: Some(4),
            ..Geometry::default()
        };
        assert_eq!(geometry.steps_per_epoch(), Some(82.875));
    }

    #[test]
    fn the_later_mark_wins_field_by_field() {
        let mark = |step, total_steps, geometry| Mark {
            step,
            total_steps,
            geometry,
            ..Mark::default()
        };
        let batch = |batch| Geometry {
            batch,
            ..Geometry::default()
        };
        let examples = Geometry {
            examples: Some(9),
            ..Geometry::default()
        };
        let first = mark(Some(1), Some(40), Some(batch(Some(2))));
        let both = first.then(mark(Some(2), None, Some(examples)));
        let merged = Geometry {
            examples: Some(9),
            ..batch(Some(2))
        };
        assert_eq!(both, mark(Some(2), Some(40), Some(merged)));
    }
}
