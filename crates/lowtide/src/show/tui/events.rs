//! What happened, newest last: events of the run and what lowtide had to say.

use lowtide_core::entry::EventKind;
use lowtide_core::units::{Micros, show_duration};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::content::Content;
use super::paint::{Palette, clean};
use crate::show::style::Paint;
use crate::show::text::wrapped;

/// Room for `2h 05m `.
const TIME: usize = 8;

pub(super) fn draw(content: &Content, palette: Palette, area: Rect, buf: &mut Buffer) {
    let area = palette.titled("events", "", area, buf);
    let mut all: Vec<(Micros, Paint, &str)> = content
        .report
        .events
        .iter()
        // A leak is an event twice: as a verdict and as an alarm.
        .filter(|event| event.kind != EventKind::Leak)
        .map(|event| (event.at, paint(event.kind), event.text.as_str()))
        .collect();
    let said = content.said.iter().filter(|said| {
        let mut events = content.report.events.iter();
        !events.any(|event| event.text == said.text)
    });
    all.extend(said.map(|said| (said.at, Paint::Bold, said.text.as_str())));
    all.sort_by_key(|(at, ..)| *at);
    let room = usize::from(area.height);
    let width = usize::from(area.width).saturating_sub(1);
    if all.is_empty() && room > 0 {
        let style = palette.style(Paint::Dim);
        buf.set_stringn(area.x + 1, area.y, "none so far", width, style);
    }
    let mut lines: Vec<(String, Paint, String)> = Vec::new();
    for (at, paint, text) in all {
        let text = wrapped(&clean(text), "", width.saturating_sub(TIME));
        let rows = text.lines().count();
        // What is longer than the pane loses its end, not its beginning.
        for (nth, line) in text.lines().take(room).enumerate() {
            let time = if nth == 0 {
                show_duration(at.seconds().floor())
            } else {
                String::new()
            };
            let cut = if nth + 1 == room && rows > room {
                "…"
            } else {
                ""
            };
            lines.push((time, paint, format!("{line}{cut}")));
        }
    }
    let hidden = lines.len().saturating_sub(room);
    for (nth, (time, paint, text)) in lines.into_iter().skip(hidden).enumerate() {
        let y = area.y + nth as u16;
        let time = format!("{time:>width$} ", width = TIME - 1);
        let (x, _) = buf.set_stringn(area.x, y, time, width, palette.style(Paint::Dim));
        let room = usize::from(area.right().saturating_sub(x));
        buf.set_stringn(x, y, text, room, palette.style(paint));
    }
}

fn paint(kind: EventKind) -> Paint {
    match kind {
        EventKind::LimitNear | EventKind::Leak | EventKind::Recording => Paint::Bad,
        _ => Paint::Plain,
    }
}
