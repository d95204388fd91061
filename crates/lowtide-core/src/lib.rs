//! lowtide's types and decisions. Nothing here opens a file, reads a clock or starts a thread:
//! `lowtide-sys` and the program feed it values, and everything that is shown is computed here once.
//!
//! The flow, as modules: [`sample`] and [`mark`] are what was collected, [`entry`] is what a
//! recording holds, and the views read what is computed from them.

#![forbid(unsafe_code)]

pub mod census;
pub mod check;
pub mod entry;
pub mod explain;
pub mod followed;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod guard;
pub mod inside;
pub mod judge;
mod later;
pub mod look;
pub mod mark;
pub mod meter;
pub mod output;
pub mod point;
pub mod postmortem;
pub mod process;
pub mod report;
pub mod run;
pub mod sample;
pub mod series;
mod stats;
mod table;
pub mod text;
pub mod tree;
pub mod units;
pub mod verdict;
