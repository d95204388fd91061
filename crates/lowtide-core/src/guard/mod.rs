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
use crate::sample::{Limit, LimitFrom, Sample};
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
/// A save that has begun is let to its end, until so many times the grace are over.
const SAVE_GRACE: f64 = 2.0;
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
        }
    }

    /// Decides nothing but warnings.
    pub fn warning_only() -> Policy {
        Policy {
            acts: false,
            ..Policy::new(None)
        }
    }

    /// Another attempt begins: what a step and a save cost is kept, the level is not.
    pub fn next_attempt(&mut self) {
        let learnt = std::mem::take(&mut self.learnt).for_next_attempt();
        *self = Policy {
            learnt,
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
        let limit = tightest(now.sample);
        let used = limit.as_ref().map(|limit| limit.used.as_f64());
        self.learnt.tick(now.sample, used, self.running);
        let Some(limit) = limit else {
            return self.by_the_clock(now);
        };
        let look_within = self.is_close(&limit).then_some(CLOSE_LOOK);
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
            if self.confirmed >= CONFIRM {
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
            Stage::Asked { saves, .. } if self.learnt.saves() > saves => {
                // It has served the request and is about to end.
                self.stage = Stage::Asked {
                    since: self.running,
                    grace: ENDING,
                    saves: u32::MAX,
                };
                Some(NOTHING)
            }
            Stage::Asked { since, grace, .. } | Stage::Stopping { since, grace }
                if self.running - since < grace || self.is_saving(since, grace) =>
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
        if !now.stopped {
            self.running += passed.min(MOST_BETWEEN_TICKS);
        }
        self.last_at = Some(at);
    }

    fn ahead(&self, trainers: usize) -> u64 {
        if trainers <= 1 {
            return AHEAD_ALONE;
        }
        let heard = self.learnt.step_seconds().map_or(0, |step| {
            (HEARD_SECONDS / step.max(SHORTEST_STEP)).ceil() as u64
        });
        AHEAD_RANKS.max(heard)
    }

    fn ask(&mut self, now: &Situation, why: String, look_within: Option<Micros>) -> Ruling {
        let ahead = self.ahead(now.trainers);
        self.stage = Stage::Asked {
            since: self.running,
            grace: self.grace(ahead),
            saves: self.learnt.saves(),
        };
        Ruling {
            decision: Decision::Ask {
                stop_at: self.step_of_this_attempt().map(|step| step + ahead),
            },
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

    /// What is left will not last for the usual interval between ticks.
    fn is_close(&self, limit: &Limit) -> bool {
        let slope = self.learnt.raw_slope();
        slope > 0.0 && left(limit) < slope * CLOSE_SECONDS
    }

    /// Two close ticks from now the kernel acts. Only in training: before the first steps a restart
    /// would meet the same, and in a save the kernel's word is no worse than ours.
    fn runs_out(&self, limit: &Limit) -> bool {
        let growth = self.learnt.raw_slope() * LAST_LOOKS * CLOSE_LOOK.seconds();
        growth > 0.0
            && left(limit) < growth
            && self.learnt.slope_is_fresh()
            && !self.learnt.is_saving()
    }

    /// A save that began after the request is let to its end, for as long again as was given.
    fn is_saving(&self, since: f64, grace: f64) -> bool {
        self.learnt.is_saving() && self.running - since < SAVE_GRACE * grace
    }

    /// The steps that are left take no longer than a stop would.
    fn ends_soon(&self, now: &Situation) -> bool {
        let left = self.learnt.steps_left();
        left.is_some_and(|left| left <= self.ahead(now.trainers))
    }

    /// Why the job has to be asked now; none when a later tick will do.
    fn too_tight(&self, now: &Situation, limit: &Limit) -> Option<String> {
        if !self.trains(now) || !self.pays(limit) || self.ends_soon(now) {
            return None;
        }
        let room = left(limit);
        let coming = self.coming(now);
        let save = self.learnt.save_reserve(limit);
        let need = coming + save + self.learnt.margin(limit);
        if room < need {
            return Some(format!(
                "{} left below {} ({}); until the stop it may grow by {}, and a save may take {}",
                show_bytes(room),
                limit.bytes,
                limit.from,
                show_bytes(coming),
                show_bytes(save)
            ));
        }
        let pressure = thrashing(now.sample, limit)?;
        Some(format!(
            "the machine begins to thrash: {pressure:.0} % of the last ten seconds went by waiting for memory, {} left below {}",
            show_bytes(room),
            limit.bytes
        ))
    }

    fn pays(&self, limit: &Limit) -> bool {
        let Some(baseline) = self.learnt.baseline() else {
            return false;
        };
        let bytes = limit.bytes.as_f64();
        let grown = limit.used.as_f64() - baseline;
        grown >= (PAYS_LIMIT * bytes).min(PAYS_ROOM * (bytes - baseline).max(0.0))
    }

    /// What the job may add until it has stopped: by its pace per step, by its newest slope, and at
    /// most what is missing to a predicted plateau.
    fn coming(&self, now: &Situation) -> f64 {
        let ahead = self.ahead(now.trainers);
        let mut by_steps = self.learnt.growth_until(ahead);
        let mut by_slope = self.learnt.raw_slope() * self.seconds_to_stop(ahead);
        if let Some(each) = growth_per_step(now.verdict) {
            by_steps = by_steps.min(each * (ahead + 1) as f64);
            // A level that goes up and down inside a step rises steeply, and not for long.
            by_slope = by_slope.min(self.learnt.swing());
        }
        let coming = by_steps.max(by_slope);
        match missing_to_plateau(now) {
            Some(missing) => coming.min(missing.max(self.learnt.growth_until(0))),
            None => coming,
        }
    }

    /// How long the newest slope is believed to last: the ticks until the request stands, and the
    /// steps until it is served.
    fn seconds_to_stop(&self, ahead: u64) -> f64 {
        let steps = self
            .learnt
            .step_seconds()
            .map_or(0.0, |step| (ahead + 1) as f64 * step);
        let late = LATE_LOOKS * self.learnt.late_by().min(SLOPE_LASTS);
        ASK_LOOKS * CLOSE_LOOK.seconds() + late + steps.min(SLOPE_LASTS)
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
