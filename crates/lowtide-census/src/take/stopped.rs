//! A census of one moment: a first pass without a stop shows what will be read, then all of that is copied while the
//! process stands still, and the census is made from the copy while it runs on.
//!
//! What the copy lacks, because objects were made in between where none had been, is known afterwards, and the next copy
//! has it. So it is copied again until nothing is missing; what is missing in the last one is left out and told, never read
//! later: memory of another moment has other objects in the same places.

use std::time::Duration;

use lowtide_core::look::{Amount, Look, Unaccounted};
use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::memory::{Copied, Late, Learned, Live, Mappings, Recopy};
use lowtide_sys::proc::Proc;
use lowtide_sys::stop::{HELD_AT_MOST, StopError, while_stopped_if};

use super::behind;
use crate::graph::walk;
use crate::interpreter::Interpreter;
use crate::meters::Meter;
use crate::object::Heap;
use crate::refusal::Refusal;
use crate::source::{Direct, Whole};

/// How long a moment is waited for in which Python's collector is at rest: a full collection of millions of objects takes
/// seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Copies that are made at most. A process whose objects come and go within the same room needs one, sometimes two; for one
/// that makes and frees them at full speed beside torch four were too few in one of six tries on busy cores.
const COPIES: usize = 8;
/// What is copied at most: more would not be copied in the time that a process may be held for.
const MOST_COPIED: u64 = 4 << 30;

pub(super) fn examine(
    proc: &Proc,
    pid: u32,
    live: &Live,
    mappings: &Mappings,
    interpreter: &Interpreter,
    look: &mut Look,
) -> Result<Vec<Meter>, Refusal> {
    let mut learned = Learned::new(live, mappings);
    {
        let whole = Whole::new(&learned, mappings);
        let heap = Heap::new(&whole, interpreter.layout);
        let (mut graph, _) = walk(&learned, &whole, &heap, interpreter);
        behind(&heap, live, mappings, &mut graph);
    }
    let mut held = Duration::ZERO;
    let mut before = None;
    let mut meters = Vec::new();
    for nth in 1..=COPIES {
        let (copied, this_time) = copy(proc, pid, live, learned, interpreter)?;
        held += this_time;
        // Until the last one it is read all the same, to learn what lies behind it.
        let late = if nth == COPIES {
            Late::Refuse
        } else {
            Late::Read
        };
        let copied = copied.with_late(late);
        meters = super::examine(&copied, live, copied.mappings(), interpreter, look);
        let Some(heap) = &mut look.heap else {
            break;
        };
        heap.stopped = Some(Micros::from_seconds(held.as_secs_f64()));
        heap.unaccounted.late = Amount {
            count: copied.asked_late(),
            bytes: Bytes::ZERO,
        };
        if is_of_one_moment(&heap.unaccounted, before) {
            break;
        }
        before = Some(heap.unaccounted);
        learned = copied.into_learned();
    }
    Ok(meters)
}

/// Whether another copy would be no better. An object makes no sense if a thread was held in the midst of changing it, or
/// if it is of a kind that we do not understand: then it makes none in the next copy either.
fn is_of_one_moment(now: &Unaccounted, before: Option<Unaccounted>) -> bool {
    let known = before.is_some_and(|before| before.late.is_nothing() && before.torn == now.torn);
    now.late.is_nothing() && (now.torn.is_nothing() || known)
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
