//! The helper process: how it comes to be, what ends it, and what its end means.
//!
//! It is made as `vfork` makes one: by clone(2) with our memory and a stack of its own, while the thread that
//! makes it sleeps in the kernel until it is gone. So it costs some microseconds and no copy of page tables (a fork
//! would also make the copy slow that is taken during the stop: every page would have to be copied twice), it
//! needs no word on lowtide's command line, and any program that uses this crate can stop a process. It must keep to
//! what a vfork child may do; [`super::hold`] is all of it. All signals that can be blocked are, from its
//! first moment on, so no handler of ours runs in it and Ctrl-C at the terminal does not end it before us.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::board::{Board, Phase};
use super::hold::{self, Job};
use super::tracee::last_error;
use super::{Held, StopError, Stopped};
use crate::proc::{Proc, stat, status};
use crate::sigwait::SignalSet;

/// The helper's stack. It uses less than 32 KiB of it (a listing's buffer of 8 KiB is the largest piece), in a debug
/// build too.
const STACK: usize = 256 * 1024;
/// How it is named in `ps`.
const NAME: &std::ffi::CStr = c"lowtide-stop";
/// As in [`super::tracee`]; also finds a child that sends no signal at its end.
const WALL: u32 = 0x4000_0000;

/// A helper that holds a process.
#[derive(Debug)]
pub(super) struct Helper {
    pid: u32,
    within: Duration,
    stopped: Stopped,
    board: Asking,
    /// Sleeps for as long as the helper lives.
    parent: JoinHandle<Result<(), Errno>>,
}

/// Asks the helper to let go at the latest when nobody waits for it any more: a work may panic.
#[derive(Debug)]
struct Asking(Arc<Board>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

impl Helper {
    /// Returns when all threads are stopped.
    pub(super) fn stop(pid: u32, within: Duration) -> Result<Helper, StopError> {
        if pid == std::process::id() {
            return Err(StopError::Ourselves { pid });
        }
        let proc = Proc::at("/proc").map_err(|error| StopError::Helper {
            pid,
            source: io::Error::other(error),
        })?;
        let orders = Orders::of(&proc, pid, within)?;
        let board = orders.board.clone();
        let fails = |source| StopError::Helper { pid, source };
        let thread = std::thread::Builder::new().name("stop".into());
        let parent = thread.spawn(move || orders.carry_out()).map_err(fails)?;
        match board.wait_until_stopped() {
            Phase::Stopped => {
                let stopped = Stopped {
                    pid,
                    threads: board.threads(),
                    until: board.began_at() + within,
                };
                Ok(Helper {
                    pid,
                    within,
                    stopped,
                    board: Asking(board),
                    parent,
                })
            }
            phase => {
                let ended = parent.join();
                if let Ok(Err(errno)) = ended {
                    return Err(fails(errno.into()));
                }
                Err(why(&proc, pid, within, phase, &board))
            }
        }
    }

    pub(super) fn stopped(&self) -> &Stopped {
        &self.stopped
    }

    /// Returns when all threads have been let go.
    pub(super) fn let_go(self) -> Result<Held, StopError> {
        let (pid, within) = (self.pid, self.within);
        let board = &self.board.0;
        board.let_go();
        let _ = self.parent.join();
        let began = board.began_at();
        match board.phase() {
            Phase::Done => Ok(Held {
                whole: began.elapsed(),
                stopping: board.stopped_at() - began,
                threads: board.threads(),
                in_vain: 0,
                whole_in_vain: Duration::ZERO,
            }),
            Phase::Ended => Err(StopError::Ended { pid }),
            // It has been killed since it said that all were stopped.
            _ => Err(StopError::Late { pid, within }),
        }
    }
}

/// Why no process was stopped.
fn why(proc: &Proc, pid: u32, within: Duration, phase: Phase, board: &Board) -> StopError {
    let tid = board.tid();
    let source = || io::Error::from_raw_os_error(board.errno());
    match phase {
        Phase::Refused => match tracer(proc, pid, tid) {
            Some(by) => StopError::Traced { pid, by },
            None => StopError::Denied {
                pid,
                source: source(),
            },
        },
        Phase::Unready => StopError::Helper {
            pid,
            source: source(),
        },
        Phase::Killed => {
            let mut text = Vec::new();
            let read = proc.read(pid, &format!("task/{tid}/stat"), &mut text);
            let stat = read.ok().and_then(|()| stat::parse(&text));
            StopError::Unstoppable {
                pid,
                tid,
                state: stat.map_or('?', |stat| char::from(stat.state)),
                within,
            }
        }
        _ => StopError::Ended { pid },
    }
}

/// Who traces a thread.
fn tracer(proc: &Proc, pid: u32, tid: u32) -> Option<u32> {
    let mut text = Vec::new();
    (proc.read(pid, &format!("task/{tid}/status"), &mut text)).ok()?;
    status::tracer(&text)
}

/// All that the helper needs, made before it is.
struct Orders {
    pid: u32,
    within: Duration,
    /// Of this process: the helper ends if it is not its parent any more.
    parent: u32,
    threads: OwnedFd,
    stat: OwnedFd,
    board: Arc<Board>,
}

impl Orders {
    fn of(proc: &Proc, pid: u32, within: Duration) -> Result<Orders, StopError> {
        let open = |file| {
            proc.open(pid, file).map_err(|errno| match errno {
                Errno::NOENT | Errno::SRCH => StopError::NoSuchProcess { pid },
                errno => StopError::Denied {
                    pid,
                    source: errno.into(),
                },
            })
        };
        let (threads, stat) = (open("task")?, open("stat")?);
        let mut text = Vec::new();
        let read = crate::proc::read_all(&stat, &mut text);
        if read.is_err() {
            return Err(StopError::NoSuchProcess { pid });
        }
        if stat::parse(&text).is_some_and(|stat| stat.has_ended()) {
            return Err(StopError::Zombie { pid });
        }
        Ok(Orders {
            pid,
            within,
            parent: std::process::id(),
            threads,
            stat,
            board: Arc::new(Board::new()),
        })
    }

    /// Makes the helper; returns when it is gone, and what it held with it.
    fn carry_out(self) -> Result<(), Errno> {
        let made = self.with_helper();
        self.board.helper_is_gone();
        made
    }

    fn with_helper(&self) -> Result<(), Errno> {
        let blocked: SignalSet = (1..=crate::sigwait::LAST).collect();
        blocked
            .block()
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::INVAL))?;
        let mut stack = vec![0u128; STACK / size_of::<u128>()];
        let top = stack.as_mut_ptr_range().end;
        // No signal at its end: nobody but us, who ask for it by number, is to hear of it.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK;
        // SAFETY: `top` is the aligned upper end of a stack of its own. CLONE_VFORK keeps this thread, whose
        // thread-local data the child uses, in the kernel until the child is gone, so `self` and `stack` outlive it.
        // `as_helper` and all that it calls neither allocate nor lock nor unwind, so it can be killed anywhere.
        let child = unsafe {
            libc::clone(
                as_helper,
                top.cast(),
                flags,
                std::ptr::from_ref(self).cast_mut().cast(),
            )
        };
        if child == -1 {
            return Err(last_error());
        }
        let Some(child) = Pid::from_raw(child) else {
            return Ok(());
        };
        // It has left our memory, but lets go a little later in its end. Then it can be waited for.
        let options = WaitIdOptions::EXITED | WaitIdOptions::from_bits_retain(WALL);
        while let Err(Errno::INTR) = waitid(WaitId::Pid(child), options) {}
        drop(stack);
        Ok(())
    }
}

extern "C" fn as_helper(orders: *mut c_void) -> c_int {
    // SAFETY: a pointer to the Orders that `with_helper` has borrowed until this process is gone. They are only read;
    // what changes in them is atomic.
    let orders = unsafe { &*orders.cast_const().cast::<Orders>() };
    match get_ready(orders) {
        Ok(()) => {
            let job = Job {
                pid: orders.pid,
                threads: orders.threads.as_fd(),
                stat: orders.stat.as_fd(),
            };
            hold::hold(job, &orders.board);
        }
        Err(errno) => orders.board.fails(Phase::Unready, errno.raw_os_error()),
    }
    0
}

/// Makes sure of the helper's own end, in both ways.
fn get_ready(orders: &Orders) -> Result<(), Errno> {
    // SAFETY: a plain number, and a string that ends with 0.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
    }
    // Our parent may have ended before that call: then nobody would kill us.
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    if parent != Some(orders.parent) {
        return Err(Errno::SRCH);
    }
    die_after(orders.within)
}

/// Has the kernel kill this process after some time. SIGKILL, because nothing can stand against it: SIGALRM would wait
/// for SIGCONT if somebody had stopped the helper.
fn die_after(time: Duration) -> Result<(), Errno> {
    // SAFETY: plain data, for which zeros are valid.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    event.sigev_signo = libc::SIGKILL;
    let none = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let when = libc::itimerspec {
        it_interval: none,
        it_value: libc::timespec {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            // Zero would disarm it.
            tv_nsec: libc::c_long::from(time.subsec_nanos()).max(1),
        },
    };
    let mut timer: c_int = 0;
    // SAFETY: pointers to data of the kernel's own layout, valid for the calls. By `syscall`: older releases of glibc
    // allocate in `timer_create`.
    unsafe {
        check(libc::syscall(
            libc::SYS_timer_create,
            libc::CLOCK_MONOTONIC,
            &raw const event,
            &raw mut timer,
        ))?;
        check(libc::syscall(
            libc::SYS_timer_settime,
            timer,
            0,
            &raw const when,
            std::ptr::null::<c_void>(),
        ))
    }
}

fn check(result: libc::c_long) -> Result<(), Errno> {
    if result == -1 {
        return Err(last_error());
    }
    Ok(())
}
