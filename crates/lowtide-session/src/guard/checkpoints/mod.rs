//! Which checkpoints of a job are complete: a restart from a half-written one would lose the run.
//!
//! One file per format. `restart` asks before every restart; nothing here is ever written or deleted.

mod dcp;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod trainer;
mod trust;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lowtide_sys::regular;

use super::contained::contained;

/// Something that can be resumed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub path: PathBuf,
    /// The optimizer step it was made at, where its name or state says so.
    pub step: Option<u64>,
    pub written: SystemTime,
}

/// Those that were found, and what was skipped with the reason.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints {
    /// The newest first.
    pub complete: Vec<Checkpoint>,
    pub broken: Vec<(PathBuf, String)>,
}

/// Where checkpoints are looked for.
#[derive(Clone, Debug)]
pub struct Places {
    folders: Vec<PathBuf>,
    /// The user named the folder: then every kind of file in it counts.
    named: bool,
}

/// How deep below a place: Lightning writes to `lightning_logs/version_0/checkpoints`.
const DEPTH: usize = 3;
/// Folders that are looked into at most; more are a data set, not an output folder.
const MOST_FOLDERS: usize = 2000;
/// File systems keep times as coarsely as this.
const COARSE: Duration = Duration::from_secs(2);

/// A state or an index beyond this is none: a run of a million log lines has 200 MB of state.
const LARGEST_TEXT: u64 = 1 << 30;

impl Places {
    pub fn named(folder: PathBuf) -> Places {
        Places {
            folders: vec![folder],
            named: true,
        }
    }

    pub fn guessed(folders: Vec<PathBuf>) -> Places {
        Places {
            folders,
            named: false,
        }
    }

    /// Everything written since the job began, examined. Those of earlier jobs are not ours.
    pub fn look(&self, since: SystemTime) -> Checkpoints {
        let since = since.checked_sub(COARSE).unwrap_or(since);
        let mut found = Checkpoints::default();
        let mut left = MOST_FOLDERS;
        for place in &self.folders {
            self.walk(place, DEPTH, since, &mut left, &mut found);
        }
        found.complete.sort_by(|a, b| a.path.cmp(&b.path));
        found.complete.dedup_by(|a, b| a.path == b.path);
        found.broken.sort();
        found.broken.dedup();
        let stepped = found.complete.iter().all(|known| known.step.is_some());
        found.complete.sort_by_key(|known| {
            let step = known.step.filter(|_| stepped);
            std::cmp::Reverse((step, known.written))
        });
        found
    }

    fn walk(
        &self,
        folder: &Path,
        depth: usize,
        since: SystemTime,
        left: &mut usize,
        found: &mut Checkpoints,
    ) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let examined = if is_dir && trainer::is_one(&name) {
                examined(&path, trainer::examine)
            } else if is_dir && dcp::is_one(&path) {
                examined(&path, dcp::examine)
            } else if is_dir {
                if depth > 0 && !name.starts_with('.') {
                    self.walk(&path, depth - 1, since, left, found);
                }
                continue;
            } else if zip::is_one(&name, self.named) {
                examined(&path, zip::examine)
            } else {
                continue;
            };
            let user = rustix::process::geteuid().as_raw();
            match examined {
                Ok(checkpoint) if checkpoint.written >= since => {
                    match trust::distrusted(&path, user, self.named) {
                        Some(why) => found.broken.push((path, why)),
                        None => found.complete.push(checkpoint),
                    }
                }
                Ok(_) => {}
                Err(why) if modified(&path).is_some_and(|written| written >= since) => {
                    found.broken.push((path, why))
                }
                Err(_) => {}
            }
        }
    }
}

/// What one of the formats says of it. A file on which our own code fails is skipped as a broken one is: the others
/// may be whole.
fn examined(
    path: &Path,
    examine: impl FnOnce(&Path) -> Result<Checkpoint, String>,
) -> Result<Checkpoint, String> {
    contained(|| examine(path))
        .unwrap_or_else(|panic| Err(format!("lowtide failed on it ({panic})")))
}

/// Opens what is a file, and never waits.
fn open(path: &Path) -> Result<fs::File, String> {
    regular::open(path).map_err(|error| error.to_string())
}

/// What a small file of text holds.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    regular::read(path, LARGEST_TEXT).map_err(|error| error.to_string())
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// The last number in a name: `checkpoint-120`, `lowtide-40.ckpt`, `epoch=1-step=80.ckpt`.
fn last_number(name: &str) -> Option<u64> {
    let until = name.trim_end_matches(|c: char| !c.is_ascii_digit());
    let before = until.trim_end_matches(|c: char| c.is_ascii_digit());
    until[before.len()..].parse().ok()
}

#[cfg(test)]
mod tests;
