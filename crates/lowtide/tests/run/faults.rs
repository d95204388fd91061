//! Faults of lowtide's own that nobody can make from outside: it is told to fail in a piece of it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{LOWTIDE, Starts, run};
use crate::killed::ticks_recorded;

const STEPS: u64 = 60;

/// A guarded job of 60 steps that is asked to stop after each 25, in a lowtide that fails in these pieces.
fn guarded(home: &Path, fails_in: &str) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runtime = tempfile::Builder::new().prefix("lt-").tempdir().unwrap();
    Command::new(LOWTIDE)
        .args(["run", "-i", "50ms", "--guard", "--checkpoints", "out"])
        .args(["--restart-every", "25steps"])
        .args(["--resume-arg", "--resume {checkpoint}", "--", "python3"])
        .arg(root.join("tests/python/jobs/steps.py"))
        .args(["--out", "out", "--trace", "trace"])
        .args(["--steps", &STEPS.to_string()])
        .env("PYTHONPATH", root.join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("XDG_RUNTIME_DIR", runtime.path())
        .env("LOWTIDE_HOME", home)
        .env("LOWTIDE_FAIL_IN", fails_in)
        .current_dir(home)
        .stdin(Stdio::null())
        .finish()
}

fn steps_done(home: &Path) -> Vec<u64> {
    let trace = fs::read_to_string(home.join("trace")).unwrap();
    let steps = trace.lines().filter_map(|line| line.strip_prefix("step "));
    steps
        .map(|line| line.split_once('/').unwrap().0.parse().unwrap())
        .collect()
}

#[test]
fn a_guard_that_fails_at_every_end_carries_the_job_through() {
    let home = tempfile::tempdir().unwrap();
    let done = guarded(home.path(), "ended");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(steps_done(home.path()).into_iter().eq(1..=STEPS), "{said}");
    assert_eq!(said.matches("starting again from").count(), 2, "{said}");
    // And at the end of a job that is done, which is not started again.
    assert_eq!(
        said.matches("made to fail in ended").count() / 2,
        3,
        "{said}"
    );
}

#[test]
fn a_guard_that_knows_nothing_says_what_it_did_not_do() {
    let home = tempfile::tempdir().unwrap();
    let done = guarded(home.path(), "ended,look");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(75), "{said}");
    assert!(
        said.contains("no checkpoint is known, so the job is not started again"),
        "{said}"
    );
    assert!(
        said.contains("hint: your checkpoints were not touched"),
        "{said}"
    );
    assert!(steps_done(home.path()).len() < STEPS as usize);
}

#[test]
fn a_keeper_that_dies_before_it_tells_costs_neither_the_job_nor_its_code() {
    let home = tempfile::tempdir().unwrap();
    let job = "i=0; while [ $i -lt 20 ]; do echo line; i=$((i+1)); sleep 0.02; done; exit 3";
    let file = |name: &str| fs::File::create(home.path().join(name)).unwrap();
    let mut command = run(home.path(), job);
    command.stdout(file("out")).stderr(file("err"));
    let code = command.env("LOWTIDE_FAIL_IN", "keeper").ends().code();
    let said = fs::read_to_string(home.path().join("err")).unwrap();
    assert_eq!(code, Some(3), "{said}");
    let out = fs::read_to_string(home.path().join("out")).unwrap();
    assert_eq!(out, "line\n".repeat(20));
    assert!(ticks_recorded(home.path()) > 0);
}

#[test]
fn a_keeper_that_dies_before_it_tells_hides_no_missing_command() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(LOWTIDE);
    command
        .args(["run", "-q", "--", "no-such-command"])
        .env("LOWTIDE_HOME", home.path())
        .env("LOWTIDE_FAIL_IN", "keeper")
        .stdin(Stdio::null());
    let done = command.finish();
    assert_eq!(done.status.code(), Some(127));
}
