//! lowtide's eyes and hands on Linux. [`sampler`] looks at a process tree once a tick and fills
//! `lowtide_core::sample::Sample`, with [`tree`], [`proc`], [`cgroup`] and [`gpu`] as its parts. [`spawn`],
//! [`pty`], [`sigwait`] and [`inherited`] start a job and carry it,
//! [`look`] takes one process apart, [`signal`] acts on a process, [`klog`] asks the kernel about its end,
//! [`find`] finds training jobs on the machine.

pub mod cgroup;
pub mod error;
mod facts;
pub mod find;
pub mod gpu;
pub mod inherited;
pub mod klog;
mod limit;
pub mod look;
pub mod proc;
pub mod pty;
pub mod sampler;
pub mod signal;
pub mod sigwait;
pub mod sink;
pub mod spawn;
pub mod tree;

pub use error::Error;
