//! What is no Python object joins the graph: storages of tensors and steps of autograd, with who refers to whom.

use std::collections::HashMap;

use super::{Edges, Graph, Kind, Node, NodeId};

/// What stands behind objects of C, as [`crate::contents`] finds it.
pub(crate) struct Behind<'a> {
    pub address: u64,
    pub bytes: u64,
    pub name: &'a str,
}

impl Graph {
    /// Adds nodes, and edges between any two addresses that have a node then.
    pub(crate) fn join<'a>(
        &mut self,
        nodes: impl Iterator<Item = Behind<'a>>,
        edges: &[(u64, u64)],
    ) {
        let mut kinds: HashMap<&str, u32> = HashMap::new();
        for behind in nodes {
            if self.at(behind.address).is_some() {
                continue;
            }
            let kind = *kinds.entry(behind.name).or_insert_with(|| {
                self.kinds.push(Kind {
                    name: behind.name.to_owned(),
                    address: 0,
                    count: 0,
                    told: 0,
                });
                self.kinds.len() as u32 - 1
            });
            let Ok(node) = NodeId::try_from(self.nodes.len()) else {
                break;
            };
            self.kinds[kind as usize].count += 1;
            self.nodes.push(Node {
                address: behind.address,
                kind,
                bytes: behind.bytes,
            });
            self.places.insert(behind.address, node);
        }
        let mut more: Vec<(NodeId, NodeId)> = edges
            .iter()
            .filter_map(|(from, to)| Some((self.at(*from)?, self.at(*to)?)))
            .collect();
        more.sort_unstable();
        more.dedup();
        self.edges.add(self.nodes.len(), &more);
    }
}

impl Edges {
    /// With further ones, by the node that they come from; there are `nodes` nodes now.
    fn add(&mut self, nodes: usize, more: &[(NodeId, NodeId)]) {
        let mut starts = Vec::with_capacity(nodes + 1);
        let mut to = Vec::with_capacity(self.to.len() + more.len());
        let mut more = more.iter().peekable();
        for node in 0..nodes as NodeId {
            starts.push(to.len() as u32);
            to.extend_from_slice(self.of(node));
            while let Some((_, target)) = more.next_if(|(from, _)| *from == node) {
                to.push(*target);
            }
        }
        starts.push(to.len() as u32);
        *self = Edges { starts, to };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_behind_is_reached_by_addresses() {
        let mut graph = Graph::default();
        for address in [0x1000, 0x2000] {
            let node = graph.nodes.len() as NodeId;
            graph.nodes.push(Node {
                address,
                kind: 0,
                bytes: 8,
            });
            graph.places.insert(address, node);
        }
        graph.edges = Edges {
            starts: vec![0, 1, 1],
            to: vec![1],
        };
        let behind = |address: u64| Behind {
            address,
            bytes: 100,
            name: "storage cpu",
        };
        let edges = [
            (0x2000, 0x9000),
            (0x9000, 0x1000),
            (0x1000, 0x9000),
            (0x1000, 0x7777),
        ];
        // One that is an object already stays one.
        graph.join([behind(0x9000), behind(0x2000)].into_iter(), &edges);
        assert_eq!(graph.nodes.len(), 3);
        assert_eq!(graph.kinds.len(), 1);
        let of = |node| graph.edges.of(node).to_vec();
        assert_eq!((of(0), of(1), of(2)), (vec![1, 2], vec![2], vec![0]));
    }
}
