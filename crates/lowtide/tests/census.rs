//! `lowtide census` on real processes: what it prints, keeps and compares, and what it says of those that cannot be
//! read.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Output, Stdio};

use lowtide_testing::{Started, Starts, until};
use serde_json::Value;

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");
/// Holds what a Trainer holds, and does what each line of input says: a step.
const STANDIN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../lowtide-census/tests/standin.py"
);
const NOBODY: u32 = 65534;

/// A job that does what it is told.
struct Job {
    child: Started,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Job {
    fn start(first: &str) -> Job {
        let mut command = Command::new("python3");
        command.args([STANDIN, first]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).start();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut job = Job {
            child,
            input,
            output,
        };
        job.until_ready();
        job
    }

    fn until_ready(&mut self) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }

    fn step(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.until_ready();
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

fn lowtide(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(LOWTIDE);
    command.args(arguments).current_dir(folder);
    command.env("LOWTIDE_HOME", folder).finish()
}

#[track_caller]
fn fine(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The two lines on stderr of one that was refused, with code 4.
#[track_caller]
fn refused(output: Output) -> (String, String) {
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(output.stdout.is_empty());
    let lines: Vec<&str> = said.lines().collect();
    let [why, hint] = lines.as_slice() else {
        panic!("two lines: {said}");
    };
    let hint = hint.strip_prefix("hint: ").expect("a hint");
    (why.to_string(), hint.to_owned())
}

const ROWS: &str = "class Row: pass\nkept = [Row() for _ in range(300)]";

fn rows(census: &Value) -> Option<u64> {
    let by = census["breakdowns"].as_array().unwrap().iter();
    let types = by.into_iter().find(|one| one["by"] == "python-type");
    let parts = types.unwrap()["parts"].as_array().unwrap();
    let row = parts.iter().find(|part| part["name"] == "__main__.Row");
    row.and_then(|row| row["count"].as_u64())
}

#[test]
fn what_is_in_a_heap_is_shown_kept_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut job = Job::start(ROWS);
    let pid = job.pid();
    let text = fine(lowtide(here, &["census", &pid, "-o", "a.json"]));
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with(&format!("process {pid}: ")) && first.ends_with(", at step 0"),
        "{text}"
    );
    for words in [
        "python3 ",
        "CPython 3.",
        "Python objects by type",
        "ran on meanwhile",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("not accounted for"), "{text}");
    let all = fine(lowtide(here, &["census", &pid, "--top", "100000"]));
    let row = all.lines().find(|line| line.contains(" __main__.Row "));
    assert_eq!(
        row.and_then(|row| row.split_whitespace().nth(1)),
        Some("300"),
        "{all}"
    );
    assert!(!all.contains(" more "), "{all}");

    for _ in 0..40 {
        job.step("kept += [Row(), Row()]");
    }
    let json = fine(lowtide(here, &["census", &pid, "--json", "-o", "b.json"]));
    let later: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&later["lowtide"], &later["schema"]),
        (&"census".into(), &1.into())
    );
    assert_eq!(
        (&later["id"]["pid"], &later["heap"]["step"]),
        (&job.child.id().into(), &40.into())
    );
    assert_eq!(rows(&later), Some(380));
    let kept: Value = serde_json::from_slice(&fs::read(here.join("b.json")).unwrap()).unwrap();
    assert_eq!(kept, later, "what is printed is what is kept");

    let diff = fine(lowtide(here, &["census", "diff", "a.json", "b.json"]));
    let first = diff.lines().next().unwrap();
    assert!(
        first.starts_with("+80 x __main__.Row") && first.contains(", 2.00 a step"),
        "{diff}"
    );
    assert!(
        diff.contains(&format!("compared: process {pid}, step 0 to 40, ")),
        "{diff}"
    );
    let json = fine(lowtide(
        here,
        &["census", "diff", "a.json", "b.json", "--json"],
    ));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["steps"], &json["same_process"]),
        (&40.into(), &true.into())
    );
    assert_eq!(
        (&json["grew"][0]["name"], &json["grew"][0]["rate"]["count"]),
        (&"__main__.Row".into(), &2.0.into())
    );

    // The later one may be taken now.
    job.step("kept.clear()");
    let now = fine(lowtide(here, &["census", "diff", "b.json", &pid]));
    assert!(now.contains("\n  -380 x __main__.Row"), "{now}");
    // Another process is told as one.
    let other = Job::start(ROWS);
    let apart = fine(lowtide(here, &["census", "diff", "b.json", &other.pid()]));
    assert!(apart.starts_with("these are two processes, "), "{apart}");
    let left: Vec<_> = fs::read_dir(here)
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// What a program calls its classes is not obeyed by a terminal.
#[test]
fn names_of_the_program_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let job =
        Job::start("Evil = type('\\u202etxt\\x9b2J', (), {})\nkept = [Evil() for _ in range(99)]");
    let text = fine(lowtide(
        folder.path(),
        &["census", &job.pid(), "--top", "9999"],
    ));
    assert!(text.contains(r"__main__.\u{202e}txt\u{9b}2J"), "{text}");
    assert!(!text.contains(['\u{202e}', '\u{9b}']), "{text}");
}

#[test]
fn what_cannot_be_read_is_refused_in_a_line_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let census = |pid: &str| refused(lowtide(folder.path(), &["census", pid, "-o", "none.json"]));
    let sleeps = Command::new("sleep").arg("600").start();
    // Between fork and exec it is still a copy of this test.
    until("sleep to begin", || {
        let name = fs::read_to_string(format!("/proc/{}/comm", sleeps.id())).ok()?;
        (name == "sleep\n").then_some(())
    });
    let (why, hint) = census(&sleeps.id().to_string());
    assert!(
        why.contains("no CPython program") && hint.contains("lowtide ps"),
        "{why} {hint}"
    );

    // A thread of the kernel, where they are seen.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        let (why, _) = census("2");
        assert!(!why.contains("has ended"), "{why}");
    }

    let mut job = Job::start("");
    let pid = job.pid();
    job.child.kill().unwrap();
    // Killed and not waited for: its entry in /proc is there, its memory is not.
    until("its end", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.contains(") Z").then_some(())
    });
    let (why, _) = census(&pid);
    assert_eq!(why, format!("lowtide: process {pid} has ended"));
    drop(job);
    let (why, _) = census(&pid);
    assert_eq!(why, format!("lowtide: there is no process {pid}"));
    assert!(!folder.path().join("none.json").exists());
    let usage = lowtide(folder.path(), &["census", "train.py"]);
    assert_eq!(usage.status.code(), Some(2));
    assert_eq!(lowtide(folder.path(), &["census"]).status.code(), Some(2));
    assert_eq!(
        lowtide(folder.path(), &["census", "diff", "a"])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn files_that_are_no_census_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let job = Job::start("");
    fine(lowtide(here, &["census", &job.pid(), "-o", "good.json"]));
    let good = fs::read_to_string(here.join("good.json")).unwrap();
    fs::write(here.join("log.txt"), "Step 1: RAM: 5 MB\n").unwrap();
    fs::write(here.join("cut.json"), &good[..good.len() / 2]).unwrap();
    fs::write(
        here.join("verdict.json"),
        r#"{"schema":1,"verdict":"leak"}"#,
    )
    .unwrap();
    let newer = good.replacen("\"schema\":1", "\"schema\":2", 1);
    fs::write(here.join("newer.json"), newer).unwrap();
    for (file, why) in [
        ("log.txt", "it is not JSON"),
        ("cut.json", "it ends in the midst"),
        ("verdict.json", "something else"),
        ("newer.json", "it is of schema 2"),
        ("missing.json", "cannot read missing.json"),
        (".", "it is no file"),
    ] {
        for pair in [["good.json", file], [file, "good.json"]] {
            let (said, hint) = refused(lowtide(here, &["census", "diff", pair[0], pair[1]]));
            assert!(said.contains(why), "{file}: {said}");
            assert!(hint.contains("lowtide census PID -o FILE"), "{hint}");
        }
    }
    // Where no file can be, nothing is replaced.
    for place in ["/dev/null", "none/a.json", "."] {
        let output = lowtide(here, &["census", &job.pid(), "-o", place]);
        assert_eq!(output.status.code(), Some(4), "{place}");
        assert!(output.stdout.is_empty(), "{place}");
    }
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_process_of_another_user_is_told_as_one() {
    let folder = tempfile::tempdir().unwrap();
    if !rustix::process::geteuid().is_root() {
        // A process that keeps its memory to itself is like one of another user.
        let job = Job::start("import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)");
        let (why, hint) = refused(lowtide(folder.path(), &["census", &job.pid()]));
        assert!(why.contains("cannot be read"), "{why}");
        assert!(hint.contains("SYS_PTRACE"), "{hint}");
        return;
    }
    let job = Job::start("");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.path().join("lowtide");
    lowtide_testing::copy_program(LOWTIDE, &copy);
    let mut command = Command::new(&copy);
    command.args(["census", &job.pid()]).current_dir("/");
    let (why, hint) = refused(command.uid(NOBODY).gid(NOBODY).finish());
    assert!(
        why.contains(&format!("process {} of user 0 cannot be read", job.pid())),
        "{why}"
    );
    assert!(hint.contains("SYS_PTRACE"), "{hint}");
}
