//! Signals to a process that is certainly the one that was meant: by pidfd, checked against the
//! start time, so that a reused pid is never hit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lowtide_core::process::ProcId;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::Error;
use crate::proc::{Proc, stat};

/// A process that stays the same one for as long as this is held.
#[derive(Debug)]
pub struct Target {
    id: ProcId,
    pidfd: OwnedFd,
}

impl Target {
    pub fn open(proc: &Proc, id: ProcId) -> Result<Target, Error> {
        let missing = || Error::NoSuchProcess { pid: id.pid };
        let pid = i32::try_from(id.pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(missing)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| match errno {
            rustix::io::Errno::SRCH => missing(),
            errno => Error::Signal {
                pid: id.pid,
                source: errno.into(),
            },
        })?;
        // Checked after opening: if the number was reused in between, the handle is the old process's
        // and every signal through it fails.
        if start_time(proc, id.pid) != Some(id.start) {
            return Err(missing());
        }
        Ok(Target { id, pidfd })
    }

    pub fn id(&self) -> ProcId {
        self.id
    }

    pub fn send(&self, signal: Signal) -> Result<(), Error> {
        pidfd_send_signal(&self.pidfd, signal).map_err(|errno| match errno {
            rustix::io::Errno::SRCH => Error::NoSuchProcess { pid: self.id.pid },
            errno => Error::Signal {
                pid: self.id.pid,
                source: errno.into(),
            },
        })
    }
}

/// Readable once the process has ended.
impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// When the process of this number started, in clock ticks after boot; `None` when it has ended.
pub fn start_time(proc: &Proc, pid: u32) -> Option<u64> {
    let mut buffer = Vec::new();
    proc.read(pid, "stat", &mut buffer).ok()?;
    let stat = stat::parse(&buffer)?;
    (!stat.has_ended()).then_some(stat.start)
}

/// Whether the process is stopped (SIGSTOP, Ctrl-Z, a debugger).
pub fn is_stopped(proc: &Proc, pid: u32) -> bool {
    let mut buffer = Vec::new();
    proc.read(pid, "stat", &mut buffer).is_ok()
        && stat::parse(&buffer).is_some_and(|stat| matches!(stat.state, b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_testing::Starts;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn only_the_process_that_was_meant_is_hit() {
        let proc = Proc::at("/proc").unwrap();
        let mut child = Command::new("sleep").arg("1000").start();
        let start = start_time(&proc, child.id()).unwrap();
        let id = ProcId {
            pid: child.id(),
            start,
        };
        let earlier = ProcId {
            start: start - 1,
            ..id
        };
        assert!(matches!(
            Target::open(&proc, earlier),
            Err(Error::NoSuchProcess { .. })
        ));

        let target = Target::open(&proc, id).unwrap();
        target.send(Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(15));
        assert!(matches!(
            target.send(Signal::TERM),
            Err(Error::NoSuchProcess { .. })
        ));
        assert_eq!(start_time(&proc, id.pid), None);
    }
}
