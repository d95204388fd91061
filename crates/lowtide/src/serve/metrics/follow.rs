//! The runs that are exposed, each folded as far as its recording was read: a scrape reads what is new.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;

use lowtide_core::run::Run;
use lowtide_recording::store::StoredRun;
use lowtide_recording::summary::{RunState, Summary};
use lowtide_recording::{Recording, RecordingError};

use super::Metric;
use super::of_run::of_run;

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

    fn read_on(&mut self) -> Result<(), RecordingError> {
        let run = &mut self.run;
        self.recording.read_on(|entry, _| run.apply(&entry))
    }
}

#[derive(Default)]
pub(crate) struct Followed(Mutex<Runs>);

#[derive(Default)]
struct Runs {
    going: HashMap<String, Fold>,
    /// Names of runs that have ended: nobody has to look at their recordings again.
    over: HashSet<String>,
}

impl Followed {
    /// The metrics of those that go on, the newest first.
    pub(crate) fn scrape(&self, stored: &[StoredRun]) -> Vec<Metric> {
        let mut runs = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let going: Vec<&StoredRun> = stored
            .iter()
            .rev()
            .filter(|run| runs.goes_on(run))
            .take(RUNS)
            .collect();
        runs.going
            .retain(|name, _| going.iter().any(|run| run.name == *name));
        // A recording that cannot be read has no metrics; whoever asks for its page is told why.
        going
            .iter()
            .filter_map(|stored| runs.read_on(stored).ok())
            .flatten()
            .collect()
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

    fn read_on(&mut self, stored: &StoredRun) -> Result<Vec<Metric>, RecordingError> {
        let fold = match self.going.remove(&stored.name) {
            Some(fold) => fold,
            None => Fold::begin(&stored.recording())?,
        };
        let fold = self.going.entry(stored.name.clone()).or_insert(fold);
        fold.read_on()?;
        Ok(of_run(&stored.name, &fold.run, &fold.run.verdict()))
    }
}
