//! The lines of a diff in words: `+1,203 x Tensor cpu float32 [3, 1344, 1344] (+12.1 GB), 1.00 a step, held by
//! train.CACHE (list, 412 -> 1,615)`.

use super::{Change, HolderChange, Per, Rate, Was};
use crate::judge::words::percent;
use crate::look::{By, HeldGroup, Holder};
use crate::units::{grouped, show_bytes, three_significant};

/// Holders that have this share have all of it.
const ALL: f64 = 0.95;

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
        // What nobody named says itself how it is held.
        [_] if held >= ALL && is_phrase(&holders[0].now.name) => {
            format!(", {}", holders[0].now.name)
        }
        [] if any_known => ", no holder found".to_owned(),
        [] => String::new(),
        _ if held < ALL => format!(", {} of it held by {}", percent(held), listed(&by)),
        _ => format!(", held by {}", listed(&by)),
    };
    format!("{what}{rate}{by}")
}

/// `held by C or C++ code`, `in cycles that nobody holds`: no names.
fn is_phrase(name: &str) -> bool {
    name.starts_with("held by ") || name.starts_with("in cycles ")
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
        (Some(count), Some(bytes)) if count != 0 => {
            format!("{} x {name} ({bytes})", signed(count))
        }
        (Some(count), None) => format!("{} x {name}", signed(count)),
        (_, Some(bytes)) => format!("{bytes} of {name}"),
        (None, None) => name,
    }
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
        (Some(count), _) if group.count != Some(0) => {
            format!(", {} {per}", number(count))
        }
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
    let Holder {
        name, kind, length, ..
    } = &change.now;
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
