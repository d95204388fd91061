//! What recordings lack, for the list of runs: each is looked through once, and again when it has changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use lowtide_recording::Losses;
use lowtide_recording::summary::Summary;

/// Runs whose answer is remembered. Of more, all are looked at anew now and then.
const REMEMBERED: usize = 2000;

#[derive(Default)]
pub(crate) struct Seen(Mutex<HashMap<PathBuf, (Written, Option<Losses>)>>);

/// How a file is known to be the same: its size, and when it was written.
type Written = (u64, Option<SystemTime>);

impl Seen {
    pub(crate) fn of(&self, path: &Path, summary: &Summary) -> Option<Losses> {
        let lock = || self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let meta = std::fs::metadata(path).and_then(|meta| meta.modified());
        let written = (summary.size.0, meta.ok());
        if let Some((then, losses)) = lock().get(path)
            && *then == written
        {
            return *losses;
        }
        // Not under the lock: a slow disk is no reason for others to wait.
        let losses = summary.losses(path).ok()?;
        let mut seen = lock();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(path.to_owned(), (written, losses));
        losses
    }
}
