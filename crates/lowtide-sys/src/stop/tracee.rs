//! The calls of ptrace that stopping takes, on one thread each. Nothing here allocates or takes a lock.

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Children of any kind, those that are only traced among them (`include/uapi/linux/wait.h`).
const WALL: u32 = 0x4000_0000;

/// What a thread is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tracee {
    /// We do not trace it.
    NotOurs,
    Running,
    Stopped,
    Ended,
}

/// Takes a thread without stopping it.
pub(super) fn seize(tid: u32) -> Result<(), Errno> {
    ptrace(libc::PTRACE_SEIZE, tid)
}

/// Has a thread that we have taken stop as soon as it can.
pub(super) fn interrupt(tid: u32) -> Result<(), Errno> {
    ptrace(libc::PTRACE_INTERRUPT, tid)
}

fn ptrace(request: libc::c_uint, tid: u32) -> Result<(), Errno> {
    let nothing = 0usize;
    // SAFETY: these two requests take a number and use neither address nor data of ours. By `syscall`, because the
    // wrapper of libc is written for requests that return words.
    let result = unsafe { libc::syscall(libc::SYS_ptrace, request, tid, nothing, nothing) };
    if result == -1 {
        return Err(last_error());
    }
    Ok(())
}

pub(super) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// How a thread is. Its state is left in the kernel (WNOWAIT): a thread that is about to get a signal has the number
/// there, and whoever takes the state and is killed then takes the signal with it.
pub(super) fn look(tid: u32) -> Tracee {
    let kinds = WaitIdOptions::EXITED | WaitIdOptions::STOPPED;
    match wait(tid, kinds | WaitIdOptions::NOWAIT) {
        Ok(Some(true)) => Tracee::Stopped,
        Ok(Some(false)) => Tracee::Ended,
        Ok(None) => Tracee::Running,
        Err(_) => Tracee::NotOurs,
    }
}

/// A thread that ended while we held it stays until we have asked for its result, and with it an exec of another
/// thread.
pub(super) fn bury(tid: u32) {
    let _ = wait(tid, WaitIdOptions::EXITED);
}

/// Whether it is stopped, rather than ended; none: neither.
fn wait(tid: u32, options: WaitIdOptions) -> Result<Option<bool>, Errno> {
    let pid = Pid::from_raw(tid.cast_signed()).ok_or(Errno::CHILD)?;
    let more = WaitIdOptions::NOHANG | WaitIdOptions::from_bits_retain(WALL);
    let status = waitid(WaitId::Pid(pid), options | more)?;
    Ok(status.map(|status| status.stopped() || status.trapped()))
}
