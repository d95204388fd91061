//! Holders that a census named, read again on every tick: how many items each has, the room it has for them, how many of
//! its slots are filled, and whether what was in it still is. A census of a million objects costs a second and comes every
//! few minutes; this costs microseconds, like steps.
//!
//! `way` goes to each again from where its name begins, `size` reads a few words of what is there, and `old` looks for
//! items that were there before. [`crate::take`] makes a [`Meter`] for each holder that can be gone to again.

mod key;
mod old;
mod size;
#[cfg(test)]
mod tests;
mod way;

use lowtide_core::followed::{FollowedHolder, HolderReading};
use lowtide_core::look::Holder;
use lowtide_core::process::ProcId;
use lowtide_core::units::Bytes;
use lowtide_sys::memory::{Deadline, Live, Memory};
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::start_time;

use crate::frames::{Frame, Frames};
use crate::graph::Graph;
use crate::holders::{Roots, Spotted};
use crate::interpreter::Interpreter;
use crate::object::{Heap, Memo};
use crate::refusal::Refusal;
use crate::source::{Direct, Near, Source};
use old::Items;
use size::{Form, none_in};
use way::{Ground, Running, Way};

/// Holders of one process that are read: those of the newest census, and such of the ones before as are still there.
const MOST: usize = 64;
/// Tries until what is read twice is the same.
const TRIES: usize = 3;

/// One holder, and how to get to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Meter {
    pub holder: FollowedHolder,
    /// Of the container that the census found there.
    pub address: u64,
    way: Way,
    form: Form,
    /// Python's `None`, where it stands in slots that may be filled.
    none: Option<u64>,
    /// Some of the items at the last reading.
    old: Items,
}

impl Meter {
    /// None where it cannot be gone to again, or has no length.
    pub(crate) fn of<S: Source>(
        heap: &Heap<'_, S>,
        frames: &Frames,
        running: &[Frame],
        graph: &Graph,
        roots: &Roots,
        spotted: &Spotted,
    ) -> Option<Meter> {
        let first = *spotted.way.first()?;
        // What only C has, or nobody, has no name that leads to it again.
        roots.list.iter().find(|root| root.node == first)?;
        let addresses = spotted.way.iter();
        let addresses =
            addresses.map(|node| graph.nodes.get(*node as usize).map(|node| node.address));
        let addresses = addresses.collect::<Option<Vec<u64>>>()?;
        let frame = running
            .iter()
            .find(|frame| Some(&frame.address) == addresses.first());
        let way = Way::along(&Ground { heap, frames }, &addresses, frame)?;
        let object = *addresses.last()?;
        let class = heap.type_of(object)?;
        let form = Form::of(heap, &class)?;
        Some(Meter {
            holder: followed(&spotted.holder),
            address: object,
            way,
            form,
            none: none_in(heap, form, object),
            old: old::sample(heap, form, object),
        })
    }

    /// The container that is there now, and what is in it.
    fn read<S: Source>(&self, ground: &Ground<'_, '_, S>, running: &Running) -> Option<Read> {
        let container = self.way.go(ground, running)?;
        let reading = self.form.read(ground.heap, container, self.none)?;
        Some(Read { container, reading })
    }

    /// With what became of the items that it had.
    fn told<S: Source>(&mut self, heap: &Heap<'_, S>, read: Read) -> HolderReading {
        let Read { container, reading } = read;
        let left = old::is_any_left(heap, self.form, container, &self.old);
        self.old = old::sample(heap, self.form, container);
        HolderReading {
            renewed: left == Some(false),
            ..reading
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Read {
    container: u64,
    reading: HolderReading,
}

fn followed(holder: &Holder) -> FollowedHolder {
    let each = holder.length.filter(|length| *length > 0);
    FollowedHolder {
        name: holder.name.clone(),
        kind: holder.kind.clone(),
        each: each.map(|length| Bytes(holder.keeps.0 / length)),
    }
}

/// The meters of one process.
pub struct Meters {
    pub id: ProcId,
    proc: Proc,
    memory: Live,
    interpreter: Interpreter,
    memo: Memo,
    frames: Frames,
    all: Vec<Meter>,
}

impl Meters {
    /// Those of a census, with the interpreter that it found.
    pub fn open(
        proc: Proc,
        id: ProcId,
        interpreter: Interpreter,
        all: Vec<Meter>,
    ) -> Result<Meters, Refusal> {
        let memory = Live::open(&proc, id.pid, Deadline::none())
            .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
        let frames = Frames::new(&Direct(&memory), &interpreter);
        Ok(Meters {
            id,
            proc,
            memory,
            interpreter,
            memo: Memo::default(),
            frames,
            all,
        })
    }

    /// Takes over those of a newer census; of the others the ones that are still there, as far as there is room.
    pub fn renew(&mut self, interpreter: Interpreter, newer: Vec<Meter>) {
        // Types and code may have been freed since they were learnt, and the process be another program.
        self.memo.forget();
        self.frames = Frames::new(&Direct(&self.memory), &interpreter);
        self.interpreter = interpreter;
        let old = std::mem::replace(&mut self.all, newer);
        let is_new = |meter: &Meter| !self.all.iter().any(|one| one.way == meter.way);
        let old: Vec<Meter> = old.into_iter().filter(is_new).collect();
        let came = self.all.len();
        self.all.extend(old);
        let there = self.read().unwrap_or_default();
        let mut nth = 0;
        self.all.retain(|_| {
            nth += 1;
            nth <= came || there.get(nth - 1).is_some_and(Option::is_some)
        });
        self.all.truncate(MOST);
    }

    /// In the order in which they are read.
    pub fn all(&self) -> &[Meter] {
        &self.all
    }

    /// What is in each now; none where it is not there, or could not be told. A process that ended, or is another program
    /// by now, is refused.
    pub fn read(&mut self) -> Result<Vec<Option<HolderReading>>, Refusal> {
        if start_time(&self.proc, self.id.pid) != Some(self.id.start) {
            return Err(Refusal::Gone);
        }
        if (self.interpreter.counts(&Direct(&self.memory))).is_none() {
            return Err(Refusal::NotPython);
        }
        let readings = read_all(
            &Near::new(&self.memory),
            &self.interpreter,
            &self.memo,
            &self.frames,
            &mut self.all,
        );
        match self.memory.refused() {
            Some(errno) => Err(Refusal::of(errno, "process_vm_readv")),
            None => Ok(readings),
        }
    }
}

/// Bytes that were learnt on the way may be older than the way: a container that was freed since may be another one's by
/// now. So all that was read is read again at one moment, lengths are taken from that, and the ways are gone once more
/// with what is read after it: a container that is at their end before and after was there in between.
fn read_all<S: Source>(
    source: &S,
    interpreter: &Interpreter,
    memo: &Memo,
    frames: &Frames,
    all: &mut [Meter],
) -> Vec<Option<HolderReading>> {
    let heap = Heap::knowing(source, interpreter.layout, memo);
    let ground = Ground {
        heap: &heap,
        frames,
    };
    let in_frames = all.iter().any(|meter| meter.way.begins_in_a_frame());
    let running = || match in_frames {
        true => running(&heap, frames, interpreter),
        false => Running::default(),
    };
    let mut found = vec![None; all.len()];
    for nth in 0..TRIES {
        let read = |now: &Running| -> Vec<Option<Read>> {
            let each = all.iter().zip(&found);
            let wanted = |(meter, found): (&Meter, &Option<HolderReading>)| match found {
                None => meter.read(&ground, now),
                Some(_) => None,
            };
            each.map(wanted).collect()
        };
        source.anew();
        let first = read(&running());
        source.again();
        let second = read(&running());
        source.again();
        let now = running();
        let mut moved = false;
        let each = first.into_iter().zip(second);
        for ((meter, (first, second)), found) in all.iter_mut().zip(each).zip(&mut found) {
            let Some((first, second)) = first.zip(second) else {
                moved |= first.is_some() || second.is_some();
                continue;
            };
            // A list that a hot loop makes anew comes back to its place, and was a part of another one in between: with
            // another length.
            let last = meter.read(&ground, &now);
            let is_same = |last: Read| {
                let length = last.reading.length == second.reading.length;
                length && last.container == second.container
            };
            if first.container == second.container && last.is_some_and(is_same) {
                *found = Some(meter.told(&heap, second));
            } else {
                moved = true;
            }
        }
        // One that was not found twice is not there.
        let is_over = nth > 0 && !moved;
        if is_over || found.iter().all(Option::is_some) {
            break;
        }
    }
    found
}

fn running<S: Source>(heap: &Heap<'_, S>, frames: &Frames, interpreter: &Interpreter) -> Running {
    let threads = frames.threads(heap, interpreter);
    Running::new(threads.iter().flat_map(|thread| &thread.chain.frames))
}

/// For tests and fuzzers: memory that stands still has the same in it whenever it is read, and what was found is found.
#[cfg(any(test, fuzzing))]
pub(crate) fn tried<S: Source>(
    heap: &Heap<'_, S>,
    frames: &Frames,
    interpreter: &Interpreter,
    graph: &Graph,
    roots: &Roots,
    found: &[Spotted],
) {
    let threads = frames.threads(heap, interpreter).into_iter();
    let running: Vec<Frame> = threads.flat_map(|thread| thread.chain.frames).collect();
    let each = found.iter();
    let mut all: Vec<Meter> = each
        .filter_map(|spotted| Meter::of(heap, frames, &running, graph, roots, spotted))
        .collect();
    let memo = Memo::default();
    let mut read = || read_all(heap.source, interpreter, &memo, frames, &mut all);
    let first = read();
    for reading in read().into_iter().zip(first) {
        let is_same = |(now, before): (HolderReading, HolderReading)| {
            assert_eq!((now.length, now.filled), (before.length, before.filled));
        };
        assert_eq!(reading.0.is_some(), reading.1.is_some());
        reading.0.zip(reading.1).map(is_same);
    }
}
