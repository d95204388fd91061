//! Processes that cannot be stopped, and what is said of them.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use lowtide_sys::stop::{StopError, while_stopped};
use lowtide_testing::Starts;
use rustix::process::Signal;

use super::*;

fn refusal(pid: u32, within: Duration) -> StopError {
    while_stopped(pid, within, |_| panic!("it was stopped")).unwrap_err()
}

#[test]
fn a_process_that_is_traced() {
    let counters = Counters::of(3);
    let inner = while_stopped(counters.pid(), LONG, |_| {
        (tracer(counters.pid()), refusal(counters.pid(), LONG))
    });
    let (helper, refused) = inner.unwrap().0;
    assert!(
        matches!(refused, StopError::Traced { by, .. } if Some(by) == helper),
        "{refused:?}"
    );
    assert!(
        refused
            .hint()
            .unwrap()
            .contains(&helper.unwrap().to_string())
    );
    counters.goes_on();
}

#[test]
fn processes_that_are_none() {
    let ours = std::process::id();
    assert!(matches!(refusal(ours, LONG), StopError::Ourselves { .. }));
    let mut child = Command::new("true").start();
    until("the child to end", || {
        (state(child.id()) == 'Z').then_some(())
    });
    assert!(matches!(
        refusal(child.id(), LONG),
        StopError::Zombie { .. }
    ));
    child.wait().unwrap();
    // The number may be another's by now, so one that no process has.
    assert!(matches!(
        refusal(u32::MAX, LONG),
        StopError::NoSuchProcess { .. }
    ));
}

/// Of another user: for root a stranger tries it, anybody else tries the first process.
#[test]
fn a_process_of_somebody_else() {
    let ours = std::env::current_exe().unwrap();
    let (counters, folder) = (Counters::of(1), tempfile::tempdir().unwrap());
    let mut command = if rustix::process::getuid().is_root() {
        // Where everybody may read it.
        let program = folder.path().join("stops");
        let readable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&folder, readable).unwrap();
        lowtide_testing::copy_program(ours, &program);
        let mut command = ends::stopping(&program, counters.pid(), LONG);
        command.uid(65534).gid(65534).current_dir("/");
        command
    } else {
        ends::stopping(&ours, 1, LONG)
    };
    let said = String::from_utf8(command.finish().stdout).unwrap();
    assert!(
        said.contains("Err(Denied {") && said.contains("code: 1,"),
        "{said}"
    );
    counters.goes_on();
}

/// A thread that waits for a child which borrows its memory wakes for SIGKILL only.
#[test]
fn a_thread_that_cannot_stop() {
    let counters = Counters::start(&["asleep"], 1);
    until("the first thread to sleep", || {
        (counters.state() == 'D').then_some(())
    });
    let refused = refusal(counters.pid(), Duration::from_millis(200));
    let StopError::Unstoppable { tid, state, .. } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((tid, state), (counters.pid(), 'D'));
    assert_eq!(tracer(counters.pid()), None);
    counters.goes_on();
    // Once it wakes, nothing of the attempt is left in it.
    let children = format!("/proc/{0}/task/{0}/children", counters.pid());
    let child = std::fs::read_to_string(children).unwrap();
    send(child.trim().parse().unwrap(), Signal::KILL);
    until("the first thread to wake", || {
        (counters.state() == 'S').then_some(())
    });
    while_stopped(counters.pid(), LONG, |_| counters.stands_still()).unwrap();
    counters.goes_on();
}
