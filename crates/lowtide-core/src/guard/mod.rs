//! The guard's policy: from what is seen on each tick to what is to be done about the limit.
//!
//! The watch loop feeds it samples, marks and the run's verdict; the program carries out what it
//! decides (a request, a signal, a restart). It has no clock of its own and touches nothing.
//!
//! The question on every tick: if the job were asked now to save and stop, would what it still adds
//! until then, and what the save itself takes, fit below the limit? As long as a later tick will do,
//! nothing is done; growth that is predicted to end below the limit is let through.

mod learn;
#[cfg(test)]
mod tests;
mod tightest;

pub(crate) use tightest::tightest;

use crate::mark::Mark;
use crate::sample::{Limit, LimitFrom, Reading, Sample};
use crate::units::{Micros, show_bytes, show_duration};
use crate::verdict::{Axis, Class, Fits, Meter, Verdict};

use learn::Learnt;

/// What is to be done. All but `Watch` are told once, when they begin to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: what comes fits, or a restart would not help.
    Watch,
    /// Tell the user.
    Warn,
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
/// Near is what the newest growth would reach within this time: ten ticks of the usual interval would
/// be one.
const CLOSE_SECONDS: f64 = 10.0;
/// Ticks until a request stands: two to confirm it, and two that may be late, ...
const ASK_LOOKS: f64 = 4.0;
/// ... each by as much as the latest of the newest ticks was: on a machine with much to do a guard that counts
/// on its interval comes after the kernel (seen with 25 that wait for two cores).
const LATE_LOOKS: f64 = 2.0;
/// With less than so many close ticks to go the kernel would act first: one may come late.
const LAST_LOOKS: f64 = 2.0;
/// A slope between ticks says nothing of what comes after a second: steps are up and down.
const SLOPE_LASTS: f64 = 1.0;
/// A step may go so many times as far above its floor as those before it did.
const UNUSUAL: f64 = 2.0;
/// And so many times when it was asked, and will soon stop by itself.
const UNHEARD_OF: f64 = 4.0;
/// A stop that failed makes the next one keep twice the room, as often as it happens, up to this.
const MOST_CAUTION: f64 = 8.0;
/// A condition for asking must hold on this many ticks in a row: the check right before acting.
const CONFIRM: u32 = 2;
/// Less than this share of the limit left is worth a word, and this much makes it worth another.
pub const NEAR: f64 = 0.10;
const NEAR_AGAIN: f64 = 0.12;
/// A leak that reaches the limit within this many seconds is worth a word, however much is left.
const WARN_SECONDS: f64 = 300.0;
/// Waiting for memory in more than this share of the last ten seconds is the beginning of thrashing
/// (earlyoom and systemd-oomd act between 5 and 60 %) ...
const PRESSURE: f32 = 10.0;
/// ... when there is that little room, or that much of the job was swapped out.
const PRESSURE_ROOM: f64 = 0.20;
const PRESSURE_SWAP: f64 = 0.01;
/// A restart pays when the job has grown by this share of the limit since its first steps, or by that
/// share of the room it had then. A job that sits flat below its limit is left alone.
const PAYS_LIMIT: f64 = 0.05;
const PAYS_ROOM: f64 = 0.25;
/// The request is given twice the time it should need (conventions: step + save, times two), ...
const GRACE: f64 = 2.0;
/// ... never less than this: schedulers and disks have bad moments.
const LEAST_GRACE: f64 = 30.0;
/// Saves and evaluations are let to their end and do not count, for as long as the grace at most, or for
/// this long: the first save of a large model on a slow disk takes minutes.
const SAVE_PATIENCE: f64 = 600.0;
/// A save is expected to take this long until one was seen.
const UNKNOWN_SAVE: f64 = 10.0;
/// A job that has saved as asked may take this long to end: ranks that leave one by one, and loggers
/// that send their last lines.
const ENDING: f64 = 120.0;
/// And this long when neither a step nor a save was seen yet.
const UNKNOWN_GRACE: f64 = 60.0;
/// A gap between two ticks that is longer than this is no time the job could have used: the machine
/// slept, a clock jumped, or we were stopped with the job.
const MOST_BETWEEN_TICKS: f64 = 5.0;
/// A lone trainer stops at its next step. Ranks are at most one step apart, so that all of them can
/// still hear of a step that is two beyond the furthest.
const AHEAD_ALONE: u64 = 1;
const AHEAD_RANKS: u64 = 2;
/// Steps that are told faster than a clock ticks take this long, in seconds.
const SHORTEST_STEP: f64 = 1e-6;
/// A request needs this long to be read by all ranks, whatever the number of steps in it.
const HEARD_SECONDS: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Watching,
    /// `saves`: those that were over by then.
    Asked {
        since: f64,
        grace: f64,
        saves: u32,
        stop_at: Option<u64>,
    },
    Stopping {
        since: f64,
        grace: f64,
    },
    Killed,
}

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

    /// How long a request may take from now on.
    pub(crate) fn grace(&self, ahead: u64) -> f64 {
        let Some(step) = self.learnt.step_seconds() else {
            return UNKNOWN_GRACE;
        };
        let save = self.learnt.save_seconds().unwrap_or(UNKNOWN_SAVE);
        (GRACE * ((ahead + 1) as f64 * step + save)).max(LEAST_GRACE)
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
        if self.trains(now) && self.runs_out(&limit) {
            self.stage = Stage::Killed;
            let why = format!(
                "{} left below {} and growing by {} a second: the kernel would kill it before the next tick",
                show_bytes(left(&limit)),
                limit.from,
                show_bytes(self.learnt.raw_slope())
            );
            return ruling((Decision::Kill, why));
        }
        if let Some(done) = self.see_it_through() {
            return ruling(done);
        }
        let mut found = self.by_the_clock(now);
        found.look_within = look_within;
        if found.decision != Decision::Watch {
            return found;
        }
        if let Some(why) = self.too_tight(now, &limit) {
            self.confirmed += 1;
            // The second tick comes at once.
            found.look_within = Some(CLOSE_LOOK);
            if self.confirmed >= CONFIRM && self.learnt.is_dense(&limit) {
                return self.ask(now, why, found.look_within);
            }
        } else {
            self.confirmed = 0;
        }
        match self.warning(now, &limit) {
            (Decision::Watch, _) => found,
            warning => ruling(warning),
        }
    }

    fn warning(&mut self, now: &Situation, limit: &Limit) -> (Decision, String) {
        match self.worth_a_word(now, limit) {
            Some(why) => (Decision::Warn, why),
            None => NOTHING,
        }
    }

    /// What a request that was made comes to: patience, then SIGTERM, then SIGKILL. None: none was made.
    fn see_it_through(&mut self) -> Option<(Decision, String)> {
        match self.stage {
            Stage::Watching | Stage::Killed => None,
            Stage::Asked { saves, .. } if self.learnt.saves() > saves && !self.is_deaf() => {
                // It has served the request and is about to end.
                self.stage = Stage::Asked {
                    since: self.running,
                    grace: ENDING,
                    saves: self.learnt.saves(),
                    stop_at: self.step_of_this_attempt(),
                };
                Some(NOTHING)
            }
            Stage::Asked { since, grace, .. } | Stage::Stopping { since, grace }
                if self.running - since < grace + self.busy.min(SAVE_PATIENCE.max(grace)) =>
            {
                Some(NOTHING)
            }
            Stage::Asked { since, .. } => {
                let why = format!("no stop within {}", show_duration(self.running - since));
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

    fn ahead(&self, trainers: usize) -> u64 {
        if trainers <= 1 {
            return AHEAD_ALONE;
        }
        // The request is written as late as ticks are, and the running step may be almost done.
        let heard = self.learnt.quickest_step().map_or(0, |step| {
            1 + ((HEARD_SECONDS + self.learnt.late_by()) / step.max(SHORTEST_STEP)).ceil() as u64
        });
        AHEAD_RANKS.max(heard)
    }

    fn ask(&mut self, now: &Situation, why: String, look_within: Option<Micros>) -> Ruling {
        self.busy = 0.0;
        let ahead = self.ahead(now.trainers);
        let stop_at = self.step_of_this_attempt().map(|step| step + ahead);
        self.stage = Stage::Asked {
            since: self.running,
            grace: self.grace(ahead),
            // A save that goes on was not made for us.
            saves: self.learnt.saves() + u32::from(self.learnt.is_saving()),
            stop_at,
        };
        Ruling {
            decision: Decision::Ask { stop_at },
            why,
            look_within,
        }
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
        self.ask(now, why, None)
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
        let learns = self.acts && !self.learnt.knows_steps();
        learns.then(|| CLOSE_LOOK.max(Micros::from_seconds(step / LEARNING_LOOKS)))
    }

    /// What is left above the need will not last for the usual interval between ticks.
    fn is_close(&self, now: &Situation, limit: &Limit) -> bool {
        let slope = self.learnt.raw_slope();
        if slope > 0.0 && self.is_unusual(limit) && left(limit) < slope * CLOSE_SECONDS {
            return true;
        }
        let soon = self.learnt.steps_within(CLOSE_SECONDS);
        let growth = self.learnt.growth_within(soon);
        growth > 0.0 && self.top(now, limit) + growth > limit.bytes.as_f64()
    }

    /// The level is higher than steps are known to go, if they are known.
    fn is_unusual(&self, limit: &Limit) -> bool {
        let times = if self.is_asked() { UNHEARD_OF } else { UNUSUAL };
        !self.learnt.knows_steps() || limit.used.as_f64() > self.learnt.expected(times)
    }

    /// Two close ticks from now the kernel acts. Only in training: before the first steps a restart
    /// would meet the same, and in a save the kernel's word is no worse than ours. A job that has been asked and
    /// rises as its steps do is about to stop: killing it would cost what the kernel might not take.
    fn runs_out(&self, limit: &Limit) -> bool {
        let growth = self.learnt.raw_slope() * LAST_LOOKS * CLOSE_LOOK.seconds();
        growth > 0.0
            && left(limit) < growth
            && self.learnt.slope_is_fresh()
            && !self.learnt.is_saving()
            && !self.learnt.is_evaluating()
            && (self.is_deaf()
                || (self.is_unusual(limit) && (self.learnt.knows_steps() || !self.is_asked())))
    }

    fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked { .. })
    }

    /// It went past the step at which it was to stop, further than it may have come before the request was written.
    fn is_deaf(&self) -> bool {
        let slack = 1 + self
            .learnt
            .steps_within(LATE_LOOKS * self.learnt.late_by())
            .ceil() as u64;
        match self.stage {
            Stage::Asked { stop_at, .. } => stop_at
                .zip(self.step_of_this_attempt())
                .is_some_and(|(stop_at, step)| step > stop_at + slack),
            Stage::Stopping { .. } => true,
            Stage::Watching | Stage::Killed => false,
        }
    }

    /// The steps that are left take no longer than a stop would.
    fn ends_soon(&self, now: &Situation) -> bool {
        let left = self.learnt.steps_left();
        left.is_some_and(|left| left <= self.ahead(now.trainers))
    }

    /// Why the job has to be asked now; none when a later tick will do.
    fn too_tight(&self, now: &Situation, limit: &Limit) -> Option<String> {
        let known = self.learnt.knows_steps() || self.step_of_this_attempt().is_none();
        if !known || !self.trains(now) || !self.pays(limit) || self.ends_soon(now) {
            return None;
        }
        if self.top(now, limit) > limit.bytes.as_f64() {
            return Some(format!(
                "{} left below {} ({}); until the stop it may grow by {}, and a save may take {}",
                show_bytes(left(limit)),
                limit.bytes,
                limit.from,
                show_bytes(self.coming(now)),
                show_bytes(self.learnt.save_reserve(limit))
            ));
        }
        let by_slope = self.learnt.raw_slope() * self.seconds_to_stop(now);
        // What the judge knows to have ended swings, and does not run away.
        let trains = !self.learnt.is_saving()
            && !self.learnt.is_evaluating()
            && growth_per_step(now.verdict).is_none();
        if trains && self.learnt.knows_steps() && self.is_unusual(limit) && left(limit) < by_slope {
            return Some(format!(
                "{} left below {} ({}), and growing by {} a second",
                show_bytes(left(limit)),
                limit.bytes,
                limit.from,
                show_bytes(self.learnt.raw_slope())
            ));
        }
        let pressure = thrashing(now.sample, limit)?;
        Some(format!(
            "the machine begins to thrash: {pressure:.0} % of the last ten seconds went by waiting for memory, {} left below {}",
            show_bytes(left(limit)),
            limit.bytes
        ))
    }

    fn pays(&self, limit: &Limit) -> bool {
        let (Some(baseline), Some(grown)) = (
            self.learnt.baseline(),
            self.learnt.grown(limit.used.as_f64()),
        ) else {
            return false;
        };
        let bytes = limit.bytes.as_f64();
        grown >= (PAYS_LIMIT * bytes).min(PAYS_ROOM * (bytes - baseline).max(0.0))
    }

    /// The highest that a request made now would let it come, with the margin: a save on top of the floor, or the
    /// next step. The kernel keeps peaks, so how high steps go is known even where ticks are few and meet
    /// them anywhere.
    fn top(&self, now: &Situation, limit: &Limit) -> f64 {
        let used = limit.used.as_f64();
        let reserve = self.learnt.save_reserve(limit);
        let kept = reserve + self.coming(now);
        let save = self.learnt.floor(used) + reserve;
        let more = (self.caution - 1.0) * kept;
        save.max(self.learnt.next_crest()) + self.coming(now) + more + self.learnt.margin(limit)
    }

    /// What the floor may rise by until the job has stopped: by its pace, and at most what is missing to
    /// a predicted plateau.
    fn coming(&self, now: &Situation) -> f64 {
        let served = (self.ahead(now.trainers) + 1) as f64;
        let steps = served + self.learnt.steps_within(self.seconds_to_ask());
        let mut coming = self.learnt.growth_within(steps);
        if let Some(each) = growth_per_step(now.verdict) {
            // The judge is late with taking that back.
            let since = self.ended_at.unwrap_or(0);
            coming = coming.min((each * steps).max(self.learnt.growth_since(since, steps)));
        }
        match missing_to_plateau(now) {
            Some(missing) => coming.min(missing.max(self.learnt.growth_within(1.0))),
            None => coming,
        }
    }

    /// The ticks until a request stands, as late as they may be.
    fn seconds_to_ask(&self) -> f64 {
        ASK_LOOKS * CLOSE_LOOK.seconds() + LATE_LOOKS * self.learnt.late_by()
    }

    /// How long the newest slope is believed to last: the ticks until the request stands, and the
    /// steps until it is served.
    fn seconds_to_stop(&self, now: &Situation) -> f64 {
        let ahead = self.ahead(now.trainers);
        let steps = self
            .learnt
            .step_seconds()
            .map_or(0.0, |step| (ahead + 1) as f64 * step);
        self.seconds_to_ask() + steps.min(SLOPE_LASTS)
    }

    fn worth_a_word(&mut self, now: &Situation, limit: &Limit) -> Option<String> {
        let share = left(limit) / limit.bytes.as_f64().max(1.0);
        if self.near && share > NEAR_AGAIN {
            self.near = false;
        }
        let near = share <= NEAR && !self.near;
        let soon = self.soon(now, limit).filter(|_| !self.foretold);
        if !near && soon.is_none() {
            return None;
        }
        self.near |= near;
        self.foretold |= soon.is_some();
        let forecast = soon.or_else(|| self.soon(now, limit));
        let what = if near { "limit near" } else { "limit ahead" };
        Some(format!(
            "{what}: {} of {} in use ({}){}",
            limit.used,
            limit.bytes,
            limit.from,
            forecast.map(|text| format!("; {text}")).unwrap_or_default()
        ))
    }

    /// When the job's own growth meets the limit, in words, if that is soon. What others take is told
    /// apart: a machine that fills with other jobs says nothing of this one.
    fn soon(&self, now: &Situation, limit: &Limit) -> Option<String> {
        let verdict = now.verdict;
        let outlook = verdict.outlook.as_ref()?;
        if !of_host(verdict) || !verdict.steady || matches!(outlook.fits, None | Some(Fits::Yes)) {
            return None;
        }
        let per_second = verdict.rate.per_minute.filter(|pace| *pace > 0.0)? / 60.0;
        let seconds = left(limit).max(0.0) / per_second;
        if seconds > WARN_SECONDS {
            return None;
        }
        let steps = self
            .learnt
            .step_seconds()
            .map(|step| format!("{:.0} steps, ", seconds / step.max(SHORTEST_STEP)))
            .unwrap_or_default();
        let open = match verdict.verdict {
            Class::Leak => "",
            _ => " if the growth goes on",
        };
        let others = outlook.others.map_or(String::new(), |others| {
            format!("; others take {} a minute", show_bytes(others))
        });
        Some(format!(
            "at its own pace it is reached in {steps}{}{open}{others}",
            show_duration(seconds)
        ))
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

/// Growth that the judge expects to end, with the first pass over the data or with what was reserved, has
/// this much to come.
fn missing_to_plateau(now: &Situation) -> Option<f64> {
    let verdict = now.verdict;
    let expected = verdict.verdict == Class::TooEarly || verdict.is_under_way();
    if !expected || verdict.axis != Axis::Step || !of_host(verdict) {
        return None;
    }
    let missing = (verdict.predicted_plateau? - verdict.floor.last).max(0.0);
    // The verdict speaks of one rank, and the others do the same.
    Some(missing * now.trainers.max(1) as f64)
}

/// The pressure, in per cent, when it shows that memory is short for this job.
fn thrashing(sample: &Sample, limit: &Limit) -> Option<f32> {
    let own = sample.cgroups.first().and_then(|group| group.pressure);
    let pressure = match limit.from {
        LimitFrom::Cgroup(_) => own.or(sample.node.pressure),
        _ => sample.node.pressure,
    }?;
    let swapped: f64 = sample
        .readings
        .iter()
        .map(|reading| reading.swap.as_f64())
        .sum();
    let short = left(limit) < PRESSURE_ROOM * limit.bytes.as_f64()
        || swapped > PRESSURE_SWAP * limit.bytes.as_f64();
    (short && pressure.full_avg10 >= PRESSURE).then_some(pressure.full_avg10)
}
