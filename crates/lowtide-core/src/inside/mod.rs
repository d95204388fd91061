//! Steps from a training loop's own objects, read from outside (`lowtide-census` does the reading): what was
//! seen at one moment comes in, [`Mark`]s come out.
//!
//! Other than in a log, all counters of a process are seen at once, and each is known for what it is. So the
//! choice is short: a loop that trains by its own word (`trainer`, `fit`) before counters that anybody may use
//! (`bars`, `passes`); of each kind the one that moves; where two move at once, none. Counters that begin anew
//! are added up only if nothing can have been missed in between (`rounds`). Names of bars mean the same
//! as in a log ([`crate::output`]).
//!
//! What anybody may count has to agree with a witness, where torch is there: optimizers change their parameters with every
//! step (`clock`), and a counter that goes on without them, or is elsewhere, is none of steps (`agreement`). Then the
//! optimizer's own updates are told.

mod agreement;
mod bars;
mod clock;
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

use agreement::{Agreement, Claim, Verdict};
use bars::Bars;
use clock::Clock;
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
    /// What its clock has to agree with.
    claim: Claim,
}

/// How long a counter may take to show that it is one, before the optimizer's updates are told instead.
const PATIENCE: Micros = Micros(6_000_000);
/// The same where there is something that may be one, and for one that is about to show it.
const SOME_PATIENCE: Micros = Micros(12_000_000);
const LONG_PATIENCE: Micros = Micros(40_000_000);
/// A counter that moves while no optimizer did for this long: there is another one, or nothing trains.
const WITHOUT: Micros = Micros(3_000_000);
/// Steps that nothing counted on for so long have ended: most evaluations are shorter.
const LOST: Micros = Micros(30_000_000);
/// A loop that is not at work, and whose number stands still for this long, is at its end.
const DONE: Micros = Micros(1_000_000);
/// Steps of a loop that stood still so long, while an optimizer works, are those of one that is over.
const OVER: Micros = Micros(5_000_000);

impl Place {
    fn new(object: LoopObject, step: u64) -> Place {
        Place {
            object,
            step,
            total: None,
            epoch: None,
            geometry: Geometry::default(),
            phase: None,
            claim: Claim {
                step,
                ..Claim::default()
            },
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
    clock: Clock,
    agreement: Agreement,
    /// Since when no counter was confirmed, while an optimizer works.
    waiting: Option<Micros>,
    /// The optimizer's updates are told: what counts worse is not mixed with them.
    by_updates: bool,
    /// The step that counters were at, and when they were there first.
    counters: [Option<(u64, Micros)>; 2],
    seeks: bool,
    /// An optimizer was seen at work.
    worked: bool,
    told: Option<Place>,
    /// Since when nothing counts any more.
    lost: Option<Micros>,
}

impl InsideReader {
    pub fn new(pid: u32) -> InsideReader {
        InsideReader {
            pid,
            trainers: Trainers::default(),
            fits: Fits::default(),
            bars: Bars::default(),
            passes: Passes::default(),
            clock: Clock::default(),
            agreement: Agreement::default(),
            waiting: None,
            by_updates: false,
            counters: [None; 2],
            seeks: false,
            worked: false,
            told: None,
            lost: None,
        }
    }

    /// What is new since the last call. `at` is when it was read.
    pub fn see(&mut self, inside: &Inside, at: Micros) -> Option<Mark> {
        // All of them see every moment: who moves is known by what came before.
        self.clock.see(inside.clocks.as_deref().unwrap_or(&[]), at);
        let own = [self.trainers.see(inside, at), self.fits.see(inside, at)];
        let anybody = [self.bars.see(inside, at), self.passes.see(inside, at)];
        let first = |words: [Word; 2]| words.into_iter().find(|word| *word != Word::Nothing);
        let own = first(own);
        let is_done = own.is_some_and(|word| self.is_done(&word, inside, at));
        let own = own.filter(|word| !self.is_over(word, at));
        let anybody = first(anybody).unwrap_or(Word::Nothing);
        // torch came after the search that found what was told.
        let came = inside.optimizes == Some(false) && self.told.is_some();
        self.seeks = self.moves_alone(&anybody, inside, at) || is_done || came;
        let place = match (own, inside.optimizes, &inside.clocks) {
            (Some(word), ..) => word,
            (None, Some(true), Some(_)) => self.by_clock(anybody, inside, at),
            // There is a witness that cannot be heard.
            (None, Some(true), None) => Word::Unsure,
            (None, ..) => anybody,
        };
        let Word::At(place) = place else {
            self.lost.get_or_insert(at);
            return None;
        };
        self.lost = None;
        let mark = self.mark(&place, at);
        self.told = Some(place);
        mark
    }

    /// The last step that was told, if nothing has counted on for long.
    pub fn lost_at(&self, at: Micros) -> Option<u64> {
        let long = |lost: Micros| at.since(lost) >= LOST;
        let told = self.told.filter(|_| self.lost.is_some_and(long));
        told.map(|place| place.step)
    }

    /// Something counts, and what trains with it is not known: another search may find it.
    pub fn seeks(&self) -> bool {
        self.seeks
    }

    /// The loop that was followed has come to its end, by its own word: another one may have begun.
    fn is_done(&mut self, word: &Word, inside: &Inside, at: Micros) -> bool {
        let Word::At(place) = word else {
            return false;
        };
        let since = self.stands_since(0, place.step, at);
        let busy = inside.trainers.iter().any(|state| state.in_train)
            || inside.fits.iter().any(|fit| fit.stage.is_some());
        !busy && at.since(since) >= DONE
    }

    /// A loop's own number that stands still while an optimizer works on: a training that is over.
    fn is_over(&mut self, word: &Word, at: Micros) -> bool {
        let Word::At(place) = word else {
            return false;
        };
        let since = self.stands_since(0, place.step, at);
        let works = self.clock.leading(at);
        at.since(since) >= OVER && works.is_some_and(|hand| hand.moved(at, WITHOUT))
    }

    /// Something counts, or an optimizer did work, and no optimizer that is known works now.
    fn moves_alone(&mut self, word: &Word, inside: &Inside, at: Micros) -> bool {
        let moves = match word {
            Word::At(place) => at.since(self.stands_since(1, place.step, at)) < WITHOUT,
            _ => false,
        };
        let mut hands = self.clock.hands().into_iter();
        let works = hands.any(|hand| hand.moved(at, WITHOUT));
        self.worked |= works;
        let trains = self.worked && inside.training != Some(false);
        inside.optimizes == Some(true) && !works && (moves || trains)
    }

    fn stands_since(&mut self, which: usize, step: u64, at: Micros) -> Micros {
        let counter = &mut self.counters[which];
        match counter {
            Some((before, since)) if *before == step => *since,
            _ => {
                *counter = Some((step, at));
                at
            }
        }
    }

    /// What a counter says, if the optimizer agrees, or what that says itself.
    fn by_clock(&mut self, word: Word, inside: &Inside, at: Micros) -> Word {
        let hands = self.clock.hands();
        let verdict = match &word {
            Word::At(place) => self.agreement.see(&place.claim, &hands),
            _ => Verdict::Pending,
        };
        if let (Word::At(place), Verdict::Confirmed { behind, is_update }) = (word, verdict) {
            self.waiting = None;
            if !self.by_updates || is_update {
                return Word::At(self.confirmed(place, behind));
            }
        }
        let Some(hand) = self.clock.leading(at) else {
            return Word::Unsure;
        };
        let waiting = *self.waiting.get_or_insert(at);
        let refuted = verdict == Verdict::Refuted;
        let patience = match (verdict, &word) {
            (Verdict::Promising, _) => LONG_PATIENCE,
            (_, Word::Nothing) => PATIENCE,
            _ => SOME_PATIENCE,
        };
        if !self.by_updates && !refuted && at.since(waiting) < patience {
            return Word::Unsure;
        }
        // What stands still is told when it moved, or not at all: it may be over, and another one not known yet.
        let is_told = self.told.is_some_and(|told| told.step == hand.steps());
        if hand.moved_at != at && !is_told {
            return Word::Unsure;
        }
        self.by_updates = true;
        let mut place = Place::new(LoopObject::Optimizer, hand.steps());
        // The length that was told before is that of something else.
        let length = self.told.and_then(|told| told.geometry.epoch_steps);
        place.geometry.epoch_steps = length.map(|_| Geometry::UNKNOWN);
        place.phase = match inside.training {
            Some(false) => Some(Phase::Eval),
            _ => Some(Phase::Train),
        };
        Word::At(place)
    }

    fn confirmed(&self, mut place: Place, behind: u64) -> Place {
        place.step = place.step.saturating_add(behind);
        if behind > 0 {
            // What it takes for all is one of several rounds.
            (place.total, place.epoch) = (None, None);
        }
        if self.by_updates {
            place.object = LoopObject::Optimizer;
        }
        place
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
