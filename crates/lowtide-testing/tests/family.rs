//! What a test starts is over with it, wherever it went and however the test ended.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use lowtide_sys::sigwait::SignalSet;
use lowtide_sys::spawn::{Dispositions, Start};
use lowtide_testing::{Started, Starts, until};

/// A child, a grandchild in a session of its own, an orphan, one that ignores all it can, and one without an
/// environment. Each tells its number; the shell itself stays.
const SCRIPT: &str = "
    tells='echo $$; exec sleep 1000'
    sh -c \"$tells\" &
    setsid sh -c 'sh -c \"$0\" & exec sleep 1000' \"$tells\" &
    sh -c 'setsid sh -c \"$0\" &' \"$tells\"
    sh -c \"trap '' HUP INT TERM; $tells\" &
    env -i PATH=\"$PATH\" sh -c \"$tells\" &
    wait
";
const TELL: usize = 5;

/// Starts it, and waits until all of it is there.
fn start() -> (Started, Vec<u32>) {
    let mut shell = Command::new("sh");
    let mut shell = shell.args(["-c", SCRIPT]).stdout(Stdio::piped()).start();
    let lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    let mut pids: Vec<u32> = lines
        .take(TELL)
        .map(|line| line.unwrap().parse().unwrap())
        .collect();
    pids.push(shell.id());
    (shell, pids)
}

fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn a_failed_assertion_leaves_no_process() {
    let mut pids = Vec::new();
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let (_shell, started) = start();
        pids = started;
        assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
        panic!("as a test that fails");
    }));
    let said = failed.unwrap_err();
    assert_eq!(said.downcast_ref(), Some(&"as a test that fails"));
    let left: Vec<_> = pids.iter().filter(|pid| runs(**pid)).collect();
    assert_eq!(pids.len(), TELL + 1);
    assert!(left.is_empty(), "{left:?} of {pids:?}");
}

#[test]
fn those_of_another_test_stay() {
    let (mine, of_mine) = start();
    let (_theirs, of_theirs) = start();
    drop(mine);
    assert!(!of_mine.iter().any(|pid| runs(*pid)), "{of_mine:?}");
    assert!(of_theirs.iter().all(|pid| runs(*pid)), "{of_theirs:?}");
}

#[test]
fn what_outlives_its_parent_is_ended_too() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "setsid sleep 1000 & echo $!"]);
    let mut shell = shell.stdout(Stdio::piped()).start();
    let mut line = String::new();
    let mut output = BufReader::new(shell.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert!(shell.wait().unwrap().success());
    let pid = line.trim().parse().unwrap();
    assert!(runs(pid));
    drop(shell);
    assert!(!runs(pid));
}

const INNER: &str = "LOWTIDE_TESTING_INNER";

/// Runs one of the ignored tests below as a process, with these signals ignored.
fn as_process(test: &str, ignored: &[i32]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env(INNER, ignored.len().to_string());
    command
}

fn ignoring(signals: &[i32]) -> Start {
    Start {
        dispositions: Dispositions::Ignoring(SignalSet::from_iter(signals.iter().copied())),
        ..Start::default()
    }
}

#[test]
fn a_program_finds_no_signal_ignored_and_is_waited_for_whatever_we_inherited() {
    // HUP, INT, QUIT, PIPE, TERM, CHLD
    let ignored = [1, 2, 3, 13, 15, 17];
    let mut inner = as_process("says_what_it_ignores", &ignored);
    let start = ignoring(&ignored);
    let out = inner.stdout(Stdio::piped()).start_with(start).finish();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
}

/// Signals 1 to 31. glibc's `posix_spawn` ignores its own two, 32 and 33, in whatever it starts.
const STANDARD: u64 = (1 << 31) - 1;

#[test]
#[ignore = "a process of a_program_finds_no_signal_ignored_and_is_waited_for_whatever_we_inherited"]
fn says_what_it_ignores() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    let out = Command::new("grep")
        .args(["SigIgn", "/proc/self/status"])
        .finish();
    assert!(out.status.success());
    let text = String::from_utf8(out.stdout).unwrap();
    let ignored = text.trim().strip_prefix("SigIgn:\t").unwrap();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    assert_eq!(ignored & STANDARD, 0, "{text}");
}

/// A test process that is killed in the midst of a test runs no destructors; the one that started it has them.
#[test]
fn a_killed_test_process_leaves_nothing_to_its_parent() {
    let mut inner = as_process("waits_with_a_process", &[]);
    let mut inner = inner.stdout(Stdio::piped()).start();
    let mut lines = BufReader::new(inner.stdout.take().unwrap()).lines();
    let pid = lines.find_map(|line| line.unwrap().strip_prefix("inner ")?.parse().ok());
    let pid = pid.unwrap();
    inner.kill().unwrap();
    inner.wait().unwrap();
    assert!(runs(pid));
    drop(inner);
    assert!(!runs(pid));
}

#[test]
#[ignore = "a process of a_killed_test_process_leaves_nothing_to_its_parent"]
fn waits_with_a_process() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    let sleep = Command::new("sleep").arg("1000").start();
    until("its program", || {
        let name = std::fs::read(format!("/proc/{}/comm", sleep.id())).ok()?;
        (name == b"sleep\n").then_some(())
    });
    println!("\ninner {}", sleep.id());
    loop {
        std::thread::park();
    }
}
