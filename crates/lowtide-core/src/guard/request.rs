//! A request to save and stop: when it stands, how long it may take, what follows when it is not served.

use crate::sample::Limit;
use crate::units::{Micros, show_duration};

use super::room::thrashing;
use super::{CLOSE_LOOK, Decision, NOTHING, Policy, Ruling, SHORTEST_STEP, Situation};

/// Ticks until a request stands: two to confirm it, and two that may be late, ...
const ASK_LOOKS: f64 = 4.0;
/// ... each by as much as the latest of the newest ticks was: on a machine with much to do a guard that counts
/// on its interval comes after the kernel (seen with 25 that wait for two cores).
const LATE_LOOKS: f64 = 2.0;
/// The request is given twice the time it should need (conventions: step + save, times two), ...
const GRACE: f64 = 2.0;
/// ... never less than this: schedulers and disks have bad moments.
const LEAST_GRACE: f64 = 30.0;
/// Saves and evaluations are let to their end and do not count, for as long as the grace at most, or for
/// this long: the first save of a large model on a slow disk takes minutes.
const SAVE_PATIENCE: f64 = 600.0;
/// The grace begins with the step at which it is to stop, and a job that has not come to it is waited for this long:
/// steps stall (a loader, a network disk, an evaluation that nobody marks), and a signal would cost what it is about
/// to save. Memory that runs out meanwhile is looked after by itself.
const STALL_PATIENCE: f64 = 600.0;
/// A save is expected to take this long until one was seen.
const UNKNOWN_SAVE: f64 = 10.0;
/// A job that has saved as asked may take this long to end: ranks that leave one by one, and loggers
/// that send their last lines.
pub(super) const ENDING: f64 = 120.0;
/// And this long when neither a step nor a save was seen yet.
const UNKNOWN_GRACE: f64 = 60.0;
/// A lone trainer stops at its next step. Ranks are at most one step apart, so that all of them can
/// still hear of a step that is two beyond the furthest.
const AHEAD_ALONE: u64 = 1;
const AHEAD_RANKS: u64 = 2;
/// A request needs this long to be read by all ranks, whatever the number of steps in it.
const HEARD_SECONDS: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    Watching,
    /// `saves`: those that were over by then.
    Asked {
        since: f64,
        grace: f64,
        saves: u32,
        request: Request,
    },
    Stopping {
        since: f64,
        grace: f64,
    },
    Killed,
}

/// The step at which a job that listens stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    stop_at: Option<u64>,
    /// At the latest: the request may be written late, so this is known at the tick after it.
    latest: Option<u64>,
    stands: bool,
    made_at: f64,
}

impl Policy {
    /// How long a request may take from now on.
    pub(super) fn grace(&self, ahead: u64) -> f64 {
        let Some(step) = self.learnt.step_seconds() else {
            return UNKNOWN_GRACE;
        };
        let save = self.learnt.save_seconds().unwrap_or(UNKNOWN_SAVE);
        (GRACE * ((ahead + 1) as f64 * step + save)).max(LEAST_GRACE)
    }

    /// What a request that was made comes to: patience, then SIGTERM, then SIGKILL. None: none was made.
    pub(super) fn see_it_through(
        &mut self,
        now: &Situation,
        limit: &Limit,
    ) -> Option<(Decision, String)> {
        // Steps may have become slower since it was asked, and one that has done its last step ends by itself.
        let needs = match self.learnt.steps_left() {
            Some(0) => ENDING,
            _ => self.grace(self.ahead(now.trainers)),
        };
        match self.stage {
            Stage::Watching | Stage::Killed => None,
            // One before that step is its own.
            Stage::Asked { saves, request, .. }
                if self.learnt.saves() > saves
                    && request.stop_at <= self.step_of_this_attempt()
                    && !self.is_deaf() =>
            {
                // It has served the request and is about to end.
                self.stage = Stage::Asked {
                    since: self.running,
                    grace: ENDING,
                    saves: self.learnt.saves(),
                    request,
                };
                Some(NOTHING)
            }
            // Where it waits for memory, it is memory that it needs and not time.
            Stage::Asked { grace, request, .. }
                if self.has_not_come_to(request) && thrashing(now.sample, limit).is_none() =>
            {
                self.stage = Stage::Asked {
                    since: self.running,
                    grace,
                    saves: self.all_saves(),
                    request,
                };
                Some(NOTHING)
            }
            Stage::Asked { since, grace, .. }
                if self.running - since < self.patience(grace.max(needs)) =>
            {
                Some(NOTHING)
            }
            Stage::Stopping { since, grace } if self.running - since < self.patience(grace) => {
                Some(NOTHING)
            }
            Stage::Asked { request, .. } => {
                let waited = self.running - request.made_at;
                let why = format!("no stop within {}", show_duration(waited));
                self.stage = Stage::Stopping {
                    since: self.running,
                    grace: self.grace(0),
                };
                Some((Decision::Stop, why))
            }
            Stage::Stopping { grace, .. } => {
                self.stage = Stage::Killed;
                let why = format!("no end within {} of SIGTERM", show_duration(grace));
                Some((Decision::Kill, why))
            }
        }
    }

    /// With one that goes on: it was not made for us.
    fn all_saves(&self) -> u32 {
        self.learnt.saves() + u32::from(self.learnt.is_saving())
    }

    /// It has steps to do before the one at which it is to stop.
    fn has_not_come_to(&self, request: Request) -> bool {
        let before = |stop_at| self.step_of_this_attempt().is_some_and(|at| at < stop_at);
        request.stop_at.is_some_and(before) && self.running - request.made_at < STALL_PATIENCE
    }

    /// Saves and evaluations do not count, up to a point.
    pub(super) fn patience(&self, grace: f64) -> f64 {
        grace + self.busy.min(SAVE_PATIENCE.max(grace))
    }

    pub(super) fn ahead(&self, trainers: usize) -> u64 {
        if trainers <= 1 {
            return AHEAD_ALONE;
        }
        // The request is written as late as ticks are, and the running step may be almost done.
        let heard = self.learnt.quickest_step().map_or(0, |step| {
            1 + ((HEARD_SECONDS + self.learnt.latest()) / step.max(SHORTEST_STEP)).ceil() as u64
        });
        AHEAD_RANKS.max(heard)
    }

    pub(super) fn ask(
        &mut self,
        now: &Situation,
        why: String,
        look_within: Option<Micros>,
    ) -> Ruling {
        self.busy = 0.0;
        let ahead = self.ahead(now.trainers);
        let stop_at = self.step_of_this_attempt().map(|step| step + ahead);
        self.stage = Stage::Asked {
            since: self.running,
            grace: self.grace(ahead),
            saves: self.all_saves(),
            request: Request {
                stop_at,
                latest: stop_at,
                stands: false,
                made_at: self.running,
            },
        };
        Ruling {
            decision: Decision::Ask { stop_at },
            why,
            look_within,
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked { .. })
    }

    /// It went past the step at which it was to stop.
    pub(super) fn is_deaf(&self) -> bool {
        match self.stage {
            Stage::Asked { request, .. } => request
                .latest
                .zip(self.step_of_this_attempt())
                .is_some_and(|(latest, step)| request.stands && step > latest + 1),
            Stage::Stopping { .. } => true,
            Stage::Watching | Stage::Killed => false,
        }
    }

    /// A request stands at the tick after it, and a step may have begun before.
    pub(super) fn note_that_it_stands(&mut self) {
        let step = self.step_of_this_attempt();
        if let Stage::Asked { request, .. } = &mut self.stage
            && !request.stands
        {
            request.stands = true;
            request.latest = request.latest.max(step.map(|step| step + 1));
        }
    }

    /// The steps until a request that is decided now is served.
    pub(super) fn steps_to_stop(&self, now: &Situation) -> f64 {
        let served = (self.ahead(now.trainers) + 1) as f64;
        served + self.learnt.steps_within(self.seconds_to_ask())
    }

    /// The ticks until a request stands, as late as they may be.
    pub(super) fn seconds_to_ask(&self) -> f64 {
        ASK_LOOKS * CLOSE_LOOK.seconds() + LATE_LOOKS * self.learnt.late_by()
    }
}
