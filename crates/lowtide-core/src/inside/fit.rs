//! Lightning: its fit loop counts optimizer steps, epochs, and the batches of each.

use super::movers::{Choice, Movers};
use super::seen::{FitSeen, Inside, Stage};
use super::{Place, Word};
use crate::mark::{Geometry, LoopObject, Phase};
use crate::units::Micros;

#[derive(Debug, Default)]
pub(super) struct Fits {
    movers: Movers,
}

impl Fits {
    pub(super) fn see(&mut self, inside: &Inside, at: Micros) -> Word {
        // One that is over moved moments ago, and is none of two at once.
        let busy = inside.fits.iter().any(|fit| fit.stage.is_some());
        let fits = inside.fits.iter();
        let fits = fits.filter(|fit| !busy || fit.stage.is_some());
        let counters = fits.map(|fit| ((fit.address, 0), fit.step));
        let address = match self.movers.see(counters, at) {
            // It will move soon; until then nobody else speaks for it.
            Choice::Nobody if inside.fits.iter().any(|fit| fit.stage.is_some()) => {
                return Word::Unsure;
            }
            Choice::Nobody => return Word::Nothing,
            Choice::Several => return Word::Unsure,
            Choice::This((address, _)) => address,
        };
        let found = inside.fits.iter().find(|fit| fit.address == address);
        found.map_or(Word::Nothing, |fit| Word::At(place(fit)))
    }
}

fn place(fit: &FitSeen) -> Place {
    let mut place = Place::new(LoopObject::LightningLoop, fit.step);
    let accumulate = fit.accumulate.unwrap_or(1).max(1);
    // The last, smaller group of batches is a step too.
    let epoch_steps = fit.batches.filter(|batches| *batches > 0);
    let epoch_steps = epoch_steps.map(|batches| batches.div_ceil(accumulate));
    let by_epochs = fit.max_epochs.zip(epoch_steps);
    let by_epochs = by_epochs.and_then(|(epochs, steps)| epochs.checked_mul(steps));
    place.total = match (fit.max_steps, by_epochs) {
        (Some(steps), Some(epochs)) => Some(steps.min(epochs)),
        (steps, epochs) => steps.or(epochs),
    };
    place.epoch = epoch_steps.map(|steps| fit.step as f64 / steps as f64);
    place.geometry = Geometry {
        examples: fit.examples,
        batch: fit.batch,
        accumulate: Some(accumulate),
        world: None,
        epoch_steps: epoch_steps.map(|steps| steps as f64),
    };
    place.phase = fit.stage.map(|stage| match stage {
        Stage::Train => Phase::Train,
        Stage::Other => Phase::Eval,
    });
    place
}
