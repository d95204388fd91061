//! The post-mortem for a person: one screen.

use std::fmt::Write;

use lowtide_core::postmortem::PostMortem;
use lowtide_core::units::{show_bytes, show_duration};

use lowtide_core::text::{short, shown};

/// Command lines are cut to this.
const COMMAND: usize = 60;

pub(crate) fn text(found: &PostMortem) -> String {
    let mut out = format!("post-mortem: {}\n", shown(&found.cause.to_string()));
    let mut line = |label: &str, text: String| {
        let _ = writeln!(out, "  {label:<10} {}", shown(&text));
    };
    if let Some(who) = &found.who {
        let command = short(&shown(&who.command), COMMAND);
        line("first", format!("{} {} ({command})", who.role, who.pid));
    }
    let ago = found.at.since(found.seen_at).seconds();
    let mut memory = format!("the tree held {}", found.held);
    if let Some(limit) = &found.limit {
        let left = limit.bytes.as_f64() - limit.used.as_f64();
        let _ = write!(
            memory,
            "; {} of {} in use ({}), {} left",
            limit.used,
            limit.bytes,
            limit.from,
            show_bytes(left)
        );
    }
    if let Some(grew) = &found.grew {
        let _ = write!(memory, "; it rose by {grew}");
    }
    line("memory", memory);
    line("seen", format!("{} before the end", show_duration(ago)));
    for (nth, holder) in found.holders.iter().enumerate() {
        let label = if nth == 0 { "holders" } else { "" };
        line(
            label,
            format!(
                "{} in {} {} (grown by {}): {}",
                holder.held,
                holder.role,
                holder.pid,
                holder.grown,
                short(&shown(&holder.command), COMMAND)
            ),
        );
    }
    if let Some(step) = found.step {
        let of = found
            .total_steps
            .map(|total| format!(" of {total}"))
            .unwrap_or_default();
        let steps: Vec<String> = found
            .steps
            .iter()
            .map(|(at, step)| format!("{step} at {}", show_duration(*at)))
            .collect();
        line("steps", format!("{step}{of}; last: {}", steps.join(", ")));
    }
    if found.attempt > 1 {
        line("attempt", found.attempt.to_string());
    }
    out
}
