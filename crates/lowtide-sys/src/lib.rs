//! lowtide's eyes and hands on Linux.

pub mod pty;
pub mod sigwait;
pub mod spawn;
