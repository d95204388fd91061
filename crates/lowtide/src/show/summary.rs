//! The end of a run for a person: what `run` prints on stderr and `attach` on stdout.

use std::fmt::Write;

use lowtide_core::entry::Exit;
use lowtide_core::mark::MarkSource;
use lowtide_core::run::{RoleLine, Summary};
use lowtide_core::sample::Basis;
use lowtide_core::text::shown;
use lowtide_core::units::{show_bytes, show_duration};
use lowtide_core::verdict::Class;

/// The lines of the summary, without the verdict.
pub(crate) fn text(summary: &Summary) -> String {
    let mut out = String::new();
    let mut line = |label: &str, text: String| {
        let _ = writeln!(out, "  {label:<10} {}", shown(&text));
    };
    line("watched", watched(summary));
    if let Some(process) = &summary.watched {
        let held = &process.held;
        line(
            &format!("pid {}", process.pid),
            format!(
                "min {}, average {}, max {}; floor {} -> {}; RSS peak {}",
                show_bytes(held.min),
                show_bytes(held.mean),
                show_bytes(held.max),
                show_bytes(held.floor_first),
                show_bytes(held.floor_last),
                process.peak
            ),
        );
    }
    // One process is its whole tree: its numbers stand there already.
    if !is_alone(summary) {
        let tree = &summary.tree;
        line(
            "the tree",
            format!(
                "min {}, average {}, max {}; floor {} -> {} ({})",
                show_bytes(tree.min),
                show_bytes(tree.mean),
                show_bytes(tree.max),
                show_bytes(tree.floor_first),
                show_bytes(tree.floor_last),
                basis(&summary.basis)
            ),
        );
        for role in &summary.roles {
            line("", role_line(role));
        }
    }
    if let Some(limit) = &summary.limit {
        let left = summary
            .headroom
            .map_or_else(|| "unknown".to_owned(), show_bytes);
        line(
            "limit",
            format!("{} ({}); headroom {left}", limit.bytes, limit.from),
        );
    }
    if let Some(exit) = summary.exit {
        let how = match exit {
            Exit::Code(code) => format!("the job ended with code {code}"),
            Exit::Signal(signal) => format!("the job was ended by signal {signal}"),
        };
        line("end", how);
    }
    if summary.lost_ticks > 0 {
        line(
            "lost",
            format!(
                "{} samples are missing in the recording",
                summary.lost_ticks
            ),
        );
    }
    out
}

/// Whether the run ever had one process only, the one that is watched, and was not restarted.
fn is_alone(summary: &Summary) -> bool {
    let seen: usize = summary.roles.iter().map(|role| role.seen).sum();
    seen == 1 && summary.watched.is_some() && summary.restarts == 0
}

fn watched(summary: &Summary) -> String {
    let mut text = format!(
        "{}, {} samples",
        show_duration(summary.seconds),
        summary.samples
    );
    if let (Some(first), Some(last)) = (summary.first_step, summary.last_step) {
        let of = summary
            .total_steps
            .map(|total| format!(" of {total}"))
            .unwrap_or_default();
        let from = steps_from(summary);
        let _ = write!(text, ", steps {first} to {last}{of} ({from})");
    }
    if summary.late_ticks > 0 {
        let _ = write!(text, ", {} of them late", summary.late_ticks);
    }
    text
}

/// "from TrainerState in 4242's memory"
fn steps_from(summary: &Summary) -> String {
    match (summary.steps_from, summary.counter) {
        (Some(MarkSource::Memory), Some(counter)) => format!("from {counter}"),
        (Some(MarkSource::Memory), None) => "from the job's memory".to_owned(),
        (Some(MarkSource::Callback), _) => "told by the training loop".to_owned(),
        (Some(MarkSource::TrainerState), _) => "from trainer_state.json".to_owned(),
        (Some(MarkSource::Output | MarkSource::Other) | None, _) => {
            "read from the job's output".to_owned()
        }
    }
}

fn basis(basis: &Basis) -> String {
    match basis {
        Basis::Cgroup => "counted by its cgroup".to_owned(),
        Basis::Counters => "anon + shmem + swap".to_owned(),
        Basis::Other => "in a way that this lowtide does not know".to_owned(),
        Basis::Pss { oldest, unread } => {
            let mut text = format!(
                "shared pages once, read at most {} ago",
                show_duration(oldest.seconds())
            );
            if *unread > 0 {
                let _ = write!(text, "; {unread} not read yet: an upper bound");
            }
            text
        }
    }
}

/// "20 compile workers: 2.1 GB of their own (8.0 GB RSS, each counted alone), flat"
fn role_line(role: &RoleLine) -> String {
    let plural = if role.count == 1 { "" } else { "s" };
    let trend = match role.verdict {
        Class::Stable => "flat",
        Class::WarmUp => "grew and settled",
        Class::Spikes => "spikes over a flat floor",
        Class::Leak => "leaking",
        Class::TooEarly => "not decided yet",
    };
    let mut text = format!(
        "{} {}{plural}: {} of their own ({} RSS, each counted alone), {trend}",
        role.count,
        role.role.replace('-', " "),
        role.own,
        role.rss
    );
    if role.seen > role.count {
        let _ = write!(text, "; {} seen in all", role.seen);
    }
    text
}

#[cfg(test)]
mod tests {
    use lowtide_core::entry::Entry;
    use lowtide_core::mark::{LoopObject, Mark};
    use lowtide_core::run::Run;
    use lowtide_core::units::Micros;

    use super::*;

    #[test]
    fn steps_of_memory_say_which_object_counts_and_where() {
        let mut run = Run::new();
        let mut mark = |step, source, object| {
            run.apply(&Entry::Mark(Mark {
                at: Micros(step * 1_000_000),
                step: Some(step),
                pid: Some(4242),
                source,
                object,
                ..Mark::default()
            }));
            watched(&run.summary())
        };
        let state = Some(LoopObject::TrainerState);
        let said = mark(3, MarkSource::Memory, state);
        assert!(
            said.ends_with("steps 3 to 3 (from TrainerState in 4242's memory)"),
            "{said}"
        );
        let said = mark(4, MarkSource::Callback, None);
        assert!(
            said.ends_with("steps 4 to 4 (told by the training loop)"),
            "{said}"
        );
    }
}
