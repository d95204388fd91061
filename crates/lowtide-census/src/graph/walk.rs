//! The pass: what the collector tracks, then all that can be reached from there. The process runs on meanwhile, so lists
//! are torn and words lead to what was freed: an object counts if its type is one, and if somebody holds it.

use lowtide_sys::memory::Memory;

use super::name;
use super::plan::Plan;
use super::visit::{Block, Found, Visitor};
use super::{Graph, Kind, Node, NodeId};
use crate::frames::{Frames, Places};
use crate::interpreter::Interpreter;
use crate::object::{Heap, is_held};
use crate::source::{ByAddress, Near, Source, Whole, is_pointer};
use crate::walk::List;

/// How often time is asked for: each costs as much as some objects.
const ASK: usize = 4096;
/// An address that is no type, and one of a type that was gone before its name was known.
const NO_TYPE: u32 = u32::MAX;
const GONE: u32 = u32::MAX - 1;
/// How often the frames of all threads are read until they fit together: a thread that computes in Python calls and
/// returns all the time, one that waits for C does not.
const TRIES: usize = 16;

/// What the pass came to, beside the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pass {
    /// Objects on the collector's lists, and those that `gc.freeze()` set aside.
    pub tracked: u64,
    pub frozen: u64,
    /// Lists that did not lead back to their beginning: they changed while they were read.
    pub broken: u64,
    /// Objects that made no sense, or that could not be read as a whole.
    pub torn: u64,
    /// Time ran out.
    pub is_cut: bool,
}

/// All objects of a process.
pub(crate) fn walk<'m, M: Memory>(
    memory: &M,
    whole: &Whole<'m, M>,
    heap: &Heap<'_, Whole<'m, M>>,
    interpreter: &Interpreter,
) -> (Graph, Pass) {
    let mut walk = Walk {
        heap,
        whole,
        minor: interpreter.version.minor,
        graph: Graph::default(),
        plans: Vec::new(),
        types: ByAddress::default(),
        near: whole.now(),
        left_out: ByAddress::default(),
        pass: Pass::default(),
    };
    let locals = walk.locals(interpreter);
    walk.seeds(interpreter);
    for object in locals {
        walk.node(object);
    }
    walk.follow(
        memory,
        Places::of(whole, interpreter.runtime, interpreter.version.minor),
    );
    (walk.graph, walk.pass)
}

/// What `sys.getsizeof` says of a node, and the blocks that it and what belongs to it stand in: to be compared with.
pub(crate) struct Told {
    pub bytes: u64,
    pub blocks: Vec<Block>,
}

/// Of every node, in their order.
pub(crate) fn told<M: Memory>(
    heap: &Heap<'_, Whole<'_, M>>,
    interpreter: &Interpreter,
    graph: &Graph,
) -> Vec<Told> {
    let minor = interpreter.version.minor;
    let visitor = Visitor {
        heap,
        places: Places::of(heap.source, interpreter.runtime, minor),
    };
    let mut found = Found::default();
    let told = graph.nodes.iter().map(|node| {
        let mut told = Told {
            bytes: 0,
            blocks: Vec::new(),
        };
        if let Some(class) = heap.class(graph.kinds[node.kind as usize].address) {
            let plan = Plan::of(heap, &class);
            visitor.visit(node.address, &plan, &mut found);
            let apart = found.apart.iter().map(|one| one.bytes * one.count);
            let apart: u64 = apart.sum();
            let own = (found.told + found.beside).saturating_sub(apart);
            told.bytes = found.told;
            told.blocks.push(Block {
                at: node.address - plan.before,
                bytes: own,
                count: 1,
            });
            told.blocks.append(&mut found.apart);
        }
        told
    });
    told.collect()
}

struct Walk<'a, 'm, M> {
    heap: &'a Heap<'a, Whole<'m, M>>,
    whole: &'a Whole<'m, M>,
    minor: u32,
    graph: Graph,
    /// One for each kind.
    plans: Vec<Plan>,
    types: ByAddress<u32>,
    /// For what has to be of this moment.
    near: Near<'a, M>,
    /// Objects of types that were gone before their name was known.
    left_out: ByAddress<()>,
    pass: Pass,
}

impl<M: Memory> Walk<'_, '_, M> {
    /// What the collector knows. Its lists belong to one interpreter each, four in a row, the last of which is that of
    /// `gc.freeze()`.
    fn seeds(&mut self, interpreter: &Interpreter) {
        for (nth, head) in interpreter.lists(self.whole).into_iter().enumerate() {
            let before = self.graph.nodes.len();
            let mut list = List::new(self.whole, head);
            for object in &mut list {
                self.node(object);
            }
            self.pass.broken += u64::from(!list.is_whole());
            let came = (self.graph.nodes.len() - before) as u64;
            match nth % 4 {
                3 => self.pass.frozen += came,
                _ => self.pass.tracked += came,
            }
        }
    }

    /// What only a running function holds, and the collector does not track: an array in a local, the code of a module
    /// that runs. Read before all else, and kept as it was then: who names holders later asks for the same frames, which
    /// are long over when millions of objects have been read.
    fn locals(&self, interpreter: &Interpreter) -> Vec<u64> {
        let frames = Frames::new(self.whole, interpreter);
        let mut threads = frames.threads(self.heap, interpreter);
        for _ in 1..TRIES {
            if threads.iter().all(|thread| thread.chain.is_whole) && !threads.is_empty() {
                break;
            }
            // It ran on between two words.
            self.whole.anew();
            frames.forget();
            threads = frames.threads(self.heap, interpreter);
        }
        let mut found = Vec::new();
        for frame in threads.iter().flat_map(|thread| &thread.chain.frames) {
            found.push(frame.code.address);
            let variables = frames.variables(self.heap, frame);
            found.extend(variables.into_iter().map(|(_, object)| object));
        }
        found
    }

    /// Every object that is known, one after the other; those that it leads to come behind.
    fn follow(&mut self, memory: &M, places: Option<Places>) {
        let visitor = Visitor {
            heap: self.heap,
            places,
        };
        let mut found = Found::default();
        let mut at = 0;
        while at < self.graph.nodes.len() {
            if at % ASK == 0 && memory.is_over() {
                self.pass.is_cut = true;
                break;
            }
            let node = self.graph.nodes[at];
            let plan = self.plans[node.kind as usize];
            visitor.visit(node.address, &plan, &mut found);
            self.pass.torn += u64::from(found.torn);
            self.graph.nodes[at].bytes = found.told.saturating_add(found.beside);
            self.graph.kinds[node.kind as usize].told += found.told;
            self.graph
                .edges
                .starts
                .push(self.graph.edges.to.len() as u32);
            for word in &found.words {
                if let Some(node) = self.node(*word) {
                    self.graph.edges.to.push(node);
                }
            }
            at += 1;
        }
        // Those that time was too short for refer to nothing that is known.
        let end = self.graph.edges.to.len() as u32;
        self.graph
            .edges
            .starts
            .resize(self.graph.nodes.len() + 1, end);
    }

    /// The node of an object, if there is one at this address.
    fn node(&mut self, address: u64) -> Option<NodeId> {
        if let Some(known) = self.graph.places.get(&address) {
            return Some(*known);
        }
        if !is_pointer(address) || !self.whole.regions.hold(address) {
            return None;
        }
        let head: [u8; 16] = self.whole.array(address)?;
        let (words, _) = head.as_chunks::<8>();
        let [held, class] = [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])];
        if !is_held(held, self.minor) {
            return None;
        }
        let kind = match self.kind(class) {
            NO_TYPE => return None,
            GONE => {
                let first = self.left_out.insert(address, ()).is_none();
                self.pass.torn += u64::from(first);
                return None;
            }
            kind => kind,
        };
        let visitor = Visitor {
            heap: self.heap,
            places: None,
        };
        if !visitor.ends(address, &self.plans[kind as usize], held) {
            return None;
        }
        let node = NodeId::try_from(self.graph.nodes.len()).ok()?;
        self.graph.nodes.push(Node {
            address,
            kind,
            bytes: 0,
        });
        self.graph.kinds[kind as usize].count += 1;
        self.graph.places.insert(address, node);
        Some(node)
    }

    /// Which of the kinds a class is, or why it is none.
    fn kind(&mut self, class: u64) -> u32 {
        if let Some(known) = self.types.get(&class) {
            return *known;
        }
        let read = self.heap.class(class).filter(|_| is_pointer(class));
        let kind = match &read {
            None => NO_TYPE,
            Some(class) => match name::of(&self.near, self.heap, class) {
                None => GONE,
                Some(name) => {
                    self.plans.push(Plan::of(self.heap, class));
                    self.graph.kinds.push(Kind {
                        name,
                        address: class.address,
                        count: 0,
                        told: 0,
                    });
                    self.graph.kinds.len() as u32 - 1
                }
            },
        };
        self.types.insert(class, kind);
        kind
    }
}
