//! The tree that dominators make: who is directly below whom, and what each keeps.

use super::{ABOVE, Dominators, NOBODY};
use crate::graph::{Edges, NodeId};

/// What would be freed with each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Of the node and all below it.
    pub bytes: Vec<u64>,
    /// Nodes directly below each.
    pub below: Edges,
    /// Nodes below no other one.
    pub top: Vec<NodeId>,
}

impl Kept {
    /// `bytes` are those of each node alone.
    pub(crate) fn by(dominators: &Dominators, bytes: impl Fn(NodeId) -> u64) -> Kept {
        let mut kept: Vec<u64> = vec![0; dominators.of.len()];
        for node in dominators.order.iter().rev() {
            let own = bytes(*node);
            let all = &mut kept[*node as usize];
            *all = all.saturating_add(own);
            let all = *all;
            if let Some(above) = kept.get_mut(dominators.of[*node as usize] as usize) {
                *above = above.saturating_add(all);
            }
        }
        let (below, top) = below(dominators);
        Kept {
            bytes: kept,
            below,
            top,
        }
    }
}

/// Who is below whom, however far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nesting {
    /// From when to when a walk over the tree was in a node; nothing for what is not reached.
    spans: Vec<(u32, u32)>,
}

impl Nesting {
    pub(crate) fn of(kept: &Kept) -> Nesting {
        let mut spans = vec![(0, 0); kept.bytes.len()];
        let mut now = 0;
        let mut waiting: Vec<(NodeId, bool)> = kept.top.iter().map(|top| (*top, false)).collect();
        while let Some((node, is_left)) = waiting.pop() {
            let span = &mut spans[node as usize];
            if is_left {
                span.1 = now;
                continue;
            }
            now += 1;
            span.0 = now;
            waiting.push((node, true));
            waiting.extend(kept.below.of(node).iter().map(|below| (*below, false)));
        }
        Nesting { spans }
    }

    /// Whether a node is kept by another, or is that one.
    pub(crate) fn is_in(&self, node: NodeId, above: NodeId) -> bool {
        let (entered, _) = self.spans[node as usize];
        let (from, to) = self.spans[above as usize];
        entered != 0 && (from..=to).contains(&entered)
    }
}

fn below(dominators: &Dominators) -> (Edges, Vec<NodeId>) {
    let count = dominators.of.len();
    let mut starts = vec![0u32; count + 1];
    let (mut all, mut top) = (0, Vec::new());
    for (node, above) in dominators.of.iter().enumerate() {
        match *above {
            NOBODY => {}
            ABOVE => top.push(node as NodeId),
            above => {
                starts[above as usize] += 1;
                all += 1;
            }
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut to = vec![0; all];
    for (node, above) in dominators.of.iter().enumerate().rev() {
        if let Some(at) = starts.get_mut(*above as usize) {
            *at -= 1;
            to[*at as usize] = node as NodeId;
        }
    }
    (Edges { starts, to }, top)
}

#[cfg(test)]
mod tests {
    use super::super::{edges, naive, reverse};
    use super::*;
    use proptest::prelude::*;

    fn all(edges: &Edges, roots: &[NodeId]) -> (Dominators, Kept) {
        let dominators = Dominators::of(edges, &reverse(edges), roots);
        let kept = Kept::by(&dominators, |node| 1 << (node * 8));
        (dominators, kept)
    }

    #[test]
    fn what_two_hold_is_kept_by_who_holds_both() {
        // A diamond: 0 -> 1, 2 -> 3 -> 4.
        let (dominators, kept) = all(&edges(&[&[1, 2], &[3], &[3], &[4], &[]]), &[0]);
        assert_eq!(dominators.of, [ABOVE, 0, 0, 0, 3]);
        assert_eq!(kept.bytes[0], 0x01_0101_0101);
        assert_eq!((kept.bytes[1], kept.bytes[3]), (0x100, 0x01_0100_0000));
        assert_eq!(
            (kept.below.of(0), kept.below.of(3)),
            (&[1, 2, 3][..], &[4][..])
        );
        assert_eq!(kept.top, [0]);
    }

    #[test]
    fn a_loop_is_kept_by_who_leads_into_it() {
        // 0 -> 1 <-> 2 -> 3, which leads back to 0.
        let (dominators, _) = all(&edges(&[&[1], &[2], &[1, 3], &[0]]), &[0]);
        assert_eq!(dominators.of, [ABOVE, 0, 1, 2]);
    }

    #[test]
    fn what_two_roots_lead_to_is_kept_by_neither() {
        let (dominators, kept) = all(&edges(&[&[2, 3], &[2, 0], &[], &[], &[2]]), &[0, 1]);
        assert_eq!(dominators.of, [ABOVE, ABOVE, ABOVE, 0, NOBODY]);
        assert_eq!(kept.top, [0, 1, 2]);
        assert_eq!(kept.bytes[4], 0, "it is not reached");
    }

    #[test]
    fn a_root_that_another_leads_to_stays_one() {
        let (dominators, _) = all(&edges(&[&[1], &[2], &[]]), &[0, 1]);
        assert_eq!(dominators.of, [ABOVE, ABOVE, 1]);
    }

    /// A linked list whose items something else holds too: quadratic by some ways.
    #[test]
    fn a_chain_beside_an_index_takes_no_time() {
        const LONG: u32 = 500_000;
        // The chain is 2.., its items behind it; 0 leads to the chain and to 1, which has all items.
        let mut chain = Edges {
            starts: vec![0, 2],
            to: vec![2, 1],
        };
        chain.to.extend(LONG + 2..2 * LONG + 2);
        chain.starts.push(chain.to.len() as u32);
        for nth in 2..LONG + 2 {
            chain.to.extend([(nth + 1).min(LONG + 1), nth + LONG]);
            chain.starts.push(chain.to.len() as u32);
        }
        chain
            .starts
            .resize(2 * LONG as usize + 3, chain.to.len() as u32);
        let dominators = Dominators::of(&chain, &reverse(&chain), &[0]);
        assert_eq!(dominators.of[LONG as usize + 1], LONG);
        assert!(dominators.of[LONG as usize + 2..].iter().all(|of| *of == 0));
        let kept = Kept::by(&dominators, |_| 1);
        assert_eq!(kept.bytes[0], u64::from(2 * LONG + 2));
        assert_eq!(kept.bytes[2], u64::from(LONG));
    }

    fn graphs() -> impl Strategy<Value = (Vec<Vec<NodeId>>, Vec<NodeId>)> {
        (1u32..14).prop_flat_map(|count| {
            let row = proptest::collection::vec(0..count, 0..4);
            let rows = proptest::collection::vec(row, count as usize);
            (rows, proptest::collection::vec(0..count, 1..4))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn dominators_are_what_cuts_a_node_off((rows, roots) in graphs()) {
            let rows: Vec<&[NodeId]> = rows.iter().map(Vec::as_slice).collect();
            let edges = edges(&rows);
            let dominators = Dominators::of(&edges, &reverse(&edges), &roots);
            prop_assert_eq!(&dominators.of, &naive::dominators(&edges, &roots));
            let kept = Kept::by(&dominators, |node| u64::from(node) + 1);
            for node in 0..edges.len() as NodeId {
                prop_assert_eq!(kept.bytes[node as usize], naive::kept(&edges, &roots, node));
            }
            let nesting = Nesting::of(&kept);
            for node in 0..edges.len() as NodeId {
                for above in 0..edges.len() as NodeId {
                    let mut at = node;
                    while at != above && at < ABOVE {
                        at = dominators.of[at as usize];
                    }
                    let is_in = at == above && dominators.of[node as usize] != NOBODY;
                    prop_assert_eq!(nesting.is_in(node, above), is_in);
                }
            }
            for (above, of) in dominators.order.iter().enumerate() {
                let dominator = dominators.of[*of as usize];
                let before = &dominators.order[..above];
                prop_assert!(dominator == ABOVE || before.contains(&dominator));
            }
        }
    }
}
