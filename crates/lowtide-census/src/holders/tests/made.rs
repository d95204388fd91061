//! Graphs by hand, with the labels that a process would give.

use std::collections::HashMap;

use crate::graph::{Edges, Graph, Kind, Node, NodeId};
use crate::holders::roots::{Root, RootName};
use crate::holders::{Found, Labels, Roots, Step, find};

#[derive(Default)]
pub(super) struct Made {
    kinds: Vec<Kind>,
    nodes: Vec<Node>,
    rows: Vec<Vec<NodeId>>,
    steps: HashMap<(u64, u64), Step>,
    roots: Roots,
}

impl Made {
    pub(super) fn node(&mut self, kind: &str, bytes: u64) -> NodeId {
        let known = self.kinds.iter().position(|known| known.name == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(Kind {
                name: kind.to_owned(),
                address: 0,
                count: 0,
                told: 0,
            });
            self.kinds.len() - 1
        });
        let node = self.nodes.len() as NodeId;
        self.nodes.push(Node {
            address: u64::from(node) * 16 + 0x1000,
            kind: kind as u32,
            bytes,
        });
        self.rows.push(Vec::new());
        node
    }

    pub(super) fn link(&mut self, from: NodeId, to: NodeId, step: Step) {
        self.rows[from as usize].push(to);
        let address = |node: NodeId| self.nodes[node as usize].address;
        self.steps.insert((address(from), address(to)), step);
    }

    /// A new node that another refers to.
    pub(super) fn part(&mut self, from: NodeId, kind: &str, bytes: u64, step: Step) -> NodeId {
        let to = self.node(kind, bytes);
        self.link(from, to, step);
        to
    }

    /// What a name of a module leads to.
    pub(super) fn global(&mut self, module: NodeId, name: &str, kind: &str, bytes: u64) -> NodeId {
        self.part(module, kind, bytes, key(name))
    }

    /// So many things of this size, in a list.
    pub(super) fn fill(&mut self, list: NodeId, count: u64, kind: &str, bytes: u64) -> Vec<NodeId> {
        let each = 0..count;
        each.map(|nth| self.part(list, kind, bytes, Step::Index(nth)))
            .collect()
    }

    /// The names of a module.
    pub(super) fn module(&mut self, name: &str, is_own: bool) -> NodeId {
        let node = self.node("dict", 1000);
        let name = name.to_owned();
        let name = RootName::Module { name, is_own };
        self.roots.list.push(Root { node, name });
        node
    }

    pub(super) fn frame(&mut self, function: &str) -> NodeId {
        let node = self.node("frame", 0);
        let name = RootName::Frame {
            function: function.to_owned(),
            file: "train.py".to_owned(),
            line: 41,
            is_main: true,
            is_own: true,
        };
        self.roots.list.push(Root { node, name });
        node
    }

    pub(super) fn found(&self) -> Found {
        let mut edges = Edges {
            starts: vec![0],
            to: Vec::new(),
        };
        for row in &self.rows {
            edges.to.extend(row);
            edges.starts.push(edges.to.len() as u32);
        }
        let mut graph = Graph {
            kinds: self.kinds.clone(),
            nodes: self.nodes.clone(),
            edges,
            ..Graph::default()
        };
        let tensors = |node: NodeId| {
            let kind = self.nodes.get(node as usize)?.kind;
            let is = self.kinds[kind as usize].name == "torch.Tensor";
            is.then(|| "Tensor cpu float32 [3, 4]".to_owned())
        };
        find(&mut graph, &self.roots, self, &tensors)
    }

    /// The names of all that were found.
    pub(super) fn names(&self) -> Vec<String> {
        let holders = self.found().holders.into_iter();
        holders.map(|spotted| spotted.holder.name).collect()
    }
}

impl Labels for Made {
    fn step(&self, way: &[u64]) -> Step {
        let [.., from, to] = way else {
            return Step::Referent;
        };
        let step = self.steps.get(&(*from, *to)).cloned();
        step.unwrap_or(Step::Referent)
    }

    fn length(&self, address: u64) -> Option<u64> {
        let nth = self.nodes.iter().position(|node| node.address == address)?;
        Some(self.rows[nth].len() as u64)
    }
}

pub(super) fn key(name: &str) -> Step {
    Step::Key(format!("\"{name}\""))
}

pub(super) fn attribute(name: &str) -> Step {
    Step::Attribute(name.to_owned())
}
