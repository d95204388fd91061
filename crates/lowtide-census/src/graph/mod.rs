//! The heap as a graph: every object that could be reached, its type and size, and whom it refers to.
//!
//! `walk` makes it, in one pass over what the collector tracks and all that can be reached from there; [`crate::contents`]
//! adds what lies behind objects of C (storages of tensors, buffers of arrays) as nodes of their own;
//! [`crate::retained`] asks it who keeps what.

mod join;
mod name;
mod plan;
mod visit;
mod walk;

pub(crate) use join::Behind;
pub(crate) use walk::{Pass, told, walk};

use crate::source::ByAddress;

/// A node, by its place in [`Graph::nodes`].
pub(crate) type NodeId = u32;

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub kinds: Vec<Kind>,
    pub nodes: Vec<Node>,
    pub edges: Edges,
    /// Nodes by address.
    pub places: ByAddress<NodeId>,
}

impl Graph {
    pub(crate) fn at(&self, address: u64) -> Option<NodeId> {
        self.places.get(&address).copied()
    }

    pub(crate) fn kind(&self, node: NodeId) -> &Kind {
        &self.kinds[self.nodes[node as usize].kind as usize]
    }
}

/// A type, or what a node is where it is no Python object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// With its module where that is no builtin: `list`, `torch.Tensor`, `collections.deque`, `train.Metrics`.
    pub name: String,
    /// The address of the type; 0 for what is none of Python's: a storage, a node of autograd.
    pub address: u64,
    pub count: u64,
    /// What `sys.getsizeof` says of all of them.
    pub told: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub address: u64,
    /// In [`Graph::kinds`].
    pub kind: u32,
    /// What is freed with it: what `sys.getsizeof` says, and what that leaves out.
    pub bytes: u64,
}

/// Who refers to whom: the targets of node `n` are `to[starts[n]..starts[n + 1]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edges {
    pub starts: Vec<u32>,
    pub to: Vec<NodeId>,
}

impl Edges {
    pub(crate) fn of(&self, node: NodeId) -> &[NodeId] {
        let at = |nth: usize| self.starts.get(nth).map_or(0, |start| *start as usize);
        let (from, to) = (at(node as usize), at(node as usize + 1));
        self.to.get(from..to.max(from)).unwrap_or_default()
    }
}
