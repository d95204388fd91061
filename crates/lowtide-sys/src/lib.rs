//! lowtide's eyes and hands on Linux. [`sampler`] reads a process tree once a tick and fills
//! `lowtide_core::sample::Sample`, with [`tree`], [`proc`], [`cgroup`] and [`gpu`] as its parts. [`spawn`],
//! [`pty`], [`sigwait`] and [`inherited`] start a job and carry it. [`memory`] reads another process's memory,
//! [`stop`] holds it still for a moment, [`look`] takes one process apart by it. [`signal`] acts on a process, [`klog`] asks the kernel about its
//! end, [`find`] finds training jobs on the machine, [`regular`] opens files.

#![allow(unsafe_code)]

pub mod cgroup;
pub mod error;
mod facts;
pub mod find;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod gpu;
pub mod inherited;
pub mod klog;
mod limit;
pub mod look;
pub mod memory;
pub mod proc;
pub mod pty;
pub mod regular;
pub mod sampler;
pub mod signal;
pub mod sigwait;
pub mod sink;
pub mod spawn;
pub mod stop;
pub mod tree;

pub use error::Error;
