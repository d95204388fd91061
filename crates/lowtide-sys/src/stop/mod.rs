//! Stops all threads of another process for a moment, from outside, so that its memory can be copied as of one
//! instant. `lowtide census --stop` asks for it; [`crate::memory::Recopy`] is what runs meanwhile.
//!
//! **Who traces.** ptrace belongs to one thread, and what it holds is let go when that thread ends. A thread of
//! lowtide would not do: if lowtide is stopped (Ctrl-Z, SIGSTOP, a frozen cgroup) in the midst of it, the job
//! hangs for as long. So a [`helper`] process traces. Before it touches the job it arms a timer whose signal is
//! SIGKILL, which ends it even when it is stopped itself, waits in the kernel or spins; and the kernel kills it when
//! lowtide dies. It does nothing but stop, wait for word, and end.
//!
//! **How it lets go.** Always in one way: by ending. Deadline, crash and a work that is done are the same path, which
//! runs every time. The kernel then lets each thread go on as if nobody had been there: one in a group stop
//! (SIGSTOP) stays in it, one that was about to get a signal gets it. The latter only because [`tracee`] looks at
//! threads without taking their state (WNOWAIT): the signal number is kept in that state.
//!
//! **What the job notices.** The time. And system calls that the kernel does not begin anew after a stop return EINTR,
//! as they do after Ctrl-Z and `fg` (signal(7)): `epoll_wait`, `sigtimedwait`, `semtimedop`, and `recv`, `accept` and
//! their like on a socket with a time-out. Others are begun anew unseen: `read`, `poll`, `select`, `futex`,
//! `nanosleep`, `wait4`. Python begins its own calls anew in any case (PEP 475). The tests hold both lists.
//!
//! **Who may.** Whoever may read the process's memory, but for one case: under Yama (`kernel.yama.ptrace_scope=1`)
//! a process may read and trace what it has started, and the helper has started nothing. A process that has named us
//! by PR_SET_PTRACER has named the helper too.
//!
//! A child that shares the job's memory until it has become another program (vfork) is not stopped; the thread that
//! waits for it cannot be stopped, and that is told ([`StopError::Unstoppable`]).

mod board;
mod error;
mod helper;
mod hold;
mod tracee;

use std::time::{Duration, Instant};

pub use error::StopError;
use helper::Helper;

/// How long a process may be held if nobody says otherwise. 250 MB are copied in a tenth of a second on a calm
/// machine, in two tenths on a busy one; timeouts of what a job talks to are seconds.
pub const HELD_AT_MOST: Duration = Duration::from_millis(500);

/// How often to ask whether this is a good moment: a short collection of Python's takes some tens of microseconds.
const ASK_EVERY: Duration = Duration::from_micros(200);
/// After a moment that was bad all the same the job runs for this many times as long as it was held for nothing.
const REST: u32 = 10;

/// A process all of whose threads are stopped.
#[derive(Debug)]
pub struct Stopped {
    pid: u32,
    threads: u32,
    until: Instant,
}

impl Stopped {
    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// What is left before the process is let go, done or not.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The process runs again: what is read from now on is of no use.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

/// What a stop has cost the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// From the first thread's stop until all had been let go.
    pub whole: Duration,
    /// Of that, until the last one stood still.
    pub stopping: Duration,
    /// How many there were.
    pub threads: u32,
    /// How often it was stopped for nothing before, because the moment was a bad one.
    pub in_vain: u32,
    /// How long in all.
    pub whole_in_vain: Duration,
}

/// Stops a process, does the work, lets it go. It is let go after `within` in any case; what the work returned is
/// handed over only if the process stood still all the time.
pub fn while_stopped<T>(
    pid: u32,
    within: Duration,
    work: impl FnOnce(&Stopped) -> T,
) -> Result<(T, Held), StopError> {
    let helper = Helper::stop(pid, within)?;
    let done = work(helper.stopped());
    let held = helper.let_go()?;
    Ok((done, held))
}

/// The same at a moment when `may_stop` says yes: asked until it does while the process runs, and again when it
/// stands still. If it says no then, the process is let go, and all begins anew, for `patience` at most.
pub fn while_stopped_if<T>(
    pid: u32,
    within: Duration,
    patience: Duration,
    may_stop: impl Fn() -> bool,
    work: impl FnOnce(&Stopped) -> T,
) -> Result<(T, Held), StopError> {
    let end = Instant::now() + patience;
    let (mut in_vain, mut whole_in_vain) = (0, Duration::ZERO);
    loop {
        while !may_stop() {
            if Instant::now() >= end {
                return Err(StopError::NoMoment { pid, in_vain });
            }
            std::thread::sleep(ASK_EVERY);
        }
        let helper = Helper::stop(pid, within)?;
        if may_stop() {
            let done = work(helper.stopped());
            let held = Held {
                in_vain,
                whole_in_vain,
                ..helper.let_go()?
            };
            return Ok((done, held));
        }
        let held = helper.let_go()?;
        in_vain += 1;
        whole_in_vain += held.whole;
        if Instant::now() >= end {
            return Err(StopError::NoMoment { pid, in_vain });
        }
        std::thread::sleep(held.whole * REST);
    }
}
