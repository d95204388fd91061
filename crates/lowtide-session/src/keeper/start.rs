//! How the keeper and the session leader are called, and what they need to start the job: they are this binary with
//! a private first argument, so they inherit environment, directory and limits, and the job gets them from there.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use lowtide_sys::sigwait::SignalSet;
use lowtide_sys::spawn::{Place, Start, handed_over};
use rustix::fs::{Mode, OFlags, open};

use super::wire::Message;
use super::{carry, leader};

const KEEPER: &str = "__keeper";
const LEADER: &str = "__leader";

/// Which of the two to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Keeper,
    Leader,
}

/// What is handed from the watcher to the keeper and on to the session leader.
pub(super) struct Orders {
    pub socket: OwnedFd,
    /// The signal mask that the job gets: the watcher's own when it was started.
    pub mask: SignalSet,
    /// The job's command.
    pub job: Vec<OsString>,
}

impl Orders {
    /// The job itself; the first word is there, `run` sees to that.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.job[0]);
        command.args(&self.job[1..]);
        command
    }
}

/// Runs the keeper or the session leader when the arguments ask for it: before anything else is set up, because
/// these processes stay small.
pub fn private_part() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let part = match args.next()?.to_str()? {
        KEEPER => Part::Keeper,
        LEADER => Part::Leader,
        _ => return None,
    };
    Some(match take_orders(args) {
        Some(orders) if part == Part::Keeper => carry::main(orders),
        Some(orders) => leader::main(orders),
        None => {
            let _ = writeln!(
                std::io::stderr(),
                "lowtide: {KEEPER} and {LEADER} are for lowtide itself\nhint: use `lowtide run -- CMD…`"
            );
            ExitCode::from(125)
        }
    })
}

fn take_orders(mut args: impl Iterator<Item = OsString>) -> Option<Orders> {
    let number = args.next()?.to_str()?.parse().ok()?;
    let mask = SignalSet(u64::from_str_radix(args.next()?.to_str()?, 16).ok()?);
    let job: Vec<OsString> = args.collect();
    if job.is_empty() {
        return None;
    }
    Some(Orders {
        socket: handed_over(number).ok()?,
        mask,
        job,
    })
}

/// The command that starts this binary as keeper or leader. All signals are blocked in it from its first moment on.
pub(super) fn part(part: Part, orders: Orders, place: Place, parent_death: Option<i32>) -> Command {
    let word = if part == Part::Keeper { KEEPER } else { LEADER };
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lowtide");
    command.args([
        word,
        &orders.socket.as_raw_fd().to_string(),
        &format!("{:x}", orders.mask.0),
    ]);
    command.args(&orders.job);
    let blocked = SignalSet(SignalSet::from_outside().0 | orders.mask.0);
    Start {
        mask: blocked,
        parent_death,
        place,
        hand_over: Some(orders.socket),
        ..Start::default()
    }
    .apply(&mut command);
    command
}

/// The message for a job that could not be started.
pub(super) fn failed(error: &io::Error) -> Message {
    Message::Failed {
        errno: error.raw_os_error().unwrap_or(0),
        what: error.to_string(),
    }
}

/// Puts /dev/null in place of the standard streams, so that this process keeps nobody waiting for their end.
pub(crate) fn let_go_of_streams() -> io::Result<()> {
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
