//! The lines of a diff in words: `+1,203 x Tensor cpu float32 [3, 1344, 1344] (+12.1 GB), 1.00 a step, held by
//! train.CACHE (list, 412 -> 1,615)`.

use super::{Change, HolderChange, Per, Rate, Was};
use crate::judge::words::percent;
use crate::look::{By, HeldGroup, Holder};
use crate::units::{grouped, show_bytes, three_significant};

/// Holders that have this share have all of it.
const ALL: f64 = 0.95;
/// Bytes a step or a minute below this round to none.
const LEAST_RATE: f64 = 0.5;

/// Types whose objects keep the size that they were made with.
const FIXED: [&str; 6] = ["str", "bytes", "int", "float", "tuple", "frozenset"];

pub(super) fn grew(
    group: &Change,
    rate: Option<Rate>,
    holders: &[HolderChange],
    held: f64,
    any_known: bool,
) -> String {
    let rate = rate.map(|rate| shown_rate(group, rate)).unwrap_or_default();
    // A holder of which nobody knows what it holds tells of itself.
    if let [holder] = holders
        && group.by == By::Holder
        && group.name == holder.now.name
    {
        let items = signed(group.count.unwrap_or(0));
        let keeps = match group.bytes {
            Some(bytes) if bytes > 0 => format!(", keeps {} more", show_bytes(bytes as f64)),
            _ => String::new(),
        };
        return format!("{items} in {}{rate}{keeps}", with_length(holder));
    }
    let what = amount(group);
    let by: Vec<String> = holders.iter().map(with_length).collect();
    let by = match by.as_slice() {
        [] if any_known => ", no holder found".to_owned(),
        [] => String::new(),
        // What nobody named says itself how it is held.
        [_] if held >= ALL && is_phrase(&holders[0].now.name) => {
            format!(", {}", holders[0].now.name)
        }
        [_] if holders[0].now.name.starts_with(CYCLES) => {
            format!(", {} of it {}", percent(held), holders[0].now.name)
        }
        _ if held < ALL => format!(", {} of it held by {}", percent(held), listed(&by)),
        _ => format!(", held by {}", listed(&by)),
    };
    format!("{what}{rate}{by}")
}

/// How the census says that something is held where nobody gave it a name, alone or behind a comma.
const HELD_BY: &str = "held by ";
const CYCLES: &str = "in cycles ";

/// `held by C or C++ code`, `in cycles that nobody holds`: no names.
fn is_phrase(name: &str) -> bool {
    name.starts_with(HELD_BY) || name.starts_with(CYCLES)
}

/// Of such a name there may be several: `dict, held by C or C++ code`.
pub(super) fn is_nameless(name: &str) -> bool {
    is_phrase(name) || name.split(", ").skip(1).any(is_phrase)
}

/// A holder's name behind `held by`: `C or C++ code`, `dict of C or C++ code`, `list in cycles that nobody holds`.
pub(super) fn behind_held_by(name: &str) -> String {
    if let Some(whose) = name.strip_prefix(HELD_BY) {
        return whose.to_owned();
    }
    match name.rsplit_once(", ") {
        Some((what, how)) if how.starts_with(CYCLES) => format!("{what} {how}"),
        Some((what, how)) => match how.strip_prefix(HELD_BY) {
            Some(whose) => format!("{what} of {whose}"),
            None => name.to_owned(),
        },
        None => name.to_owned(),
    }
}

pub(super) fn shrank(group: &Change, rate: Option<Rate>) -> String {
    let rate = rate.map(|rate| shown_rate(group, rate)).unwrap_or_default();
    format!("{}{rate}", amount(group))
}

impl Change {
    /// `+1,203 x dict (+278 kB)`.
    pub fn says(&self) -> String {
        amount(self)
    }
}

fn amount(group: &Change) -> String {
    let name = named(group);
    let bytes = group.bytes.map(|bytes| {
        let sign = if bytes >= 0 { "+" } else { "" };
        format!("{sign}{}", show_bytes(bytes as f64))
    });
    match (group.count, bytes) {
        (Some(count), Some(bytes)) if is_mixed(group) => {
            let which = if count < 0 { "fewer" } else { "more" };
            let count = grouped(count.unsigned_abs());
            format!("{bytes} of {name} ({count} {which} of them)")
        }
        (Some(count), Some(bytes)) if count != 0 => {
            format!("{} x {name} ({bytes})", signed(count))
        }
        (Some(count), None) => format!("{} x {name}", signed(count)),
        (_, Some(bytes)) if is_longer(group) => format!("{bytes} of {name} (no new ones)"),
        (_, Some(bytes)) => format!("{bytes} of {name}"),
        (None, None) => name,
    }
}

/// Fewer objects with more bytes, or the other way round: some went, and what was there changed its size.
fn is_mixed(group: &Change) -> bool {
    let both = group.count.zip(group.bytes);
    both.is_some_and(|(count, bytes)| count.signum() * bytes.signum() < 0)
}

/// The same objects, and larger.
fn is_longer(group: &Change) -> bool {
    let is_type = group.by == By::PythonType && may_get_longer(&group.name);
    is_type && group.count == Some(0) && group.bytes > Some(0)
}

/// Of a type that may not, others have come in the place of those that were there.
pub(super) fn may_get_longer(name: &str) -> bool {
    !FIXED.contains(&name)
}

/// `Tensor cpu float32 [8]`, also where the breakdown leaves out what all of it is.
fn named(group: &Change) -> String {
    match group.by {
        By::TensorGroup if !group.name.starts_with("Tensor ") => format!("Tensor {}", group.name),
        _ => group.name.clone(),
    }
}

fn shown_rate(group: &Change, rate: Rate) -> String {
    let per = match rate.per {
        Per::Step => "a step",
        Per::Minute => "a minute",
    };
    match (rate.count, rate.bytes) {
        (Some(count), _) if group.count != Some(0) && !is_mixed(group) => {
            format!(", {} {per}", number(count))
        }
        // So little a step is no rate.
        (_, Some(bytes)) if bytes.abs() < LEAST_RATE => String::new(),
        (_, Some(bytes)) => format!(", {} {per}", show_bytes(bytes)),
        _ => String::new(),
    }
}

/// `1.00`, `120`, `110,626`.
fn number(value: f64) -> String {
    if value.abs() < 1000.0 {
        return three_significant(value);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.abs().round() as u64))
}

fn signed(count: i64) -> String {
    let sign = if count < 0 { "-" } else { "+" };
    format!("{sign}{}", grouped(count.unsigned_abs()))
}

/// `train.CACHE (list, 412 -> 1,615)`.
fn with_length(change: &HolderChange) -> String {
    let Holder { kind, length, .. } = &change.now;
    let name = behind_held_by(&change.now.name);
    // Code, or nobody: neither has a type or a length.
    if is_phrase(&change.now.name) {
        return name;
    }
    match (change.was, length) {
        (
            Some(Was {
                length: Some(was), ..
            }),
            Some(now),
        ) if was != *now => {
            format!("{name} ({kind}, {} -> {})", grouped(was), grouped(*now))
        }
        (Some(_), Some(now)) => format!("{name} ({kind}, {})", grouped(*now)),
        (None, Some(now)) => format!("{name} ({kind}, {}, not named before)", grouped(*now)),
        (Some(_), None) => format!("{name} ({kind})"),
        (None, None) => format!("{name} ({kind}, not named before)"),
    }
}

fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1,203 x Tensor cpu float32 [3, 1344, 1344]`.
pub fn count_of(held: &HeldGroup) -> String {
    format!("{} x {}", grouped(held.count), held.name)
}
