//! The guard's policy: from what is seen on each tick to what is to be done about the limit.
//!
//! The watch loop feeds it samples, marks and the run's verdict; the program carries out what it
//! decides (a request, a signal, a restart). It has no clock of its own and touches nothing.
//!
//! The question on every tick: if the job were asked now to save and stop, would what it still adds
//! until then, and what the save itself takes, fit below the limit? As long as a later tick will do,
//! nothing is done; growth that is predicted to end below the limit is let through.

mod learn;
mod request;
mod room;
#[cfg(test)]
mod tests;
mod tightest;
mod warning;

pub(crate) use tightest::tightest;
pub use warning::NEAR;

use crate::mark::Mark;
use crate::sample::{Limit, Reading, Sample};
use crate::units::{Micros, show_bytes, show_duration};
use crate::verdict::{Axis, Class, Meter, Verdict};

use learn::Learnt;
use request::Stage;

/// What is to be done. All but `Watch` are told once, when they begin to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: what comes fits, or a restart would not help.
    Watch,
    /// Tell the user.
    Warn,
    /// It should be asked now, and could not be started again: it is left running, and the user is told.
    Spare,
    /// Ask for a checkpoint and a stop, at this step (none: at the next step boundary).
    Ask { stop_at: Option<u64> },
    /// The request was not served in time: SIGTERM.
    Stop,
    /// SIGKILL: nothing else worked, or memory runs out before the next tick.
    Kill,
}

/// A decision with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    pub decision: Decision,
    /// In words, for people and the recording; empty with `Watch`.
    pub why: String,
    /// Tick again this soon: the limit is close.
    pub look_within: Option<Micros>,
}

/// What one tick shows.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub sample: &'a Sample,
    pub verdict: &'a Verdict,
    /// Processes that run the training loop (the ranks on this machine).
    pub trainers: usize,
    /// A stopped job (SIGSTOP, Ctrl-Z) can serve no request.
    pub stopped: bool,
    /// It is known from what and how this job goes on after a stop, or the user wants the stop in any case. Without
    /// that a stop would lose what it is to save: the kernel may do so, we never.
    pub may_stop: bool,
}

/// `--restart-every`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    Seconds(f64),
    Steps(u64),
}

/// Between ticks when the limit is near: a leak of 1 GB/s adds 50 MB between two of them.
pub(crate) const CLOSE_LOOK: Micros = Micros(50_000);
/// Ticks in a step until enough of them are known.
const LEARNING_LOOKS: f64 = 4.0;
/// A stop that failed makes the next one keep twice the room, as often as it happens, up to this.
const MOST_CAUTION: f64 = 8.0;
/// A condition for asking must hold on two ticks, with one between them at most on which it does not: the check
/// right before acting. Each on which it holds counts so much, ...
const HOLDS: u32 = 2;
/// ... the others take one back, and this much is enough.
const CONFIRM: u32 = 3;
/// A gap between two ticks that is longer than this is no time the job could have used: the machine
/// slept, a clock jumped, or we were stopped with the job.
const MOST_BETWEEN_TICKS: f64 = 5.0;
/// Steps that are told faster than a clock ticks take this long, in seconds.
const SHORTEST_STEP: f64 = 1e-6;

/// The state of one guarded run, over all its attempts.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Without a guard the user is warned and nothing else is decided.
    acts: bool,
    every: Option<Every>,
    learnt: Learnt,
    stage: Stage,
    /// Seconds that the job has had since this attempt began.
    running: f64,
    last_at: Option<Micros>,
    confirmed: u32,
    near: bool,
    foretold: bool,
    /// How many times the usual room is kept: more after a stop that failed.
    caution: f64,
    limit: Option<Limit>,
    /// Seconds of saves and evaluations since the request.
    busy: f64,
    /// The step since which the judge says that growth has ended.
    ended_at: Option<u64>,
    /// A request of this attempt was not heard.
    was_deaf: bool,
    /// That it is left running was told: short of room, and when `--restart-every` was due.
    spared: bool,
    spared_when_due: bool,
}

/// How an attempt came to its end, as far as it tells something of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    /// It saved and stopped as asked.
    AsAsked,
    /// It ran out of memory, was killed, or had to do steps again.
    Lost,
}

/// Nothing is to be done, and nothing to be said.
const NOTHING: (Decision, String) = (Decision::Watch, String::new());

impl Policy {
    pub fn new(every: Option<Every>) -> Policy {
        Policy {
            acts: true,
            every,
            learnt: Learnt::default(),
            stage: Stage::Watching,
            running: 0.0,
            last_at: None,
            confirmed: 0,
            near: false,
            foretold: false,
            caution: 1.0,
            limit: None,
            busy: 0.0,
            ended_at: None,
            was_deaf: false,
            spared: false,
            spared_when_due: false,
        }
    }

    /// Decides nothing but warnings.
    pub fn warning_only() -> Policy {
        Policy {
            acts: false,
            ..Policy::new(None)
        }
    }

    /// Another attempt begins: what a step and a save cost is kept, the level is not. A stop that failed
    /// came too late, and the next one comes earlier; one that went well takes half of that back.
    pub fn next_attempt(&mut self, went: Went) {
        let caution = match went {
            Went::AsAsked => (self.caution / 2.0).max(1.0),
            // Who does not listen would not have listened earlier.
            Went::Lost if self.was_deaf => self.caution,
            Went::Lost => (self.caution * 2.0).min(MOST_CAUTION),
        };
        if went == Went::Lost {
            self.learnt.lost(self.limit.as_ref());
        }
        let learnt = std::mem::take(&mut self.learnt).for_next_attempt();
        *self = Policy {
            learnt,
            caution,
            acts: self.acts,
            ..Policy::new(self.every)
        };
    }

    pub fn mark(&mut self, mark: &Mark) {
        self.learnt.mark(mark);
    }

    /// The furthest step that any rank has told.
    pub fn step_of_this_attempt(&self) -> Option<u64> {
        self.learnt.step_of_this_attempt()
    }

    /// A guard carries out what is decided.
    pub fn acts(&self) -> bool {
        self.acts
    }

    pub fn tick(&mut self, now: &Situation) -> Ruling {
        self.pass_time(now);
        if !now.sample.readings.iter().any(Reading::is_alive) {
            // The job is over: what is in use now says nothing of it.
            return Ruling {
                decision: Decision::Watch,
                why: String::new(),
                look_within: None,
            };
        }
        let limit = tightest(now.sample);
        let used = limit.as_ref().map(|limit| limit.used.as_f64());
        self.learnt.tick(now.sample, used, self.running);
        self.note_that_it_stands();
        self.was_deaf |= self.is_deaf();
        let Some(limit) = limit else {
            return self.by_the_clock(now);
        };
        self.limit = Some(limit.clone());
        self.ended_at =
            growth_per_step(now.verdict).and(self.ended_at.or_else(|| self.step_of_this_attempt()));
        let look_within = if self.is_close(now, &limit) {
            Some(CLOSE_LOOK)
        } else {
            self.learning_look()
        };
        let ruling = |(decision, why)| Ruling {
            decision,
            why,
            look_within,
        };
        if !self.acts && self.stage == Stage::Watching {
            return ruling(self.warning(now, &limit));
        }
        if self.stage == Stage::Killed || now.stopped {
            return ruling(NOTHING);
        }
        if self.may_end(now) && self.trains(now) && self.runs_out(&limit) {
            self.stage = Stage::Killed;
            let why = format!(
                "{} left below {} and growing by {} a second: the kernel would kill it before the next tick",
                show_bytes(left(&limit)),
                limit.from,
                show_bytes(self.learnt.raw_slope())
            );
            return ruling((Decision::Kill, why));
        }
        if let Some(done) = self.see_it_through(now, &limit) {
            return ruling(done);
        }
        let mut found = self.by_the_clock(now);
        found.look_within = look_within;
        if found.decision != Decision::Watch {
            return found;
        }
        if let Some(why) = self.too_tight(now, &limit) {
            self.confirmed += HOLDS;
            // The second tick comes at once.
            found.look_within = Some(CLOSE_LOOK);
            let confirmed = self.confirmed >= CONFIRM || self.is_urgent(now, &limit);
            if confirmed && self.is_sure(now, &limit) {
                if now.may_stop {
                    return self.ask(now, why, found.look_within);
                }
                if !std::mem::replace(&mut self.spared, true) {
                    return ruling((Decision::Spare, why));
                }
            }
        } else {
            self.confirmed = self.confirmed.saturating_sub(1);
        }
        match self.warning(now, &limit) {
            (Decision::Watch, _) => found,
            warning => ruling(warning),
        }
    }

    /// Time counts for the job while it can run.
    fn pass_time(&mut self, now: &Situation) {
        let at = now.sample.at;
        let passed = self.last_at.map_or(0.0, |last| at.since(last).seconds());
        let passed = passed.min(MOST_BETWEEN_TICKS);
        if !now.stopped {
            self.running += passed;
        }
        if self.learnt.is_saving() || self.learnt.is_evaluating() {
            self.busy += passed;
        }
        self.last_at = Some(at);
    }

    /// `--restart-every`.
    fn by_the_clock(&mut self, now: &Situation) -> Ruling {
        let due = match self.every {
            Some(Every::Seconds(seconds)) => self.running >= seconds,
            Some(Every::Steps(steps)) => self.learnt.steps_done() >= steps,
            None => false,
        };
        let due = due && self.stage == Stage::Watching && !now.stopped && !self.ends_soon(now);
        if !due {
            return Ruling {
                decision: Decision::Watch,
                why: String::new(),
                look_within: None,
            };
        }
        let why = match self.every {
            Some(Every::Steps(steps)) => format!("{steps} steps are done, as --restart-every says"),
            _ => format!(
                "{} have passed, as --restart-every says",
                show_duration(self.running)
            ),
        };
        if now.may_stop {
            return self.ask(now, why, None);
        }
        let told = std::mem::replace(&mut self.spared_when_due, true);
        let (decision, why) = if told {
            NOTHING
        } else {
            (Decision::Spare, why)
        };
        Ruling {
            decision,
            why,
            look_within: None,
        }
    }

    /// A job that was asked is seen to its end, whatever becomes known meanwhile.
    fn may_end(&self, now: &Situation) -> bool {
        now.may_stop || self.stage != Stage::Watching
    }

    /// The loop is past its first steps. A job that tells no steps may be loading its model for minutes:
    /// there, only growth that lasted and kept its pace counts.
    fn trains(&self, now: &Situation) -> bool {
        self.learnt.baseline().is_some()
            && (self.step_of_this_attempt().is_some() || now.verdict.steady)
    }

    /// Until a job's steps are known, each is looked at some times.
    fn learning_look(&self) -> Option<Micros> {
        let step = self.learnt.quickest_step()?;
        let learns = self.acts && !self.learnt.levels().knows_steps();
        learns.then(|| CLOSE_LOOK.max(Micros::from_seconds(step / LEARNING_LOOKS)))
    }

    /// The steps that are left take no longer than a stop would.
    fn ends_soon(&self, now: &Situation) -> bool {
        let left = self.learnt.steps_left();
        left.is_some_and(|left| left <= self.ahead(now.trainers))
    }
}

fn left(limit: &Limit) -> f64 {
    limit.bytes.as_f64() - limit.used.as_f64()
}

/// What a GPU holds says nothing of the memory that is guarded.
fn of_host(verdict: &Verdict) -> bool {
    verdict.meter != Meter::Gpu
}

/// Where the judge says that growth has ended, what it may still be.
fn growth_per_step(verdict: &Verdict) -> Option<f64> {
    let ended = matches!(
        verdict.verdict,
        Class::WarmUp | Class::Spikes | Class::Stable
    ) && !verdict.is_under_way();
    (ended && verdict.axis == Axis::Step && of_host(verdict)).then(|| verdict.rate.high.max(0.0))
}
