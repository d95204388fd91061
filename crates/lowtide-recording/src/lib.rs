//! A run on disk: an append-only log of [`Entry`](lowtide_core::entry::Entry), written by one
//! thread while the job runs and read by everything that shows or judges it, live or later.
//!
//! The file, version 2 (all fixed-width numbers little-endian; docs/recording.md has every column):
//!
//! ```text
//! file    = "lowtide\n" version:u32 frame*
//! frame   = length:u32 crc32:u32 payload          the checksum covers the length and the payload
//! payload = key:u8 record*                        key is 1 when it needs nothing before it
//! record  = kind:u8 length:varint body
//! ```
//!
//! A frame is one tick: the sample, and what was told since the one before. Samples and marks are
//! rows of integers, stored as differences from the row before; everything else is rare and JSON.
//! What did not change costs a bit, or nothing.
//!
//! What can go wrong, and what it costs:
//! - The writer is killed: the last frame may be incomplete. Readers stop before it.
//! - The disk is full or hangs: frames wait in memory, then whole ticks are dropped and counted in
//!   a gap. Half a frame is cut off again, or overwritten by the same bytes later.
//! - The power fails: what was written since the last fsync (`disk::SYNC_EVERY`) may be lost.
//! - Bytes in the middle are damaged: readers go on at the next keyframe
//!   (`codec::KEY_EVERY`) and report a gap with the number of ticks lost.
//!
//! An entry, kind or reason that only a later lowtide knows is stepped over; nothing else is lost by it.
//! docs/recording.md has the rules by which the format grows.
//!
//! There is one writer and it writes at offsets it knows, so there are no locks and no mapped
//! memory: both behave badly on NFS and Lustre.

#![forbid(unsafe_code)]

mod ahead;
mod budget;
mod cells;
pub mod codec;
mod disk;
#[cfg(test)]
mod document;
pub mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod glance;
mod lengths;
mod reader;
mod rows;
mod sample;
pub mod store;
pub mod summary;
mod writer;

pub use reader::{Losses, Recording, RecordingError};
pub use store::{NewRun, Store};
pub use writer::{Notice, Recorder, Unfinished};

/// The name of the log in a run's folder.
pub const FILE_NAME: &str = "recording.lowtide";

/// Whether a file means to be a recording, by its name or by its first bytes.
pub fn is_recording(path: &std::path::Path) -> bool {
    use std::io::Read;
    let starts_like_one = || {
        let mut head = [0; frame::MAGIC.len()];
        let mut file = lowtide_sys::regular::open(path).ok()?;
        file.read_exact(&mut head).ok()?;
        Some(head == *frame::MAGIC)
    };
    path.file_name().is_some_and(|name| name == FILE_NAME) || starts_like_one().unwrap_or(false)
}
