//! Which containers deserve a name, because much would be freed with them, and what they are called: "`train.CACHE` (list,
//! 1,203 items) keeps 12.1 GB: 1,203 x Tensor".
//!
//! `roots` says where the program's own names begin (modules, frames), and what is left without any gets a place under
//! C's. [`View`] works out who keeps what; `choose` and `shared` pick; `name` says how to get there, by [`Labels`], which
//! `label` reads from the process. The census shows what comes of it, and reads the same containers again on every tick.

mod choose;
mod chosen;
mod groups;
mod interned;
mod label;
mod name;
mod native;
mod roots;
mod shared;
mod sort;
mod step;
#[cfg(test)]
mod tests;
#[cfg(any(test, fuzzing))]
pub(crate) mod tried;
mod view;

use std::cmp::Reverse;

use lowtide_core::look::Holder;
use lowtide_core::units::Bytes;

use crate::graph::{Graph, NodeId};
use chosen::Chosen;
pub(crate) use label::{Reader, code_of};
pub(crate) use roots::Roots;
pub(crate) use sort::native_kind;
pub(crate) use step::{Labels, Step};
pub(crate) use view::View;

/// Holders that are named at most: as many as are read again on every tick.
pub(crate) const MOST: usize = 32;

/// A holder, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spotted {
    /// Without what may end it and which code changes it: others add that.
    pub holder: Holder,
    pub node: NodeId,
    /// Who refers to it, and how: what code that changes it would name. None for what is a root itself.
    pub slot: Option<Slot>,
    /// From where its name begins to itself; empty where that is too long to be gone again.
    pub way: Vec<NodeId>,
}

/// The last step of the way to a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The object that a person would say has it: an instance, and not its dictionary.
    pub owner: NodeId,
    pub step: Step,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Largest first.
    pub holders: Vec<Spotted>,
    /// What no module and no frame leads to.
    pub unreached: native::Unreached,
}

/// Finds the holders in a graph. `group` names what is told apart better than by its type: tensors, arrays.
pub(crate) fn find(
    graph: &mut Graph,
    roots: &Roots,
    labels: &impl Labels,
    group: &dyn Fn(NodeId) -> Option<String>,
) -> Found {
    let unreached = native::gather(graph, roots, labels);
    let view = View::of(graph, roots, &unreached, labels);
    let mut chosen = choose::containers(&view, labels);
    let doubly = shared::find(&view);
    doubly.add_to(&view, &mut chosen);
    choose::rest(&view, labels, &mut chosen);
    for node in &unreached.nodes {
        chosen.add(*node);
    }
    let mut all: Vec<(u64, NodeId)> = (chosen.nodes())
        .map(|node| (chosen.keeps(&view, node), node))
        .filter(|(keeps, _)| *keeps >= view.least)
        .collect();
    all.sort_by_cached_key(|(keeps, node)| (Reverse(view.weight(*node, *keeps)), *node));
    all.truncate(MOST);
    all.sort_by_key(|(keeps, node)| (Reverse(*keeps), *node));
    let describe = |(_, node): &(u64, NodeId)| describe(&view, &chosen, labels, group, *node);
    Found {
        holders: all.iter().map(describe).collect(),
        unreached,
    }
}

/// A chain of a million links is no way that anybody goes twice.
fn way_to(view: &View<'_>, node: NodeId) -> Vec<NodeId> {
    let way = view.ways.to(node);
    match way.len() <= name::LONGEST {
        true => way,
        false => Vec::new(),
    }
}

fn describe(
    view: &View<'_>,
    chosen: &Chosen,
    labels: &impl Labels,
    group: &dyn Fn(NodeId) -> Option<String>,
    node: NodeId,
) -> Spotted {
    let named = name::of(view, labels, node);
    let also = chosen.also_held_by(node);
    let object = view.graph.nodes[node as usize];
    let holder = Holder {
        name: named.name,
        path: named.path,
        kind: view.kind(node).to_owned(),
        length: labels.length(object.address),
        keeps: Bytes(chosen.keeps(view, node)),
        of: groups::of(view, chosen.all_of(node), group),
        also_held_by: also.map(|other| name::of(view, labels, other).name),
        ends: Vec::new(),
        adds: Vec::new(),
        empties: Vec::new(),
        address: object.address,
    };
    Spotted {
        holder,
        node,
        slot: named.slot,
        way: way_to(view, node),
    }
}
