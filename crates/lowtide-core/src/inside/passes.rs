//! Passes over a DataLoader, in loops that have no other counter: batches that the loop got, with the length of the
//! loader as that of an epoch.

use super::agreement::Claim;
use super::bars::Around;
use super::movers::{Choice, Movers};
use super::rounds::{Counted, Rounds};
use super::seen::{Inside, PassSeen};
use super::{Place, Word};
use crate::mark::{Geometry, LoopObject, Phase};
use crate::units::Micros;

#[derive(Debug, Default)]
pub(super) struct Passes {
    movers: Movers,
    /// The loader that is followed, and its passes.
    followed: Option<(u64, Rounds)>,
}

impl Passes {
    pub(super) fn see(&mut self, inside: &Inside, at: Micros) -> Word {
        let word = self.choose(inside, at);
        if !matches!(word, Word::At(_))
            && let Some((_, rounds)) = &mut self.followed
        {
            rounds.absent(at);
        }
        word
    }

    fn choose(&mut self, inside: &Inside, at: Micros) -> Word {
        if inside.optimizes != Some(true) || inside.training != Some(true) {
            // Nothing is trained, as far as can be seen; a pass that goes on now is one of evaluation.
            return Word::Nothing;
        }
        // By loader: short passes end between any two moments, and then each is seen but once.
        let passes = inside.passes.iter();
        let counters = passes.map(|pass| ((pass.loader, 0), over_all(pass)));
        let loader = match self.movers.see(counters, at) {
            Choice::Nobody if self.followed.is_some() => return Word::Unsure,
            Choice::Nobody => return Word::Nothing,
            Choice::Several => return Word::Unsure,
            Choice::This((loader, _)) => loader,
        };
        let mut passes = inside.passes.iter().filter(|pass| pass.loader == loader);
        match (passes.next(), passes.next()) {
            (Some(pass), None) => self.place(pass, at),
            // Two passes over the same data, one in the other.
            _ => Word::Unsure,
        }
    }

    fn place(&mut self, pass: &PassSeen, at: Micros) -> Word {
        if self
            .followed
            .as_ref()
            .is_none_or(|(loader, _)| *loader != pass.loader)
        {
            if self.followed.is_some() {
                // Two loaders in turn: which of them trains is not known.
                return Word::Unsure;
            }
            self.followed = Some((pass.loader, Rounds::default()));
        }
        let Some((_, rounds)) = &mut self.followed else {
            return Word::Unsure;
        };
        let accumulate = pass.accumulate.unwrap_or(1).max(1);
        let length = pass.length.map(|length| length.div_ceil(accumulate));
        let around = Around::of(pass.inside);
        let counted = Counted {
            id: (pass.iterator, 0),
            n: match pass.length {
                // The last, smaller group of batches is a step too.
                Some(length) if pass.batches >= length => length.div_ceil(accumulate),
                _ => pass.batches / accumulate,
            },
            total: length,
            before: pass.passes.or(around.done),
        };
        let Some(step) = rounds.see(counted, at) else {
            return Word::Unsure;
        };
        let object = match pass.accelerated {
            true => LoopObject::Accelerator,
            false => LoopObject::DataLoader,
        };
        let mut place = Place::new(object, step);
        let began = if pass.passes.is_none() {
            around.began
        } else {
            0
        };
        place.claim = Claim {
            start: began.saturating_mul(length.unwrap_or(0)),
            start_within: length.filter(|_| began > 0).unwrap_or(0),
            round: length.filter(|_| counted.before.is_none()),
            ..place.claim
        };
        if counted.before.is_some() {
            let all = around.all.zip(length);
            place.total = all.map(|(epochs, length)| epochs.saturating_mul(length));
            place.epoch = length.map(|length| step as f64 / length as f64);
        }
        place.geometry = Geometry {
            examples: pass.examples,
            batch: pass.batch,
            accumulate: pass.accumulate,
            world: None,
            epoch_steps: length.map(|length| length as f64),
        };
        place.phase = Some(Phase::Train);
        Word::At(place)
    }
}

/// Batches over all passes where those are counted, else of this one.
fn over_all(pass: &PassSeen) -> u64 {
    let before = pass.passes.or(Around::of(pass.inside).done);
    let before = before.zip(pass.length);
    let before = before.map_or(0, |(passes, length)| passes.saturating_mul(length));
    before.saturating_add(pass.batches)
}
