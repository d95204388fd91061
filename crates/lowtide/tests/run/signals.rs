//! Signals: what the user sends to the watcher reaches the job once, and the job's own settings are as without us.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use lowtide_sys::sigwait::{SignalSet, send, send_group};
use lowtide_sys::spawn::Start;

use crate::common::{LOWTIDE, Reader, User, keeper_of, run, until};

const HUP: i32 = 1;
const USR1: i32 = 10;
const TERM: i32 = 15;

/// Tells each TERM and ends at USR1.
const COUNTS: &str =
    "trap \"echo got TERM\" TERM; trap \"exit 7\" USR1; echo ready; while :; do sleep 0.02; done";

#[test]
fn a_signal_for_the_watcher_reaches_the_job_once() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), COUNTS)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    send(lowtide.id(), TERM).unwrap();
    reader.until("got TERM");
    send(lowtide.id(), USR1).unwrap();
    assert_eq!(reader.rest(), "ready\ngot TERM\n");
    assert_eq!(lowtide.wait().unwrap().code(), Some(7));
}

#[test]
fn a_signal_for_the_group_reaches_the_job_once() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), COUNTS)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    send_group(lowtide.id(), TERM).unwrap();
    reader.until("got TERM");
    send(lowtide.id(), USR1).unwrap();
    assert_eq!(reader.rest(), "ready\ngot TERM\n");
    assert_eq!(lowtide.wait().unwrap().code(), Some(7));
}

#[test]
fn the_whole_group_gets_what_is_sent_to_it() {
    let home = tempfile::tempdir().unwrap();
    // Without the child's share of the signal the shell would wait for it for ever.
    let script = format!("trap 'echo got TERM' TERM; sh -c '{COUNTS}'; echo child $?");
    let mut lowtide = run(home.path(), &script)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    send_group(lowtide.id(), TERM).unwrap();
    reader.until("got TERM");
    send_group(lowtide.id(), USR1).unwrap();
    lowtide.wait().unwrap();
}

#[test]
fn at_a_terminal_a_signal_reaches_the_job_once_for_watcher_and_group() {
    for to_group in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let script = format!("set -m; \"$0\" run -q -- sh -c '{COUNTS}'; echo code $?; read stay");
        let mut user = User::at_terminal(home.path(), &script);
        let watcher = user.watcher();
        user.screen.until("ready");
        let sent = if to_group { send_group } else { send };
        sent(watcher, TERM).unwrap();
        user.screen.until("got TERM");
        send(watcher, USR1).unwrap();
        user.screen.until("code 7");
        assert_eq!(
            user.screen.text().matches("got TERM").count(),
            1,
            "group: {to_group}"
        );
    }
}

#[test]
fn a_dead_watchers_keeper_passes_signals_on() {
    let home = tempfile::tempdir().unwrap();
    // In a group of its own: from within the group the job would have got it already.
    let mut lowtide = run(home.path(), COUNTS)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    let keeper = keeper_of(lowtide.id());
    lowtide.kill().unwrap();
    lowtide.wait().unwrap();
    send(keeper, TERM).unwrap();
    reader.until("got TERM");
    send(keeper, USR1).unwrap();
    assert_eq!(reader.rest(), "ready\ngot TERM\n");
}

#[test]
fn nohup_stays_nohup() {
    let home = tempfile::tempdir().unwrap();
    let script =
        "trap 'echo got USR1' USR1; echo ready; until [ -e go ]; do sleep 0.02; done; echo end";
    let mut lowtide = Command::new("sh");
    lowtide.args([
        "-c",
        "trap '' HUP; exec \"$0\" run -q -- sh -c \"$1\"",
        LOWTIDE,
        script,
    ]);
    lowtide
        .env("LOWTIDE_HOME", home.path())
        .current_dir(home.path())
        .stdout(Stdio::piped());
    let mut lowtide = lowtide.spawn().unwrap();
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

/// The lines of /proc/self/status that tell blocked, ignored and caught signals.
fn settings(through: &[&str], ignored: &str, mask: SignalSet) -> Vec<String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("trap '' {ignored}; exec \"$@\""), "sh"]);
    shell
        .args(through)
        .args(["grep", "^Sig[BIC]", "/proc/self/status"]);
    Start {
        mask,
        ..Start::default()
    }
    .apply(&mut shell);
    let out = shell.output().unwrap();
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_job_finds_its_signals_as_without_us() {
    for ignored in ["HUP", "PIPE", "PIPE INT QUIT"] {
        let mask = SignalSet::from_iter([USR1, 12]);
        let without = settings(&[], ignored, mask);
        assert_eq!(without.len(), 3);
        assert_eq!(
            settings(&[LOWTIDE, "run", "-q", "--"], ignored, mask),
            without,
            "ignoring {ignored}"
        );
    }
}

#[test]
fn killing_the_keeper_hangs_up_the_job() {
    let job = "trap \"echo hup > hup; exit 9\" HUP; echo ready; while :; do sleep 0.02; done";
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), job)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    send(keeper_of(lowtide.id()), 9).unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(9));
    assert!(home.path().join("hup").exists());
}

#[test]
fn killing_the_keeper_at_a_terminal_hangs_up_the_job_and_frees_the_terminal() {
    let job = "trap \"echo hup > hup; exit 9\" HUP; echo ready; while :; do sleep 0.02; done";
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "a=$(stty -g); \"$0\" run -q -- sh -c '{job}'; echo code $?; [ \"$a\" = \"$(stty -g)\" ] && echo same; read stay"
    );
    let mut user = User::at_terminal(home.path(), &script);
    user.screen.until("ready");
    send(keeper_of(user.watcher()), 9).unwrap();
    user.screen.until("code 9");
    user.screen.until("same");
    until("the hangup", || fs::read(home.path().join("hup")).ok());
}
