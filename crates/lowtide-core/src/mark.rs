//! A mark is a moment that the training loop told us, by the Python package, by its output, by its
//! own objects in memory or by its state file. Marks give the axis (steps), the phases and the length of an epoch.

use std::fmt;

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
    /// Which object counts, where a process's memory was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<LoopObject>,
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
            object: later.object.or(self.object),
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
    /// Read out of the process's memory: an object that counts there.
    Memory,
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

/// What counts steps in a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopObject {
    /// transformers, and what is built on it.
    TrainerState,
    LightningLoop,
    Accelerator,
    /// A tqdm bar.
    Bar,
    /// torch's.
    DataLoader,
    /// What torch's optimizers change in place, in every step.
    Optimizer,
}

impl LoopObject {
    pub fn name(self) -> &'static str {
        match self {
            LoopObject::TrainerState => "trainer-state",
            LoopObject::LightningLoop => "lightning-loop",
            LoopObject::Accelerator => "accelerator",
            LoopObject::Bar => "bar",
            LoopObject::DataLoader => "data-loader",
            LoopObject::Optimizer => "optimizer",
        }
    }

    /// Whose loop it is, where the object says so: a bar or a loader is in anybody's.
    pub fn training_loop(self) -> Option<TrainingLoop> {
        match self {
            LoopObject::TrainerState => Some(TrainingLoop::Trainer),
            LoopObject::LightningLoop => Some(TrainingLoop::Lightning),
            LoopObject::Accelerator
            | LoopObject::Bar
            | LoopObject::DataLoader
            | LoopObject::Optimizer => None,
        }
    }

    /// How well its number is known to be one of optimizer steps; a better one is not mixed with a worse one.
    pub(crate) fn rank(self) -> u8 {
        match self {
            LoopObject::TrainerState | LoopObject::LightningLoop => 3,
            // Real updates of the parameters, whatever a bar counts.
            LoopObject::Accelerator | LoopObject::Optimizer => 2,
            LoopObject::Bar => 1,
            LoopObject::DataLoader => 0,
        }
    }
}

impl fmt::Display for LoopObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LoopObject::TrainerState => "TrainerState",
            LoopObject::LightningLoop => "Lightning's loop",
            LoopObject::Accelerator => "accelerate",
            LoopObject::Bar => "a tqdm bar",
            LoopObject::DataLoader => "a DataLoader",
            LoopObject::Optimizer => "the optimizer's updates",
        })
    }
}

/// What counts the steps that were read from memory, and in which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// None: an object that a later lowtide knows.
    pub object: Option<LoopObject>,
    pub pid: Option<u32>,
}

/// "TrainerState in 4242's memory"
impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = self.object {
            write!(f, "{object} in ")?;
        }
        match self.pid {
            Some(pid) => write!(f, "{pid}'s memory"),
            None => f.write_str("the job's memory"),
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
        let bar = Mark {
            object: Some(LoopObject::Bar),
            ..Mark::default()
        };
        assert_eq!(bar.clone().then(Mark::default()).object, bar.object);
    }

    #[test]
    fn an_object_has_the_name_that_json_gives_it() {
        use LoopObject::*;
        for object in [
            TrainerState,
            LightningLoop,
            Accelerator,
            Bar,
            DataLoader,
            Optimizer,
        ] {
            assert_eq!(serde_json::to_value(object).unwrap(), object.name());
        }
    }

    #[test]
    fn a_counter_says_where_it_was_read() {
        let counter = |object, pid| Counter { object, pid }.to_string();
        assert_eq!(
            counter(Some(LoopObject::TrainerState), Some(4242)),
            "TrainerState in 4242's memory"
        );
        assert_eq!(
            counter(Some(LoopObject::Bar), None),
            "a tqdm bar in the job's memory"
        );
        assert_eq!(counter(None, Some(7)), "7's memory");
    }
}
