//! A job that runs already and is taken under guard: what it takes to start it again is read from the
//! live process while it is there. Command, directory, environment and streams stay in memory: an
//! environment holds secrets, and nothing of it goes to the recording or to a message.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Result;
use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::start_time;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::environment::{variable, variables};
use crate::failure::Failure;
use crate::keeper::Home;
use crate::marks;

/// What a guard sets for its job; one that is dead left its own values there.
const GUARDS_OWN: [&str; 3] = ["LOWTIDE_DIR", "LOWTIDE_ATTEMPT", "LOWTIDE_CHECKPOINT"];

/// What it takes to start a job again that somebody else had started.
pub struct Takeover {
    pub command: Vec<String>,
    pub home: Arc<Home>,
    /// The checkpoint that an earlier guard had it go on from.
    pub resumed: Option<PathBuf>,
}

impl Takeover {
    /// Reads all that is needed, or says why this process cannot be guarded.
    pub fn read(pid: u32) -> Result<Takeover> {
        let proc = Proc::at("/proc")?;
        start_time(&proc, pid).ok_or_else(|| gone(pid))?;
        is_of_this_user(&proc, pid)?;
        let unread = |what: &str, error: io::Error| {
            refuse(pid, &format!("its {what} cannot be read: {error}")).hint(format!(
                "`lowtide attach {pid}` watches it without being able to start it again"
            ))
        };
        let read = |file: &str| fs::read(proc.path(pid, file));
        let command = words(&read("cmdline").map_err(|error| unread("command line", error))?)
            .ok_or_else(|| {
                let why = "its command line is empty or no UTF-8, so it cannot be started again";
                refuse(pid, why).hint(format!("`lowtide attach {pid}` watches it all the same"))
            })?;
        let cwd =
            fs::read_link(proc.path(pid, "cwd")).map_err(|error| unread("directory", error))?;
        let mut env = variables(&read("environ").map_err(|error| unread("environment", error))?);
        can_be_started(&proc, pid, &command, &cwd, &env)?;
        let resumed = variable(&env, "LOWTIDE_CHECKPOINT").map(PathBuf::from);
        env.retain(|(name, _)| !GUARDS_OWN.iter().any(|own| name == own));
        let streams = [0, 1, 2].map(|number| stream(&proc, pid, number));
        Ok(Takeover {
            command,
            home: Arc::new(Home { cwd, env, streams }),
            resumed,
        })
    }

    /// No checkpoint that was written before the job `began` is its own. The one that it went on from is.
    pub fn since(&self, began: SystemTime) -> SystemTime {
        let resumed = self.resumed.as_ref();
        let written = resumed.and_then(|path| fs::metadata(path).ok()?.modified().ok());
        written.map_or(began, |written| written.min(began))
    }
}

fn refuse(pid: u32, why: &str) -> Failure {
    Failure::unseen(format!("cannot guard {pid}: {why}"))
}

fn gone(pid: u32) -> Failure {
    refuse(pid, "there is no such process")
        .hint("`lowtide ps` lists the training jobs of this machine")
}

fn is_of_this_user(proc: &Proc, pid: u32) -> Result<(), Failure> {
    let owner = fs::metadata(proc.root().join(pid.to_string())).map_err(|_| gone(pid))?;
    let (theirs, ours) = (owner.uid(), rustix::process::geteuid().as_raw());
    if theirs == ours {
        return Ok(());
    }
    let why = format!(
        "it is the job of another user ({theirs}, we are {ours}), and would be started again as ours"
    );
    Err(refuse(pid, &why).hint(format!(
        "run this as that user, for instance: sudo -u '#{theirs}' lowtide attach --guard {pid}"
    )))
}

/// Whether this is a job that a guard can start again, and that no other guard has.
fn can_be_started(
    proc: &Proc,
    pid: u32,
    command: &[String],
    cwd: &Path,
    env: &[(OsString, OsString)],
) -> Result<(), Failure> {
    if is_lowtide(command) {
        return Err(refuse(pid, "it is lowtide itself")
            .hint("give the PID of the job; `lowtide ps` lists them"));
    }
    if one_of_several(env) {
        let why = "it is one of several ranks, which cannot be started again alone";
        return Err(refuse(pid, why).hint("give the PID of their launcher (torchrun)"));
    }
    if !runs(&command[0], cwd, env) {
        let why = format!(
            "`{}` is no program that can be started: the process gave itself another name",
            command[0]
        );
        return Err(refuse(pid, &why).hint("start it by `lowtide run --guard -- CMD…`"));
    }
    if let Some(folder) = watcher(proc, pid, env) {
        let why = format!("another lowtide watches it ({})", folder.display());
        return Err(refuse(pid, &why)
            .hint("end that one first: the job survives a `kill -9` of `lowtide run`"));
    }
    Ok(())
}

fn words(cmdline: &[u8]) -> Option<Vec<String>> {
    let cmdline = cmdline.strip_suffix(b"\0").unwrap_or(cmdline);
    let words: Result<Vec<String>, _> = cmdline
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8(word.to_vec()))
        .collect();
    words.ok().filter(|words| !words[0].is_empty())
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
fn watcher(proc: &Proc, pid: u32, env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let started = variable(env, "LOWTIDE_DIR").map(PathBuf::from);
    started
        .filter(|folder| marks::is_alive(folder))
        .or_else(|| {
            let xdg = variable(env, "XDG_RUNTIME_DIR").map(OsStr::to_owned);
            let start = start_time(proc, pid)?;
            marks::inviter(proc, ProcId { pid, start }, xdg)
        })
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
    // One with a name that nobody reads any more would be waited for.
    let never_waits = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = OpenOptions::new()
        .read(input)
        .append(!input)
        .custom_flags(never_waits)
        .open(path)
        .ok()?;
    // The job writes to it as it did before.
    let flags = fcntl_getfl(&file).ok()?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use proptest::prelude::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

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
    fn a_pipe_that_nobody_reads_is_not_waited_for() {
        let proc = Proc::at("/proc").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let (how, mode) = (
            OFlags::CLOEXEC | OFlags::NONBLOCK,
            Mode::from_raw_mode(0o600),
        );
        mknodat(CWD, &path, FileType::Fifo, mode, 0).unwrap();
        let reader = rustix::fs::open(&path, how | OFlags::RDONLY, mode).unwrap();
        let writer = rustix::fs::open(&path, how | OFlags::WRONLY, mode).unwrap();
        let number = writer.as_raw_fd() as u32;
        let again = stream(&proc, std::process::id(), number).expect("somebody reads it");
        let flags = fcntl_getfl(&again).unwrap();
        assert!(
            !flags.contains(OFlags::NONBLOCK),
            "the job would not expect that"
        );
        drop((reader, again));
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let found = stream(&proc, std::process::id(), writer.as_raw_fd() as u32);
            let _ = tell.send(found.is_some());
        });
        // Patience for a busy machine: what hangs hangs for ever.
        let found = told.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(found, Ok(false));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let _ = words(&bytes);
            prop_assert!(variables(&bytes).iter().all(|(name, _)| !name.is_empty()));
        }
    }
}
