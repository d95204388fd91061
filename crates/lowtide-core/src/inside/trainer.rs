//! transformers' Trainer, and what is built on it: its state counts optimizer steps, knows how many there will be,
//! and which part of which epoch is done.

use super::movers::{Choice, Movers};
use super::seen::{Inside, TrainerSeen};
use super::{Place, Word};
use crate::mark::{Geometry, LoopObject, Phase};
use crate::units::Micros;

/// What Trainer puts for "no number of epochs": data without a length.
const ENDLESS: f64 = 1e9;
/// Lengths of an epoch from two places differ by less than this if they mean the same.
const ROUNDING: f64 = 0.01;

#[derive(Debug, Default)]
pub(super) struct Trainers {
    movers: Movers,
    length: EpochLength,
}

impl Trainers {
    pub(super) fn see(&mut self, inside: &Inside, at: Micros) -> Word {
        // One whose training is over moved last moments ago, and is none of two at once.
        let busy = inside.trainers.iter().any(|state| state.in_train);
        let states = inside.trainers.iter();
        let states = states.filter(|state| !busy || state.in_train);
        let counters = states.map(|state| ((state.address, state.max_steps), state.step));
        let address = match self.movers.see(counters, at) {
            // It will move soon; until then nobody else speaks for it.
            Choice::Nobody if inside.trainers.iter().any(|state| state.in_train) => {
                return Word::Unsure;
            }
            Choice::Nobody => return Word::Nothing,
            Choice::Several => return Word::Unsure,
            Choice::This((address, _)) => address,
        };
        let mut states = inside.trainers.iter();
        let Some(state) = states.find(|state| state.address == address) else {
            return Word::Nothing;
        };
        let mut place = Place::new(LoopObject::TrainerState, state.step);
        place.total = (state.max_steps > 0).then_some(state.max_steps);
        place.epoch = state.epoch;
        place.geometry = Geometry {
            examples: state.examples,
            batch: state.batch,
            accumulate: state.accumulate,
            world: None,
            epoch_steps: self.length.see(state),
        };
        place.phase = state.training.map(|training| match training {
            true => Phase::Train,
            false => Phase::Eval,
        });
        Word::At(place)
    }
}

/// The length of an epoch in steps, from the part of it that is done: `epoch` is a whole number and the batches
/// done by the batches there are.
#[derive(Debug, Default)]
struct EpochLength {
    address: u64,
    last: Option<(u64, f64)>,
    batches: Option<f64>,
}

impl EpochLength {
    fn see(&mut self, state: &TrainerSeen) -> Option<f64> {
        if self.address != state.address {
            *self = EpochLength {
                address: state.address,
                ..EpochLength::default()
            };
        }
        if state.epochs.is_none_or(|epochs| epochs >= ENDLESS) {
            return None;
        }
        let accumulate = state.accumulate.unwrap_or(1).max(1) as f64;
        self.follow(state, accumulate);
        let by_part = self.batches.map(|batches| (batches / accumulate).ceil());
        by_part.or_else(|| planned(state))
    }

    fn follow(&mut self, state: &TrainerSeen, accumulate: f64) {
        let Some(epoch) = state.epoch.filter(|epoch| *epoch > 0.0) else {
            return;
        };
        // Two places in the same epoch, or one in the first, which begins at nothing.
        let (from, began) = match self.last {
            Some((step, before)) if before.floor() == epoch.floor() => (step, before),
            _ if epoch < 1.0 => (0, 0.0),
            _ => {
                self.last = Some((state.step, epoch));
                return;
            }
        };
        self.last = Some((state.step, epoch));
        let (steps, part) = (state.step.saturating_sub(from), epoch - began);
        if steps == 0 || part <= 0.0 {
            return;
        }
        let batches = steps as f64 * accumulate / part;
        let whole = batches.round();
        // A step at the end of an epoch has fewer batches than the others: then it is no whole number.
        if (batches - whole).abs() <= ROUNDING && whole >= 1.0 {
            self.batches = Some(whole);
        }
    }
}

/// From the plan: all steps by all epochs, where both are whole.
fn planned(state: &TrainerSeen) -> Option<f64> {
    let epochs = state
        .epochs
        .filter(|epochs| !state.by_steps && *epochs >= 1.0)?;
    let steps = state.max_steps as f64 / epochs;
    (state.max_steps > 0 && epochs.fract() == 0.0 && steps.fract() == 0.0).then_some(steps)
}
