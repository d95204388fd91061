//! What else is known of a holder, in words: who holds the same, what may end it, which code touches it.

use super::words;
use crate::look::{CodePlace, Holder};

/// Lines of code that are named of those that touch a holder.
const PLACES: usize = 3;

/// A line each.
pub fn facts(holder: &Holder) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(other) = &holder.also_held_by {
        let other = words::behind_held_by(other);
        lines.push(format!("most of it is held by {other} too"));
    }
    lines.extend(holder.ends.iter().map(ToString::to_string));
    match holder.adds.as_slice() {
        [] => {}
        [only] => lines.push(format!("may be added to by {only}, the only place found")),
        several => lines.push(format!("may be added to by {}", places(several))),
    }
    match holder.empties.as_slice() {
        // Where nobody was found that adds, none was looked for.
        [] if holder.adds.is_empty() => {}
        [] => lines.push("nothing was found that empties it".to_owned()),
        some => lines.push(format!("may be emptied by {}", places(some))),
    }
    lines
}

fn places(places: &[CodePlace]) -> String {
    let told: Vec<String> = places
        .iter()
        .take(PLACES)
        .map(ToString::to_string)
        .collect();
    let more = match places.len().saturating_sub(PLACES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", told.join("; "))
}
