//! The answer, and why.

use lowtide_core::judge::{FLOOR_LINE, WOULD_CHANGE};
use lowtide_core::verdict::Class;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::content::Content;
use super::paint::{Palette, clean};
use crate::show::outlook::{lines as ends, weight};
use crate::show::style::Paint;
use crate::show::text::{answer, confidence, headline};

/// `outlook_below`: the row of the headroom is shown, and says what the run needs.
pub(super) fn draw(
    content: &Content,
    palette: Palette,
    area: Rect,
    outlook_below: bool,
    buf: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let verdict = &content.report.verdict;
    let area = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    };
    let samples = content.report.summary.as_ref().map_or(0, |s| s.samples);
    if samples == 0 {
        let text = "Waiting for the first sample.";
        Paragraph::new(text).render(area, buf);
        return;
    }
    let paint = match (weight(verdict), verdict.verdict) {
        (Paint::Bold, Class::WarmUp | Class::Spikes | Class::Stable) => Paint::Floor,
        (weight, _) => weight,
    };
    let strong = palette.style(paint).add_modifier(Modifier::BOLD);
    // Where there is little room the reason matters more than what is said again below, and than the
    // name of whom it is about.
    let tight = area.height < 4;
    let said = if tight && outlook_below {
        answer(verdict)
    } else {
        headline(verdict)
    };
    let mut lines = vec![Line::styled(said, strong)];
    let who = verdict
        .process
        .as_ref()
        .map(|process| format!("{} {}: {}", process.role, process.pid, process.why));
    let quiet: Vec<String> = who.into_iter().chain(confidence(verdict)).collect();
    if !tight && !quiet.is_empty() {
        let quiet = clean(&quiet.join("; "));
        lines.push(Line::styled(quiet, palette.style(Paint::Dim)));
    }
    // What the line says first, then what the line is and what would change the verdict.
    let (about, reasons): (Vec<_>, Vec<_>) = verdict
        .evidence
        .iter()
        .partition(|evidence| FLOOR_LINE.said(evidence) || WOULD_CHANGE.said(evidence));
    lines.extend(ends(verdict).iter().map(|line| Line::raw(clean(line))));
    let because = reasons.into_iter().chain(about).map(|evidence| {
        Line::from(vec![
            Span::styled(format!("{}: ", evidence.rule), palette.style(Paint::Dim)),
            Span::raw(clean(&evidence.says)),
        ])
    });
    lines.extend(because);
    Paragraph::new(lines)
        .wrap(Wrap { trim: true })
        .render(area, buf);
}
