//! Which groups of objects changed: types, tensors, arrays, images.

use std::collections::HashMap;

use super::Change;
use crate::look::{Breakdown, By, Look, Part};

/// Breakdowns whose parts are objects, those that say most first.
const OBJECTS: [By; 4] = [
    By::TensorGroup,
    By::ArrayGroup,
    By::ImageGroup,
    By::PythonType,
];

/// What grew and what shrank, as the breakdowns have it.
pub(super) fn changes(a: &Look, b: &Look) -> (Vec<Change>, Vec<Change>) {
    let told: Vec<By> = OBJECTS
        .into_iter()
        .filter(|by| a.breakdown(by).is_some() || b.breakdown(by).is_some())
        .collect();
    let (mut grew, mut shrank) = (Vec::new(), Vec::new());
    for by in &told {
        let nothing = Breakdown::new(by.clone(), Vec::new());
        let (first, last) = (a.breakdown(by), b.breakdown(by));
        let (first, last) = (first.unwrap_or(&nothing), last.unwrap_or(&nothing));
        let (old, new) = (by_name(first), by_name(last));
        for name in names(first, last, &old) {
            if *by == By::PythonType && is_told_by_group(name, &told) {
                continue;
            }
            let (before, after) = (old.get(name).copied(), new.get(name).copied());
            let change = Change {
                by: by.clone(),
                name: name.to_owned(),
                count: less(count(before, first), count(after, last)),
                bytes: less(bytes(before, after, first), bytes(after, before, last)),
            };
            match direction(&change) {
                1.. => grew.push(change),
                0 => {}
                _ => shrank.push(change),
            }
        }
    }
    (grew, shrank)
}

/// Bytes say whether it grew; where they are the same or unknown, the number does.
pub(super) fn direction(change: &Change) -> i64 {
    let bytes = change.bytes.unwrap_or(0);
    match bytes {
        0 => change.count.unwrap_or(0),
        bytes => bytes,
    }
}

/// There are thousands of types.
type Named<'a> = HashMap<&'a str, &'a Part>;

fn by_name(breakdown: &Breakdown) -> Named<'_> {
    let parts = breakdown.parts.iter();
    parts.map(|part| (part.name.as_str(), part)).collect()
}

fn names<'a>(
    first: &'a Breakdown,
    last: &'a Breakdown,
    old: &Named<'a>,
) -> impl Iterator<Item = &'a str> {
    let before = first.parts.iter().map(|part| part.name.as_str());
    let after = last.parts.iter().map(|part| part.name.as_str());
    before.chain(after.filter(|name| !old.contains_key(name)))
}

fn less(old: Option<u64>, new: Option<u64>) -> Option<i64> {
    old.zip(new).map(|(old, new)| difference(old, new))
}

pub(super) fn difference(old: u64, new: u64) -> i64 {
    let of = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    of(new).saturating_sub(of(old))
}

/// Of a part that is not named nobody counted anything, unless all are named.
fn count(part: Option<&Part>, of: &Breakdown) -> Option<u64> {
    match part {
        Some(part) => part.count,
        None => of.rest.is_none().then_some(0),
    }
}

/// A part that is not named has nothing or, where only the largest are named, as much as the smallest of them, or as in
/// the `other` census if that is less. So neither growth nor loss is told too large.
fn bytes(part: Option<&Part>, other: Option<&Part>, of: &Breakdown) -> Option<u64> {
    let known = |part: &Part| part.bytes.map(|bytes| bytes.0);
    match (part, of.rest) {
        (Some(part), _) => known(part),
        (None, None) => Some(0),
        (None, Some(_)) => {
            let least = of.parts.iter().filter_map(known).min();
            least.zip(other.and_then(known)).map(|(a, b)| a.min(b))
        }
    }
}

/// Types whose objects a breakdown of their own tells, with shapes: once is enough.
fn is_told_by_group(name: &str, told: &[By]) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let by = match last {
        "Tensor" | "Parameter" => By::TensorGroup,
        "ndarray" => By::ArrayGroup,
        "Image" | "ImagingCore" => By::ImageGroup,
        last if last.ends_with("ImageFile") => By::ImageGroup,
        _ => return false,
    };
    told.contains(&by)
}
