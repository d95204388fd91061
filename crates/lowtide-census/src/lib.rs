//! Python's objects in another process, read from outside while it runs: nothing is injected, nothing stopped,
//! and no page is read that is not there.
//!
//! [`interpreter`] finds CPython in the process and the lists of its collector, [`object`] takes objects apart,
//! `walk` goes over all of them, `frames` tells what threads are in. On that stands `loops`: training loops keep their state in plain objects (one
//! file a library), and a few words of those on every tick are steps that nobody sends. [`take`] takes a census of all objects.

mod contents;
mod dump;
mod ends;
mod follow;
mod frames;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod graph;
mod holders;
pub mod interpreter;
mod loops;
mod meters;
mod object;
mod refusal;
mod retained;
pub mod source;
#[cfg(any(test, fuzzing))]
mod synthetic;
mod take;
mod walk;
pub mod writers;

pub use contents::dump as dump_contents;
pub use dump::dump;
pub use follow::{Follower, Now, Searched};
pub use interpreter::{Counts, Interpreter};
pub use meters::{Meter, Meters};
pub use refusal::Refusal;
pub use take::{Census, CensusOptions, take};
