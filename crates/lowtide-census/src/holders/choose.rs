//! Which nodes are holders, by the tree of dominators.
//!
//! A holder is where much is kept in many parts: the list, neither its elements nor the object that has the list as its
//! only large attribute. What is left without such a container (a model, one large array) is told by its first name.

use super::chosen::Chosen;
use super::sort::Sort;
use super::step::Labels;
use super::view::View;
use crate::graph::NodeId;

/// Parts from which on a container is one of many: the fields of a record are fewer.
pub(super) const MANY: usize = 8;
/// A part that keeps so much of what all keep is looked into instead: the container is only its wrapping.
const NEARLY_ALL: f64 = 0.8;
/// Below a holder, another one is told of if it has this share of it.
const NESTED: f64 = 0.3;
/// What no holder was found for is told of from this share on.
const REST: f64 = 0.2;
/// Steps that are gone from a first name down to a container. Linked lists have no end, and their first name is better.
const DEEPEST: usize = 64;

fn share(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of.max(1) as f64
}

/// Containers that keep much in many parts.
pub(super) fn containers(view: &View<'_>, labels: &impl Labels) -> Chosen {
    let mut chosen = Chosen::default();
    // A node, and what the nearest holder above keeps.
    let mut waiting: Vec<(NodeId, Option<u64>)> =
        view.kept.top.iter().map(|top| (*top, None)).collect();
    while let Some((node, above)) = waiting.pop() {
        let keeps = view.keeps(node);
        if keeps < view.least {
            continue;
        }
        let is_large = above.is_none_or(|above| share(keeps, above) >= NESTED);
        let is_many = keeps_many(view, node) && !view.is_of_names(labels, node);
        let is_holder = is_large && (is_many || view.keeps_steps(node, MANY));
        if is_holder {
            chosen.add(node);
        }
        let above = if is_holder { Some(keeps) } else { above };
        let below = view.kept.below.of(node).iter();
        waiting.extend(below.map(|below| (*below, above)));
    }
    // Those whose holders below have nearly all are only their wrapping.
    let covered = covered(view, |node| chosen.has(node));
    let wrappings: Vec<NodeId> = chosen
        .nodes()
        .filter(|node| {
            let below = view.kept.below.of(*node).iter();
            let below = below.map(|below| covered[*below as usize]).sum();
            share(below, view.keeps(*node)) >= NEARLY_ALL
        })
        .collect();
    wrappings.into_iter().for_each(|node| chosen.remove(node));
    chosen
}

fn keeps_many(view: &View<'_>, node: NodeId) -> bool {
    let below = view.kept.below.of(node);
    if below.len() < MANY || !view.may_hold_many(node) {
        return false;
    }
    let largest = below.iter().map(|below| view.keeps(*below)).max();
    share(largest.unwrap_or(0), view.keeps(node)) < NEARLY_ALL
}

/// Of each node, the bytes below it that are told of by a holder.
fn covered(view: &View<'_>, is_told: impl Fn(NodeId) -> bool) -> Vec<u64> {
    let mut covered: Vec<u64> = vec![0; view.dominators.of.len()];
    for node in view.dominators.order.iter().rev() {
        if is_told(*node) {
            covered[*node as usize] = view.keeps(*node);
        }
        let bytes = covered[*node as usize];
        if let Some(above) = view.dominator(*node) {
            covered[above as usize] = covered[above as usize].saturating_add(bytes);
        }
    }
    covered
}

/// What no container was found for, by the first thing with a name on the way to it.
pub(super) fn rest(view: &View<'_>, labels: &impl Labels, chosen: &mut Chosen) {
    let mut is_told = vec![false; view.dominators.of.len()];
    for node in chosen.nodes().chain(chosen.shared_nodes()) {
        is_told[node as usize] = true;
    }
    let covered = covered(view, |node| is_told[node as usize]);
    let left = |node: NodeId| view.keeps(node).saturating_sub(covered[node as usize]);
    for node in &view.dominators.order {
        let bytes = left(*node);
        let first = view
            .dominator(*node)
            .is_none_or(|above| view.is_seen_through(above));
        if bytes >= view.least
            && first
            && !view.is_seen_through(*node)
            && share(bytes, view.keeps(*node)) >= REST
            && let Some(holder) = below_first(view, labels, *node, &left)
        {
            chosen.add(holder);
        }
    }
}

/// From a first name down along what has nearly all that is left: the last container there, or the first itself.
fn below_first(
    view: &View<'_>,
    labels: &impl Labels,
    first: NodeId,
    left: &impl Fn(NodeId) -> u64,
) -> Option<NodeId> {
    let (mut at, mut container, mut has_end) = (first, None, false);
    for _ in 0..DEEPEST {
        let is_container = match view.sort(at) {
            Sort::Container => true,
            Sort::Dict => !view.is_seen_through(at) && !view.is_of_names(labels, at),
            _ => false,
        };
        if is_container {
            container = Some(at);
        }
        let below = view.kept.below.of(at).iter();
        let next = below.max_by_key(|below| left(**below));
        let next = next.filter(|next| share(left(**next), left(at)) >= NEARLY_ALL);
        has_end = next.is_none();
        let Some(next) = next else {
            break;
        };
        at = *next;
    }
    // One that goes on and on is a chain, of which no part is better than its beginning.
    let container = container.filter(|_| has_end);
    container.or(Some(first).filter(|first| !view.sort(*first).is_program()))
}
