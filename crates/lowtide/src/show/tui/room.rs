//! One row: how much of the limit is used, and when it would be reached.

use lowtide_core::judge::words::place;
use lowtide_core::units::{Share, show_bytes, show_duration};
use lowtide_core::verdict::Class;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::content::Content;
use super::paint::{Palette, clean};
use crate::show::style::Paint;

const GAUGE: usize = 20;
/// Less than this share of the limit left is shown as bad: where `limit near` is told.
const NEAR: f64 = lowtide_core::guard::NEAR;

pub fn draw(content: &Content, palette: Palette, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let verdict = &content.report.verdict;
    let width = usize::from(area.width).saturating_sub(2);
    let (Some(limit), Some(left)) = (verdict.limit, verdict.headroom) else {
        let text = "no limit is known: headroom cannot be told";
        buf.set_stringn(area.x + 1, area.y, text, width, palette.look(Paint::Dim));
        return;
    };
    let used = (1.0 - left / limit.max(1.0)).clamp(0.0, 1.0);
    let paint = if 1.0 - used < NEAR {
        Paint::Bad
    } else {
        Paint::Floor
    };
    let gauge = if width >= 100 { GAUGE } else { GAUGE / 2 };
    let full = (used * gauge as f64).round() as usize;
    let bar = palette.or("█", "#").repeat(full);
    let rest = palette.or("░", ".").repeat(gauge - full);
    let (x, _) = buf.set_stringn(
        area.x + 1,
        area.y,
        "headroom ",
        width,
        palette.look(Paint::Bold),
    );
    let (x, _) = buf.set_stringn(x, area.y, bar, gauge, palette.look(paint));
    let (x, _) = buf.set_stringn(x, area.y, rest, gauge, palette.look(Paint::Dim));
    let mut text = format!(" {} left of {}", show_bytes(left), show_bytes(limit));
    if let Some(oom) = &verdict.oom {
        let so = if verdict.verdict == Class::Leak {
            "full at"
        } else {
            "at this pace full at"
        };
        text += &format!(", {so} {}", place(verdict.axis, oom.at));
        if let Some(seconds) = &oom.seconds {
            text += &format!(", in {}", show_duration(seconds.at));
        }
    } else if let Some(room) = &content.report.room {
        text += &format!(", {} used: {}", Share(used), clean(&room.from));
    }
    let room = usize::from(area.right().saturating_sub(x));
    let look = palette.look(if paint == Paint::Bad {
        Paint::Bad
    } else {
        Paint::Plain
    });
    buf.set_stringn(x, area.y, crate::watch::short(&text, room), room, look);
}
