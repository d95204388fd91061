//! The way from a root to every node that costs least. With a cost of one for all it is the shortest; holders let
//! what makes a poor name cost more.

use super::{ABOVE, NOBODY};
use crate::graph::{Edges, NodeId};

/// Where ways begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub node: NodeId,
    /// What it costs to begin here.
    pub cost: u8,
}

/// For every node the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ways {
    /// [`ABOVE`] for where a way begins, [`NOBODY`] for what is not reached.
    pub before: Vec<NodeId>,
}

/// Costs are bytes, so as many rows as there are costs hold all that waits.
const ROWS: usize = 256;

impl Ways {
    /// Of two ways that cost the same, the one from the earlier start, and by the earlier edge. `cost` is that of
    /// going to a node; a step costs one at least.
    pub(crate) fn from(edges: &Edges, starts: &[Start], cost: impl Fn(NodeId) -> u8) -> Ways {
        let count = edges.len();
        let mut before = vec![NOBODY; count];
        let mut far = vec![u32::MAX; count];
        // What waits at a distance stands in the row of that distance: none is further ahead than a byte.
        let mut rows: Vec<Vec<NodeId>> = vec![Vec::new(); ROWS];
        let mut waiting = 0usize;
        let mut sorted = starts.to_vec();
        sorted.sort_by_key(|start| start.cost);
        for start in sorted {
            let node = start.node as usize;
            if node < count && far[node] == u32::MAX {
                far[node] = start.cost.into();
                before[node] = ABOVE;
                rows[usize::from(start.cost)].push(start.node);
                waiting += 1;
            }
        }
        let mut now = 0u32;
        while waiting > 0 {
            let row = std::mem::take(&mut rows[now as usize % ROWS]);
            waiting -= row.len();
            for node in row {
                // It may have been reached on a cheaper way since.
                if far[node as usize] != now {
                    continue;
                }
                for to in edges.of(node) {
                    if *to as usize >= count {
                        continue;
                    }
                    let there = now + u32::from(cost(*to).max(1));
                    if there < far[*to as usize] {
                        far[*to as usize] = there;
                        before[*to as usize] = node;
                        rows[there as usize % ROWS].push(*to);
                        waiting += 1;
                    }
                }
            }
            now += 1;
        }
        Ways { before }
    }

    /// From where the way begins to the node itself. Empty for what is not reached.
    pub(crate) fn to(&self, node: NodeId) -> Vec<NodeId> {
        let mut way = Vec::new();
        let mut at = node;
        while let Some(before) = self.before.get(at as usize)
            && *before != NOBODY
        {
            way.push(at);
            at = *before;
        }
        way.reverse();
        way
    }
}

#[cfg(test)]
mod tests {
    use super::super::edges;
    use super::*;

    fn from(node: NodeId, cost: u8) -> Start {
        Start { node, cost }
    }

    #[test]
    fn the_shortest_way_is_taken_and_the_earlier_root_of_two() {
        //  0 -> 2 -> 3 -> 4, 1 -> 3, 1 -> 5 -> 4
        let edges = edges(&[&[2], &[3, 5], &[3], &[4], &[], &[4], &[0]]);
        let ways = Ways::from(&edges, &[from(0, 0), from(1, 0)], |_| 1);
        assert_eq!(ways.to(4), [1, 3, 4]);
        assert_eq!(ways.to(2), [0, 2]);
        assert!(ways.to(6).is_empty(), "it is not reached");
        let fork = super::super::edges(&[&[2], &[2], &[]]);
        let both = |starts: &[Start]| Ways::from(&fork, starts, |_| 1).to(2);
        assert_eq!(both(&[from(0, 0), from(1, 0)]), [0, 2]);
        assert_eq!(both(&[from(1, 0), from(0, 0)]), [1, 2]);
    }

    #[test]
    fn a_costly_step_is_gone_around() {
        // 0 -> 1 -> 3, 0 -> 2 -> 4 -> 3: one is costly.
        let edges = edges(&[&[1, 2], &[3], &[4], &[], &[3]]);
        let cost = |node| if node == 1 { 9 } else { 1 };
        assert_eq!(Ways::from(&edges, &[from(0, 0)], cost).to(3), [0, 2, 4, 3]);
        assert_eq!(Ways::from(&edges, &[from(0, 0)], |_| 1).to(3), [0, 1, 3]);
        // A dear start gives way to a cheap one, and is a start no more.
        let starts = [from(0, 0), from(3, 200)];
        assert_eq!(Ways::from(&edges, &starts, |_| 255).to(3), [3]);
        assert_eq!(Ways::from(&edges, &starts, |_| 0).to(3), [0, 1, 3]);
    }

    #[test]
    fn a_chain_of_a_million_has_a_way_to_its_end() {
        let chain = Edges {
            starts: (0..=1_000_000).map(|n: u32| n.min(999_999)).collect(),
            to: (1..1_000_000).collect(),
        };
        let ways = Ways::from(&chain, &[from(0, 0)], |_| 3);
        assert_eq!(ways.to(999_999).len(), 1_000_000);
    }
}
