//! Dominators as they are defined, for tests: take a node away, and see what cannot be reached any more.

use super::{ABOVE, NOBODY};
use crate::graph::{Edges, NodeId};

fn reached(edges: &Edges, roots: &[NodeId], without: NodeId) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut waiting: Vec<NodeId> = roots.to_vec();
    while let Some(node) = waiting.pop() {
        if node != without && !std::mem::replace(&mut seen[node as usize], true) {
            waiting.extend(edges.of(node));
        }
    }
    seen
}

/// Whether a node is cut off without another.
fn cuts_off(edges: &Edges, roots: &[NodeId]) -> Vec<Vec<bool>> {
    let all = reached(edges, roots, NOBODY);
    let each = 0..edges.len() as NodeId;
    each.map(|without| {
        let left = reached(edges, roots, without);
        (0..all.len()).map(|n| all[n] && !left[n]).collect()
    })
    .collect()
}

/// The nearest dominator is the one that all others dominate.
pub(super) fn dominators(edges: &Edges, roots: &[NodeId]) -> Vec<NodeId> {
    let cut = cuts_off(edges, roots);
    let all = reached(edges, roots, NOBODY);
    let count = edges.len();
    let of = |node: usize| {
        let above: Vec<usize> = (0..count)
            .filter(|one| *one != node && cut[*one][node])
            .collect();
        let nearest = above
            .iter()
            .find(|one| above.iter().all(|other| cut[*other][**one]));
        match (all[node], nearest) {
            (false, _) => NOBODY,
            (true, None) => ABOVE,
            (true, Some(one)) => *one as NodeId,
        }
    };
    (0..count).map(of).collect()
}

/// With nodes that weigh one more than their number.
pub(super) fn kept(edges: &Edges, roots: &[NodeId], node: NodeId) -> u64 {
    let cut = &cuts_off(edges, roots)[node as usize];
    let weights = (1..).zip(cut);
    weights
        .filter(|(_, cut)| **cut)
        .map(|(weight, _)| weight)
        .sum()
}
