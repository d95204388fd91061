//! One attempt of a simulated job: its level as a line of straight pieces, its marks, its end.
//!
//! A copy has the same future, so what would have been can be played as well as what was.

use lowtide_core::mark::Phase;

use crate::plan::{Manners, World};
use crate::random::Random;
use crate::seen::Seen;

/// What the training loop tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) at: f64,
    pub(crate) rank: u32,
    pub(crate) step: Option<u64>,
    pub(crate) phase: Option<Phase>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All steps are done.
    Done,
    /// Saved and stopped, as asked.
    Stopped,
    /// An error instead of a checkpoint.
    Failed,
    /// The kernel killed it at the limit.
    OutOfMemory,
    /// Our signal did.
    Signalled,
}

/// Pieces of the level's line that are planned at most: two of a step or a save.
const PIECES: usize = 2;

/// A rise is still seen as one for so long.
const SHOWS_FOR: f64 = 0.3;

#[derive(Clone, Copy, Debug)]
struct Piece {
    until: f64,
    to: f64,
    then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    Begin,
    StepDone,
    EvalDone,
    Saved,
    SavedAndStops,
    Ends(End),
    /// The ranks disagree about where to stop, and wait for each other for ever.
    Hangs,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    world: &'a World,
    random: Random,
    began: f64,
    pub(crate) at: f64,
    pub(crate) level: f64,
    /// The highest level so far, as the kernel keeps it.
    pub(crate) peak: f64,
    pieces: [Piece; PIECES],
    ahead: usize,
    /// Steps done: before this attempt, and in all.
    from_step: u64,
    pub(crate) step: u64,
    step_ended: f64,
    step_began: f64,
    pub(crate) floor: f64,
    crest: f64,
    /// The newest complete checkpoint.
    pub(crate) saved: u64,
    pub(crate) is_saving: bool,
    pub(crate) is_evaluating: bool,
    /// How steep the last rise was, and when it ended.
    rose: (f64, f64),
    asked: Option<u64>,
    pub(crate) end: Option<End>,
    pub(crate) seen: Seen,
}

impl<'a> Job<'a> {
    pub(crate) fn start(
        world: &'a World,
        random: Random,
        at: f64,
        saved: u64,
        seen: Seen,
    ) -> Job<'a> {
        let mut job = Job {
            world,
            random,
            began: at,
            at,
            level: 0.0,
            peak: 0.0,
            pieces: [Piece {
                until: at,
                to: 0.0,
                then: Then::GoOn,
            }; PIECES],
            ahead: 0,
            from_step: saved,
            step: saved,
            step_ended: f64::NEG_INFINITY,
            step_began: at,
            floor: world.job.base,
            crest: 0.0,
            saved,
            is_saving: false,
            is_evaluating: false,
            rose: (0.0, f64::NEG_INFINITY),
            asked: None,
            end: None,
            seen: seen.for_next_attempt(),
        };
        job.plan(world.job.start_seconds, job.floor, Then::Begin);
        job
    }

    pub(crate) fn used(&self) -> f64 {
        self.level + self.world.others.level(self.at)
    }

    pub(crate) fn floor_and_others(&self) -> f64 {
        self.floor + self.world.others.level(self.at)
    }

    /// What the job has shown, with the step that it is in.
    pub(crate) fn seen_now(&self) -> Seen {
        let mut seen = self.seen;
        let swing = self.crest - self.floor;
        seen.step(
            self.steps_here() + 1,
            self.floor_and_others(),
            swing,
            seen.longest_step(),
        );
        seen
    }

    /// Higher than all before lets one expect, and at this pace out of room before two steps are over.
    pub(crate) fn runs_away(&self, room: f64) -> bool {
        let Some(piece) = self.pieces[..self.ahead].first() else {
            return false;
        };
        let (steepest, until) = self.rose;
        let now = (piece.to - self.level) / (piece.until - self.at);
        // Three looks show a rise, and it may be over by then.
        let slope = if self.at - until < SHOWS_FOR {
            now.max(steepest)
        } else {
            now
        };
        let unseen = self.level > self.seen.expected();
        unseen
            && slope * (2.0 * self.seen.longest_step()).max(0.2) > room - (self.level - self.floor)
    }

    pub(crate) fn trained_for(&self) -> f64 {
        self.at - self.began - self.world.job.start_seconds
    }

    pub(crate) fn others_at_most(&self) -> f64 {
        self.world.others.highest()
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.world.job.ranks
    }

    pub(crate) fn manners(&self) -> Manners {
        self.world.job.manners
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    pub(crate) fn is_torn(&self) -> bool {
        self.ahead > 0 && self.pieces[0].then == Then::Hangs
    }

    /// Steps of this attempt.
    pub(crate) fn steps_here(&self) -> u64 {
        self.step - self.from_step
    }

    fn plan(&mut self, seconds: f64, to: f64, then: Then) {
        let begins = if self.ahead == 0 {
            self.at
        } else {
            self.pieces[self.ahead - 1].until
        };
        self.pieces[self.ahead] = Piece {
            until: begins + seconds,
            to,
            then,
        };
        self.ahead += 1;
    }

    /// Up and down again, within the time.
    fn wave(&mut self, seconds: f64, crest_at: f64, crest: f64, then: Then) {
        self.plan(crest_at * seconds, crest, Then::GoOn);
        self.plan((1.0 - crest_at) * seconds, self.floor, then);
    }

    /// The request is there from now on.
    pub(crate) fn ask(&mut self, stop_at: Option<u64>) {
        let stop_at = stop_at.unwrap_or(0);
        self.asked = Some(stop_at);
        // Some ranks have read the page before, and others will after.
        let torn = self.step >= stop_at
            && self.step > self.from_step
            && self.at < self.step_ended + self.world.job.skew;
        if torn && !self.is_saving && self.end.is_none() {
            self.ahead = 0;
            self.plan(f64::INFINITY, self.level, Then::Hangs);
        }
    }

    pub(crate) fn signal(&mut self) {
        self.end.get_or_insert(End::Signalled);
    }

    /// Lets time pass, at most until the end.
    pub(crate) fn advance(&mut self, until: f64, told: &mut dyn FnMut(Told)) {
        while self.at < until && self.end.is_none() {
            let piece = self.pieces[0];
            let lowered = self.world.lowered.map_or(f64::INFINITY, |(when, _)| when);
            let lowered = if lowered > self.at {
                lowered
            } else {
                f64::INFINITY
            };
            let to = until
                .min(piece.until)
                .min(self.world.others.next_change(self.at))
                .min(lowered);
            if piece.until > self.at && piece.until.is_finite() {
                let slope = (piece.to - self.level) / (piece.until - self.at);
                if slope > 0.0 {
                    self.rose = (slope, to);
                }
                self.level += (piece.to - self.level) * (to - self.at) / (piece.until - self.at);
            }
            self.at = to;
            self.peak = self.peak.max(self.level);
            self.crest = self.crest.max(self.level);
            if self.used() > self.world.limit(self.at) {
                self.end = Some(End::OutOfMemory);
                return;
            }
            if self.at >= piece.until {
                self.ahead -= 1;
                self.pieces[0] = self.pieces[1];
                self.then(piece.then, told);
            }
        }
    }

    /// To the end, if that comes.
    pub(crate) fn play_out(mut self) -> Job<'a> {
        const FOR_EVER: f64 = 1e5;
        self.advance(self.at + FOR_EVER, &mut |_| {});
        self
    }

    fn tell(&self, step: Option<u64>, phase: Option<Phase>, told: &mut dyn FnMut(Told)) {
        for rank in 0..self.world.job.ranks {
            let after =
                self.world.job.skew * f64::from(rank) / f64::from(self.world.job.ranks.max(2) - 1);
            // The first rank's clock is the job's.
            told(Told {
                at: self.at + after,
                rank,
                step,
                phase,
            });
        }
    }

    fn then(&mut self, then: Then, told: &mut dyn FnMut(Told)) {
        match then {
            Then::GoOn | Then::Hangs => {}
            Then::Begin => {
                self.tell(Some(self.step), Some(Phase::Train), told);
                self.begin_step();
            }
            Then::StepDone => self.step_done(told),
            Then::EvalDone => {
                self.is_evaluating = false;
                self.seen.eval(self.world.job.eval_swing);
                self.tell(None, Some(Phase::Train), told);
                self.begin_step();
            }
            Then::Saved => {
                self.save_done(told);
                self.begin_step();
            }
            Then::SavedAndStops => {
                self.save_done(told);
                let seconds = self.world.job.ending;
                self.plan(seconds, self.level, Then::Ends(End::Stopped));
            }
            Then::Ends(end) => self.end = Some(end),
        }
    }

    fn begin_step(&mut self) {
        let job = &self.world.job;
        let number = self.steps_here() + 1;
        let mut seconds = job.step_seconds * self.random.around(job.uneven);
        if self.random.chance(job.stalls) {
            seconds *= job.stall_times;
        }
        self.floor += job.growth.of_step(number, &mut self.random);
        if number == 1 {
            self.floor += job.first;
        }
        let crest = self.floor + job.swing * self.random.around(job.swing_uneven);
        self.step_began = self.at;
        self.crest = self.level;
        self.wave(seconds, job.crest_at, crest, Then::StepDone);
    }

    fn step_done(&mut self, told: &mut dyn FnMut(Told)) {
        self.step += 1;
        self.step_ended = self.at;
        let floor = self.floor + self.world.others.level(self.at);
        self.seen.step(
            self.steps_here(),
            floor,
            self.crest - self.floor,
            self.at - self.step_began,
        );
        self.tell(Some(self.step), None, told);
        let job = &self.world.job;
        let asked = self.asked.is_some_and(|stop_at| self.step >= stop_at);
        let due = |every: u64| every > 0 && self.step.is_multiple_of(every);
        if self.step >= job.steps {
            self.plan(job.ending, self.level, Then::Ends(End::Done));
        } else if asked && job.manners == Manners::FailsToSave {
            self.plan(job.ending, self.level, Then::Ends(End::Failed));
        } else if asked && job.manners == Manners::Serves {
            self.save(Then::SavedAndStops, told);
        } else if due(job.save_every) {
            self.save(Then::Saved, told);
        } else if due(job.eval_every) {
            self.is_evaluating = true;
            self.tell(None, Some(Phase::Eval), told);
            self.wave(
                job.eval_seconds,
                0.5,
                self.floor + job.eval_swing,
                Then::EvalDone,
            );
        } else {
            self.begin_step();
        }
    }

    fn save(&mut self, then: Then, told: &mut dyn FnMut(Told)) {
        self.is_saving = true;
        self.tell(None, Some(Phase::Save), told);
        let (seconds, spike) = (self.world.job.save_seconds, self.world.job.save_spike);
        self.wave(seconds, 0.5, self.floor + spike, then);
    }

    fn save_done(&mut self, told: &mut dyn FnMut(Told)) {
        self.is_saving = false;
        self.saved = self.step;
        self.seen.save(self.world.job.save_spike);
        self.tell(None, Some(Phase::Train), told);
    }
}
