//! A census: one look at all objects of a process. `lowtide census` takes one when it is asked for one, and whoever
//! watches a job does when it grows.
//!
//! The walk makes the graph, [`crate::contents`] adds what lies behind objects of C, [`crate::holders`] says who keeps it;
//! [`named`] adds to each holder what may end it and which code touches it, [`parts`] makes the breakdowns.

mod named;
mod parts;
mod stopped;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use lowtide_core::look::{
    Amount, Cost, Examiner, Look, LookWhy, Missing, Objects, PythonHeap, Unaccounted,
};
use lowtide_core::process::ProcId;
use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::memory::{Deadline, Live, Mappings, Memory};
use lowtide_sys::proc::Proc;
use lowtide_sys::sampler::processor_time;
use lowtide_sys::signal::start_time;

use crate::contents::Contents;
use crate::frames::{Frame, Frames};
use crate::graph::{Behind, Graph, Pass, walk};
use crate::holders::{self, Reader, Roots};
use crate::interpreter::Interpreter;
use crate::loops::{self, Watch};
use crate::meters::Meter;
use crate::object::{Class, Heap, Memo};
use crate::refusal::Refusal;
use crate::source::{ByAddress, Direct, Whole};

/// Pauses double: a second in all, in which the collector goes over some ten million objects. What is no interpreter
/// that we know is refused that much later.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(512);

/// How a census is taken.
#[derive(Clone, Copy, Debug)]
pub struct CensusOptions {
    /// Stops all threads while what changed is read again.
    pub stop: bool,
    /// After this much time on a processor the rest stays unread.
    pub within: Duration,
    /// The moment, on the clock of whoever asks.
    pub at: Micros,
    pub why: LookWhy,
}

/// A census, and how to read its holders again on every tick.
#[derive(Debug)]
pub struct Census {
    pub look: Look,
    /// Of those that can be gone to again.
    pub meters: Vec<Meter>,
    /// What they are read with.
    pub interpreter: Interpreter,
}

/// Goes over all objects of a process. One that ends meanwhile gives an error, never a part as if it were the whole.
pub fn take(proc: &Proc, id: ProcId, options: &CensusOptions) -> Result<Census, Refusal> {
    taken(proc, id, options).map_err(|refusal| match refusal {
        // A thread of the kernel has neither memory nor files, and lives on.
        Refusal::Gone if is_same(proc, id).is_ok() => Refusal::NotPython,
        other => other,
    })
}

fn taken(proc: &Proc, id: ProcId, options: &CensusOptions) -> Result<Census, Refusal> {
    let (began, cpu) = (Instant::now(), processor_time());
    is_same(proc, id)?;
    let memory = Live::open(proc, id.pid, Deadline::after(options.within))
        .map_err(|errno| Refusal::of(errno, "/proc/PID/pagemap"))?;
    let interpreter = between_collections(proc, id.pid, &memory)?;
    let mappings = Mappings::without_sizes(proc, id.pid, Deadline::none())
        .map_err(|errno| Refusal::of(errno, "/proc/PID/maps"))?;
    let step = step(&memory, &interpreter);
    let mut look = Look::new(options.at, id, options.why, Examiner::Census);
    let meters = match options.stop {
        false => examine(&memory, &memory, &mappings, &interpreter, &mut look),
        true => stopped::examine(proc, id.pid, &memory, &mappings, &interpreter, &mut look)?,
    };
    if let Some(errno) = memory.refused() {
        return Err(Refusal::of(errno, "process_vm_readv"));
    }
    is_same(proc, id)?;
    if let Some(heap) = &mut look.heap {
        heap.step = step;
    }
    look.cost = Cost {
        wall: Micros::from_seconds(began.elapsed().as_secs_f64()),
        cpu: processor_time().since(cpu),
    };
    if memory.is_late() {
        let (work, wall) = (look.cost.cpu, look.cost.wall);
        look.missing.push(Missing::TimeRanOut { work, wall });
    }
    Ok(Census {
        look,
        meters,
        interpreter,
    })
}

/// The lists that an interpreter is known by are taken apart while its collector goes over old objects, which takes a
/// moment for every hundred thousand of them: who asks then asks again.
fn between_collections(proc: &Proc, pid: u32, memory: &Live) -> Result<Interpreter, Refusal> {
    let mut pause = FIRST_PAUSE;
    loop {
        match Interpreter::find(proc, pid, memory) {
            Err(Refusal::NotAsExpected(_)) if pause <= LAST_PAUSE => {
                std::thread::sleep(pause);
                pause *= 2;
            }
            found => return found,
        }
    }
}

/// A process is its pid and its start: another one may have the pid by now.
fn is_same(proc: &Proc, id: ProcId) -> Result<(), Refusal> {
    match start_time(proc, id.pid) {
        Some(start) if start == id.start => Ok(()),
        _ => Err(Refusal::Gone),
    }
}

/// All that memory tells. Heaps of C are searched in `live`: for tensors that no Python object has.
fn examine<M: Memory>(
    memory: &M,
    live: &Live,
    mappings: &Mappings,
    interpreter: &Interpreter,
    look: &mut Look,
) -> Vec<Meter> {
    let whole = Whole::new(memory, mappings);
    let heap = Heap::new(&whole, interpreter.layout);
    let (mut graph, pass) = walk(memory, &whole, &heap, interpreter);
    let objects = graph.nodes.len() as u64;
    let contents = behind(&heap, live, mappings, &mut graph);
    let types = parts::types(&graph);
    let groups = parts::names(&graph, &contents);
    let frames = Frames::new(&whole, interpreter);
    let roots = Roots::read(&mut graph, &heap, interpreter, &frames);
    // From here on nodes have numbers alone, and room is needed for who keeps whom.
    graph.places = ByAddress::default();
    let reader = Reader {
        heap: &heap,
        frames: &frames,
        roots: &roots,
    };
    let found = holders::find(&mut graph, &roots, &reader, &|node| groups.of(node));
    let holders = named::all(&heap, interpreter, &graph, &contents, &found.holders);
    look.breakdowns = parts::all(types, &contents, &holders);
    look.objects = Some(Objects {
        tracked: pass.tracked + pass.frozen,
        with_graph: contents.tensors.iter().filter(|one| one.step != 0).count() as u64,
        cuda: None,
    });
    look.missing = missed(&contents);
    look.heap = Some(PythonHeap {
        python: interpreter.version,
        step: None,
        objects,
        bytes: Bytes(sum(&graph)),
        stopped: None,
        holders,
        unaccounted: Unaccounted {
            torn: torn(&pass),
            unreachable: Amount {
                count: found.unreached.objects,
                bytes: Bytes(found.unreached.bytes),
            },
            ..Unaccounted::default()
        },
    });
    let threads = frames.threads(&heap, interpreter).into_iter();
    let running: Vec<Frame> = threads.flat_map(|thread| thread.chain.frames).collect();
    let each = found.holders.iter();
    each.filter_map(|spotted| Meter::of(&heap, &frames, &running, &graph, &roots, spotted))
        .collect()
}

fn sum(graph: &Graph) -> u64 {
    let bytes = graph.nodes.iter().map(|node| node.bytes);
    bytes.fold(0, u64::saturating_add)
}

fn torn(pass: &Pass) -> Amount {
    Amount {
        count: pass.torn + pass.broken,
        bytes: Bytes::ZERO,
    }
}

/// What lies behind objects of C, in nodes of its own or as bytes of its object.
fn behind<M: Memory>(
    heap: &Heap<'_, Whole<'_, M>>,
    memory: &Live,
    mappings: &Mappings,
    graph: &mut Graph,
) -> Contents {
    let classes: Vec<_> = graph
        .kinds
        .iter()
        .map(|kind| heap.class(kind.address))
        .collect();
    let objects = graph.nodes.iter().filter_map(|node| {
        let class: &Class = classes.get(node.kind as usize)?.as_deref()?;
        Some((node.address, class))
    });
    let contents = Contents::read(heap, memory, mappings, objects);
    for object in contents.objects() {
        if let Some(node) = graph.at(object) {
            let bytes = &mut graph.nodes[node as usize].bytes;
            *bytes = bytes.saturating_add(contents.bytes_behind(object));
        }
    }
    // Few classes, of many nodes.
    let mut kinds: HashMap<&str, String> = HashMap::new();
    for node in &contents.nodes {
        kinds
            .entry(&node.name)
            .or_insert_with(|| holders::native_kind(&node.name));
    }
    let nodes = contents.nodes.iter().map(|node| Behind {
        address: node.address,
        bytes: node.bytes,
        name: &kinds[&*node.name],
    });
    graph.join(nodes, &contents.edges);
    contents
}

/// What is known to be there and could not be told.
fn missed(contents: &Contents) -> Vec<Missing> {
    let missed = contents.missed;
    let kinds = [
        (missed.tensors, "tensors"),
        (missed.storages, "storages of tensors"),
        (missed.arrays, "arrays"),
        (missed.images, "images"),
        (missed.buffers, "buffers"),
    ];
    let told = kinds.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| Missing::Undecoded {
        what: what.to_owned(),
        count,
    })
    .collect()
}

/// The step of a trainer that keeps one.
fn step<M: Memory>(memory: &M, interpreter: &Interpreter) -> Option<u64> {
    let memo = Memo::default();
    let watch = Watch::new(&Direct(memory), interpreter);
    let found = loops::search(memory, interpreter, &memo).found;
    let inside = loops::read_now(memory, interpreter, &memo, &found, &watch);
    inside.trainers.first().map(|trainer| trainer.step)
}
