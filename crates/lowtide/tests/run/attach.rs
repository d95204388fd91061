//! `attach` finds the steps of a job that was started without us: in the file that it prints to, and in the
//! state that its trainer saves.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lowtide_core::entry::Entry;
use lowtide_core::mark::MarkSource;
use lowtide_recording::{FILE_NAME, Recording};

use crate::common::{LOWTIDE, until};

/// A job that runs in a folder of its own and prints to a file what the test has it print.
struct Job {
    child: Child,
    folder: tempfile::TempDir,
}

impl Job {
    fn start() -> Job {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let child = Command::new("cat")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Job { child, folder }
    }

    fn print(&mut self, line: &str) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{line}").unwrap();
        let log = self.folder.path().join("log");
        until("the printed line", || {
            fs::read_to_string(&log).ok()?.contains(line).then_some(())
        });
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `lowtide attach` beside it. It ends with the job.
struct Watcher {
    child: Child,
    run: PathBuf,
}

impl Watcher {
    fn attach(job: &Job) -> Watcher {
        let run = job.folder.path().join("run");
        let child = Command::new(LOWTIDE)
            .args(["attach", &job.child.id().to_string()])
            .args(["-q", "-i", "20ms", "--json", "-o", run.to_str().unwrap()])
            .env("LOWTIDE_HOME", job.folder.path().join("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Watcher { child, run }
    }

    /// Waits until the recording holds this step from there.
    fn sees(&self, step: u64, from: MarkSource) {
        until(&format!("step {step}"), || {
            marks(&self.run).contains(&(step, from)).then_some(())
        });
    }

    fn verdict(self) -> serde_json::Value {
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn marks(run: &Path) -> Vec<(u64, MarkSource)> {
    let Ok(recording) = Recording::open(&run.join(FILE_NAME)) else {
        return Vec::new();
    };
    recording
        .flatten()
        .filter_map(|entry| match entry {
            Entry::Mark(mark) => Some((mark.step?, mark.source)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_job_that_logs_into_a_file_is_judged_by_its_steps() {
    let mut job = Job::start();
    for step in 1..=5 {
        job.print(&format!("step {step}/40"));
    }
    let watcher = Watcher::attach(&job);
    // Where it stands is known before it prints again, as one moment.
    watcher.sees(5, MarkSource::Output);
    assert_eq!(marks(&watcher.run), [(5, MarkSource::Output)]);
    for step in 6..=9 {
        job.print(&format!("step {step}/40"));
        watcher.sees(step, MarkSource::Output);
    }
    job.end();
    let verdict = watcher.verdict();
    assert_eq!(verdict["axis"], "step", "{verdict}");
}

#[test]
fn a_job_that_only_saves_its_state_is_judged_by_its_steps() {
    let mut job = Job::start();
    let save = |step: u64| {
        let folder = job.folder.path().join(format!("out/checkpoint-{step}"));
        fs::create_dir_all(&folder).unwrap();
        let state = format!(r#"{{"global_step": {step}, "epoch": 0.1, "max_steps": 100}}"#);
        let half = folder.join("half");
        fs::write(&half, state).unwrap();
        fs::rename(half, folder.join("trainer_state.json")).unwrap();
    };
    save(10);
    let watcher = Watcher::attach(&job);
    for step in [10, 20, 30, 40] {
        save(step);
        watcher.sees(step, MarkSource::TrainerState);
    }
    job.end();
    let verdict = watcher.verdict();
    assert_eq!(verdict["axis"], "step", "{verdict}");
}
