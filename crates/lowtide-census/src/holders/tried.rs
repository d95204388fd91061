//! For tests and fuzzers: all that is read of holders, in memory that can hold anything. It ends, and what it says can be
//! so.

use super::{Labels, MOST, Reader, Roots, find};
use crate::frames::Frames;
use crate::graph::Graph;
use crate::interpreter::Interpreter;
use crate::meters;
use crate::object::Heap;
use crate::source::Source;

/// Edges that are asked for their label.
const EDGES: usize = 4096;

/// The names of all holders.
pub(crate) fn names<S: Source>(
    graph: &mut Graph,
    heap: &Heap<'_, S>,
    interpreter: &Interpreter,
) -> Vec<String> {
    let frames = Frames::new(heap.source, interpreter);
    let roots = Roots::read(graph, heap, interpreter, &frames);
    let reader = Reader {
        heap,
        frames: &frames,
        roots: &roots,
    };
    let mut asked = 0;
    for from in 0..graph.nodes.len() {
        for to in graph.edges.of(from as u32) {
            let way = [from, *to as usize].map(|node| graph.nodes[node].address);
            if asked < EDGES {
                let again = reader.step(&way);
                assert_eq!(reader.step(&way), again);
            }
            asked += 1;
        }
    }
    let found = find(graph, &roots, &reader, &|_| None);
    let all = graph.nodes.iter().map(|node| node.bytes);
    let all = all.fold(0, u64::saturating_add);
    assert!(found.holders.len() <= MOST);
    assert!(found.unreached.objects <= graph.nodes.len() as u64);
    meters::tried(heap, &frames, interpreter, graph, &roots, &found.holders);
    let each = found.holders.into_iter().map(|spotted| {
        assert!(spotted.holder.keeps.0 <= all, "{spotted:?} of {all}");
        assert!(!spotted.holder.name.is_empty(), "{spotted:?}");
        spotted.holder.name
    });
    each.collect()
}
