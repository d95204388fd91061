//! Where recordings are kept and how they are named and found again.
//!
//! `$LOWTIDE_HOME`, else `$XDG_STATE_HOME/lowtide`, else `~/.local/state/lowtide`; in it
//! `runs/<name>/recording.lowtide`. A run that was put elsewhere (`-o DIR`) leaves a link in `runs`.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use crate::FILE_NAME;
use crate::reader::RecordingError;

/// `20261115-220900`.
const TIME_LEN: usize = 15;
/// Words of a command in a name are cut at this length: names are typed.
const WORD_LEN: usize = 20;

/// The folder of a store that has its recordings, each in one of its own.
pub(crate) const RUNS: &str = "runs";

#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// A folder for a run that is about to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    pub name: String,
    pub dir: PathBuf,
}

/// A run that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    pub name: String,
    /// The folder, or the link to it.
    pub dir: PathBuf,
    /// Its recording lies elsewhere.
    pub linked: bool,
}

impl StoredRun {
    pub fn recording(&self) -> PathBuf {
        self.dir.join(FILE_NAME)
    }

    /// Grows with the time of the run: the time in its name and, of two that began in the same
    /// second, which was written last. A folder that somebody named otherwise comes first.
    fn age_key(&self) -> (Option<&str>, Option<SystemTime>) {
        let time = self.name.get(..TIME_LEN);
        let time = time.filter(|t| t.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
        let written = fs::metadata(self.recording()).and_then(|meta| meta.modified());
        (time, written.ok())
    }
}

impl Store {
    pub fn at(root: impl Into<PathBuf>) -> Store {
        Store { root: root.into() }
    }

    pub fn from_env() -> Result<Store, RecordingError> {
        let set = |name| {
            env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        let root = set("LOWTIDE_HOME")
            .or_else(|| Some(set("XDG_STATE_HOME")?.join("lowtide")))
            .or_else(|| Some(set("HOME")?.join(".local/state/lowtide")))
            .ok_or(RecordingError::NoHome)?;
        Ok(Store { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn runs_dir(&self) -> PathBuf {
        self.root.join(RUNS)
    }

    /// Makes the folder of all runs, for its owner alone, where there is none.
    pub fn make(&self) -> Result<(), RecordingError> {
        make_private(&self.runs_dir())
    }

    /// Makes a folder for a new run: in the store, or exactly `out`.
    pub fn create(
        &self,
        started: Timestamp,
        command: &[String],
        pid: u32,
        out: Option<&Path>,
    ) -> Result<NewRun, RecordingError> {
        let base = run_name(started, command, pid);
        match out {
            None => self.create_here(&base),
            Some(out) => self.create_there(&base, out),
        }
    }

    fn create_here(&self, base: &str) -> Result<NewRun, RecordingError> {
        let runs = self.runs_dir();
        self.make()?;
        for name in candidates(base) {
            let dir = runs.join(&name);
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => return Ok(NewRun { name, dir }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(RecordingError::Open { path: dir, source }),
            }
        }
        unreachable!("there is always a next name")
    }

    fn create_there(&self, base: &str, out: &Path) -> Result<NewRun, RecordingError> {
        make_private(out)?;
        let dir = fs::canonicalize(out).map_err(|source| RecordingError::Open {
            path: out.to_owned(),
            source,
        })?;
        let path = dir.join(FILE_NAME);
        if path.exists() {
            return Err(RecordingError::Taken { path });
        }
        // `last` and `runs` find it by a link. Without it the recording is as good.
        let runs = self.runs_dir();
        let linked = make_private(&runs).is_ok().then(|| {
            candidates(base).find_map(|name| match symlink(&dir, runs.join(&name)) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => None,
                _ => Some(name),
            })
        });
        let name = linked.flatten().unwrap_or_else(|| base.to_owned());
        Ok(NewRun { name, dir })
    }

    /// All runs, oldest first: names begin with their time.
    pub fn runs(&self) -> Result<Vec<StoredRun>, RecordingError> {
        let runs = self.runs_dir();
        let error = |source| RecordingError::Read {
            path: runs.clone(),
            source,
        };
        let listing = match fs::read_dir(&runs) {
            Ok(listing) => listing,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(error(e)),
        };
        let mut found = Vec::new();
        for entry in listing {
            let entry = entry.map_err(error)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let linked = entry.file_type().is_ok_and(|t| t.is_symlink());
            let dir = entry.path();
            if linked || dir.is_dir() {
                found.push(StoredRun { name, dir, linked });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// The recording that a SOURCE names: a folder, a file, a run's name, the beginning of exactly
    /// one name, or `last`.
    pub fn resolve(&self, source: &str) -> Result<PathBuf, RecordingError> {
        let path = Path::new(source);
        if path.join(FILE_NAME).is_file() {
            return Ok(path.join(FILE_NAME));
        }
        if path.is_file() {
            return Ok(path.to_owned());
        }
        let mut runs = self.runs()?;
        runs.retain(|run| run.recording().is_file());
        if source == "last" {
            let last = runs.iter().max_by_key(|run| run.age_key());
            return last
                .map(StoredRun::recording)
                .ok_or_else(|| RecordingError::NoRuns {
                    store: self.runs_dir(),
                });
        }
        if let Some(run) = runs.iter().find(|run| run.name == source) {
            return Ok(run.recording());
        }
        runs.retain(|run| !source.is_empty() && run.name.starts_with(source));
        match runs.as_slice() {
            [] => Err(RecordingError::NoSuchRun {
                name: source.to_owned(),
                store: self.runs_dir(),
            }),
            [run] => Ok(run.recording()),
            several => Err(RecordingError::Ambiguous {
                prefix: source.to_owned(),
                names: several.iter().map(|run| run.name.clone()).collect(),
            }),
        }
    }
}

/// What runs on this machine hold is the user's business alone.
fn make_private(dir: &Path) -> Result<(), RecordingError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| RecordingError::Open {
            path: dir.to_owned(),
            source,
        })
}

fn candidates(base: &str) -> impl Iterator<Item = String> {
    std::iter::once(base.to_owned()).chain((2u32..).map(move |n| format!("{base}-{n}")))
}

/// `20261115-220900-train-4711`: sorts by time, says what ran, and no two processes share it.
fn run_name(started: Timestamp, command: &[String], pid: u32) -> String {
    format!(
        "{}-{}-{pid}",
        started.strftime("%Y%m%d-%H%M%S"),
        word(command)
    )
}

/// The word of a command that says most: its script, its module, else its program.
fn word(command: &[String]) -> String {
    let stem = |arg: &str| {
        let file = Path::new(arg).file_name().unwrap_or_default();
        file.to_string_lossy().into_owned()
    };
    let script = command.iter().map(|arg| stem(arg)).find_map(|name| {
        let stem = name.strip_suffix(".py").or(name.strip_suffix(".sh"))?;
        Some(stem.to_owned())
    });
    let module = || {
        let at = command.iter().position(|arg| arg == "-m")?;
        Some(command.get(at + 1)?.rsplit('.').next()?.to_owned())
    };
    let program = || Some(stem(command.first()?));
    let word: String = script
        .or_else(module)
        .or_else(program)
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(WORD_LEN)
        .collect();
    let word = word.trim_matches('-');
    if word.is_empty() { "job" } else { word }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        command.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn names_say_when_what_and_who() {
        let started = "2026-11-15T22:09:00Z".parse().unwrap();
        let name = run_name(started, &words("uv run python src/Train_VLM.py --lr 3"), 47);
        assert_eq!(name, "20261115-220900-train_vlm-47");
        for (command, expected) in [
            ("python -m torch.distributed.run", "run"),
            ("/usr/bin/sleep 3", "sleep"),
            ("../..", "job"),
            ("", "job"),
            ("ä/ö", "job"),
        ] {
            assert_eq!(word(&words(command)), expected, "{command}");
        }
    }

    fn put_file(run: &NewRun) {
        fs::write(run.dir.join(FILE_NAME), "").unwrap();
    }

    #[test]
    fn a_source_is_a_path_a_name_the_beginning_of_one_or_last() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path().join("state"));
        assert!(matches!(
            store.resolve("last"),
            Err(RecordingError::NoRuns { .. })
        ));
        let make = |time: &str, out| {
            let run = store
                .create(time.parse().unwrap(), &words("python a.py"), 9, out)
                .unwrap();
            put_file(&run);
            run
        };
        let first = make("2026-01-01T00:00:00Z", None);
        let again = make("2026-01-01T00:00:00Z", None);
        assert_ne!(first.dir, again.dir);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&first.dir), 0o700);
        assert_eq!(mode(&store.runs_dir()), 0o700);
        let other_place = home.path().join("mine");
        let elsewhere = make("2026-02-01T00:00:00Z", Some(&other_place));

        let recording = |run: &NewRun| run.dir.join(FILE_NAME);
        let resolve = |source: &str| store.resolve(source).unwrap();
        assert_eq!(resolve(&first.name), recording(&first));
        assert_eq!(
            fs::canonicalize(resolve("last")).unwrap(),
            recording(&elsewhere)
        );
        assert_eq!(
            fs::canonicalize(resolve("202602")).unwrap(),
            recording(&elsewhere)
        );
        assert_eq!(
            resolve(other_place.to_str().unwrap()),
            other_place.join(FILE_NAME)
        );
        let file = recording(&first);
        assert_eq!(resolve(file.to_str().unwrap()), file);
        assert!(matches!(
            store.resolve("202601"),
            Err(RecordingError::Ambiguous { .. })
        ));
        assert!(matches!(
            store.resolve("nobody"),
            Err(RecordingError::NoSuchRun { .. })
        ));
        // Began in the same second as another, and somebody's copy under a name of its own.
        for name in ["20260201-000000-z-earlier", "baseline"] {
            let dir = store.runs_dir().join(name);
            fs::create_dir(&dir).unwrap();
            let file = fs::File::create(dir.join(FILE_NAME)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        assert_eq!(
            fs::canonicalize(resolve("last")).unwrap(),
            recording(&elsewhere)
        );
        let twice = store.create(
            "2026-03-01T00:00:00Z".parse().unwrap(),
            &[],
            9,
            Some(&other_place),
        );
        assert!(matches!(twice, Err(RecordingError::Taken { .. })));
    }
}
