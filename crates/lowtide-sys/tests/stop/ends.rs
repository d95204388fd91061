//! Ends that nobody wants: the process is let go in each.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lowtide_sys::stop::{StopError, while_stopped};
use lowtide_testing::Started;
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use super::*;

/// How long a stop may take where its deadline is what is tried. It must be enough to stop a few threads beside busy
/// loops, and is waited out.
const SHORT: Duration = Duration::from_millis(400);

/// Not a test of its own: the process that stops another in the tests below, which then meet it with violence.
#[test]
fn as_a_process_of_its_own() {
    let Ok(orders) = std::env::var("LOWTIDE_STOPS") else {
        return;
    };
    let (pid, within) = orders.split_once(' ').unwrap();
    let within = Duration::from_millis(within.parse().unwrap());
    let result = while_stopped(pid.parse().unwrap(), within, |_| {
        println!("stopped");
        std::thread::sleep(LONG);
    });
    println!("{result:?}");
}

/// The command that makes this program that process.
pub(super) fn stopping(program: &Path, pid: u32, within: Duration) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "ends::as_a_process_of_its_own", "--nocapture"])
        .env("LOWTIDE_STOPS", format!("{pid} {}", within.as_millis()));
    command
}

/// Has a process stop another and sleep on it.
fn stopper(pid: u32, within: Duration) -> Started {
    let mut command = stopping(&std::env::current_exe().unwrap(), pid, within);
    let mut stopper = command.stdout(Stdio::piped()).start();
    let output = BufReader::new(stopper.stdout.take().unwrap());
    let mut lines = output.lines().map(|line| line.unwrap());
    assert!(
        lines.any(|line| line.ends_with("stopped")),
        "it did not stop process {pid}"
    );
    stopper
}

#[test]
fn the_work_takes_too_long() {
    let counters = Counters::of(5);
    let begun = Instant::now();
    let result = while_stopped(counters.pid(), SHORT, |stopped| {
        counters.stands_still();
        // The process goes on while the work is still at it.
        counters.goes_on();
        assert!(stopped.is_over());
    });
    assert!(matches!(result, Err(StopError::Late { .. })), "{result:?}");
    assert!(begun.elapsed() >= SHORT);
    assert_eq!(tracer(counters.pid()), None);
}

#[test]
fn lowtide_is_killed() {
    let counters = Counters::of(5);
    let stopper = stopper(counters.pid(), LONG);
    counters.stands_still();
    let helper = tracer(counters.pid()).unwrap();
    assert_ne!(helper, stopper.id());
    send(stopper.id(), Signal::KILL);
    counters.goes_on();
    until("nobody to trace it", || {
        tracer(counters.pid()).is_none().then_some(())
    });
    // It becomes ours, as all orphans of a test do, once the last thread of lowtide is gone.
    let helper = Pid::from_raw(helper as i32);
    let (_, status) = until("the helper's end", || {
        waitpid(helper, WaitOptions::NOHANG).ok().flatten()
    });
    assert_eq!(status.terminating_signal(), Some(9));
}

/// Nothing of lowtide runs then but the helper.
#[test]
fn lowtide_is_stopped() {
    let counters = Counters::of(5);
    let stopper = stopper(counters.pid(), SHORT);
    send(stopper.id(), Signal::STOP);
    until("lowtide to stop", || {
        (state(stopper.id()) == 'T').then_some(())
    });
    counters.goes_on();
    assert_eq!(state(stopper.id()), 'T');
}

/// SIGKILL, as its timer sends it, ends the helper all the same.
#[test]
fn lowtide_and_the_helper_are_stopped() {
    let counters = Counters::of(5);
    let stopper = stopper(counters.pid(), Duration::from_secs(2));
    let helper = tracer(counters.pid()).unwrap();
    send(stopper.id(), Signal::STOP);
    send(helper, Signal::STOP);
    until("the helper to stop or end", || {
        let text = std::fs::read(format!("/proc/{helper}/stat")).unwrap_or_default();
        let state = stat::parse(&text).map(|stat| stat.state);
        matches!(state, None | Some(b'T' | b'Z')).then_some(())
    });
    counters.goes_on();
}

/// As the kernel does when memory runs out.
#[test]
fn the_helper_is_killed() {
    let counters = Counters::of(5);
    let result = while_stopped(counters.pid(), LONG, |_| {
        send(tracer(counters.pid()).unwrap(), Signal::KILL);
        counters.goes_on();
    });
    assert!(matches!(result, Err(StopError::Late { .. })), "{result:?}");
}

#[test]
fn the_work_panics() {
    let counters = Counters::of(5);
    let work = |_: &_| panic!("as intended");
    let stop = std::panic::AssertUnwindSafe(|| while_stopped::<()>(counters.pid(), LONG, work));
    assert!(std::panic::catch_unwind(stop).is_err());
    counters.goes_on();
}

#[test]
fn the_process_is_killed() {
    let counters = Counters::of(50);
    let result = while_stopped(counters.pid(), LONG, |_| counters.send(Signal::KILL));
    assert!(matches!(result, Err(StopError::Ended { .. })), "{result:?}");
    // Its parent hears of it as ever.
    let child = Pid::from_raw(counters.pid() as i32).unwrap();
    let ended = waitid(
        WaitId::Pid(child),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    );
    assert_eq!(ended.unwrap().unwrap().terminating_signal(), Some(9));
}
