//! The chart's axis: the marks that the training loop told, and words at its ends.

use lowtide_core::judge::words::place;
use lowtide_core::mark::Phase;
use lowtide_core::verdict::Axis;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::chart::LABEL;
use super::content::Content;
use super::paint::Palette;
use super::range::Range;
use crate::show::style::Paint;

/// Where a place on the axis is, counted in columns.
pub(super) fn column(x: f64, range: &Range, columns: usize) -> usize {
    let share = (x - range.from) / (range.to - range.from);
    ((share * columns as f64) as usize).min(columns - 1)
}

/// Ends of epochs that are in sight; when they would stand shoulder to shoulder they say nothing.
pub(super) fn epochs(content: &Content, range: &Range) -> Vec<f64> {
    const MOST: usize = 12;
    let ends: Vec<f64> = content
        .report
        .epochs
        .iter()
        .filter_map(|epoch| match (epoch.at, epoch.step) {
            (Some(at), _) => range.place(at),
            (None, Some(step)) => range.place_step(step),
            (None, None) => None,
        })
        .filter(|x| (range.from..range.to).contains(x))
        .collect();
    if ends.len() > MOST { Vec::new() } else { ends }
}

/// The axis with evaluations (e), saves (s) and ends of epochs (E), and the words below it.
pub(super) fn draw(
    content: &Content,
    range: &Range,
    palette: Palette,
    area: Rect,
    buf: &mut Buffer,
) {
    let columns = usize::from(area.width - LABEL - 2);
    let (x, y) = (area.x + LABEL + 1, area.bottom() - 2);
    let dim = palette.style(Paint::Dim);
    let dash = palette.or('─', '-');
    let mut rule: Vec<(char, Paint)> = vec![(dash, Paint::Dim); columns];
    for span in &content.report.spans {
        let letter = match span.phase {
            Phase::Eval => 'e',
            Phase::Save => 's',
            Phase::Start | Phase::Train | Phase::End => continue,
        };
        let (Some(from), Some(to)) = (range.place(span.from), range.place(span.to)) else {
            continue;
        };
        if to < range.from || from > range.to {
            continue;
        }
        let (a, b) = (
            column(from.max(range.from), range, columns),
            column(to.min(range.to), range, columns),
        );
        rule[a..=b].fill((letter, Paint::Crest));
    }
    for at in epochs(content, range) {
        rule[column(at, range, columns)] = ('E', Paint::Bold);
    }
    let settled = content
        .report
        .verdict
        .settled_at
        .filter(|_| content.shown == content.report.decides);
    let settled = settled.and_then(|x| match content.report.verdict.axis {
        Axis::Step => range.place_step(x),
        _ => range.place(x),
    });
    let settled = settled.filter(|x| (range.from..=range.to).contains(x));
    if let Some(at) = settled {
        rule[column(at, range, columns)] = (palette.or('▲', '^'), Paint::Floor);
    }
    buf.set_string(x, y, palette.or("└", "+"), dim);
    for (nth, (letter, paint)) in rule.into_iter().enumerate() {
        buf[(x + 1 + nth as u16, y)]
            .set_char(letter)
            .set_style(palette.style(paint));
    }
    words(range, settled, columns, (x + 1, y + 1), palette, buf);
}

/// Both ends, and between them where growth settled or where the run is.
fn words(
    range: &Range,
    settled: Option<f64>,
    columns: usize,
    at: (u16, u16),
    palette: Palette,
    buf: &mut Buffer,
) {
    let dim = palette.style(Paint::Dim);
    let (start, end) = (place(range.axis, range.from), place(range.axis, range.to));
    buf.set_stringn(at.0, at.1, &start, columns, dim);
    let right = columns.saturating_sub(end.chars().count());
    if right > start.len() {
        buf.set_stringn(at.0 + right as u16, at.1, &end, columns, dim);
    }
    let now =
        (range.now < range.to && range.now > range.from).then_some((range.now, "now".to_owned()));
    let settled = settled.map(|x| (x, format!("settled at {}", place(range.axis, x))));
    if let Some((x, text)) = settled.or(now) {
        let width = text.chars().count();
        let (left, most) = (start.len() + 2, right.saturating_sub(width + 2));
        if left <= most {
            let centre = column(x, range, columns)
                .saturating_sub(width / 2)
                .clamp(left, most);
            buf.set_stringn(
                at.0 + centre as u16,
                at.1,
                text,
                width,
                palette.style(Paint::Plain),
            );
        }
    }
}
