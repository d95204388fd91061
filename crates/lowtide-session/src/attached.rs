//! A job that somebody else started: what is read from the live process so that it can be watched like
//! one of ours, its end, and the signals for us meanwhile.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::{Target, start_time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::environment;
use crate::keeper::{Handle, Launch, StartError, Starter};

/// The job as it was found. What cannot be read of it is empty: it is watched all the same.
pub(crate) struct Attached {
    pub pid: u32,
    pub command: Vec<String>,
    pub cwd: Option<PathBuf>,
    /// When the process began.
    pub began: SystemTime,
    /// `XDG_RUNTIME_DIR` of the job: where its training loop looks for us.
    pub runtime: Option<OsString>,
    /// None once it has ended.
    target: Option<Target>,
    starter: Option<Starter>,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// It ended; how, only its parent knows.
    Ended,
    /// We are to end.
    End,
    /// We are to stop for a while: Ctrl-Z.
    Stop,
    /// The user typed.
    Keys,
}

impl Attached {
    /// `starter` reads our signals.
    pub(crate) fn find(pid: u32, starter: Starter) -> Result<Attached, lowtide_sys::Error> {
        let proc = Proc::at("/proc")?;
        let start = start_time(&proc, pid).ok_or(lowtide_sys::Error::NoSuchProcess { pid })?;
        let target = Target::open(&proc, ProcId { pid, start })?;
        let read = |file: &str| fs::read(proc.path(pid, file));
        Ok(Attached {
            pid,
            command: words(&read("cmdline").unwrap_or_default()),
            cwd: fs::read_link(proc.path(pid, "cwd")).ok(),
            began: began(start),
            runtime: runtime(&proc, pid),
            target: Some(target),
            starter: Some(starter),
        })
    }

    /// Waits for its end, for a signal to us or, with `keys`, for the user to type, until the time is over.
    pub(crate) fn next(&mut self, time: Duration, keys: bool) -> io::Result<Option<Heard>> {
        let until = Instant::now() + time;
        loop {
            let Some(starter) = &mut self.starter else {
                return Ok(None);
            };
            match starter.signal_within(Duration::ZERO)? {
                Some(signal) if Starter::is_end(signal) => return Ok(Some(Heard::End)),
                Some(signal) if Starter::is_stop(signal) => return Ok(Some(Heard::Stop)),
                _ => {}
            }
            let (left, stdin) = (until.saturating_duration_since(Instant::now()), io::stdin());
            let mut fds = vec![PollFd::new(starter, PollFlags::IN)];
            let typed = keys.then(|| {
                fds.push(PollFd::new(&stdin, PollFlags::IN));
                fds.len() - 1
            });
            let ended = self.target.as_ref().map(|target| {
                fds.push(PollFd::new(target, PollFlags::IN));
                fds.len() - 1
            });
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let ready =
                |index: Option<usize>| index.is_some_and(|at| !fds[at].revents().is_empty());
            if ready(ended) {
                // Readable for ever from here on.
                self.target = None;
                return Ok(Some(Heard::Ended));
            }
            if ready(typed) {
                return Ok(Some(Heard::Keys));
            }
        }
    }

    /// After its end: whether a signal within the time wants us to end.
    pub(crate) fn end_within(&mut self, time: Duration) -> io::Result<bool> {
        let Some(starter) = &mut self.starter else {
            return Ok(false);
        };
        starter.end_within(time)
    }

    /// Starts it again, after its end: from here on it is a job of our own.
    pub(crate) fn start(&mut self, launch: Launch) -> Result<Handle, StartError> {
        let starter = self.starter.take().map_or_else(Starter::prepare, Ok)?;
        starter.start(launch)
    }
}

/// For people and the recording's header; what is no UTF-8 is replaced.
fn words(cmdline: &[u8]) -> Vec<String> {
    let words = cmdline.split(|byte| *byte == 0);
    let words = words.filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The job's own where it is ours, else ours: another user's folder is not for us to make files in.
fn runtime(proc: &Proc, pid: u32) -> Option<OsString> {
    const NAME: &str = "XDG_RUNTIME_DIR";
    let owner = fs::metadata(proc.root().join(pid.to_string())).ok();
    let ours = owner.is_some_and(|owner| owner.uid() == rustix::process::geteuid().as_raw());
    match fs::read(proc.path(pid, "environ")) {
        Ok(bytes) if ours => {
            let variables = environment::variables(&bytes);
            environment::variable(&variables, NAME).map(OsString::from)
        }
        _ => std::env::var_os(NAME),
    }
}

/// When a process began, from its ticks since boot.
fn began(start: u64) -> SystemTime {
    let now = clock_gettime(ClockId::Boottime);
    let since_boot = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let start = Duration::from_secs_f64(start as f64 / ticks as f64);
    let age = since_boot.saturating_sub(start);
    let now = SystemTime::now();
    now.checked_sub(age).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_this_process_is_before_now_and_after_boot() {
        let proc = Proc::at("/proc").unwrap();
        let start = start_time(&proc, std::process::id()).unwrap();
        let age = SystemTime::now().duration_since(began(start)).unwrap();
        assert!(age < Duration::from_secs(24 * 3600), "{age:?}");
    }
}
