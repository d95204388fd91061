//! Steps from a training loop's own objects, read from outside (`lowtide-census` does the reading): what was
//! seen at one moment comes in, [`Mark`]s come out.
//!
//! Other than in a log, all counters of a process are seen at once, and each is known for what it is. So the
//! choice is short: a loop that trains by its own word (`trainer`, `fit`) before counters that anybody may use
//! (`bars`, `passes`); of each kind the one that moves; where two move at once, none. Counters that begin anew
//! are added up only if nothing can have been missed in between (`rounds`). Names of bars mean the same
//! as in a log ([`crate::output`]).

mod bars;
mod fit;
mod movers;
mod passes;
mod rounds;
pub mod seen;
#[cfg(test)]
mod tests;
mod trainer;

use crate::mark::{Geometry, LoopObject, Mark, MarkSource, Phase};
use crate::units::Micros;

use bars::Bars;
use fit::Fits;
use passes::Passes;
use seen::Inside;
use trainer::Trainers;

/// Where a loop stands.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    object: LoopObject,
    step: u64,
    total: Option<u64>,
    epoch: Option<f64>,
    geometry: Geometry,
    phase: Option<Phase>,
}

impl Place {
    fn new(object: LoopObject, step: u64) -> Place {
        Place {
            object,
            step,
            total: None,
            epoch: None,
            geometry: Geometry::default(),
            phase: None,
        }
    }
}

/// What one kind of counter says at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word {
    /// There is none of this kind, or none that trains.
    Nothing,
    /// There is one, and what it counts cannot be told now: no other kind is asked either.
    Unsure,
    At(Place),
}

/// Follows the loops of one process.
#[derive(Debug)]
pub struct InsideReader {
    pid: u32,
    trainers: Trainers,
    fits: Fits,
    bars: Bars,
    passes: Passes,
    told: Option<Place>,
}

impl InsideReader {
    pub fn new(pid: u32) -> InsideReader {
        InsideReader {
            pid,
            trainers: Trainers::default(),
            fits: Fits::default(),
            bars: Bars::default(),
            passes: Passes::default(),
            told: None,
        }
    }

    /// What is new since the last call. `at` is when it was read.
    pub fn see(&mut self, inside: &Inside, at: Micros) -> Option<Mark> {
        // All of them see every moment: who moves is known by what came before.
        let words = [
            self.trainers.see(inside, at),
            self.fits.see(inside, at),
            self.bars.see(inside, at),
            self.passes.see(inside, at),
        ];
        let said = words.into_iter().find(|word| *word != Word::Nothing)?;
        let Word::At(place) = said else {
            return None;
        };
        let mark = self.mark(&place, at);
        self.told = Some(place);
        mark
    }

    fn mark(&self, place: &Place, at: Micros) -> Option<Mark> {
        let before = self.told.as_ref();
        let mut mark = Mark {
            at,
            source: MarkSource::Memory,
            pid: Some(self.pid),
            object: Some(place.object),
            training_loop: place.object.training_loop(),
            ..Mark::default()
        };
        let changed = before.is_none_or(|before| before.step != place.step);
        if changed {
            mark.step = Some(place.step);
            mark.total_steps = place.total.filter(|total| *total >= place.step);
            mark.epoch = place.epoch;
        }
        if before.and_then(|before| before.phase) != place.phase {
            mark.phase = place.phase;
        }
        if before.map(|before| before.geometry) != Some(place.geometry)
            && place.geometry != Geometry::default()
        {
            mark.geometry = Some(place.geometry);
        }
        (changed || mark.phase.is_some() || mark.geometry.is_some()).then_some(mark)
    }
}
