//! The table of interned texts, up to 3.11: a dictionary of all names in a program, which holds none of them. C has it, so
//! only a word that was left over leads there; then all names would be told of as kept by whatever has that word.

use crate::graph::{Edges, Graph, NodeId};
use crate::object::Heap;
use crate::source::Source;

/// Python has this many names before a program begins.
const LEAST: usize = 1024;
/// The last version whose table is such a dictionary.
const LAST: u32 = 11;

/// Takes it out of the graph, and says where it is: its own bytes belong to Python. `names` are those of any module: `__name__` is in all of them, and in the table.
pub(super) fn release<S: Source>(
    graph: &mut Graph,
    heap: &Heap<'_, S>,
    names: u64,
) -> Option<NodeId> {
    let is_name = |key: u64, _| heap.is_named(key, "__name__").then_some(key);
    let name = heap.find_entry(names, is_name)?;
    let target = graph.at(name).filter(|_| heap.layout.minor <= LAST)?;
    let is_table = |node: usize| {
        let to = graph.edges.of(node as NodeId);
        // In no other dictionary is the text of a name its own value.
        let is_own = |key: u64, value| (key == name).then_some(value == name);
        to.len() >= LEAST
            && to.contains(&target)
            && graph.kind(node as NodeId).name == "dict"
            && heap.find_entry(graph.nodes[node].address, is_own) == Some(true)
    };
    let table = (0..graph.edges.len()).find(|node| is_table(*node))? as NodeId;
    cut_off(&mut graph.edges, table);
    Some(table)
}

/// Whoever referred to it refers to itself instead, and so does it.
fn cut_off(edges: &mut Edges, node: NodeId) {
    for from in 0..edges.len() {
        let row = edges.starts[from] as usize..edges.starts[from + 1] as usize;
        for to in edges.to.get_mut(row).unwrap_or_default() {
            if *to == node || from as NodeId == node {
                *to = from as NodeId;
            }
        }
    }
}
