//! What watching does for a guard: hands every tick to the policy, warns, changes over to the next
//! attempt, and explains the end.

use lowtide_core::entry::{Attempt, Entry, EventKind, Exit};
use lowtide_core::guard::{Decision, Every, Policy, Ruling, Situation, Went};
use lowtide_core::look::LookWhy;
use lowtide_core::output::StepReader;
use lowtide_core::postmortem::{Cause, PostMortem};
use lowtide_core::process::ProcId;
use lowtide_core::sample::Sample;
use lowtide_core::verdict::{Class, Verdict};
use lowtide_sys::sampler::Sampler;

use crate::act;
use crate::marks::{Inbox, Page};

use super::Watch;

impl Watch {
    /// A guard carries out what the policy decides from now on.
    pub fn guarded(&mut self, every: Option<Every>) {
        self.policy = Policy::new(every);
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the policy said at the last tick, once.
    pub fn ruling(&mut self) -> Option<Ruling> {
        self.ruling.take()
    }

    /// The page that the training loop reads.
    pub fn page(&mut self) -> Option<&mut Page> {
        self.inbox.as_mut().map(Inbox::page)
    }

    /// The job was started again: another tree, the same recording.
    pub fn next_attempt(&mut self, attempt: Attempt, went: Went, sampler: Sampler) {
        self.sampler = sampler;
        self.sample = Sample::default();
        self.steps = StepReader::new();
        self.policy.next_attempt(went);
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
        let trainers: Vec<ProcId> = self.run.trainers().collect();
        let ruling = self.policy.tick(&Situation {
            sample: &self.sample,
            verdict,
            trainers: trainers.len(),
            stopped: self.stopped || (self.policy.acts() && act::any_stopped(&trainers)),
        });
        if ruling.decision == Decision::Warn {
            self.teller.say(&ruling.why);
            self.event(EventKind::LimitNear, ruling.why.clone());
            // Evidence is taken while there is somebody to take it from.
            self.look_soon(LookWhy::Guard);
        }
        self.ruling = Some(ruling);
    }
}
