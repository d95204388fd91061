//! What a holder keeps, by kind.

use std::cmp::Reverse;
use std::collections::HashMap;

use lowtide_core::look::HeldGroup;
use lowtide_core::units::Bytes;

use super::sort::Sort;
use super::view::View;
use crate::graph::NodeId;

/// Groups that are told of; smaller ones are of no interest.
const MOST: usize = 8;

/// What steps of autograd's graph are counted as, whatever each of them does.
const STEPS: &str = "autograd step";

#[derive(Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

/// All below these nodes, but not the first of them, which is the holder itself. What has a group's name is counted with
/// what lies behind it, as a tensor is with its storage; else every object is counted for itself. A tensor may keep a
/// whole graph: its steps are told as such, and not as the bytes of one number.
pub(super) fn of(
    view: &View<'_>,
    mut tops: impl Iterator<Item = NodeId>,
    group: &dyn Fn(NodeId) -> Option<String>,
) -> Vec<HeldGroup> {
    let mut named: HashMap<String, Sum> = HashMap::new();
    let mut kinds: Vec<Sum> = Vec::new();
    kinds.resize_with(view.graph.kinds.len(), Sum::default);
    let holder = tops.next();
    let mut waiting: Vec<NodeId> = tops.collect();
    // One that has nothing below it is what it keeps.
    match holder.map(|holder| (holder, view.kept.below.of(holder))) {
        Some((holder, [])) if waiting.is_empty() => waiting.push(holder),
        Some((_, below)) => waiting.extend(below),
        None => {}
    }
    while let Some(node) = waiting.pop() {
        if let Some(name) = group(node) {
            let sum = named.entry(name).or_default();
            sum.count += 1;
            let mut parts = vec![node];
            while let Some(part) = parts.pop() {
                sum.bytes = sum.bytes.saturating_add(view.bytes(part));
                for below in view.kept.below.of(part) {
                    let is_part = view.sort(*below) == Sort::Behind && group(*below).is_none();
                    if is_part { &mut parts } else { &mut waiting }.push(*below);
                }
            }
            continue;
        }
        let object = view.graph.nodes.get(node as usize);
        if let Some(object) = object
            && let Some(sum) = kinds.get_mut(object.kind as usize)
        {
            sum.count += 1;
            sum.bytes = sum.bytes.saturating_add(object.bytes);
        }
        waiting.extend(view.kept.below.of(node));
    }
    let mut others = Vec::new();
    for (kind, sum) in view.graph.kinds.iter().zip(kinds) {
        match Sort::named(&kind.name) {
            Sort::Step => {
                let steps = named.entry(STEPS.to_owned()).or_default();
                steps.count += sum.count;
                steps.bytes = steps.bytes.saturating_add(sum.bytes);
            }
            _ => others.push((kind.name.clone(), sum)),
        }
    }
    let all = others
        .into_iter()
        .chain(named)
        .filter(|(_, sum)| sum.count > 0);
    let group = |(name, sum): (String, Sum)| HeldGroup {
        name,
        count: sum.count,
        bytes: Bytes(sum.bytes),
    };
    let mut all: Vec<HeldGroup> = all.map(group).collect();
    all.sort_by(|one, other| {
        let key = |group: &HeldGroup| (Reverse(group.bytes), Reverse(group.count));
        key(one)
            .cmp(&key(other))
            .then_with(|| one.name.cmp(&other.name))
    });
    all.truncate(MOST);
    all
}
