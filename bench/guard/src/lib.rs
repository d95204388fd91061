//! The guard's policy on machines that are made from seeds: jobs leak, warm up, save slowly, step unevenly and
//! share their limit; looks and requests come late. Nothing here waits, so years of guarding are played in
//! minutes, and every run can be played again from its seed.

mod job;
mod judge;
mod plan;
mod play;
mod random;
mod seen;
mod truth;

pub use play::{Outcome, play, play_resumable};
pub use truth::Fault;
