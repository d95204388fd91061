//! Why nothing is read of a process's objects. A refusal is a plain answer: the rest of the watching goes on.

use rustix::io::Errno;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("it is no CPython program: no mapped file has the symbol _PyRuntime")]
    NotPython,
    #[error("its interpreter was stripped of all symbols, and cannot be found in it")]
    NoSymbols,
    #[error("it runs PyPy, whose objects are laid out otherwise")]
    PyPy,
    #[error("it runs a free-threaded CPython, which keeps no list of its objects")]
    FreeThreaded,
    #[error("CPython 3.{0} is not known here: 3.9 to 3.15 are")]
    Version(u32),
    #[error("the version of its interpreter cannot be told")]
    NoVersion,
    #[error("its interpreter has not started, or looks like none: {0}")]
    NotAsExpected(&'static str),
    #[error("the process has ended")]
    Gone,
    /// It could be read, but not be stopped for it.
    #[error("{why}")]
    NotStopped { why: String, hint: Option<String> },
    #[error("{what}: {error}")]
    Denied { what: &'static str, error: Errno },
}

impl Refusal {
    pub(crate) fn of(errno: Errno, what: &'static str) -> Refusal {
        match errno {
            Errno::SRCH | Errno::NOENT => Refusal::Gone,
            error => Refusal::Denied { what, error },
        }
    }

    /// It may be otherwise in a moment: the interpreter had not begun, or was in the middle of something.
    pub fn may_pass(&self) -> bool {
        matches!(self, Refusal::NotAsExpected(_))
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Refusal::Denied { .. } => Some(
                "run lowtide as the job's user or as root (in a container: --cap-add=SYS_PTRACE); with \
                 kernel.yama.ptrace_scope=1 only `lowtide run` may read its job, or whoever has CAP_SYS_PTRACE",
            ),
            Refusal::NotStopped { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}
