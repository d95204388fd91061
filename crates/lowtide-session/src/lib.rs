//! A live job and lowtide around it: what `run` and `attach` share.
//!
//! [`session`] is the loop. [`keeper`] starts and carries a job, `marks` is where its training loop reaches us, [`watch`] is one
//! turn of sample, record, judge, tell, [`guard`] has the job save and go on before memory runs out.
//! The program draws, serves and parses; nothing here knows of it.

#![forbid(unsafe_code)]

mod act;
mod attached;
mod environment;
pub mod failure;
mod fault;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod guard;
pub mod keeper;
mod marks;
mod monotonic;
pub mod session;
pub mod watch;

pub use act::AskBy;
