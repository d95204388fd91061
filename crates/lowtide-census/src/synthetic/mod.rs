//! The memory of a Python process, made up: what readers are tried on where no interpreter of a version is at hand,
//! and what fuzzing damages. Every number here is CPython's own (its headers, structure by structure) and none is
//! taken from the tables that the readers use, so that a wrong number there shows.
//!
//! [`World`] is memory with objects in it, [`runtime`] what stands around them, [`values`] and [`plain`] make
//! objects, [`loops`] those that training loops keep their state in.

#[cfg(test)]
mod damaged;
mod loops;
mod plain;
mod runtime;
mod values;
#[cfg(test)]
mod whole;

use std::collections::HashMap;

use lowtide_core::inside::seen::Inside;
use lowtide_core::look::PythonVersion;
use lowtide_sys::memory::{Image, Memory, mappings};

use crate::interpreter::{Counts, Interpreter};
use crate::object::{Heap, Memo};
use crate::refusal::Refusal;
use crate::source::{Direct, Whole};
#[cfg(test)]
pub(crate) use loops::Loops;
pub(crate) use runtime::Shape;

/// Where it lies, as a heap of a real process could.
pub(crate) const BASE: u64 = 0x7f5a_1000_0000;
/// More than any of them takes.
const ROOM: u64 = 1 << 28;
/// What is read of a name may reach beyond it.
const BEHIND: usize = 4096;

/// Which CPython, and how its collector keeps its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub minor: u32,
    pub shape: Shape,
}

const fn kind(minor: u32, shape: Shape) -> Kind {
    Kind { minor, shape }
}

/// All that differ in what is read.
pub(crate) const KINDS: [Kind; 9] = [
    kind(9, Shape::Generations),
    kind(10, Shape::Generations),
    kind(11, Shape::Generations),
    kind(12, Shape::Generations),
    kind(13, Shape::Generations),
    kind(13, Shape::LooseGenerations),
    kind(14, Shape::Incremental),
    kind(14, Shape::GenerationsAgain),
    kind(15, Shape::Rings),
];

/// Memory that objects are put into.
pub(crate) struct World {
    pub kind: Kind,
    bytes: Vec<u8>,
    /// Types that C made, by name.
    types: HashMap<&'static str, u64>,
    /// Texts that were made: names of attributes are one object each, as in a real process.
    texts: HashMap<String, u64>,
    /// What the collector knows.
    tracked: Vec<u64>,
    /// Objects' attributes stand in dictionaries of their own, as they do once somebody asked for `__dict__`.
    pub own_dicts: bool,
}

/// A finished one.
#[derive(Clone)]
pub(crate) struct Made {
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// The address of `_PyRuntime`.
    pub runtime: u64,
    /// Of the main interpreter.
    #[cfg(test)]
    pub interpreter: u64,
    /// Of its collector's first list.
    #[cfg(test)]
    pub collector: u64,
}

impl World {
    pub(crate) fn new(kind: Kind) -> World {
        let mut world = World {
            kind,
            // A page that nothing is in: no object lies at the beginning.
            bytes: vec![0; 4096],
            types: HashMap::new(),
            texts: HashMap::new(),
            tracked: Vec::new(),
            own_dicts: false,
        };
        world.c_types();
        world
    }

    /// Room for so many bytes, all zero.
    pub(crate) fn room(&mut self, size: u64) -> u64 {
        let at = self.bytes.len().next_multiple_of(16);
        self.bytes.resize(at + size as usize, 0);
        BASE + at as u64
    }

    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) {
        let at = (at - BASE) as usize;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn word(&mut self, at: u64, value: u64) {
        self.put(at, &value.to_le_bytes());
    }

    pub(crate) fn words(&mut self, at: u64, values: &[u64]) {
        for (nth, value) in values.iter().enumerate() {
            self.word(at + nth as u64 * 8, *value);
        }
    }
}

impl Made {
    #[cfg(test)]
    pub(crate) fn version(&self) -> Option<PythonVersion> {
        let minor = self.kind.minor;
        Some(PythonVersion { minor, micro: None })
    }

    pub(crate) fn image(&self) -> Image {
        Image::default().with(BASE, &self.bytes)
    }

    pub(crate) fn word(&self, at: u64) -> u64 {
        let at = (at - BASE) as usize;
        u64::from_le_bytes(*self.bytes[at..].first_chunk().expect("a word"))
    }

    /// With another word at an address.
    pub(crate) fn with(mut self, at: u64, value: u64) -> Made {
        let at = (at - BASE) as usize;
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        self
    }
}

/// All that is read of a process: what a [`Follower`](crate::Follower) does.
pub(crate) fn read<M: Memory>(
    memory: &M,
    runtime: u64,
    version: Option<PythonVersion>,
) -> Result<Seen, Refusal> {
    let interpreter = Interpreter::at(&Direct(memory), runtime, version)?;
    let memo = Memo::default();
    let pass = crate::loops::search(memory, &interpreter, &memo);
    let watch = crate::loops::Watch::new(&Direct(memory), &interpreter);
    let inside = crate::loops::read_now(memory, &interpreter, &memo, &pass.found, &watch);
    // Memory that stands still is the same, however it is read.
    let direct = crate::loops::read(&Direct(memory), &interpreter, &memo, &pass.found, &watch);
    assert_eq!(inside, direct);
    let (graph, holders) = walk(memory, &interpreter);
    Ok(Seen {
        counts: interpreter.counts(&Direct(memory)),
        objects: pass.objects,
        inside,
        graph,
        holders,
    })
}

/// All objects and edges, as numbers, and the names of holders.
fn walk<M: Memory>(memory: &M, interpreter: &Interpreter) -> ([u64; 4], Vec<String>) {
    let mut parser = mappings::Parser::default();
    parser.feed(format!("{BASE:x}-{:x} rw-p 00000000 00:00 0\n", BASE + ROOM).as_bytes());
    let whole = Whole::new(memory, &parser.finish());
    let heap = Heap::new(&whole, interpreter.layout);
    let (mut graph, pass) = crate::graph::walk(memory, &whole, &heap, interpreter);
    let (nodes, edges) = (graph.nodes.len(), graph.edges.to.len());
    assert_eq!(graph.edges.starts.len(), nodes + 1);
    assert!(graph.edges.to.iter().all(|to| (*to as usize) < nodes));
    let bytes = graph
        .nodes
        .iter()
        .fold(0u64, |sum, node| sum.saturating_add(node.bytes));
    let numbers = [nodes as u64, edges as u64, bytes, pass.torn];
    let holders = crate::holders::tried::names(&mut graph, &heap, interpreter);
    (numbers, holders)
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub counts: Option<Counts>,
    pub objects: u64,
    pub inside: Inside,
    pub graph: [u64; 4],
    pub holders: Vec<String>,
}
