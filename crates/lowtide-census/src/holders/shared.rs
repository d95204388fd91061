//! What two containers hold is kept by neither: it would be freed with both. It must not vanish for that, so it is told
//! with the container that refers to most of it, and that says who has it, too.

use std::collections::HashMap;

use super::choose::MANY;
use super::chosen::{Chosen, Shared};
use super::view::View;
use crate::graph::NodeId;
use crate::retained::{NOBODY, Nesting};

/// Referrers of one object that are looked at: what more refer to (`None`, an interned text) is nobody's in particular.
const REFERRERS: usize = 64;
/// Who has this share of what another has is told of beside it.
const MOST_OF_IT: f64 = 0.5;

/// By container, what it has that others have, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubly {
    by: HashMap<NodeId, Shared>,
}

impl Doubly {
    pub(super) fn add_to(self, view: &View<'_>, chosen: &mut Chosen) {
        for (node, shared) in self.by {
            let is_large = shared.bytes >= view.least;
            if is_large || chosen.has(node) {
                chosen.add_shared(node, shared);
            }
        }
    }
}

pub(super) fn find(view: &View<'_>) -> Doubly {
    let containers = Containers::of(view);
    let held: Vec<NodeId> = (view.dominators.order.iter().copied())
        .filter(|node| is_held_twice(view, &containers, *node))
        .collect();
    let mut bytes = vec![0u64; view.dominators.of.len()];
    let mut around = Vec::new();
    for node in &held {
        containers.around(view, *node, Some, &mut around);
        for container in &around {
            bytes[*container as usize] += view.keeps(*node);
        }
    }
    // Small containers stand in larger ones: the first that has much is told of.
    for node in view.dominators.order.iter().rev() {
        let sum = &mut bytes[*node as usize];
        if (1..view.least).contains(sum) {
            let sum = std::mem::take(sum);
            if let Some(above) = containers.above(view, *node) {
                bytes[above as usize] += sum;
            }
        }
    }
    let large = |near: NodeId| {
        let mut at = Some(near);
        while let Some(one) = at
            && bytes[one as usize] == 0
        {
            at = containers.above(view, one);
        }
        at
    };
    assign(view, &containers, &held, large)
}

/// Gives each object to the container that has most of what is shared.
fn assign(
    view: &View<'_>,
    containers: &Containers,
    held: &[NodeId],
    large: impl Fn(NodeId) -> Option<NodeId>,
) -> Doubly {
    let mut has = vec![0u64; view.dominators.of.len()];
    let mut around = Vec::new();
    for node in held {
        containers.around(view, *node, &large, &mut around);
        for container in &around {
            has[*container as usize] += view.keeps(*node);
        }
    }
    let mut doubly = Doubly::default();
    let mut both: HashMap<(NodeId, NodeId), u64> = HashMap::new();
    for node in held {
        containers.around(view, *node, &large, &mut around);
        // Rather with one that has little else: it would not be said of the other that it is shared. Of two that have
        // the same, the earlier one.
        let most = |one: &&NodeId| {
            let has = has[**one as usize];
            let is_most_of_it = has >= view.keeps(**one);
            (is_most_of_it, has, std::cmp::Reverse(**one))
        };
        let Some(most) = around.iter().max_by_key(most) else {
            continue;
        };
        let shared = doubly.by.entry(*most).or_default();
        shared.nodes.push(*node);
        shared.bytes = shared.bytes.saturating_add(view.keeps(*node));
        for other in around.iter().filter(|other| *other != most) {
            *both.entry((*most, *other)).or_default() += view.keeps(*node);
        }
    }
    let mut pairs: Vec<_> = both.into_iter().collect();
    pairs.sort_unstable();
    for ((most, other), bytes) in pairs {
        let shared = doubly.by.entry(most).or_default();
        let all = shared.bytes.saturating_add(view.keeps(most));
        let better = |with: NodeId| has[other as usize] > has[with as usize];
        if bytes as f64 >= MOST_OF_IT * all as f64 && shared.with.is_none_or(better) {
            shared.with = Some(other);
        }
    }
    doubly
}

/// No part of the program, more than one refer to it, and the one that keeps it is not who has it.
fn is_held_twice(view: &View<'_>, containers: &Containers, node: NodeId) -> bool {
    let referrers = view.back.of(node);
    if !(2..=REFERRERS).contains(&referrers.len())
        || view.sort(node).is_program()
        || view.is_seen_through(node)
    {
        return false;
    }
    let Some(above) = view.dominator(node) else {
        return true;
    };
    // A container that has all who refer to it keeps it.
    !referrers.contains(&above) && containers.near[above as usize] == NOBODY
}

/// The nearest container of many around each node.
struct Containers {
    near: Vec<NodeId>,
    nesting: Nesting,
}

impl Containers {
    fn of(view: &View<'_>) -> Containers {
        let mut near = vec![NOBODY; view.dominators.of.len()];
        for node in &view.dominators.order {
            near[*node as usize] = match is_of_many(view, *node) {
                true => *node,
                false => (view.dominator(*node)).map_or(NOBODY, |above| near[above as usize]),
            };
        }
        let nesting = Nesting::of(&view.kept);
        Containers { near, nesting }
    }

    /// The next one outside of a container.
    fn above(&self, view: &View<'_>, container: NodeId) -> Option<NodeId> {
        let above = view.dominator(container)?;
        Some(self.near[above as usize]).filter(|near| *near != NOBODY)
    }

    /// Around those who refer to a node, each once. What a node keeps itself does not hold it: parts refer to the whole
    /// that they are of.
    fn around(
        &self,
        view: &View<'_>,
        node: NodeId,
        which: impl Fn(NodeId) -> Option<NodeId>,
        around: &mut Vec<NodeId>,
    ) {
        around.clear();
        let near = view.back.of(node).iter();
        let near = near.filter(|from| !self.nesting.is_in(**from, node));
        let near = near.map(|from| self.near[*from as usize]);
        let near = near.filter(|near| *near != NOBODY);
        around.extend(near.filter_map(which));
        around.sort_unstable();
        around.dedup();
    }
}

fn is_of_many(view: &View<'_>, node: NodeId) -> bool {
    view.graph.edges.of(node).len() >= MANY && view.may_hold_many(node)
}
