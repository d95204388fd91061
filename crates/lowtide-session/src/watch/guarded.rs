//! What watching does for a guard: hands every tick to the policy, warns, changes over to the next
//! attempt, and explains the end.

use lowtide_core::entry::{Attempt, Entry, EventKind, Exit};
use lowtide_core::guard::{Decision, Every, Policy, Ruling, Situation, Went};
use lowtide_core::look::LookWhy;
use lowtide_core::mark::Mark;
use lowtide_core::output::StepReader;
use lowtide_core::postmortem::{Cause, PostMortem};
use lowtide_core::process::ProcId;
use lowtide_core::sample::Sample;
use lowtide_core::verdict::{Class, Verdict};
use lowtide_sys::sampler::Sampler;

use crate::act;
use crate::guard::contained::{contained, tell_failed};
use crate::marks::{Inbox, Page, Request, Told};

use super::Watch;

impl Watch {
    /// A guard carries out what the policy decides from now on.
    pub fn guarded(&mut self, every: Option<Every>) {
        self.policy = Policy::new(every);
        self.every = every;
    }

    /// The guard's own code has failed: the job is left running, what was asked of it is taken back, and nobody
    /// guards this attempt any more. The next one begins anew.
    pub(crate) fn unguard(&mut self, what: &str, panic: &str) {
        if self.unguarded {
            return;
        }
        self.unguarded = true;
        self.ruling = None;
        if let Some(page) = self.page() {
            // A page that cannot be written was not read either.
            let _ = page.ask(Request::Nothing);
        }
        let then = if self.policy.acts() {
            "the job goes on, and is not guarded until it is started again"
        } else {
            "nobody warns of the limit any more"
        };
        tell_failed(self, what, panic, then);
    }

    /// Tells the policy of a mark.
    pub(super) fn tell_policy(&mut self, mark: &Mark) {
        if self.unguarded {
            return;
        }
        let policy = &mut self.policy;
        if let Err(panic) = contained(|| policy.mark(mark)) {
            self.unguard("heard of a step", &panic);
        }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the policy said at the last tick, once.
    pub fn ruling(&mut self) -> Option<Ruling> {
        self.ruling.take()
    }

    /// Whether the job can go on after a stop, as the guard knows it now.
    pub(crate) fn may_stop(&mut self, may: bool) {
        self.may_stop = may;
    }

    /// What the training loop has told a guard.
    pub(crate) fn told(&self) -> Option<&Told> {
        self.inbox.as_ref()?.told()
    }

    /// The page that the training loop reads.
    pub fn page(&mut self) -> Option<&mut Page> {
        self.inbox.as_mut().map(Inbox::page)
    }

    /// The job was started again: another tree, the same recording.
    pub fn next_attempt(&mut self, attempt: Attempt, went: Went, sampler: Sampler) {
        self.sampler = sampler;
        self.sample = Sample::default();
        if let Some(inbox) = &mut self.inbox {
            inbox.forget_told();
        }
        self.steps = StepReader::of_job(&self.run.header().command);
        let policy = &mut self.policy;
        let ready = contained(|| policy.next_attempt(went));
        if self.unguarded || ready.is_err() {
            self.policy = Policy::new(self.every);
            self.unguarded = false;
        }
        self.ruling = None;
        self.stopped = false;
        self.standing = None;
        // A new process is judged anew; that is no withdrawal of what was said of the one before.
        self.told = self.told.filter(|told| *told == Class::Leak);
        self.enter(Entry::Attempt(attempt));
    }

    /// Explains an end that nobody wished for, and keeps that in the recording. Without an exit code only
    /// what the kernel says of it is an explanation.
    pub fn post_mortem(&mut self, exit: Option<Exit>) -> Option<PostMortem> {
        if exit == Some(Exit::Code(0)) {
            return None;
        }
        let pids: Vec<u32> = self
            .run
            .processes()
            .map(|track| track.member.id.pid)
            .collect();
        // The kernel counts microseconds since boot, as the monotonic clock does, give or take.
        let since = (self.clock.started_ns() / 1000).saturating_sub(1_000_000);
        let kernel = lowtide_sys::klog::kill_of(&pids, since);
        let found = self
            .run
            .explain_end(exit, kernel.as_ref())
            .filter(|found| !matches!(found.cause, Cause::Unseen { .. }))?;
        self.enter(Entry::PostMortem(Box::new(found.clone())));
        Some(found)
    }

    /// The job was stopped, or goes on.
    pub(crate) fn job_stopped(&mut self, stopped: bool) {
        self.stopped = stopped;
        let (kind, text) = if stopped {
            (EventKind::JobStopped, "the job was stopped")
        } else {
            (EventKind::JobContinued, "the job goes on")
        };
        self.event(kind, text.to_owned());
    }

    /// Warns when the limit comes near; what else the policy decides is the guard's to carry out.
    pub(super) fn foresee(&mut self, verdict: &Verdict) {
        if self.unguarded {
            return;
        }
        let trainers: Vec<ProcId> = self.run.trainers().collect();
        let situation = Situation {
            sample: &self.sample,
            verdict,
            trainers: trainers.len(),
            stopped: self.stopped || (self.policy.acts() && act::any_stopped(&trainers)),
            may_stop: self.may_stop,
        };
        let policy = &mut self.policy;
        let ruling = match contained(|| policy.tick(&situation)) {
            Ok(ruling) => ruling,
            Err(panic) => return self.unguard("judged the limit", &panic),
        };
        if ruling.decision == Decision::Warn {
            self.teller.say(&ruling.why);
            self.event(EventKind::LimitNear, ruling.why.clone());
            // Evidence is taken while there is somebody to take it from.
            self.look_soon(LookWhy::Guard);
        }
        self.ruling = Some(ruling);
    }
}
