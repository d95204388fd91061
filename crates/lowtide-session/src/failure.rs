//! What went wrong, for a person: one line, a hint, and the exit code of the design.

use std::fmt;

/// Exit codes that `judge`, `explain`, `check`, `attach` and the rest share.
pub mod code {
    /// The words on the command line are off (clap's own code).
    pub const USAGE: i32 = 2;
    /// The source or the target could not be read.
    pub const UNREADABLE: i32 = 4;
    /// `run --guard`: the guard stopped the job, and it can be resumed (EX_TEMPFAIL).
    pub(crate) const RESUMABLE: i32 = 75;
    /// `run`: lowtide itself failed before the job could start.
    pub const OURSELVES: i32 = 125;
}

#[derive(Debug)]
pub struct Failure {
    message: String,
    hint: Option<String>,
    code: i32,
}

impl Failure {
    pub fn new(code: i32, message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            hint: None,
            code,
        }
    }

    /// A source or target that cannot be seen.
    pub fn unseen(message: impl Into<String>) -> Failure {
        Failure::new(code::UNREADABLE, message)
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(code::USAGE, message)
    }

    /// The same, where a job that could not start leaves nothing to judge; its code is told.
    pub fn as_unseen(mut self) -> Failure {
        self.message = format!("{} (code {})", self.message, self.code);
        self.code = code::UNREADABLE;
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub fn code(&self) -> i32 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
