//! How `lowtide run` starts and carries a job.
//!
//! Three processes stand around it. The **watcher** is what the user starts; it may be killed at any moment. The
//! **keeper** is its child and the job's subreaper; it owns the job's pty or pipes and copies bytes. When the job has
//! a terminal of its own, a **session leader** sits between keeper and job. [`Starter`] is what a session uses, and
//! [`private_part`] is where the binary becomes one of the other two.

mod carry;
mod channel;
mod handle;
mod launch;
mod leader;
mod link;
mod relay;
mod routes;
mod start;
mod wire;

pub use handle::{Event, Handle, Starter};
pub use launch::{Home, StartError};
pub use start::private_part;
pub use wire::Stream;

pub(crate) use handle::start;
pub(crate) use launch::Launch;
pub(crate) use routes::beside_our_messages;
#[cfg(any(test, fuzzing))]
pub(crate) use wire::fuzz;
pub(crate) use wire::{ANYWHERE, LONGEST_PIECE, Route};
