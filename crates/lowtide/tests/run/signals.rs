//! Signals: what the user sends to the watcher reaches the job once.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use lowtide_sys::sigwait::{send, send_group};

use crate::common::{Reader, Starts, User, is_over, keeper_of, run, until};
use crate::killed::{ticks_on_disk, ticks_recorded, watches};

const USR1: i32 = 10;
const TERM: i32 = 15;

/// Tells each TERM and ends at USR1.
const COUNTS: &str =
    "trap \"echo got TERM\" TERM; trap \"exit 7\" USR1; echo ready; while :; do sleep 0.02; done";

#[test]
fn a_signal_for_the_watcher_reaches_the_job_once() {
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), COUNTS).stdout(Stdio::piped()).start();
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
        .start();
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
        .start();
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
        .start();
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
fn killing_the_keeper_hangs_up_the_job() {
    let job = "trap \"echo hup > hup; exit 9\" HUP; echo ready; while :; do sleep 0.02; done";
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), job).stdout(Stdio::piped()).start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    send(keeper_of(lowtide.id()), 9).unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(9));
    assert!(home.path().join("hup").exists());
    assert!(ticks_recorded(home.path()) > 0);
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

/// A job whose output goes to a file: `lowtide` and its keeper, once the job has begun.
fn printing_to_a_file(home: &std::path::Path) -> (lowtide_testing::Started, u32) {
    let job = "echo ready; while [ ! -e go ]; do sleep 0.02; done; echo last; echo > done; exit 3";
    let file = || fs::File::create(home.join("out")).unwrap();
    let lowtide = run(home, job).stdout(file()).stderr(Stdio::null()).start();
    until("the job's beginning", || {
        let text = fs::read_to_string(home.join("out")).ok()?;
        text.contains("ready").then_some(())
    });
    until("the first tick", || watches(home).then_some(()));
    let keeper = keeper_of(lowtide.id());
    (lowtide, keeper)
}

#[test]
fn a_job_that_prints_to_files_outlives_its_keeper_and_keeps_its_code() {
    let home = tempfile::tempdir().unwrap();
    let (mut lowtide, keeper) = printing_to_a_file(home.path());
    send(keeper, 9).unwrap();
    until("the keeper's end", || is_over(keeper).then_some(()));
    fs::write(home.path().join("go"), "").unwrap();
    assert_eq!(lowtide.wait().unwrap().code(), Some(3));
    let text = fs::read_to_string(home.path().join("out")).unwrap();
    assert_eq!(text, "ready\nlast\n");
    ticks_recorded(home.path());
}

#[test]
fn a_job_that_prints_to_files_outlives_watcher_and_keeper() {
    let home = tempfile::tempdir().unwrap();
    let (mut lowtide, keeper) = printing_to_a_file(home.path());
    let seen = some_ticks(home.path());
    send(lowtide.id(), 9).unwrap();
    lowtide.wait().unwrap();
    send(keeper, 9).unwrap();
    until("the keeper's end", || is_over(keeper).then_some(()));
    fs::write(home.path().join("go"), "").unwrap();
    until("the job's end", || fs::read(home.path().join("done")).ok());
    let text = fs::read_to_string(home.path().join("out")).unwrap();
    assert_eq!(text, "ready\nlast\n");
    assert!(ticks_recorded(home.path()) >= seen);
}

/// Waits for ticks to come, one after the other: each is on the disk before the job's end. How many they are.
fn some_ticks(home: &std::path::Path) -> usize {
    let mut seen = 0;
    for _ in 0..5 {
        seen = until("the next tick", || {
            Some(ticks_on_disk(home)).filter(|ticks| *ticks > seen)
        });
    }
    seen
}

#[test]
fn killing_watcher_and_keeper_hangs_up_a_job_on_a_pipe() {
    let job = "trap \"echo hup > hup; exit 9\" HUP; echo ready; while :; do sleep 0.02; done";
    let home = tempfile::tempdir().unwrap();
    let mut lowtide = run(home.path(), job).stdout(Stdio::piped()).start();
    let mut reader = Reader::new(lowtide.stdout.take().unwrap());
    reader.until("ready");
    let keeper = keeper_of(lowtide.id());
    let seen = some_ticks(home.path());
    send(lowtide.id(), 9).unwrap();
    lowtide.wait().unwrap();
    send(keeper, 9).unwrap();
    until("the hangup", || fs::read(home.path().join("hup")).ok());
    assert!(ticks_recorded(home.path()) >= seen);
}
