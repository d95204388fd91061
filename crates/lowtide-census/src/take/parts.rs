//! The breakdowns of a census: types, groups of tensors, arrays and images, holders.

use std::cmp::Reverse;
use std::collections::HashMap;

use lowtide_core::look::{Breakdown, By, Holder, Part, PartMember, Rest};
use lowtide_core::units::Bytes;

use crate::contents::{Contents, Group};
use crate::graph::{Graph, NodeId};

/// Parts of a breakdown that are named; smaller ones are told together. A torch process has some thousand types.
const MOST: usize = 256;

/// Objects by the name of their type; what is none of Python's has breakdowns of its own.
pub(super) fn types(graph: &Graph) -> Vec<Part> {
    let mut bytes = vec![0u64; graph.kinds.len()];
    for node in &graph.nodes {
        let sum = &mut bytes[node.kind as usize];
        *sum = sum.saturating_add(node.bytes);
    }
    // Two types may have one name.
    let mut named: HashMap<&str, (u64, u64)> = HashMap::new();
    let kinds = graph.kinds.iter().zip(bytes);
    for (kind, bytes) in kinds.filter(|(kind, _)| kind.address != 0) {
        let sum = named.entry(&kind.name).or_default();
        *sum = (sum.0 + kind.count, sum.1.saturating_add(bytes));
    }
    let parts = named.into_iter().filter(|(_, (count, _))| *count > 0);
    parts
        .map(|(name, (count, bytes))| Part::new(name, Some(count), Some(Bytes(bytes))))
        .collect()
}

/// What nodes are grouped by, where that is more than their type.
pub(super) struct Names {
    /// Many nodes have one name.
    names: Vec<String>,
    by_node: HashMap<NodeId, u32>,
}

impl Names {
    pub(super) fn of(&self, node: NodeId) -> Option<String> {
        let nth = *self.by_node.get(&node)?;
        self.names.get(nth as usize).cloned()
    }
}

pub(super) fn names(graph: &Graph, contents: &Contents) -> Names {
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut by_node = HashMap::new();
    let mut add = |address: u64, name: Option<String>| {
        if let (Some(node), Some(name)) = (graph.at(address), name) {
            let next = known.len() as u32;
            by_node.insert(node, *known.entry(name).or_insert(next));
        }
    };
    for object in contents.objects() {
        add(object, contents.name(object));
    }
    for tensor in contents.tensors.iter().filter(|one| one.object == 0) {
        add(tensor.address, Some(contents.tensor_name(tensor)));
    }
    let mut names = vec![String::new(); known.len()];
    for (name, nth) in known {
        names[nth as usize] = name;
    }
    Names { names, by_node }
}

/// Each at most once, and only those that have something.
pub(super) fn all(types: Vec<Part>, contents: &Contents, holders: &[Holder]) -> Vec<Breakdown> {
    let mut groups: HashMap<By, Vec<Part>> = HashMap::new();
    for group in contents.groups() {
        let by = match group.name.split(' ').next() {
            Some("Tensor") => By::TensorGroup,
            Some("ndarray") => By::ArrayGroup,
            _ => By::ImageGroup,
        };
        groups.entry(by).or_default().push(part(group));
    }
    let held = holders.iter().map(|holder| {
        let (count, keeps) = (holder.length, Some(holder.keeps));
        Part::new(holder.name.clone(), count, keeps)
    });
    let by_holder = once(held.collect());
    let tensors = [By::TensorGroup, By::ArrayGroup, By::ImageGroup];
    let tensors = tensors.map(|by| {
        let parts = groups.remove(&by).unwrap_or_default();
        (by, parts)
    });
    let all = [(By::PythonType, types)].into_iter().chain(tensors);
    all.chain([(By::Holder, by_holder)])
        .filter(|(_, parts)| !parts.is_empty())
        .map(|(by, parts)| largest(by, parts))
        .collect()
}

/// Two holders may be called the same; a part's name is its own.
fn once(parts: Vec<Part>) -> Vec<Part> {
    let mut seen = std::collections::HashSet::new();
    let first = |part: &Part| seen.insert(part.name.clone());
    parts.into_iter().filter(first).collect()
}

fn part(group: Group) -> Part {
    let told = [
        (group.requires_grad, "ask for gradients"),
        (group.in_graph, "hang on a graph"),
        (group.only_in_cpp, "held by C++ alone"),
    ];
    let told = told.into_iter().filter(|(count, _)| *count > 0);
    let mut part = Part::new(group.name, Some(group.count), Some(Bytes(group.bytes)));
    part.members = told
        .map(|(count, name)| PartMember::new(name, count, Bytes::ZERO))
        .collect();
    if group.elsewhere > 0 {
        let elsewhere = Bytes(group.elsewhere);
        let name = "not in this process's memory";
        (part.members).push(PartMember::new(name, group.count, elsewhere));
    }
    part
}

fn largest(by: By, mut parts: Vec<Part>) -> Breakdown {
    parts.sort_by(|a, b| {
        let key = |part: &Part| Reverse((part.bytes, part.count));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    let rest = parts.split_off(parts.len().min(MOST));
    let mut breakdown = Breakdown::new(by, parts);
    if !rest.is_empty() {
        let bytes = rest.iter().filter_map(|part| part.bytes);
        breakdown.rest = Some(Rest {
            parts: rest.len() as u64,
            count: Some(rest.iter().filter_map(|part| part.count).sum()),
            bytes: Some(bytes.fold(Bytes::ZERO, |sum, one| sum + one)),
        });
    }
    breakdown
}
