//! The copying itself, in two parts: what can be done before the stop, and what cannot.

use std::num::NonZero;
use std::sync::Mutex;
use std::time::Duration;

use rustix::io::Errno;

use super::super::{Deadline, Mappings, Memory, Piece};
use super::plan::{NEW_AT_MOST, Plan, mapped_still, with_surroundings};
use super::rows::Rows;
use super::{Copied, Late, Learned};
use crate::proc::Proc;
use crate::stop::Stopped;

/// The kernel's limit on pieces per call (UIO_MAXIOV).
const PIECES: usize = 1024;
/// And how much a call is asked for: some milliseconds, after which the time is looked at.
const BYTES: u64 = 16 << 20;
/// Threads that copy at once: the process stands still, so its processors are free. Measured with 251 MB: two hold it
/// for 27 ms instead of 49. Many more would find the memory too slow.
const THREADS: usize = 4;
/// How much more room is made ready than the first pass needed: the process goes on until it is stopped.
const SPARE: u64 = 16;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the memory of process {pid} cannot be read: {source}")]
    Refused { pid: u32, source: std::io::Error },
    #[error("what was read of process {pid} is {needed} bytes, and a copy may have {at_most}")]
    TooLarge { pid: u32, needed: u64, at_most: u64 },
    #[error("the copy of process {pid} was not done in time")]
    Late { pid: u32 },
}

/// All that is needed to copy at the stop, made ready before it.
#[derive(Debug)]
pub struct Recopy<'a, M> {
    learned: Learned<'a, M>,
    pid: u32,
    chunks: Vec<(u64, u64)>,
    mapped: Vec<(u64, u64)>,
    room: Vec<u8>,
    at_most: u64,
}

impl<'a, M: Memory + Sync> Recopy<'a, M> {
    /// Makes room for what the first pass read, `at_most` bytes, and touches all of it: to be given its pages
    /// would cost more than to copy into them, and the process would wait for that.
    pub fn prepare(
        proc: &Proc,
        pid: u32,
        learned: Learned<'a, M>,
        at_most: u64,
    ) -> Result<Recopy<'a, M>, CopyError> {
        let mappings = Mappings::without_sizes(proc, pid, Deadline::none())
            .map_err(|errno| refused(pid, errno))?;
        Recopy::prepare_for(&mappings, pid, learned, at_most)
    }

    pub(super) fn prepare_for(
        mappings: &Mappings,
        pid: u32,
        learned: Learned<'a, M>,
        at_most: u64,
    ) -> Result<Recopy<'a, M>, CopyError> {
        let chunks = with_surroundings(&learned.chunks(), learned.chunk(), mappings);
        let mapped = mapped_still(&learned.mapped, mappings);
        let plan = Plan::make(&learned, &chunks, &mapped, mappings)
            .map_err(|errno| refused(pid, errno))?;
        let needed = plan.bytes + plan.bytes / SPARE + NEW_AT_MOST;
        let too_large = || CopyError::TooLarge {
            pid,
            needed,
            at_most,
        };
        let length = usize::try_from(needed).map_err(|_| too_large())?;
        if needed > at_most {
            return Err(too_large());
        }
        // Not zeros: those the kernel would promise, and give later.
        let room = vec![1; length];
        Ok(Recopy {
            learned,
            pid,
            chunks,
            mapped,
            room,
            at_most,
        })
    }

    /// Copies. To be called while the process is stopped.
    pub fn copy(self, proc: &Proc, stopped: &Stopped) -> Result<Copied<'a, M>, CopyError> {
        let pid = self.pid;
        // The heap may have grown since, and its newest part is what leaks.
        let mappings = Mappings::without_sizes(proc, pid, Deadline::none())
            .map_err(|errno| refused(pid, errno))?;
        self.copy_of(mappings, || stopped.left())
    }

    pub(super) fn copy_of(
        mut self,
        mappings: Mappings,
        left: impl Fn() -> Duration + Sync,
    ) -> Result<Copied<'a, M>, CopyError> {
        let pid = self.pid;
        let plan = Plan::make(&self.learned, &self.chunks, &self.mapped, &mappings)
            .map_err(|errno| refused(pid, errno))?;
        if plan.bytes > self.at_most {
            return Err(CopyError::TooLarge {
                pid,
                needed: plan.bytes,
                at_most: self.at_most,
            });
        }
        // Shorter in nearly all cases; `at_most` bounds the others.
        self.room.resize(plan.bytes as usize, 1);
        let memory = self.learned.memory;
        let came =
            copy(memory, &plan.pieces, &mut self.room, &left).ok_or(CopyError::Late { pid })?;
        if let Some(errno) = memory.refused() {
            return Err(refused(pid, errno));
        }
        let mut rows = Rows::default();
        for (start, end) in &plan.looked {
            rows.looked_at(*start, *end);
        }
        let mut place = 0;
        for (piece, came) in plan.pieces.iter().zip(came) {
            rows.copied(piece.address, came as u64, place);
            place += piece.length;
        }
        Ok(Copied {
            learned: self.learned,
            mappings,
            rows,
            bytes: self.room,
            late: Late::default(),
            asked_late: 0.into(),
            gone: 0.into(),
        })
    }
}

fn refused(pid: u32, errno: Errno) -> CopyError {
    let source = errno.into();
    CopyError::Refused { pid, source }
}

/// Reads all pieces into the room, one behind the other; how many bytes of each came, or none if time runs out.
fn copy<M: Memory + Sync>(
    memory: &M,
    pieces: &[Piece],
    room: &mut [u8],
    left: &(impl Fn() -> Duration + Sync),
) -> Option<Vec<usize>> {
    let mut came = vec![0; pieces.len()];
    let batches = Mutex::new(batches(pieces, room, &mut came).into_iter());
    let next = || batches.lock().ok()?.next();
    // Whoever is done takes the next: on a busy machine one of the threads may get no turn for long.
    let work = || {
        let mut counts = Vec::new();
        while let Some(batch) = next() {
            if left().is_zero() || memory.is_late() {
                return None;
            }
            memory.read_pieces(batch.pieces, batch.room, &mut counts);
            batch.came.copy_from_slice(&counts);
        }
        Some(())
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..processors.min(THREADS))
            .map(|_| scope.spawn(work))
            .collect();
        let mine = work();
        let others = others.into_iter().map(|other| other.join().ok().flatten());
        others.fold(mine, Option::and)
    });
    done.map(|()| came)
}

/// What one call reads, where to, and what came of it.
struct Batch<'a> {
    pieces: &'a [Piece],
    room: &'a mut [u8],
    came: &'a mut [usize],
}

fn batches<'a>(
    mut pieces: &'a [Piece],
    mut room: &'a mut [u8],
    mut came: &'a mut [usize],
) -> Vec<Batch<'a>> {
    let mut batches = Vec::new();
    while !pieces.is_empty() {
        let mut length = 0;
        let fits = |piece: &&Piece| {
            length += piece.length;
            length as u64 <= BYTES
        };
        let count = pieces.iter().take(PIECES).take_while(fits).count().max(1);
        let (now, later) = pieces.split_at(count);
        let length = now.iter().map(|piece| piece.length).sum();
        let (here, behind) = std::mem::take(&mut room).split_at_mut(length);
        let (counts, further) = std::mem::take(&mut came).split_at_mut(count);
        batches.push(Batch {
            pieces: now,
            room: here,
            came: counts,
        });
        (pieces, room, came) = (later, behind, further);
    }
    batches
}
