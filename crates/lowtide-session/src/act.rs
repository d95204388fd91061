//! Carries out what the policy decided on the processes of a job: a request on the shared page, a
//! signal to the training processes alone, never to their group: loader workers would die first, and
//! the step with them.

use std::str::FromStr;

use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::{Target, is_stopped};
use rustix::process::Signal;

/// `--signal`: what asks a job that does not read the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskBy(pub Signal);

impl FromStr for AskBy {
    type Err = String;

    fn from_str(text: &str) -> Result<AskBy, String> {
        match text.trim_start_matches("SIG") {
            "TERM" => Ok(AskBy(Signal::TERM)),
            "USR1" => Ok(AskBy(Signal::USR1)),
            "USR2" => Ok(AskBy(Signal::USR2)),
            _ => Err("TERM, USR1 or USR2".to_owned()),
        }
    }
}

/// Sends a signal to each of them that still lives; how many got it.
pub(crate) fn send(targets: &[ProcId], signal: Signal) -> usize {
    let Ok(proc) = Proc::at("/proc") else {
        return 0;
    };
    let hit =
        |id: &&ProcId| Target::open(&proc, **id).is_ok_and(|target| target.send(signal).is_ok());
    targets.iter().filter(hit).count()
}

/// Whether one of them is stopped (SIGSTOP, Ctrl-Z): then it can serve no request.
pub(crate) fn any_stopped(targets: &[ProcId]) -> bool {
    Proc::at("/proc").is_ok_and(|proc| targets.iter().any(|id| is_stopped(&proc, id.pid)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_sys::signal::start_time;
    use lowtide_testing::Starts;

    #[test]
    fn a_stopped_process_is_seen_and_a_signal_reaches_it() {
        let mut child = std::process::Command::new("sleep").arg("1000").start();
        let proc = Proc::at("/proc").unwrap();
        let id = ProcId {
            pid: child.id(),
            start: start_time(&proc, child.id()).unwrap(),
        };
        assert!(!any_stopped(&[id]));
        assert_eq!(send(&[id], Signal::STOP), 1);
        while !any_stopped(&[id]) {
            std::thread::yield_now();
        }
        assert_eq!(send(&[id], Signal::KILL), 1);
        child.wait().unwrap();
        assert_eq!(send(&[id], Signal::KILL), 0);
    }
}
