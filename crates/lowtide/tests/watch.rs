//! `run` and `attach` watching real processes, and every way a user can ask for the impossible.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lowtide_core::entry::{Entry, EventKind};
use lowtide_recording::{FILE_NAME, Recording};
use lowtide_testing::{Started, Starts, until};

/// A folder with the command that runs in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn lowtide(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        command
            .args(arguments)
            .env("LOWTIDE_HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.lowtide(arguments).finish()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn entries(folder: &Path) -> Vec<Entry> {
    Recording::open(&folder.join(FILE_NAME))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    until(what, || condition().then_some(()));
}

/// A Python process with a word of its own in its command line: what `--find` looks for.
fn python(word: &str) -> Started {
    let code = "import time; time.sleep(600)";
    let mut command = Command::new("python3");
    let started = command.args(["-c", code, word]).start();
    // Where `python3` is a script that looks for the real one, that one is not there at once.
    let exe = format!("/proc/{}/exe", started.id());
    wait_for("the interpreter", || {
        fs::read_link(&exe).is_ok_and(|exe| exe.to_string_lossy().contains("python"))
    });
    started
}

#[test]
fn a_run_leaves_a_recording_with_steps_members_and_its_end() {
    let place = Place::new();
    let job = "for i in 1 2 3 4 5 6; do echo step $i/6; sleep 0.1; done; exit 3";
    let folder = place.path("run");
    let output = place.output(&[
        "run",
        "-i",
        "50ms",
        "-o",
        folder.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        job,
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        output.stdout.starts_with(b"step 1/6\n"),
        "the job's output is its own"
    );
    let entries = entries(&folder);
    assert!(matches!(entries[0], Entry::Header(_)));
    let steps: Vec<u64> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Mark(mark) => mark.step,
            _ => None,
        })
        .collect();
    assert_eq!(steps.last(), Some(&6), "{steps:?}");
    assert!(
        entries
            .iter()
            .any(|entry| matches!(entry, Entry::Member(_)))
    );
    assert!(
        entries
            .iter()
            .any(|entry| matches!(entry, Entry::Sample(_)))
    );
    assert!(matches!(entries.last(), Some(Entry::End { .. })));
    assert!(
        stderr(&output).contains(folder.to_str().unwrap()),
        "{}",
        stderr(&output)
    );
}

#[test]
fn steps_are_read_from_a_file_that_the_output_goes_to() {
    let place = Place::new();
    let folder = place.path("run");
    let log = fs::File::create(place.path("log")).unwrap();
    let job = "for i in 1 2 3 4 5 6; do echo step $i/6; sleep 0.1; done";
    let status = place
        .lowtide(&[
            "run",
            "-q",
            "-i",
            "50ms",
            "-o",
            folder.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            job,
        ])
        .stdout(log)
        .ends();
    assert!(status.success());
    let read = fs::read_to_string(place.path("log")).unwrap();
    assert_eq!(read.lines().count(), 6, "{read}");
    let step = |entry: &Entry| match entry {
        Entry::Mark(mark) => mark.step,
        _ => None,
    };
    let steps: Vec<u64> = entries(&folder).iter().filter_map(step).collect();
    assert_eq!(steps.last(), Some(&6), "{steps:?}");
}

#[test]
fn attach_watches_until_the_job_ends() {
    let place = Place::new();
    let mut job = Command::new("sleep").arg("600").start();
    let pid = job.id().to_string();
    let folder = place.path("run");
    let watcher = place
        .lowtide(&[
            "attach",
            &pid,
            "-i",
            "50ms",
            "--json",
            "-o",
            folder.to_str().unwrap(),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start();
    wait_for("a sample", || {
        Recording::open(&folder.join(FILE_NAME)).is_ok_and(|entries| {
            entries
                .flatten()
                .filter(|entry| matches!(entry, Entry::Sample(_)))
                .count()
                > 3
        })
    });
    job.kill().unwrap();
    job.wait().unwrap();
    let output = watcher.finish();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["process"]["pid"].to_string(), pid);
}

#[test]
fn attach_stops_after_its_duration_and_leaves_the_job_alone() {
    let place = Place::new();
    let mut job = Command::new("sleep").arg("600").start();
    let pid = job.id().to_string();
    let output = place.output(&["attach", &pid, "-i", "50ms", "--duration", "300ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(job.try_wait().unwrap().is_none(), "the job still runs");
}

#[test]
fn find_takes_the_one_job_that_matches_and_lists_several() {
    let place = Place::new();
    let word = format!("find-me-{}", std::process::id());
    let first = python(&word);
    let found = place.output(&[
        "attach",
        "--find",
        &word,
        "-i",
        "50ms",
        "--duration",
        "200ms",
        "--json",
    ]);
    assert_eq!(found.status.code(), Some(0), "{}", stderr(&found));
    let verdict: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(verdict["process"]["pid"], first.id());
    let second = python(&word);
    let several = place.output(&["attach", "--find", &word, "--duration", "200ms"]);
    assert_eq!(several.status.code(), Some(4));
    let said = stderr(&several);
    assert!(
        said.contains(&second.id().to_string()) && said.contains("hint:"),
        "{said}"
    );
}

#[test]
fn wait_takes_a_job_that_starts_later() {
    let place = Place::new();
    let word = format!("wait-for-me-{}", std::process::id());
    let mut watcher = place
        .lowtide(&[
            "attach",
            "--find",
            &word,
            "--wait",
            "-i",
            "50ms",
            "--duration",
            "300ms",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start();
    assert!(watcher.try_wait().unwrap().is_none());
    let job = python(&word);
    let output = watcher.finish();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["process"]["pid"], job.id());
}

#[test]
fn impossible_wishes_get_one_clear_line_and_a_hint() {
    let place = Place::new();
    let broken = place.path("broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("recording.lowtide"), b"not a recording at all").unwrap();
    let broken = broken.to_str().unwrap();
    let cases: &[(&[&str], i32)] = &[
        (&["attach", "4194305"], 4),
        (
            &[
                "attach",
                "--find",
                "no job has this in its command line 9183",
            ],
            4,
        ),
        (&["run", "--", "no-such-program-anywhere"], 127),
        (&["run", "--", "/etc/passwd"], 126),
        (&["run", "true"], 2),
        (&["run", "-o", "/proc/nowhere", "--", "true"], 125),
        (&["run", "--on", "no-such-event", "true", "--", "true"], 2),
        (&["judge", broken], 4),
        (&["judge", "no-such-run"], 4),
        (&["judge", "last"], 4),
        (&["export", "last"], 4),
    ];
    for (arguments, code) in cases {
        let output = place.output(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {said}");
        assert!(said.contains("hint:"), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
    let runs = place.path("home").join("runs");
    let left = fs::read_dir(runs)
        .map(|runs| runs.count())
        .unwrap_or_default();
    assert_eq!(left, 0, "a job that never started leaves no recording");
}

#[test]
fn a_home_that_cannot_be_written_does_not_stop_the_job() {
    let place = Place::new();
    fs::write(place.path("home"), "a file where the folder should be").unwrap();
    let output = place.output(&["run", "--", "echo", "done"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(output.stdout, b"done\n");
    assert!(
        stderr(&output).contains("nothing is recorded"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_limit_that_comes_near_runs_the_users_command() {
    let place = Place::new();
    let heard = place.path("heard");
    let hook = format!(
        "echo \"$LOWTIDE_EVENT $LOWTIDE_TEXT\" > {}",
        heard.display()
    );
    let folder = place.path("run");
    let output = place.output(&[
        "run",
        "-i",
        "50ms",
        "--limit",
        "100kB",
        "--on",
        "limit-near",
        &hook,
        "-o",
        folder.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &format!("until [ -s {} ]; do sleep 0.02; done", heard.display()),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        fs::read_to_string(&heard)
            .unwrap()
            .starts_with("limit-near limit near:")
    );
    let told = entries(&folder)
        .iter()
        .filter(|entry| {
            matches!(
                entry,
                Entry::Event {
                    kind: EventKind::LimitNear,
                    ..
                }
            )
        })
        .count();
    assert_eq!(told, 1, "told once, not on every tick");
}

#[test]
fn secrets_on_the_command_line_are_not_recorded() {
    let place = Place::new();
    let folder = place.path("run");
    place.output(&[
        "run",
        "-q",
        "-i",
        "50ms",
        "-o",
        folder.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "sleep 0.3",
        "x",
        "--api-key",
        "tellnobody123",
    ]);
    let bytes = fs::read(folder.join("recording.lowtide")).unwrap();
    assert!(!bytes.windows(13).any(|part| part == b"tellnobody123"));
}

#[test]
fn check_runs_a_command_and_judges_it() {
    let place = Place::new();
    let job = "for i in $(seq 1 40); do echo step $i/40; sleep 0.05; done";
    let passed = place.output(&[
        "check",
        "--max-peak",
        "1GB",
        "-i",
        "50ms",
        "--",
        "sh",
        "-c",
        job,
    ]);
    assert_eq!(passed.status.code(), Some(0), "{}", stderr(&passed));
    let failed = place.output(&[
        "check",
        "--max-peak",
        "1kB",
        "-i",
        "50ms",
        "--",
        "sh",
        "-c",
        job,
    ]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    let json = place.output(&[
        "check",
        "--json",
        "--max-peak",
        "1GB",
        "-i",
        "50ms",
        "--",
        "sh",
        "-c",
        job,
    ]);
    assert!(
        serde_json::from_slice::<serde_json::Value>(&json.stdout).is_ok(),
        "{json:?}"
    );
    let broken = place.output(&["check", "--max-peak", "1GB", "--", "sh", "-c", "exit 7"]);
    assert_eq!(broken.status.code(), Some(4));
    let said = stderr(&broken);
    assert!(said.contains("code 7") && said.contains("hint:"), "{said}");
}
