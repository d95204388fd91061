//! Signals that were ignored or blocked when lowtide was started (`nohup`, the background of a script): the job finds
//! them so, and our own work does not depend on them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lowtide_sys::sigwait::{SignalSet, send};
use lowtide_sys::spawn::{Dispositions, Start};

use crate::common::{LOWTIDE, Reader, Started, Starts, run, until};

const HUP: i32 = 1;
const INT: i32 = 2;
const QUIT: i32 = 3;
const USR1: i32 = 10;
const USR2: i32 = 12;
const PIPE: i32 = 13;
const TERM: i32 = 15;
const CHLD: i32 = 17;

fn ignoring(signals: &[i32]) -> Start {
    Start {
        dispositions: Dispositions::Ignoring(signals.iter().copied().collect()),
        ..Start::default()
    }
}

/// The lines of /proc/self/status that tell blocked, ignored and caught signals.
fn settings(through: &[&str], start: Start) -> Vec<String> {
    // `env`, because a command needs a first word.
    let mut command = Command::new("env");
    command.args(through);
    command.args(["grep", "^Sig[BIC]", "/proc/self/status"]);
    let out = command.stdout(Stdio::piped()).start_with(start).finish();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_job_finds_its_signals_as_without_us() {
    for ignored in [
        &[] as &[i32],
        &[HUP],
        &[PIPE],
        &[CHLD],
        &[INT, QUIT, PIPE, CHLD],
    ] {
        let start = || Start {
            mask: SignalSet::from_iter([USR1, USR2]),
            ..ignoring(ignored)
        };
        let without = settings(&[], start());
        assert_eq!(without.len(), 3);
        assert_eq!(
            settings(&[LOWTIDE, "run", "-q", "--"], start()),
            without,
            "ignoring {ignored:?}"
        );
    }
}

#[test]
fn the_end_of_a_job_is_seen_though_nobody_cares_for_children() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), "exit 7").start_with(ignoring(&[CHLD]));
    assert_eq!(lowtide.wait().unwrap().code(), Some(7));
}

#[test]
fn nohup_stays_nohup() {
    let home = tempfile::tempdir().unwrap();
    let script =
        "trap 'echo got USR1' USR1; echo ready; until [ -e go ]; do sleep 0.02; done; echo end";
    let mut lowtide = run(home.path(), script)
        .stdout(Stdio::piped())
        .start_with(ignoring(&[HUP]));
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    send(lowtide.id(), HUP).unwrap();
    // Signals keep their order, so when this one has come the other one has passed.
    send(lowtide.id(), USR1).unwrap();
    reader.until("got USR1");
    fs::write(home.path().join("go"), "").unwrap();
    reader.until("end");
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
}

/// `lowtide attach` to a job of somebody else.
fn attached(home: &Path, job: &Started, start: Start) -> Started {
    let mut lowtide = Command::new(LOWTIDE);
    lowtide.args(["attach", "-q", "-i", "20ms", "-o", "recording"]);
    lowtide.arg(job.id().to_string());
    lowtide.env("LOWTIDE_HOME", home).current_dir(home);
    lowtide.stdin(Stdio::null()).stdout(Stdio::null());
    lowtide.start_with(start)
}

/// Waits for the next ticks to be recorded: two, because one may be on its way.
fn goes_on(home: &Path) {
    let size = || -> u64 {
        let files = fs::read_dir(home.join("recording")).into_iter().flatten();
        let sizes = files.flatten().filter_map(|file| file.metadata().ok());
        sizes.map(|data| data.len()).sum()
    };
    for _ in 0..2 {
        let before = size();
        until("further ticks", || (size() > before).then_some(()));
    }
}

#[test]
fn a_hangup_ends_no_watcher_that_was_started_with_nohup() {
    let home = tempfile::tempdir().unwrap();
    let job = Command::new("sleep").arg("1000").start();
    let mut lowtide = attached(home.path(), &job, ignoring(&[HUP]));
    goes_on(home.path());
    send(lowtide.id(), HUP).unwrap();
    goes_on(home.path());
    send(lowtide.id(), TERM).unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(0));
}

/// The suite as `nohup`, a background job of a script or a careless service manager would start it.
#[test]
fn tests_of_signals_pass_whatever_was_ignored_when_they_were_started() {
    for module in ["signals::", "inherited::the_", "terminal::"] {
        let mut tests = Command::new(std::env::current_exe().unwrap());
        tests.args([module, "--test-threads=4"]);
        tests.stdout(Stdio::piped()).stderr(Stdio::piped());
        let ignored = ignoring(&[HUP, INT, QUIT, PIPE, TERM, CHLD]);
        let out = tests.start_with(ignored).finish();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(
            out.status.success() && !text.contains(" 0 passed"),
            "{text}{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
}
