//! The last row names the keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::paint::Palette;
use crate::show::style::Paint;

pub(super) fn draw(job: bool, palette: Palette, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let arrows = palette.or("↑↓", "j/k");
    let leave = if job { "plain output" } else { "quit" };
    let keys = [
        ("q", leave),
        ("?", "help"),
        (arrows, "process"),
        ("m", "meter"),
        ("+/-", "zoom"),
        ("a", "step/time"),
    ];
    let tail = if job {
        Some(("^C", "to the job"))
    } else {
        None
    };
    let mut x = area.x + 1;
    for (key, does) in keys.into_iter().chain(tail) {
        let width = (key.chars().count() + does.len() + 1) as u16;
        if x + width > area.right() {
            break;
        }
        let (next, _) = buf.set_stringn(x, area.y, key, 8, palette.style(Paint::Bold));
        let (next, _) = buf.set_stringn(next + 1, area.y, does, 16, palette.style(Paint::Dim));
        x = next + 2;
    }
}
