//! Dominators: a node dominates what can be reached from the roots through it alone, which is what would be freed with it.
//!
//! By Lengauer and Tarjan (A fast algorithm for finding dominators in a flowgraph, 1979), the simple form with path
//! compression. The newer semi-NCA is shorter and mostly faster, but quadratic where a long chain refers to what
//! something outside holds too, and that is what a linked list beside an index is.

use super::{ABOVE, NOBODY};
use crate::graph::{Edges, NodeId};

/// Who dominates whom, directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dominators {
    /// For every node its nearest dominator: [`ABOVE`] where that is none of the graph, [`NOBODY`] for what is not
    /// reached.
    pub of: Vec<NodeId>,
    /// All nodes that are reached; each stands behind its dominator.
    pub order: Vec<NodeId>,
}

/// A node by the order in which the search came to it. 0 is the one above all roots.
type Nth = u32;

/// The tree of the search, numbered as it went.
struct Search {
    /// The node of a number; that of 0 is [`ABOVE`].
    nodes: Vec<NodeId>,
    /// The number of a node; 0 where it was not reached.
    numbers: Vec<Nth>,
    /// The number of the one before.
    parents: Vec<Nth>,
}

impl Dominators {
    /// `back` is `edges` reversed.
    pub(crate) fn of(edges: &Edges, back: &Edges, roots: &[NodeId]) -> Dominators {
        let Search {
            nodes,
            numbers,
            parents,
        } = Search::from(edges, roots);
        let count = nodes.len();
        let mut semi: Vec<Nth> = (0..count as Nth).collect();
        let number = |root: &NodeId| numbers.get(*root as usize).copied();
        let mut from_above: Vec<Nth> = roots.iter().filter_map(number).collect();
        from_above.sort_unstable();
        let mut forest = Forest::new(count);
        // The nodes whose semidominator is this one, linked by `next`; a node is in one such row at most, and gets its
        // dominator when it is taken out, so both share a table.
        let mut first: Vec<Nth> = vec![0; count];
        let mut dominator: Vec<Nth> = vec![0; count];
        for node in (1..count).rev() {
            // Roots are reached from above as well as from wherever the search came.
            while from_above.pop_if(|root| *root == node as Nth).is_some() {
                semi[node] = 0;
            }
            for before in back.of(nodes[node]) {
                let before = numbers[*before as usize];
                if before != 0 {
                    let least = semi[forest.least(before, &semi) as usize];
                    semi[node] = semi[node].min(least);
                }
            }
            let row = &mut first[semi[node] as usize];
            dominator[node] = std::mem::replace(row, node as Nth);
            let parent = parents[node];
            forest.link(parent, node as Nth);
            let mut held = std::mem::take(&mut first[parent as usize]);
            while held != 0 {
                let least = forest.least(held, &semi);
                let under = semi[least as usize] < semi[held as usize];
                let next = dominator[held as usize];
                dominator[held as usize] = if under { least } else { parent };
                held = next;
            }
        }
        let mut of = vec![NOBODY; edges.len()];
        for node in 1..count {
            if dominator[node] != semi[node] {
                dominator[node] = dominator[dominator[node] as usize];
            }
            of[nodes[node] as usize] = nodes[dominator[node] as usize];
        }
        let mut order = nodes;
        order.remove(0);
        Dominators { of, order }
    }
}

impl Search {
    fn from(edges: &Edges, roots: &[NodeId]) -> Search {
        let mut numbers = vec![0; edges.len()];
        let mut nodes = vec![ABOVE];
        let mut parents = vec![0];
        // Where we are: a node's number, and which of its edges comes next.
        let mut path: Vec<(Nth, u32)> = Vec::new();
        for root in roots {
            enter(*root, 0, &mut numbers, &mut nodes, &mut parents, &mut path);
            while let Some((at, nth)) = path.last_mut() {
                let (at, to) = (*at, edges.of(nodes[*at as usize]).get(*nth as usize));
                *nth += 1;
                match to {
                    Some(to) => enter(*to, at, &mut numbers, &mut nodes, &mut parents, &mut path),
                    None => drop(path.pop()),
                }
            }
        }
        nodes.shrink_to_fit();
        parents.shrink_to_fit();
        Search {
            nodes,
            numbers,
            parents,
        }
    }
}

/// Goes to a node, unless it was there.
fn enter(
    node: NodeId,
    parent: Nth,
    numbers: &mut [Nth],
    nodes: &mut Vec<NodeId>,
    parents: &mut Vec<Nth>,
    path: &mut Vec<(Nth, u32)>,
) {
    if let Some(number) = numbers.get_mut(node as usize)
        && *number == 0
    {
        *number = nodes.len() as Nth;
        nodes.push(node);
        parents.push(parent);
        path.push((*number, 0));
    }
}

/// The parts of the search's tree that are linked so far. Paths in it are cut short as they are gone.
struct Forest {
    trees: Vec<Linked>,
    path: Vec<Nth>,
}

const UNLINKED: Nth = Nth::MAX;

#[derive(Clone, Copy)]
struct Linked {
    /// [`UNLINKED`] for the root of its tree.
    above: Nth,
    /// The one with the least semidominator between here and `above`.
    least: Nth,
}

impl Forest {
    fn new(count: usize) -> Forest {
        let alone = |least| Linked {
            above: UNLINKED,
            least,
        };
        Forest {
            trees: (0..count as Nth).map(alone).collect(),
            path: Vec::new(),
        }
    }

    fn link(&mut self, parent: Nth, node: Nth) {
        self.trees[node as usize].above = parent;
    }

    /// On the way from a node up to the root of its tree, without that: the one with the least semidominator.
    fn least(&mut self, node: Nth, semi: &[Nth]) -> Nth {
        let trees = &mut self.trees;
        let mut at = node;
        // Up to the one right below the root.
        while let Some(above) = trees.get(trees[at as usize].above as usize)
            && above.above != UNLINKED
        {
            self.path.push(at);
            at = trees[at as usize].above;
        }
        // From the top down: what is above is cut short already.
        while let Some(below) = self.path.pop() {
            let (mut linked, upper) = (trees[below as usize], trees[at as usize]);
            if semi[upper.least as usize] < semi[linked.least as usize] {
                linked.least = upper.least;
            }
            linked.above = upper.above;
            trees[below as usize] = linked;
            at = below;
        }
        trees[node as usize].least
    }
}
