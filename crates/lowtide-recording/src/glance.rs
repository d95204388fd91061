//! What a list shows of a run, beside its recording: the watcher keeps it up to date, so that a list
//! of a thousand runs reads a thousand small files. Whoever finds none, or one that the recording has
//! outgrown, judges the recording and may keep the answer.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lowtide_core::run::Glance;
use serde::{Deserialize, Serialize};

use crate::summary::{RunState, Summary};

/// Its name in the run's folder.
const FILE_NAME: &str = "recording.glance.json";
/// More is not ours: a glance has some hundred bytes.
const MOST: u64 = 16 << 10;
/// A running job's is written every so often by its watcher; this much older, nobody writes it.
const FRESH_SECONDS: f64 = 120.0;

/// Of another version, the rules may be others: it is judged anew.
#[derive(Deserialize, Serialize)]
struct Kept<G> {
    lowtide: String,
    glance: G,
}

fn place(recording: &Path) -> PathBuf {
    recording.with_file_name(FILE_NAME)
}

/// The answer that was kept, if it is of this recording as it is now.
pub fn kept(recording: &Path, summary: &Summary) -> Option<Glance> {
    let file = lowtide_sys::regular::open(&place(recording)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    let glance = parse(&bytes)?;
    let behind = summary.last.seconds() - glance.at.seconds();
    let of_now = match summary.state {
        RunState::Running => behind <= FRESH_SECONDS,
        RunState::Ended(_) | RunState::CutOff => glance.at == summary.last,
    };
    of_now.then_some(glance)
}

fn parse(bytes: &[u8]) -> Option<Glance> {
    let kept: Kept<Glance> = serde_json::from_slice(bytes).ok()?;
    (kept.lowtide == env!("CARGO_PKG_VERSION")).then_some(kept.glance)
}

/// `runs/NAME/recording.lowtide`, as the store has it.
fn is_in_a_store(recording: &Path) -> bool {
    let named = recording.file_name() == Some(crate::FILE_NAME.as_ref());
    let kept_in = recording.parent().and_then(Path::parent);
    named && kept_in.and_then(Path::file_name) == Some(crate::store::RUNS.as_ref())
}

/// Puts it beside the recording; a reader sees the old one or the new one, never half of it.
pub fn keep(recording: &Path, glance: &Glance) -> std::io::Result<()> {
    // Lists show the store's runs. Any other folder is its owner's: `-o DIR` has the recording in it and nothing else,
    // and a file of another name may share its folder with others.
    if !is_in_a_store(recording) {
        return Ok(());
    }
    let kept = Kept {
        lowtide: env!("CARGO_PKG_VERSION").to_owned(),
        glance,
    };
    let text = serde_json::to_string(&kept)?;
    let place = place(recording);
    // Two that judge the same run must not write into one another's.
    let half = place.with_extension(format!("json.{}", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&half)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&half, &place));
    if written.is_err() {
        let _ = fs::remove_file(&half);
    }
    written
}

/// What `scripts/fuzz` tries: any bytes are a glance or none, and one that is read can be kept and read again.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    if let Some(glance) = parse(bytes) {
        let again = serde_json::to_vec(&Kept {
            lowtide: env!("CARGO_PKG_VERSION").to_owned(),
            glance: &glance,
        });
        let again = again.ok().as_deref().and_then(parse);
        assert_eq!(again.map(|again| again.says), Some(glance.says));
    }
}

#[cfg(test)]
mod tests {
    use lowtide_core::entry::Header;
    use lowtide_core::run::Run;
    use lowtide_core::units::{Bytes, Micros};

    use super::*;

    fn summary(state: RunState, last: u64) -> Summary {
        Summary {
            header: Header::default(),
            state,
            last: Micros(last),
            peak: Bytes::ZERO,
            samples: 1,
            size: Bytes(1),
        }
    }

    /// Where a store has its recordings.
    fn run_in(dir: &Path) -> std::path::PathBuf {
        let run = dir.join(crate::store::RUNS).join("mine");
        fs::create_dir_all(&run).unwrap();
        run
    }

    fn glance(at: u64) -> Glance {
        let mut glance = Run::new().glance();
        glance.at = Micros(at);
        glance
    }

    #[test]
    fn it_is_read_again_while_it_is_of_now() {
        let dir = tempfile::tempdir().unwrap();
        let run = run_in(dir.path());
        let recording = run.join(crate::FILE_NAME);
        let ended = RunState::Ended(None);
        assert_eq!(kept(&recording, &summary(ended, 7)), None);
        keep(&recording, &glance(7)).unwrap();
        assert_eq!(kept(&recording, &summary(ended, 7)), Some(glance(7)));
        // The recording went on after the watcher wrote last.
        assert_eq!(kept(&recording, &summary(ended, 8)), None);
        assert_eq!(kept(&recording, &summary(RunState::CutOff, 8)), None);
        let running = |last| kept(&recording, &summary(RunState::Running, last));
        assert!(running(60_000_000).is_some());
        assert!(running(600_000_000).is_none());
        assert_eq!(fs::read_dir(&run).unwrap().count(), 1, "no half file");
    }

    #[test]
    fn nothing_is_put_into_folders_that_are_no_stores() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["mine.lowtide", crate::FILE_NAME] {
            keep(&dir.path().join(name), &glance(7)).unwrap();
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
        let run = run_in(dir.path());
        keep(&run.join("mine.lowtide"), &glance(7)).unwrap();
        assert_eq!(fs::read_dir(run).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_ours_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let run = run_in(dir.path());
        let recording = run.join(crate::FILE_NAME);
        let ended = summary(RunState::Ended(None), 7);
        keep(&recording, &glance(7)).unwrap();
        let text = fs::read_to_string(place(&recording)).unwrap();
        for other in [
            String::new(),
            "{}".to_owned(),
            text.replace(env!("CARGO_PKG_VERSION"), "0.0.1-other"),
            format!("{}{text}", " ".repeat(MOST as usize)),
        ] {
            fs::write(place(&recording), other).unwrap();
            assert_eq!(kept(&recording, &ended), None);
        }
    }
}
