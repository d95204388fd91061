//! One row: how much of the limit is used, and what the run needs until its end.

use lowtide_core::judge::words::place;
use lowtide_core::text::short;
use lowtide_core::units::{Share, show_bytes, show_duration};
use lowtide_core::verdict::{Class, Fits, Verdict};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::content::Content;
use super::paint::{Palette, clean};
use crate::show::style::Paint;

const GAUGE: usize = 20;
/// Less than this share of the limit left is shown as bad: where `limit near` is told.
const NEAR: f64 = lowtide_core::guard::NEAR;

pub(super) fn draw(content: &Content, palette: Palette, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let verdict = &content.report.verdict;
    let width = usize::from(area.width).saturating_sub(2);
    let (Some(limit), Some(left)) = (verdict.limit, verdict.headroom) else {
        let text = match &verdict.outlook {
            Some(outlook) => format!("no limit is known; this run {}", outlook.says),
            None => "no limit is known: headroom cannot be told".to_owned(),
        };
        let text = short(&clean(&text), width);
        buf.set_stringn(area.x + 1, area.y, text, width, palette.style(Paint::Dim));
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
        palette.style(Paint::Bold),
    );
    let (x, _) = buf.set_stringn(x, area.y, bar, gauge, palette.style(paint));
    let (x, _) = buf.set_stringn(x, area.y, rest, gauge, palette.style(Paint::Dim));
    let width = usize::from(area.right().saturating_sub(x));
    let text = match &verdict.outlook {
        Some(outlook) => needs(left, &clean(&outlook.says), width),
        None => full_at(content, left, limit, used),
    };
    let style = palette.style(words(verdict, paint));
    buf.set_stringn(x, area.y, short(&text, width), width, style);
}

/// A run that does not fit is as bad as a limit that is near; one that may not is a warning.
fn words(verdict: &Verdict, gauge: Paint) -> Paint {
    match verdict.outlook.as_ref().and_then(|o| o.fits) {
        _ if gauge == Paint::Bad => Paint::Bad,
        Some(Fits::No) => Paint::Bad,
        Some(Fits::Tight) => Paint::Crest,
        Some(Fits::Yes) | None => Paint::Plain,
    }
}

/// What is left and what the run needs; where that is too long for the row, the answer comes first.
fn needs(left: f64, says: &str, width: usize) -> String {
    let text = format!(" {} left; this run {says}", show_bytes(left));
    match says.rsplit_once(": ") {
        Some((needs, fits)) if text.chars().count() > width => {
            format!(" {} left, {fits}: {needs}", show_bytes(left))
        }
        _ => text,
    }
}

/// Without an outlook: when it would be full at this pace.
fn full_at(content: &Content, left: f64, limit: f64, used: f64) -> String {
    let verdict = &content.report.verdict;
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
    text
}
