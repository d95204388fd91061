//! A census of one moment: a first pass without a stop shows what will be read, then all of that is copied while the
//! process stands still, and the census is made from the copy while it runs on.

use std::time::Duration;

use lowtide_core::look::{Amount, Look};
use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::memory::{Copied, Learned, Live, Mappings, Recopy};
use lowtide_sys::proc::Proc;
use lowtide_sys::stop::{HELD_AT_MOST, StopError, while_stopped_if};

use super::behind;
use crate::graph::walk;
use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::refusal::Refusal;
use crate::source::{Direct, Whole};

/// How long a moment is waited for in which Python's collector is at rest: a full collection of millions of objects takes
/// seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is copied at most: more would not be copied in the time that a process may be held for.
const MOST_COPIED: u64 = 4 << 30;

pub(super) fn examine(
    proc: &Proc,
    pid: u32,
    live: &Live,
    mappings: &Mappings,
    interpreter: &Interpreter,
    look: &mut Look,
) -> Result<(), Refusal> {
    let learned = Learned::new(live, mappings);
    {
        let whole = Whole::new(&learned, mappings, u64::MAX);
        let heap = Heap::new(&whole, interpreter.layout);
        let (mut graph, _) = walk(&learned, &whole, &heap, interpreter);
        behind(&heap, live, mappings, &mut graph);
    }
    let (copied, held) = copy(proc, pid, live, learned, interpreter)?;
    super::examine(&copied, live, copied.mappings(), interpreter, look);
    if let Some(heap) = &mut look.heap {
        heap.stopped = Some(Micros::from_seconds(held.as_secs_f64()));
        heap.unaccounted.late = Amount {
            count: copied.asked_late(),
            bytes: Bytes::ZERO,
        };
    }
    Ok(())
}

fn copy<'a>(
    proc: &Proc,
    pid: u32,
    live: &Live,
    learned: Learned<'a, Live>,
    interpreter: &Interpreter,
) -> Result<(Copied<'a, Live>, Duration), Refusal> {
    let failed = |why: String, hint: Option<String>| Refusal::NotStopped { why, hint };
    let recopy = Recopy::prepare(proc, pid, learned, MOST_COPIED)
        .map_err(|error| failed(error.to_string(), Some(WITHOUT.to_owned())))?;
    let rests = || !interpreter.is_collecting(&Direct(live));
    let stopped = while_stopped_if(pid, HELD_AT_MOST, PATIENCE, rests, |stopped| {
        recopy.copy(proc, stopped)
    });
    match stopped {
        Ok((Ok(copied), held)) => Ok((copied, held.whole)),
        Ok((Err(error), _)) => Err(failed(error.to_string(), Some(WITHOUT.to_owned()))),
        Err(
            StopError::NoSuchProcess { .. } | StopError::Ended { .. } | StopError::Zombie { .. },
        ) => Err(Refusal::Gone),
        Err(error) => Err(failed(error.to_string(), error.hint())),
    }
}

const WITHOUT: &str = "take it without --stop: what changes meanwhile is found and left out";
