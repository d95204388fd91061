//! What no module and no frame leads to: objects that C or C++ holds, and cycles that nobody holds and that the collector
//! has not come to yet. They get nodes to hang on, so that they are told of like all else.

use super::roots::Roots;
use super::sort::{CYCLES, NATIVE, Sort};
use super::step::Labels;
use crate::graph::{Edges, Graph, Kind, Node, NodeId};

/// What was not reached from roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unreached {
    pub objects: u64,
    pub bytes: u64,
    /// The nodes that now lead to them.
    pub nodes: Vec<NodeId>,
}

/// Adds a node that leads to all that nothing refers to, which somebody outside must hold, and to types, which are
/// circles in themselves; and one that leads to the circles that are left then.
pub(super) fn gather(graph: &mut Graph, roots: &Roots, labels: &impl Labels) -> Unreached {
    let is_class = |kind: &Kind| labels.sort(kind) == Sort::Class;
    let classes: Vec<bool> = graph.kinds.iter().map(is_class).collect();
    let count = graph.edges.len();
    let mut seen = Seen {
        edges: &graph.edges,
        is: vec![false; count],
        waiting: Vec::new(),
    };
    for root in &roots.list {
        seen.reach(root.node);
    }
    let mut is_referred_to = vec![false; count];
    let mut unreached = Unreached::default();
    let left = (0..count as NodeId).filter(|node| !seen.is[*node as usize]);
    for node in left {
        unreached.objects += 1;
        let bytes = graph.nodes.get(node as usize).map_or(0, |node| node.bytes);
        unreached.bytes = unreached.bytes.saturating_add(bytes);
        // Also by itself: a list that is in itself is a circle.
        for to in graph.edges.of(node) {
            if let Some(is) = is_referred_to.get_mut(*to as usize) {
                *is = true;
            }
        }
    }
    let mut held = Vec::new();
    for node in 0..count as NodeId {
        let kind = graph.nodes.get(node as usize).map(|node| node.kind);
        let is_class = kind.is_some_and(|kind| classes[kind as usize]);
        if !seen.is[node as usize] && (is_class || !is_referred_to[node as usize]) {
            held.push(node);
        }
    }
    held.iter().for_each(|node| seen.reach(*node));
    let mut circles = Vec::new();
    for node in 0..count as NodeId {
        if !seen.is[node as usize] {
            circles.push(node);
            seen.reach(node);
        }
    }
    for (name, nodes) in [(NATIVE, held), (CYCLES, circles)] {
        if !nodes.is_empty() {
            unreached.nodes.push(add(graph, name, 0, &nodes));
        }
    }
    unreached
}

struct Seen<'a> {
    edges: &'a Edges,
    is: Vec<bool>,
    waiting: Vec<NodeId>,
}

impl Seen<'_> {
    fn reach(&mut self, node: NodeId) {
        self.waiting.push(node);
        while let Some(node) = self.waiting.pop() {
            if let Some(is) = self.is.get_mut(node as usize)
                && !std::mem::replace(is, true)
            {
                self.waiting.extend(self.edges.of(node));
            }
        }
    }
}

/// A node that is none of Python's.
pub(super) fn add(graph: &mut Graph, kind: &str, address: u64, to: &[NodeId]) -> NodeId {
    let known = graph.kinds.iter().position(|known| known.name == kind);
    let nth = known.unwrap_or_else(|| {
        graph.kinds.push(Kind {
            name: kind.to_owned(),
            address: 0,
            count: 0,
            told: 0,
        });
        graph.kinds.len() - 1
    });
    graph.kinds[nth].count += 1;
    let node = graph.nodes.len() as NodeId;
    graph.nodes.push(Node {
        address,
        kind: nth as u32,
        bytes: 0,
    });
    if graph.edges.starts.is_empty() {
        graph.edges.starts.push(0);
    }
    graph.edges.to.extend(to);
    graph.edges.starts.push(graph.edges.to.len() as u32);
    node
}
