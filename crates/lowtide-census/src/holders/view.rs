//! The graph seen from its roots: who keeps what, who is reached how, and which nodes are seen through.

use super::native::Unreached;
use super::roots::{RootName, Roots};
use super::sort::Sort;
use super::step::Labels;
use crate::graph::{Edges, Graph, NodeId};
use crate::retained::{ABOVE, Dominators, Kept, Start, Ways, reverse};

/// Who keeps less than this share of all is not told of, nor who keeps less than a page.
const SHARE: u64 = 16_000;
const LEAST: u64 = 4096;
/// A holder in the program's own modules and functions comes before one of a library that keeps so many times as much.
/// Libraries have hundreds of tables that they fill when they are imported (transformers with torch: 0.2 to 4 MB each, when
/// nothing has been leaked yet).
const OWN: u64 = 8;

pub(crate) struct View<'a> {
    pub graph: &'a Graph,
    pub roots: &'a Roots,
    /// Who refers to whom, the other way.
    pub back: Edges,
    pub dominators: Dominators,
    pub kept: Kept,
    pub ways: Ways,
    /// By kind.
    sorts: Vec<Sort>,
    /// The dictionaries of modules: roots, as their modules are.
    names: Vec<NodeId>,
    /// What a holder has to keep.
    pub least: u64,
}

impl<'a> View<'a> {
    pub(super) fn of(
        graph: &'a Graph,
        roots: &'a Roots,
        unreached: &Unreached,
        labels: &impl Labels,
    ) -> View<'a> {
        let sorts: Vec<Sort> = graph.kinds.iter().map(|kind| labels.sort(kind)).collect();
        let starts = roots.list.iter().map(|root| Start {
            node: root.node,
            cost: root.name.cost(),
        });
        let from_c = unreached.nodes.iter().map(|node| Start {
            node: *node,
            cost: Sort::Native.cost(),
        });
        let starts: Vec<Start> = starts.chain(from_c).collect();
        let tops: Vec<NodeId> = starts.iter().map(|start| start.node).collect();
        let sort = |node: NodeId| {
            let kind = graph.nodes.get(node as usize).map(|node| node.kind);
            let sort = kind.and_then(|kind| sorts.get(kind as usize));
            *sort.unwrap_or(&Sort::Object)
        };
        let back = reverse(&graph.edges);
        let dominators = Dominators::of(&graph.edges, &back, &tops);
        let kept = Kept::by(&dominators, |node| {
            graph.nodes.get(node as usize).map_or(0, |node| node.bytes)
        });
        let ways = Ways::from(&graph.edges, &starts, |node| sort(node).cost());
        let all = graph.nodes.iter().map(|node| node.bytes);
        let all = all.fold(0, u64::saturating_add);
        let mut names: Vec<NodeId> = (roots.list.iter())
            .filter(|root| {
                matches!(
                    root.name,
                    RootName::Module { .. } | RootName::Interpreter(_)
                )
            })
            .map(|root| root.node)
            .collect();
        names.sort_unstable();
        View {
            graph,
            roots,
            back,
            dominators,
            kept,
            ways,
            sorts,
            names,
            least: (all / SHARE).max(LEAST),
        }
    }

    pub(super) fn sort(&self, node: NodeId) -> Sort {
        let kind = self.graph.nodes.get(node as usize).map(|node| node.kind);
        let sort = kind.and_then(|kind| self.sorts.get(kind as usize));
        *sort.unwrap_or(&Sort::Object)
    }

    pub(super) fn kind(&self, node: NodeId) -> &str {
        let kind = self.graph.nodes.get(node as usize).map(|node| node.kind);
        let kind = kind.and_then(|kind| self.graph.kinds.get(kind as usize));
        kind.map_or("", |kind| &kind.name)
    }

    pub(super) fn address(&self, node: NodeId) -> u64 {
        let node = self.graph.nodes.get(node as usize);
        node.map_or(0, |node| node.address)
    }

    /// Of a node alone.
    pub(super) fn bytes(&self, node: NodeId) -> u64 {
        let node = self.graph.nodes.get(node as usize);
        node.map_or(0, |node| node.bytes)
    }

    /// Whether a tensor keeps a graph of so many steps: who adds up losses has one tensor that gets ever longer.
    pub(super) fn keeps_steps(&self, node: NodeId, many: usize) -> bool {
        let is = |node: &NodeId, sort: Sort| self.sort(*node) == sort;
        let behind = (self.kept.below.of(node).iter()).filter(|node| is(node, Sort::Behind));
        let mut waiting: Vec<NodeId> = behind
            .flat_map(|behind| self.kept.below.of(*behind))
            .filter(|node| is(node, Sort::Step))
            .copied()
            .collect();
        let mut steps = 0;
        while let Some(step) = waiting.pop()
            && steps < many
        {
            steps += 1;
            let below = self.kept.below.of(step).iter();
            waiting.extend(below.filter(|node| is(node, Sort::Step)));
        }
        steps >= many
    }

    /// What would be freed with a node.
    pub(super) fn keeps(&self, node: NodeId) -> u64 {
        self.kept.bytes.get(node as usize).copied().unwrap_or(0)
    }

    pub(super) fn dominator(&self, node: NodeId) -> Option<NodeId> {
        let above = self.dominators.of.get(node as usize).copied();
        above.filter(|above| *above < ABOVE)
    }

    /// Where the program's names are: what it has is told one by one, and it is told of never.
    pub(super) fn is_seen_through(&self, node: NodeId) -> bool {
        match self.sort(node) {
            Sort::Dict => {
                let above = self.dominator(node).map(|above| self.sort(above));
                self.names.binary_search(&node).is_ok()
                    || matches!(above, Some(Sort::Class | Sort::Module))
            }
            sort => sort.is_seen_through(),
        }
    }

    /// A container of the program: the constants of code are none.
    pub(super) fn may_hold_many(&self, node: NodeId) -> bool {
        let sort = self.sort(node);
        let above = || self.dominator(node).map(|above| self.sort(above));
        sort.may_hold_many()
            && !self.is_seen_through(node)
            && !(sort == Sort::Tuple && above() == Some(Sort::Code))
    }

    /// What it counts when there are too many: by whether its name begins in what the user wrote.
    pub(super) fn weight(&self, node: NodeId, keeps: u64) -> u64 {
        let way = self.ways.to(node);
        let root = way.first().and_then(|first| self.roots.name(*first));
        // What it imported is not its own.
        let leads_away = way
            .iter()
            .skip(1)
            .any(|node| self.sort(*node) == Sort::Module);
        match root.is_some_and(RootName::is_own) && !leads_away {
            true => keeps.saturating_mul(OWN),
            false => keeps,
        }
    }

    /// Whether a dictionary is only where an object has its attributes.
    pub(super) fn is_of_names(&self, labels: &impl Labels, node: NodeId) -> bool {
        let before = self.ways.before.get(node as usize).copied();
        let before = before.filter(|before| *before < ABOVE);
        self.sort(node) == Sort::Dict
            && before.is_some_and(|before| {
                let way = [self.address(before), self.address(node)];
                labels.step(&way) == super::Step::Names
            })
    }
}
