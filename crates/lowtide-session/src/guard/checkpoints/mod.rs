//! Which checkpoints of a job are complete: a restart from a half-written one would lose the run.
//!
//! One file per format. `restart` asks before every restart; nothing here is ever written or deleted.

mod dcp;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod places;
mod trainer;
mod trust;
mod zip;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lowtide_sys::regular;

use super::contained::contained;

pub use places::{Places, Standing};

/// Something that can be resumed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub path: PathBuf,
    /// The optimizer step it was made at, where its name or state says so.
    pub step: Option<u64>,
    pub written: SystemTime,
    /// What makes it one of this job's.
    pub standing: Standing,
}

impl Checkpoint {
    /// As one of the formats has found it.
    fn found(path: &Path, step: Option<u64>, written: SystemTime) -> Checkpoint {
        Checkpoint {
            path: path.to_owned(),
            step,
            written,
            standing: Standing::Near,
        }
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    pub(super) fn is(&self, other: &Checkpoint) -> bool {
        self.path == other.path && self.written == other.written
    }
}

/// Those that were found, and what was skipped with the reason.
#[derive(Clone, Debug, Default)]
pub struct Checkpoints {
    /// The newest first.
    pub complete: Vec<Checkpoint>,
    pub broken: Vec<(PathBuf, String)>,
    /// Folders that hold checkpoints of which nobody knows whose they are.
    pub doubtful: Vec<PathBuf>,
}

/// Folders that are looked into at most, and entries of them; more are a data set, not an output folder. Those
/// that lie higher come first.
const MOST_FOLDERS: usize = 2000;
const MOST_ENTRIES: usize = 100_000;
/// File systems keep times as coarsely as this.
const COARSE: Duration = Duration::from_secs(2);

/// A state or an index beyond this is none: a run of a million log lines has 200 MB of state.
const LARGEST_TEXT: u64 = 1 << 30;

impl Places {
    /// Everything written since the job began, examined. Those of earlier jobs are not ours.
    pub fn look(&self, since: SystemTime) -> Checkpoints {
        let since = since.checked_sub(COARSE).unwrap_or(since);
        let mut walk = Walk {
            since,
            folders: MOST_FOLDERS,
            entries: MOST_ENTRIES,
            ahead: VecDeque::new(),
            found: Checkpoints::default(),
        };
        for (folder, standing) in self.all() {
            walk.ahead
                .push_back((folder.to_owned(), standing.depth(), standing));
        }
        while let Some((folder, depth, standing)) = walk.ahead.pop_front() {
            walk.folder(&folder, depth, standing);
        }
        walk.found.in_order()
    }
}

impl Checkpoints {
    fn in_order(mut self) -> Checkpoints {
        self.complete
            .sort_by(|a, b| (&a.path, a.standing).cmp(&(&b.path, b.standing)));
        self.complete
            .dedup_by(|later, first| later.path == first.path);
        self.broken.sort();
        self.broken.dedup();
        let stepped = self.complete.iter().all(|known| known.step.is_some());
        self.complete.sort_by_key(|known| {
            let step = known.step.filter(|_| stepped);
            std::cmp::Reverse((step, known.written))
        });
        self
    }

    /// Those that are this job's. What merely lies below the folder that it runs in may be another's, of the same user
    /// and as young: it counts where nothing better is known, where all of it lies in one folder, and where none is
    /// beyond the step that this job has come to.
    pub(super) fn of_this_job(mut self, furthest: Option<u64>) -> Checkpoints {
        if self
            .complete
            .iter()
            .any(|known| known.standing < Standing::Near)
        {
            self.complete
                .retain(|known| known.standing < Standing::Near);
            return self;
        }
        let folders = self.complete.iter().map(|known| known.folder().to_owned());
        let mut folders: Vec<PathBuf> = folders.collect();
        folders.sort();
        folders.dedup();
        let beyond = |known: &Checkpoint| known.step.zip(furthest).is_some_and(|(at, to)| at > to);
        if folders.len() > 1 || self.complete.iter().any(beyond) {
            self.complete.clear();
            self.doubtful = folders;
        }
        self
    }
}

/// One look, level by level.
struct Walk {
    since: SystemTime,
    folders: usize,
    entries: usize,
    ahead: VecDeque<(PathBuf, usize, Standing)>,
    found: Checkpoints,
}

impl Walk {
    fn folder(&mut self, folder: &Path, depth: usize, standing: Standing) {
        if self.folders == 0 {
            return;
        }
        self.folders -= 1;
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            if self.entries == 0 {
                return;
            }
            self.entries -= 1;
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let examined = if kind.is_dir() && trainer::is_one(&name) {
                examined(&path, trainer::examine)
            } else if kind.is_dir() && dcp::is_one(&path) {
                examined(&path, dcp::examine)
            } else if kind.is_dir() {
                if depth > 0 && !places::is_skipped(&name) {
                    self.ahead.push_back((path, depth - 1, standing));
                }
                continue;
            } else if zip::is_one(&path, standing) && (!kind.is_symlink() || stays(&path, folder)) {
                examined(&path, zip::examine)
            } else {
                continue;
            };
            self.note(path, standing, examined);
        }
    }

    fn note(&mut self, path: PathBuf, standing: Standing, examined: Result<Checkpoint, String>) {
        let user = rustix::process::geteuid().as_raw();
        match examined {
            Ok(checkpoint) if checkpoint.written >= self.since => {
                match trust::distrusted(&path, user, standing == Standing::Named) {
                    Some(why) => self.found.broken.push((path, why)),
                    None => self.found.complete.push(Checkpoint {
                        standing,
                        ..checkpoint
                    }),
                }
            }
            Ok(_) => {}
            Err(why) if modified(&path).is_some_and(|written| written >= self.since) => {
                self.found.broken.push((path, why))
            }
            Err(_) => {}
        }
    }
}

/// A link that does not lead out of its folder: Lightning's `last.ckpt` may be one.
fn stays(link: &Path, folder: &Path) -> bool {
    let within = |to: PathBuf| fs::canonicalize(folder).is_ok_and(|folder| to.starts_with(folder));
    fs::canonicalize(link).is_ok_and(within)
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
