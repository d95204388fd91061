//! Why a process could not be stopped, or not for long enough.

use std::io;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum StopError {
    #[error("there is no process {pid}")]
    NoSuchProcess { pid: u32 },
    #[error("process {pid} has ended, and waits for its parent to take notice")]
    Zombie { pid: u32 },
    #[error("process {pid} is the one that asks")]
    Ourselves { pid: u32 },
    #[error("process {pid} ended before the work was done")]
    Ended { pid: u32 },
    #[error("process {pid} is traced by process {by} already")]
    Traced { pid: u32, by: u32 },
    #[error("stopping process {pid} is not permitted ({source})")]
    Denied { pid: u32, source: io::Error },
    #[error(
        "thread {tid} of process {pid} did not stop within {within:?} (state {state}), and all were let go"
    )]
    Unstoppable {
        pid: u32,
        tid: u32,
        /// The letter of `/proc/PID/task/TID/stat`, right after.
        state: char,
        within: Duration,
    },
    #[error("process {pid} was let go after {within:?}, before the work was done")]
    Late { pid: u32, within: Duration },
    #[error(
        "process {pid} was at no moment in a state to be stopped in (stopped for nothing: {in_vain} times)"
    )]
    NoMoment { pid: u32, in_vain: u32 },
    #[error("cannot start the process that stops process {pid}: {source}")]
    Helper { pid: u32, source: io::Error },
}

impl StopError {
    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            StopError::Traced { by, .. } => {
                format!("one process can trace another at a time: end process {by} (a debugger, strace) first")
            }
            StopError::Denied { .. } => {
                "it takes the same user or CAP_SYS_PTRACE; in a container --cap-add=SYS_PTRACE; and kernel.yama.ptrace_scope=0 where that is set"
                    .into()
            }
            StopError::Unstoppable { state: 'D', .. } => {
                "it waits for a disk, a network file system or a driver: try again later".into()
            }
            StopError::Late { .. } => "the machine is busy, or the heap is large: allow more time, or read it without a stop".into(),
            StopError::NoMoment { .. } => {
                "Python's collector ran each time: try again later, or read it without a stop".into()
            }
            StopError::Helper { .. } => {
                "see whether limits on processes are reached (ulimit -u)".into()
            }
            _ => return None,
        };
        Some(hint)
    }
}
