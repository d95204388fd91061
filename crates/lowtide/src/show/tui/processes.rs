//! The tree of processes: who is there, in which role, what each holds, and how that moved.

use lowtide_core::meter::Meter;
use lowtide_core::report::{LineName, Process, Report};
use lowtide_core::text::short;
use lowtide_core::units::show_bytes;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::content::Content;
use super::paint::{Palette, brief, clean};
use super::spark;
use crate::show::style::Paint;

/// More siblings of one role than this are one row: twenty compile workers are one fact.
const ALONE: usize = 3;

/// Widths of the columns.
const SPARK: u16 = 10;
const HELD: u16 = 9;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// As in `Line::who`.
    pub who: String,
    pub meter: Meter,
    pub depth: usize,
    /// `trainer 4242`, `20 compile-workers`.
    pub name: String,
    pub command: String,
    /// Bytes now.
    pub held: f64,
    pub watched: bool,
    pub gone: bool,
}

/// The tree first, then its processes, children below their parents. Those that ended are left out
/// unless one of them is shown.
pub(super) fn rows(report: &Report, shown: &str) -> Vec<Row> {
    let there: Vec<&Process> = report
        .processes
        .iter()
        .filter(|p| p.gone.is_none() || p.who == shown || p.watched)
        .collect();
    let whole = Row {
        who: "tree".to_owned(),
        meter: Meter::Held,
        depth: 0,
        name: match there.iter().filter(|p| p.gone.is_none()).count() {
            1 => "1 process".to_owned(),
            many => format!("all {many} processes"),
        },
        command: String::new(),
        held: 0.0,
        watched: false,
        gone: false,
    };
    let mut rows = vec![whole];
    let known = |who: &Option<String>| {
        who.as_ref()
            .is_some_and(|who| there.iter().any(|p| p.who == *who))
    };
    let roots: Vec<&Process> = there
        .iter()
        .copied()
        .filter(|p| !known(&p.parent))
        .collect();
    add(&mut rows, &there, roots, 0, shown);
    rows
}

fn add(rows: &mut Vec<Row>, all: &[&Process], some: Vec<&Process>, depth: usize, shown: &str) {
    let of_role = |role: &str| some.iter().filter(|p| p.role == role).count();
    let mut grouped: Vec<&str> = Vec::new();
    for process in &some {
        let single = process.watched || process.who == shown;
        if of_role(&process.role) > ALONE && !single {
            if !grouped.contains(&process.role.as_str()) {
                grouped.push(&process.role);
                // The one that is shown by itself is not counted again.
                let alone = |p: &Process| p.watched || p.who == shown;
                let same = some.iter().filter(|p| p.role == process.role && !alone(p));
                rows.push(group(process, same.copied().collect(), depth));
            }
            continue;
        }
        rows.push(Row {
            who: process.who.clone(),
            meter: Meter::Held,
            depth,
            name: format!("{} {}", process.role, process.pid),
            command: process.command.clone(),
            held: process.held[2],
            watched: process.watched,
            gone: process.gone.is_some(),
        });
        let children: Vec<&Process> = all
            .iter()
            .copied()
            .filter(|p| p.parent.as_deref() == Some(process.who.as_str()))
            .collect();
        // A pid that is its own ancestor cannot be; a recording that says so must not hang us.
        if depth < all.len() && !children.is_empty() {
            add(rows, all, children, depth + 1, shown);
        }
    }
}

fn group(first: &Process, same: Vec<&Process>, depth: usize) -> Row {
    Row {
        who: format!("role:{}", first.role),
        meter: Meter::Pss,
        depth,
        name: format!("{} {}s", same.len(), first.role),
        command: first.command.clone(),
        held: same.iter().map(|p| p.own).sum(),
        watched: false,
        gone: false,
    }
}

pub(super) fn draw(content: &Content, palette: Palette, area: Rect, buf: &mut Buffer) {
    let rows = &content.rows;
    let hidden = rows
        .len()
        .saturating_sub(usize::from(area.height).saturating_sub(1));
    let more = match hidden {
        0 => String::new(),
        hidden => format!("{hidden} more"),
    };
    let area = palette.titled("processes", &more, area, buf);
    if area.is_empty() {
        return;
    }
    let chosen = rows
        .iter()
        .position(|row| row.who == content.shown.who)
        .unwrap_or(0);
    let room = usize::from(area.height);
    let first = (chosen + 1).saturating_sub(room);
    for (nth, row) in rows.iter().enumerate().skip(first).take(room) {
        let line = Rect {
            y: area.y + (nth - first) as u16,
            height: 1,
            ..area
        };
        one(content, row, nth == chosen, palette, line, buf);
    }
}

fn one(content: &Content, row: &Row, chosen: bool, palette: Palette, area: Rect, buf: &mut Buffer) {
    let plain = palette.style(if row.gone { Paint::Dim } else { Paint::Plain });
    let mark = if chosen { palette.or("▸", ">") } else { " " };
    let name_room = (area.width.saturating_sub(HELD + SPARK + 4)).clamp(12, 30);
    let watched = if row.watched { "*" } else { "" };
    let indent = "  ".repeat(row.depth.min(4));
    let name = format!("{indent}{}{watched}", clean(&row.name));
    let style = if chosen {
        plain.add_modifier(Modifier::BOLD)
    } else {
        plain
    };
    buf.set_stringn(area.x, area.y, mark, 1, palette.style(Paint::Bold));
    let name = short(&name, usize::from(name_room));
    buf.set_stringn(area.x + 2, area.y, name, usize::from(name_room), style);
    let line = content.line(&LineName {
        who: row.who.clone(),
        meter: row.meter,
    });
    // The tree has no process of its own: its line knows.
    let last = line.and_then(|line| line.high.last()).map(|b| *b as f64);
    let held = if row.who == "tree" {
        last
    } else {
        Some(row.held)
    };
    let mut x = area.x + 2 + name_room;
    let right = area.right();
    if let Some(held) = held.filter(|held| *held > 0.0 && x + HELD <= right) {
        let text = format!("{:>width$}", show_bytes(held), width = usize::from(HELD));
        buf.set_stringn(x, area.y, text, usize::from(HELD), plain);
    }
    x += HELD + 1;
    if let Some(line) = line.filter(|_| x + SPARK <= right) {
        let text = spark::of(&line.high, usize::from(SPARK), palette.unicode);
        buf.set_stringn(
            x,
            area.y,
            text,
            usize::from(SPARK),
            palette.style(Paint::Floor),
        );
    }
    x += SPARK + 1;
    if x < right && !row.command.is_empty() {
        let room = usize::from(right - x);
        let text = short(&brief(&row.command), room);
        buf.set_stringn(x, area.y, text, room, palette.style(Paint::Dim));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::watched;
    use super::*;

    /// Five workers are one row; the one that is shown has its own, and is not counted again.
    #[test]
    fn a_process_is_listed_once() {
        let report = watched(10, true, 2e9, |_| 500e6).report_without_lines();
        let named = |shown: &str| -> Vec<String> {
            let rows = rows(&report, shown).into_iter();
            rows.map(|row| row.name).collect()
        };
        let all = [
            "all 7 processes",
            "launcher 100",
            "trainer 101",
            "5 loader-workers",
        ];
        assert_eq!(named("tree"), all);
        let one = named("pid:112:7");
        assert!(one.contains(&"loader-worker 112".to_owned()), "{one:?}");
        assert!(one.contains(&"4 loader-workers".to_owned()), "{one:?}");
    }
}
