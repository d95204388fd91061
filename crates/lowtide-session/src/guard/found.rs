//! A job that runs already and is taken under guard: what it takes to start it again is read from the
//! live process while it is there. Command, directory, environment and streams stay in memory: an
//! environment holds secrets, and nothing of it goes to the recording or to a message.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use lowtide_core::process::ProcId;
use lowtide_sys::inherited::endings;
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::{Target, start_time};
use lowtide_sys::sigwait::stop_here;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::failure::Failure;
use crate::keeper::{Handle, Home, Job, Stand, StartError};
use crate::marks;

/// What a guard sets for its job; one that is dead left its own values there.
const GUARDS_OWN: [&str; 3] = ["LOWTIDE_DIR", "LOWTIDE_ATTEMPT", "LOWTIDE_CHECKPOINT"];

/// The job as it was found.
pub struct Found {
    pid: u32,
    pub command: Vec<String>,
    pub home: Arc<Home>,
    /// When the process began.
    pub began: SystemTime,
    /// The checkpoint that an earlier guard had it go on from.
    pub resumed: Option<PathBuf>,
    target: Target,
    stand: Option<Stand>,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It ended; how, only its parent knows.
    Ended,
    /// We are to end.
    Signal(i32),
}

impl Found {
    /// Reads all that is needed, or says why this process cannot be guarded. `stand` reads our signals.
    pub fn take(pid: u32, stand: Stand) -> Result<Found> {
        let refuse = |why: &str| Failure::unseen(format!("cannot guard {pid}: {why}"));
        let gone = || {
            refuse("there is no such process")
                .hint("`lowtide ps` lists the training jobs of this machine")
        };
        let proc = Proc::at("/proc")?;
        let start = start_time(&proc, pid).ok_or_else(gone)?;
        let target = Target::open(&proc, ProcId { pid, start }).map_err(|_| gone())?;
        let owner = fs::metadata(proc.root().join(pid.to_string())).map_err(|_| gone())?;
        let (theirs, ours) = (owner.uid(), rustix::process::geteuid().as_raw());
        if theirs != ours {
            return Err(refuse(&format!(
                "it is the job of another user ({theirs}, we are {ours}), and would be started again as ours"
            ))
            .hint(format!("run this as that user, for instance: sudo -u '#{theirs}' lowtide attach --guard {pid}"))
            .into());
        }
        let unread = |what: &str, error: io::Error| {
            refuse(&format!("its {what} cannot be read: {error}")).hint(format!(
                "`lowtide attach {pid}` watches it without being able to start it again"
            ))
        };
        let read = |file: &str| fs::read(proc.path(pid, file));
        let command = words(&read("cmdline").map_err(|error| unread("command line", error))?)
            .ok_or_else(|| {
                refuse("its command line is empty or no UTF-8, so it cannot be started again")
                    .hint(format!("`lowtide attach {pid}` watches it all the same"))
            })?;
        let cwd =
            fs::read_link(proc.path(pid, "cwd")).map_err(|error| unread("directory", error))?;
        let mut env = variables(&read("environ").map_err(|error| unread("environment", error))?);
        if is_lowtide(&command) {
            return Err(refuse("it is lowtide itself")
                .hint("give the PID of the job; `lowtide ps` lists them")
                .into());
        }
        if one_of_several(&env) {
            return Err(
                refuse("it is one of several ranks, which cannot be started again alone")
                    .hint("give the PID of their launcher (torchrun)")
                    .into(),
            );
        }
        if !runs(&command[0], &cwd, &env) {
            return Err(refuse(&format!(
                "`{}` is no program that can be started: the process gave itself another name",
                command[0]
            ))
            .hint("start it by `lowtide run --guard -- CMD…`")
            .into());
        }
        if let Some(folder) = watcher(pid, &env) {
            return Err(refuse(&format!(
                "another lowtide watches it ({})",
                folder.display()
            ))
            .hint("end that one first: the job survives a `kill -9` of `lowtide run`")
            .into());
        }
        let resumed = variable(&env, "LOWTIDE_CHECKPOINT").map(PathBuf::from);
        env.retain(|(name, _)| !GUARDS_OWN.iter().any(|own| name == own));
        let streams = [0, 1, 2].map(|number| stream(&proc, pid, number));
        Ok(Found {
            pid,
            command,
            home: Arc::new(Home { cwd, env, streams }),
            began: began(start),
            resumed,
            target,
            stand: Some(stand),
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The files that it prints to, for those who read along.
    pub fn printed_to(&self) -> impl Iterator<Item = PathBuf> {
        let streams = self.home.streams.iter().enumerate().skip(1);
        let pid = self.pid;
        streams.filter_map(move |(number, stream)| {
            let is_file = stream.as_ref()?.metadata().ok()?.is_file();
            is_file.then(|| PathBuf::from(format!("/proc/{pid}/fd/{number}")))
        })
    }

    /// `XDG_RUNTIME_DIR` of the job: where its training loop looks for us.
    pub fn runtime(&self) -> Option<OsString> {
        variable(&self.home.env, "XDG_RUNTIME_DIR").map(OsStr::to_owned)
    }

    /// No checkpoint that was written before is this job's. The one that it went on from is.
    pub fn since(&self) -> SystemTime {
        let resumed = self.resumed.as_ref();
        let written = resumed.and_then(|path| fs::metadata(path).ok()?.modified().ok());
        written.map_or(self.began, |written| written.min(self.began))
    }

    /// Waits for its end or a signal for us, until the time is over.
    pub fn next(&mut self, time: Duration) -> io::Result<Option<Heard>> {
        let until = Instant::now() + time;
        loop {
            if let Some(signal) = self.signal_within(Duration::ZERO)? {
                return Ok(Some(Heard::Signal(signal)));
            }
            let left = until.saturating_duration_since(Instant::now());
            let Some(stand) = &self.stand else {
                return Ok(None);
            };
            let mut fds = [
                PollFd::from_borrowed_fd(self.target.as_fd(), PollFlags::IN),
                PollFd::new(stand, PollFlags::IN),
            ];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            if !fds[0].revents().is_empty() {
                return Ok(Some(Heard::Ended));
            }
        }
    }

    /// A signal that wants us to end; Ctrl-Z stops us and nobody else.
    pub fn signal_within(&mut self, time: Duration) -> io::Result<Option<i32>> {
        let Some(stand) = &mut self.stand else {
            return Ok(None);
        };
        Ok(match stand.signal_within(time)? {
            Some(signal) if signal == Signal::TSTP.as_raw() => {
                stop_here()?;
                None
            }
            signal => signal.filter(|signal| endings().contains(*signal)),
        })
    }

    /// Starts it again, after its end: from here on it is a job of our own.
    pub fn start(&mut self, job: Job) -> Result<Handle, StartError> {
        let stand = self.stand.take().map_or_else(Stand::take, Ok)?;
        stand.start(job)
    }
}

fn words(cmdline: &[u8]) -> Option<Vec<String>> {
    let cmdline = cmdline.strip_suffix(b"\0").unwrap_or(cmdline);
    let words: Result<Vec<String>, _> = cmdline
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8(word.to_vec()))
        .collect();
    words.ok().filter(|words| !words[0].is_empty())
}

fn variables(environ: &[u8]) -> Vec<(OsString, OsString)> {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            (equals > 0).then(|| (text(&pair[..equals]), text(&pair[equals + 1..])))
        })
        .collect()
}

fn variable<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let found = env.iter().find(|(known, _)| known == name)?;
    Some(&found.1)
}

fn is_lowtide(command: &[String]) -> bool {
    Path::new(&command[0]).file_name() == Some(OsStr::new("lowtide"))
}

/// A process that torchrun started, one of several.
fn one_of_several(env: &[(OsString, OsString)]) -> bool {
    let ranks = variable(env, "WORLD_SIZE").and_then(|size| size.to_str()?.parse::<u32>().ok());
    variable(env, "TORCHELASTIC_RUN_ID").is_some() && ranks.is_some_and(|ranks| ranks > 1)
}

/// Whether this word starts a program there.
fn runs(program: &str, cwd: &Path, env: &[(OsString, OsString)]) -> bool {
    let starts = |path: PathBuf| {
        fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return starts(cwd.join(program));
    }
    let path = variable(env, "PATH").unwrap_or(OsStr::from_bytes(b"/bin:/usr/bin"));
    std::env::split_paths(path).any(|folder| starts(cwd.join(folder).join(program)))
}

/// The folder of a living watcher of this process: under `run`, or under `attach`.
fn watcher(pid: u32, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let xdg = variable(env, "XDG_RUNTIME_DIR").map(OsStr::to_owned);
    let attached = marks::runtime_folder(xdg).join(pid.to_string());
    let started = variable(env, "LOWTIDE_DIR").map(PathBuf::from);
    let mut folders = started.into_iter().chain([attached]);
    folders.find(|folder| marks::is_alive(folder))
}

/// A stream of the job that the next attempt can have: a file, a device, or the pipe that somebody
/// still reads. Its terminal hangs up with its session, so the next attempt gets ours.
fn stream(proc: &Proc, pid: u32, number: u32) -> Option<File> {
    let path = proc.path(pid, &format!("fd/{number}"));
    let Ok(kind) = fs::metadata(&path).map(|found| found.file_type()) else {
        return None;
    };
    let input = number == 0;
    let terminal = kind.is_char_device()
        && fs::read_link(&path).is_ok_and(|to| {
            to.starts_with("/dev/pts") || to.as_os_str().as_bytes().starts_with(b"/dev/tty")
        });
    if terminal || (kind.is_socket() && !input) {
        return None;
    }
    if input && !kind.is_file() {
        // What came through a pipe was read.
        return File::open("/dev/null").ok();
    }
    OpenOptions::new()
        .read(input)
        .append(!input)
        .open(path)
        .ok()
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
    use proptest::prelude::*;

    #[test]
    fn what_a_dead_guard_left_is_told_from_the_users_own() {
        let env = variables(b"PATH=/bin\0A=b=c\0LOWTIDE_HOME=/h\0=x\0junk\0EMPTY=\0");
        let names: Vec<_> = env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "A", "LOWTIDE_HOME", "EMPTY"]);
        assert_eq!(variable(&env, "A"), Some(OsStr::new("b=c")));
        assert!(!GUARDS_OWN.contains(&"LOWTIDE_HOME"));
    }

    #[test]
    fn one_rank_of_torchrun_is_not_a_job() {
        let rank = |world: &str| {
            one_of_several(&variables(
                format!("WORLD_SIZE={world}\0TORCHELASTIC_RUN_ID=x\0").as_bytes(),
            ))
        };
        assert!(rank("2") && !rank("1"));
        assert!(!one_of_several(&variables(b"WORLD_SIZE=2\0")));
    }

    #[test]
    fn a_name_that_a_process_gave_itself_starts_nothing() {
        let env = variables(b"PATH=/nowhere:/bin:/usr/bin\0");
        let here = Path::new("/");
        assert!(runs("sh", here, &env) && runs("bin/sh", here, &env));
        assert!(!runs("trainer: epoch 3", here, &env) && !runs("/bin", here, &env));
    }

    #[test]
    fn the_beginning_of_this_process_is_before_now_and_after_boot() {
        let proc = Proc::at("/proc").unwrap();
        let start = start_time(&proc, std::process::id()).unwrap();
        let age = SystemTime::now().duration_since(began(start)).unwrap();
        assert!(age < Duration::from_secs(24 * 3600), "{age:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let _ = words(&bytes);
            prop_assert!(variables(&bytes).iter().all(|(name, _)| !name.is_empty()));
        }
    }
}
