//! What lists say of each run: what its watcher has kept, else judged from the recording while there is
//! time for it. `runs`, `ps` and the API's list ask.

use std::path::Path;
use std::time::{Duration, Instant};

use lowtide_core::run::{Glance, Run};
use lowtide_recording::glance::{keep, kept};
use lowtide_recording::summary::{RunState, Summary};
use lowtide_recording::{Recording, RecordingError};

/// A longer recording (some hours of 25 processes) is not read through for a list, which would never come to
/// its end and begin again each time: `lowtide judge` reads it, and keeps the answer.
const READ_THROUGH: u64 = 8 << 20;

/// Lists that read recordings through until then, newest first; what is left is told the next time.
pub(crate) struct Glances {
    until: Instant,
}

impl Glances {
    pub(crate) fn within(time: Duration) -> Glances {
        Glances {
            until: Instant::now() + time,
        }
    }

    /// None: not judged yet, or not readable.
    pub(crate) fn of(&self, path: &Path, summary: &Summary) -> Option<Glance> {
        kept(path, summary).or_else(|| self.judged(path, summary).ok().flatten())
    }

    fn judged(&self, path: &Path, summary: &Summary) -> Result<Option<Glance>, RecordingError> {
        let in_time = || Instant::now() < self.until;
        if !in_time() || summary.size.0 > READ_THROUGH {
            return Ok(None);
        }
        let mut recording = Recording::open(path)?;
        let mut run = Run::new();
        if !recording.read_while(in_time, |entry, _| run.apply(&entry))? {
            return Ok(None);
        }
        let running = summary.state == RunState::Running;
        if !running && let Some(gap) = recording.broken_end()? {
            run.apply(&gap);
        }
        let glance = run.glance();
        keep_judged(path, summary, &glance);
        Ok(Some(glance))
    }
}

/// Keeps what was found in a recording that is complete. A running job's is its watcher's to keep; where nothing
/// may be written it is judged again.
pub(crate) fn keep_judged(path: &Path, summary: &Summary, glance: &Glance) {
    if summary.state != RunState::Running {
        let glance = Glance {
            at: summary.last,
            ..glance.clone()
        };
        let _ = keep(path, &glance);
    }
}
