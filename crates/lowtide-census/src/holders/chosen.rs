//! The holders that were picked, with what they keep beyond what they alone hold.

use std::collections::HashMap;

use super::view::View;
use crate::graph::NodeId;

#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    by: HashMap<NodeId, Shared>,
}

/// What one has that others refer to, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shared {
    /// Each with all below it.
    pub nodes: Vec<NodeId>,
    pub bytes: u64,
    /// Who else has most of them.
    pub with: Option<NodeId>,
}

impl Chosen {
    pub(super) fn add(&mut self, node: NodeId) {
        self.by.entry(node).or_default();
    }

    pub(super) fn add_shared(&mut self, node: NodeId, shared: Shared) {
        self.by.insert(node, shared);
    }

    pub(super) fn remove(&mut self, node: NodeId) {
        self.by.remove(&node);
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.by.contains_key(&node)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.by.keys().copied()
    }

    pub(super) fn shared_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.by
            .values()
            .flat_map(|shared| shared.nodes.iter().copied())
    }

    pub(super) fn keeps(&self, view: &View<'_>, node: NodeId) -> u64 {
        let shared = self.by.get(&node).map_or(0, |shared| shared.bytes);
        view.keeps(node).saturating_add(shared)
    }

    /// The tops of all that it keeps.
    pub(super) fn all_of(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let shared = self.by.get(&node).map(|shared| &shared.nodes[..]);
        let shared = shared.unwrap_or_default().iter().copied();
        std::iter::once(node).chain(shared)
    }

    pub(super) fn also_held_by(&self, node: NodeId) -> Option<NodeId> {
        self.by.get(&node)?.with
    }
}
