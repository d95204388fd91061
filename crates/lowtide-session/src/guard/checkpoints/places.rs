//! Where a job saves, and how that is known.

use std::path::{Path, PathBuf};

/// What makes a folder one in which this job saves, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// `--checkpoints`: nothing else counts, every kind of file in it does, and its rights are the user's business.
    Named,
    /// The loop says so itself (`lowtide.guard(saves=...)`): every kind of file in it counts.
    Told,
    /// A framework's callback says so. Lightning's may be the folder that the job runs in, so nothing is said of the
    /// folders below.
    Framework,
    /// Its command names it (`--output_dir`).
    Output,
    /// It was seen to write a checkpoint into it; nothing is said of the folders below.
    Written,
    /// It lies below the folder that the job runs in, or beside a log that it writes.
    Near,
}

/// Where checkpoints are looked for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    folders: Vec<(PathBuf, Standing)>,
}

/// A job that writes to more folders than this has not its checkpoints in all of them; the first stay.
const MOST: usize = 64;
/// Folders that hold programs or caches, and many of them.
const SKIPPED: [&str; 4] = ["__pycache__", "node_modules", "site-packages", "wandb"];

impl Standing {
    /// How deep below such a folder: Lightning writes to `lightning_logs/version_0/checkpoints`, and people have
    /// folders for the project, the model and the date above theirs.
    pub(super) fn depth(self) -> usize {
        match self {
            Standing::Framework | Standing::Written => 0,
            Standing::Named | Standing::Told | Standing::Output | Standing::Near => 6,
        }
    }
}

pub(super) fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || SKIPPED.contains(&name)
}

impl Places {
    pub fn named(folder: PathBuf) -> Places {
        Places {
            folders: vec![(folder, Standing::Named)],
        }
    }

    /// The folder it runs in, and those that its command names.
    pub fn guessed(cwd: PathBuf, outputs: Vec<PathBuf>) -> Places {
        let mut places = Places::default();
        for folder in outputs {
            places.add(folder, Standing::Output);
        }
        places.add(cwd, Standing::Near);
        places
    }

    /// One more, unless the user has named theirs. A folder is known by the surest of its reasons.
    pub fn add(&mut self, folder: PathBuf, standing: Standing) {
        if self.is_named() {
            return;
        }
        let known = self.folders.iter_mut().find(|(known, _)| *known == folder);
        if let Some((_, known)) = known {
            *known = standing.min(*known);
        } else if self.folders.len() < MOST {
            self.folders.push((folder, standing));
        }
    }

    pub fn is_named(&self) -> bool {
        self.folders
            .iter()
            .any(|(_, known)| *known == Standing::Named)
    }

    /// It is known where this job will save, before it has.
    pub(in crate::guard) fn are_known(&self) -> bool {
        let known = |(_, how): &(PathBuf, Standing)| *how <= Standing::Output;
        self.folders.iter().any(known)
    }

    /// The surest first.
    pub(in crate::guard) fn all(&self) -> impl Iterator<Item = (&Path, Standing)> {
        let mut folders: Vec<_> = self.folders.iter().collect();
        folders.sort_by_key(|(_, standing)| *standing);
        folders
            .into_iter()
            .map(|(folder, standing)| (folder.as_path(), *standing))
    }

    /// For people: where it was looked.
    pub(in crate::guard) fn shown(&self) -> String {
        const SHOWN: usize = 3;
        let mut names: Vec<String> = self
            .all()
            .map(|(path, _)| path.display().to_string())
            .collect();
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        names.join(", ") + &more
    }
}
