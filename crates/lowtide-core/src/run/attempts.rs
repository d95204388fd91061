//! A guarded run is several attempts at one training: each is a new process tree, whose memory begins
//! anew. BothAxes of two attempts are never one series; a leak that one attempt showed stays a leak.

use crate::judge::earlier_attempt;
use crate::series::Series;
use crate::units::Micros;
use crate::verdict::{Class, Verdict};

use super::Run;
use super::decide::Subject;
use super::track::BothAxes;

#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    /// Restarts so far.
    pub restarts: u32,
    /// When the running attempt began.
    pub since: Micros,
    /// The most that the tree held in those before.
    pub peak: f64,
    /// The leak that an earlier attempt showed.
    leak: Option<Box<(Verdict, Series, Subject)>>,
}

impl Attempts {
    /// The leak that was shown before, unless the running attempt shows one itself.
    pub(crate) fn overrules(&self, now: &Verdict) -> Option<(Verdict, &Series, Subject)> {
        let (verdict, series, subject) = self.leak.as_deref()?;
        (now.verdict != Class::Leak).then(|| {
            let mut verdict = verdict.clone();
            verdict.limit = now.limit;
            verdict.headroom = now.headroom;
            // It spoke of that attempt's room; a restart gave the memory back, and what the run needs
            // is what the running attempt needs.
            verdict.oom = None;
            verdict.outlook = now.outlook.clone();
            verdict.growing = now.growing;
            verdict.steady = now.steady;
            (verdict, series, *subject)
        })
    }
}

impl Run {
    /// The guard starts the job again: memory and steps are counted anew.
    pub(super) fn next_attempt(&mut self, at: Micros) {
        let (mut verdict, series, subject) = self.decided_now();
        let series = series.clone();
        let number = self.attempts.restarts + 1;
        if verdict.verdict == Class::Leak {
            verdict.evidence.push(earlier_attempt::shown_in(number));
            self.attempts.leak = Some(Box::new((verdict, series, subject)));
        }
        self.attempts.restarts = number;
        self.attempts.since = at;
        self.attempts.peak = self.attempts.peak.max(self.tree.extremes.max);
        self.tree = BothAxes::default();
        self.roles.clear();
        self.gpu = None;
        self.pending = None;
        self.watched = None;
        self.last_ticks.forget();
        self.steps.next_attempt();
        self.occurrences.forget_steps();
        for track in self.processes.values_mut() {
            track.gone.get_or_insert(at);
        }
        self.dead = self.processes.len();
        self.forget_the_dead();
    }

    /// Attempts of a guarded run, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempts.restarts + 1
    }
}
