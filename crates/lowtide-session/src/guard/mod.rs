//! The guard of a run: carries out what core's policy decides, starts the job again from a complete
//! checkpoint, and says what it cost. `session` owns the loop and hands over each turn and
//! each end.

pub mod checkpoints;
pub(crate) mod contained;
mod ending;
pub mod isolate;
mod prospect;
pub mod resume;
mod scout;
mod sights;
pub mod takeover;

use lowtide_core::entry::EventKind;
use lowtide_core::guard::{Decision, Every, Ruling};
use lowtide_core::mark::MarkSource;
use lowtide_core::process::{ProcId, Role};
use rustix::process::Signal;

use crate::act::{self, AskBy};
use crate::marks::Request;
use crate::monotonic::Moment;
use crate::watch::Watch;

use checkpoints::{Checkpoint, Places};
use contained::contained;
pub(crate) use ending::{Next, Restart};
use prospect::Prospect;
use resume::Resume;

/// `--guard`: what a job is stopped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To be started again; one that could not be is never stopped.
    Restart,
    /// To end with what it saves, below the limit, whatever is known of it. It is not started again.
    Stop,
}

/// What the user wants of a guard.
#[derive(Clone, Debug)]
pub struct Plan {
    pub mode: Mode,
    pub places: Places,
    /// None: no way to go on is known at the start; the job itself may tell one.
    pub resume: Option<Resume>,
    /// A flag of the job's script by which it may go on, for a hint.
    pub flag: Option<String>,
    pub max_restarts: u32,
    pub signal: Option<AskBy>,
    pub every: Option<Every>,
}

/// One guarded run, over all its attempts.
pub struct Guard {
    plan: Plan,
    command: Vec<String>,
    /// When the first attempt began: older checkpoints are not this job's.
    since: Moment,
    restarts: u32,
    /// The user wants it to end: nothing is started again.
    interrupted: bool,
    asked: Option<Asked>,
    /// How far the run had come when the job was last started again.
    restarted_at: Option<u64>,
    /// The checkpoint that this attempt went on from.
    resumed: Option<Checkpoint>,
    /// The newest complete checkpoint that a look has found.
    known: Option<Checkpoint>,
    repeated: u64,
    /// Ends in a row that were not by request.
    rough: u32,
    prospect: Prospect,
    /// The last end was by our SIGTERM to a job that cannot be asked, and came in time.
    planned: bool,
}

/// What was done to the running attempt.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Moment,
    forced: bool,
    /// Nothing says that it can be asked: it got SIGTERM at once.
    cannot_hear: bool,
}

impl Guard {
    pub(crate) fn new(plan: Plan, command: &[String], since: Moment) -> Guard {
        Guard {
            plan,
            command: command.to_vec(),
            since,
            restarts: 0,
            interrupted: false,
            asked: None,
            restarted_at: None,
            resumed: None,
            known: None,
            repeated: 0,
            rough: 0,
            prospect: Prospect::default(),
            planned: false,
        }
    }

    pub fn every(&self) -> Option<Every> {
        self.plan.every
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The user wants an end.
    pub(crate) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Carries out what was decided at the last look. If that fails, the job is left running and is not guarded
    /// any more: what was done of it is not known.
    pub fn turn(&mut self, watch: &mut Watch, ruling: &Ruling) {
        let done = contained(|| {
            self.learn(watch);
            self.carry_out(watch, ruling);
        });
        if let Err(panic) = done {
            watch.unguard("carried out a decision", &panic);
        }
    }

    fn carry_out(&mut self, watch: &mut Watch, ruling: &Ruling) {
        if self.interrupted {
            return;
        }
        match ruling.decision {
            Decision::Watch | Decision::Warn => {}
            Decision::Spare => self.spare(watch, &ruling.why),
            Decision::Ask { stop_at } => self.ask(watch, stop_at, &ruling.why),
            Decision::Stop => {
                self.force(watch, Signal::TERM, &format!("SIGTERM: {}", ruling.why));
            }
            Decision::Kill => {
                self.force(watch, Signal::KILL, &format!("SIGKILL: {}", ruling.why));
            }
        }
    }

    fn ask(&mut self, watch: &mut Watch, stop_at: Option<u64>, why: &str) {
        self.asked = Some(Asked {
            at: Moment::now(),
            forced: false,
            cannot_hear: false,
        });
        let told = watch.run.steps_from() == Some(MarkSource::Callback);
        let mut by = Vec::new();
        if told
            && watch
                .page()
                .is_some_and(|page| page.ask(Request::StopAt(stop_at.unwrap_or(0))).is_ok())
        {
            let step = stop_at.map_or("the next step".to_owned(), |step| format!("step {step}"));
            by.push(format!("asked to save and stop at {step}"));
        }
        let trainers: Vec<ProcId> = watch.run.trainers().collect();
        if let Some(AskBy(signal)) = self.plan.signal {
            let hit = act::send(&trainers, signal);
            by.push(format!(
                "sent signal {} to {hit} training process{}",
                signal.as_raw(),
                if hit == 1 { "" } else { "es" }
            ));
        }
        if by.is_empty() {
            // Nothing says that this job can be asked; some save on SIGTERM, all others would have
            // died at the limit with the same loss.
            let text = format!(
                "SIGTERM, since nothing says that it can be asked: {why}{}",
                self.price(watch)
            );
            self.force(watch, Signal::TERM, &text);
            if let Some(asked) = &mut self.asked {
                asked.cannot_hear = true;
            }
            return;
        }
        self.tell(
            watch,
            &format!("{}: {why}{}", by.join(", "), self.price(watch)),
        );
    }

    /// What a stop costs where the job does not save when it is asked. The kernel would take the same steps and those
    /// until then.
    fn price(&self, watch: &Watch) -> String {
        let newest = self.prospect.newest();
        let Some(newest) = newest.filter(|_| !self.saves_when_asked(watch)) else {
            return String::new();
        };
        match ending::repeated(watch, newest) {
            0 => String::new(),
            1 => "; 1 step since its last checkpoint is done again".to_owned(),
            steps => format!("; {steps} steps since its last checkpoint are done again"),
        }
    }

    fn force(&mut self, watch: &mut Watch, signal: Signal, why: &str) {
        let at = self.asked.map_or_else(Moment::now, |asked| asked.at);
        self.asked = Some(Asked {
            at,
            forced: true,
            cannot_hear: false,
        });
        let trainers: Vec<ProcId> = watch.run.trainers().collect();
        self.tell(watch, why);
        if signal == Signal::KILL {
            // A launcher that restarts its ranks by itself must not.
            let launchers: Vec<ProcId> = watch
                .run
                .processes()
                .filter(|track| track.gone.is_none() && track.member.role == Role::Launcher)
                .map(|track| track.member.id)
                .collect();
            act::send(&launchers, Signal::TERM);
        }
        act::send(&trainers, signal);
    }

    fn tell(&self, watch: &mut Watch, text: &str) {
        self.say(watch, EventKind::Guard, text);
    }

    /// What is worth knowing while nothing is done: a post-mortem must not take it for what ended the job.
    fn note(&self, watch: &mut Watch, text: &str) {
        self.say(watch, EventKind::Info, text);
    }

    fn say(&self, watch: &mut Watch, kind: EventKind, text: &str) {
        let text = format!("guard: {text}");
        watch.teller().say(&text);
        watch.event(kind, text);
    }
}
