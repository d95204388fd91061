//! Who keeps what, as pure algorithms on [`Edges`]: nothing here reads memory. [`crate::holders`] feeds it the graph and
//! its roots, and reads from it which node would free how much ([`Dominators`], [`Kept`]) and by which way a node is
//! reached ([`Ways`]).
//!
//! A heap has chains of a million objects and graphs that nobody planned, so there is no recursion, and no step that is
//! quadratic in the worst case.

mod dominators;
#[cfg(test)]
mod naive;
mod tree;
mod ways;

pub(crate) use dominators::Dominators;
pub(crate) use tree::{Kept, Nesting};
pub(crate) use ways::{Start, Ways};

use crate::graph::{Edges, NodeId};

/// No node: the parent of what was not reached.
pub(crate) const NOBODY: NodeId = NodeId::MAX;
/// The node above all roots, which is none of the graph.
pub(crate) const ABOVE: NodeId = NodeId::MAX - 1;

impl Edges {
    /// Nodes that it has edges for.
    pub(crate) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }
}

/// Who is referred to by whom. Targets that are no nodes are left out.
pub(crate) fn reverse(edges: &Edges) -> Edges {
    let count = edges.len();
    let mut starts = vec![0u32; count + 1];
    for to in &edges.to {
        if let Some(start) = starts
            .get_mut(*to as usize)
            .filter(|_| (*to as usize) < count)
        {
            *start += 1;
        }
    }
    // From counts to the end of each row; filling from behind turns ends into beginnings.
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut to = vec![0; sum as usize];
    for node in (0..count as NodeId).rev() {
        for target in edges.of(node).iter().rev() {
            if (*target as usize) < count {
                let at = &mut starts[*target as usize];
                *at -= 1;
                to[*at as usize] = node;
            }
        }
    }
    Edges { starts, to }
}

#[cfg(test)]
pub(crate) fn edges(rows: &[&[NodeId]]) -> Edges {
    let mut edges = Edges {
        starts: vec![0],
        to: Vec::new(),
    };
    for row in rows {
        edges.to.extend(*row);
        edges.starts.push(edges.to.len() as u32);
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversed_edge_leads_back() {
        let there = edges(&[&[1, 2, 2], &[2], &[], &[0, 9]]);
        let back = reverse(&there);
        assert_eq!(back, edges(&[&[3], &[0], &[0, 0, 1], &[]]));
        assert_eq!(reverse(&back), edges(&[&[1, 2, 2], &[2], &[], &[0]]));
        assert_eq!(reverse(&Edges::default()).len(), 0);
    }
}
