//! The runs that are exposed, each folded as far as its recording was read: a scrape reads what is new.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use lowtide_core::run::Run;
use lowtide_recording::store::StoredRun;
use lowtide_recording::summary::{RunState, Summary};
use lowtide_recording::{Recording, RecordingError};

use super::Metric;
use super::of_run::of_run;
use crate::serve::open::SLICE;

/// Runs that are exposed at most.
const RUNS: usize = 64;

/// A run without pictures: a verdict needs none.
struct Fold {
    recording: Recording,
    run: Run,
}

impl Fold {
    fn begin(path: &Path) -> Result<Fold, RecordingError> {
        Ok(Fold {
            recording: Recording::open(path)?,
            run: Run::new(),
        })
    }

    /// Reads on for a while; false when there is more.
    fn read_on(&mut self) -> Result<bool, RecordingError> {
        let (run, began) = (&mut self.run, Instant::now());
        let wanted = || began.elapsed() < SLICE;
        self.recording
            .read_while(wanted, |entry, _| run.apply(&entry))
    }
}

#[derive(Default)]
pub(crate) struct Followed {
    runs: Mutex<Runs>,
    /// Those who scrape wait here, where they take no thread.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Runs {
    going: HashMap<String, Fold>,
    /// Names of runs that have ended: nobody has to look at their recordings again.
    over: HashSet<String>,
}

impl Followed {
    /// Begins a scrape, which nobody else makes as long as what is returned is there.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Those that go on, the newest first.
    pub(super) fn going(&self, stored: Vec<StoredRun>) -> Vec<StoredRun> {
        let mut runs = self.lock();
        let newest_first = stored.into_iter().rev();
        let going: Vec<StoredRun> = newest_first
            .filter(|run| runs.goes_on(run))
            .take(RUNS)
            .collect();
        runs.going
            .retain(|name, _| going.iter().any(|run| run.name == *name));
        going
    }

    /// Reads on in one of them for a while: its metrics, or none while there is more. A recording that cannot
    /// be read has no metrics; whoever asks for its page is told why.
    pub(super) fn read_on(&self, stored: &StoredRun) -> Option<Vec<Metric>> {
        match self.lock().read_on(stored) {
            Ok(metrics) => metrics,
            Err(_) => Some(Vec::new()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Runs {
    fn goes_on(&mut self, stored: &StoredRun) -> bool {
        if self.over.contains(&stored.name) {
            return false;
        }
        match Summary::read(&stored.recording()).map(|summary| summary.state) {
            Ok(RunState::Running) => true,
            Ok(RunState::Ended(_)) => {
                self.over.insert(stored.name.clone());
                false
            }
            Ok(RunState::CutOff) | Err(_) => false,
        }
    }

    fn read_on(&mut self, stored: &StoredRun) -> Result<Option<Vec<Metric>>, RecordingError> {
        let fold = match self.going.remove(&stored.name) {
            Some(fold) => fold,
            None => Fold::begin(&stored.recording())?,
        };
        let fold = self.going.entry(stored.name.clone()).or_insert(fold);
        let all = fold.read_on()?;
        Ok(all.then(|| of_run(&stored.name, &fold.run, &fold.run.verdict())))
    }
}
