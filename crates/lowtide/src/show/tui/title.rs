//! The first row: whose run this is, how far it is, and what is out of the ordinary.

use lowtide_core::entry::{EventKind, Exit};
use lowtide_core::mark::Phase;
use lowtide_core::report::Report;
use lowtide_core::units::show_duration;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::content::Content;
use super::paint::{Palette, brief};
use crate::show::style::Paint;

pub(super) fn draw(content: &Content, palette: Palette, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let report = &content.report;
    let bar = palette.style(Paint::Plain).add_modifier(Modifier::REVERSED);
    buf.set_style(area, bar);
    let mut parts = vec!["lowtide".to_owned()];
    parts.extend(state(report));
    parts.extend(progress(report));
    let fixed = parts.join(palette.or(" · ", " | "));
    let used = 2 + fixed.chars().count();
    buf.set_stringn(
        area.x + 1,
        area.y,
        &fixed,
        usize::from(area.width),
        bar.add_modifier(Modifier::BOLD),
    );
    let command = report
        .header
        .as_ref()
        .map(|header| header.command.join(" "))
        .unwrap_or_default();
    let room = usize::from(area.width).saturating_sub(used + 3);
    if room >= 8 && !command.is_empty() {
        let text = lowtide_core::text::short(&brief(&command), room);
        let at = area.right().saturating_sub(text.chars().count() as u16 + 1);
        buf.set_stringn(at, area.y, text, room, bar);
    }
}

/// What a reader must know before anything else.
fn state(report: &Report) -> Option<String> {
    let summary = report.summary.as_ref()?;
    if let Some(exit) = summary.exit {
        return Some(match exit {
            Exit::Code(0) => "ended".to_owned(),
            Exit::Code(code) => format!("ENDED with code {code}"),
            Exit::Signal(signal) => format!("ENDED by signal {signal}"),
        });
    }
    let mut moves = report.events.iter().rev();
    let stopped = moves
        .find(|e| matches!(e.kind, EventKind::JobStopped | EventKind::JobContinued))
        .is_some_and(|e| e.kind == EventKind::JobStopped);
    stopped.then(|| "STOPPED".to_owned())
}

fn progress(report: &Report) -> Vec<String> {
    let mut parts = vec![show_duration(report.to)];
    let Some(summary) = &report.summary else {
        return parts;
    };
    if let Some(step) = summary.last_step {
        parts.push(match summary.total_steps {
            Some(total) => format!("step {step} of {total}"),
            None => format!("step {step}"),
        });
    }
    let phase = report.spans.last().filter(|span| span.to >= report.to);
    match phase.map(|span| span.phase) {
        Some(Phase::Eval) => parts.push("evaluating".to_owned()),
        Some(Phase::Save) => parts.push("saving".to_owned()),
        _ => {}
    }
    parts
}
