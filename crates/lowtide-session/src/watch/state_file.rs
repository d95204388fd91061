//! Steps from `trainer_state.json`, for jobs that neither mark nor print them: Trainer writes it
//! last into every `checkpoint-N/`, so the newest one says how far the run is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lowtide_core::mark::Mark;
use lowtide_core::output::trainer_state;
use lowtide_core::units::Micros;
use lowtide_sys::regular;

use crate::monotonic::Moment;

/// Looked for at most this often: checkpoints are rare, and a second is exact enough for any of them.
const SOONEST: Micros = Micros(1_000_000);
/// And at least this often, however slow the folders are to list: some network disks take seconds.
const LATEST: Micros = Micros(30_000_000);
/// Between the two, a listing is followed by this many times the time it took.
const REST: u64 = 1000;

/// Folders with more entries than this are not output folders; listing them would cost.
const ENTRIES: usize = 500;

/// `log_history` grows with the run; a state beyond this is not worth reading each time.
const LARGEST: u64 = 16 << 20;

pub(crate) struct StateFile {
    places: Vec<PathBuf>,
    since: Moment,
    next: Micros,
    seen: Option<(PathBuf, SystemTime)>,
}

impl StateFile {
    /// `argv` may name the output folder; the folder the job was started in counts too. None: it is not known.
    pub(crate) fn new(cwd: Option<&Path>, argv: &[String], since: Moment) -> StateFile {
        StateFile {
            places: cwd.map_or_else(Vec::new, |cwd| output_folders(cwd, argv)),
            since,
            next: Micros(0),
            seen: None,
        }
    }

    /// The newest state written since the job began, once for each.
    pub(crate) fn read(&mut self, clock: impl Fn() -> Micros) -> Option<Mark> {
        let now = clock();
        if now < self.next {
            return None;
        }
        let newest = self.newest();
        let took = clock().0.saturating_sub(now.0);
        let rest = (REST * took).clamp(SOONEST.0, LATEST.0);
        self.next = Micros(now.0 + rest);
        let newest = newest.filter(|newest| self.seen.as_ref() != Some(newest))?;
        let bytes = regular::read(&newest.0, LARGEST).ok()?;
        self.seen = Some(newest);
        trainer_state(&bytes, now).ok()
    }

    fn newest(&self) -> Option<(PathBuf, SystemTime)> {
        let places = self.places.iter().flat_map(|place| checkpoints(place));
        let since = self.since.earliest();
        let ours = places.filter(|(_, written)| *written >= since);
        ours.max_by_key(|(_, written)| *written)
    }
}

/// Where a job may write to: the folder it was started in, and those that its arguments name.
pub(crate) fn output_folders(cwd: &Path, argv: &[String]) -> Vec<PathBuf> {
    let named = named_folders(cwd, argv);
    std::iter::once(cwd.to_owned()).chain(named).collect()
}

/// Those that its arguments name.
pub fn named_folders(cwd: &Path, argv: &[String]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for (index, word) in argv.iter().enumerate() {
        let value = match word.split_once('=') {
            Some((flag, value)) if is_output_flag(flag) => Some(value.to_owned()),
            None if is_output_flag(word) => argv.get(index + 1).cloned(),
            _ => None,
        };
        places.extend(value.map(|value| cwd.join(value)));
    }
    places
}

fn is_output_flag(word: &str) -> bool {
    matches!(
        word,
        "--output_dir" | "--output-dir" | "--out" | "--output" | "-o"
    )
}

/// State files in `place/checkpoint-*` and one folder further down, where scripts put `out/`.
fn checkpoints(place: &Path) -> Vec<(PathBuf, SystemTime)> {
    let mut found = Vec::new();
    for folder in folders(place) {
        if is_checkpoint(&folder) {
            found.extend(state(&folder));
        } else {
            let inner = folders(&folder);
            found.extend(
                inner
                    .iter()
                    .filter(|inner| is_checkpoint(inner))
                    .filter_map(|inner| state(inner)),
            );
        }
    }
    found
}

fn is_checkpoint(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("checkpoint-"))
}

fn folders(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    entries
        .take(ENTRIES)
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn state(checkpoint: &Path) -> Option<(PathBuf, SystemTime)> {
    let path = checkpoint.join("trainer_state.json");
    let found = fs::metadata(&path).ok()?;
    (found.is_file() && found.len() <= LARGEST).then_some(())?;
    Some((path, found.modified().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(folder: &Path, step: u64) {
        let checkpoint = folder.join(format!("checkpoint-{step}"));
        fs::create_dir_all(&checkpoint).unwrap();
        let json = format!(r#"{{"global_step": {step}, "epoch": 0.5, "max_steps": 100}}"#);
        fs::write(checkpoint.join("trainer_state.json"), json).unwrap();
    }

    #[test]
    fn the_newest_checkpoint_says_the_step_once() {
        let root = tempfile::tempdir().unwrap();
        let argv: Vec<String> = ["python", "train.py", "--output_dir=deep/er/out"]
            .map(String::from)
            .into();
        let mut file = StateFile::new(Some(root.path()), &argv, Moment::of(SystemTime::UNIX_EPOCH));
        let out = root.path().join("deep/er/out");
        save(&out, 20);
        let at_once = |at: u64| move || Micros(at);
        let step = |mark: Option<Mark>| mark.and_then(|mark| mark.step);
        assert_eq!(step(file.read(at_once(0))), Some(20));
        save(&out, 40);
        assert_eq!(
            file.read(at_once(SOONEST.0 - 1)),
            None,
            "not before its time"
        );
        assert_eq!(step(file.read(at_once(SOONEST.0))), Some(40));
        assert_eq!(file.read(at_once(2 * SOONEST.0)), None, "nothing new");
    }

    #[test]
    fn folders_that_are_slow_to_list_are_listed_less_often() {
        let root = tempfile::tempdir().unwrap();
        let mut file = StateFile::new(Some(root.path()), &[], Moment::of(SystemTime::UNIX_EPOCH));
        for (took, rest) in [(100, SOONEST.0), (5_000, 5_000_000), (9_000_000, LATEST.0)] {
            let now = std::cell::Cell::new(file.next.0);
            let began = now.get();
            file.read(|| Micros(now.replace(now.get() + took)));
            assert_eq!(file.next.0 - began, rest);
        }
    }

    #[test]
    fn a_pipe_by_the_name_of_a_state_is_none() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let root = tempfile::tempdir().unwrap();
        save(root.path(), 20);
        let folder = root.path().join("checkpoint-40");
        fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("trainer_state.json");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let mut file = StateFile::new(Some(root.path()), &[], Moment::of(SystemTime::UNIX_EPOCH));
        assert_eq!(file.read(|| LATEST).and_then(|mark| mark.step), Some(20));
    }

    #[test]
    fn checkpoints_of_an_earlier_job_are_not_ours() {
        let root = tempfile::tempdir().unwrap();
        save(root.path(), 900);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let mut file = StateFile::new(Some(root.path()), &[], Moment::of(later));
        assert_eq!(file.read(|| LATEST), None);
    }
}
