//! What grows: the explanation where there is one, else what the looks are broken down by, else the
//! processes by what they hold.

use lowtide_core::explain::Explanation;
use lowtide_core::look::By;
use lowtide_core::report::{BreakdownTable, Report};
use lowtide_core::text::short;
use lowtide_core::units::show_bytes;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::content::Content;
use super::paint::{Palette, clean};
use crate::show::style::Paint;
use crate::show::text::wrapped;

/// Room for `+17.4 GB `.
const SIZE: usize = 10;

/// A size that moved, and what it is; or a sentence.
#[derive(Clone, Debug, PartialEq)]
enum Fact {
    Grew(f64, String),
    Says(String),
}

pub(super) fn draw(content: &Content, palette: Palette, area: Rect, buf: &mut Buffer) {
    let area = palette.titled("what grows", "", area, buf);
    let width = usize::from(area.width).saturating_sub(2);
    let mut y = area.y;
    for fact in facts(&content.report) {
        if y >= area.bottom() {
            return;
        }
        let (x, plain) = (area.x + 1, palette.style(Paint::Plain));
        match fact {
            Fact::Grew(bytes, what) => {
                let size = format!("{:>width$}", Signed(bytes), width = SIZE - 1);
                buf.set_stringn(x, y, size, SIZE, plain);
                let room = width.saturating_sub(SIZE);
                let at = (x + SIZE as u16).min(area.right());
                buf.set_stringn(at, y, short(&clean(&what), room), room, plain);
                y += 1;
            }
            Fact::Says(text) => {
                for line in wrapped(&clean(&text), "", width).lines() {
                    if y < area.bottom() {
                        buf.set_stringn(x, y, line, width, plain);
                        y += 1;
                    }
                }
            }
        }
    }
}

/// `+17.4 GB`, `-320 kB`.
struct Signed(f64);

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 >= 0.0 { "+" } else { "" };
        let text = format!("{sign}{}", show_bytes(self.0));
        match f.width() {
            Some(width) => write!(f, "{text:>width$}"),
            None => f.write_str(&text),
        }
    }
}

fn facts(report: &Report) -> Vec<Fact> {
    let explained = report.explanation.as_ref().map(explained);
    let mut facts = explained
        .filter(|facts| !facts.is_empty())
        .unwrap_or_else(|| report.breakdowns.iter().flat_map(looked).collect());
    if facts.is_empty() {
        facts = processes(report);
    }
    if facts.is_empty() {
        facts.push(Fact::Says("nothing so far".to_owned()));
    }
    facts
}

fn explained(explanation: &Explanation) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(candidate) = explanation.candidates.first() {
        facts.push(Fact::Says(format!("{} {}", candidate.id, candidate.title)));
    }
    if let Some(driver) = explanation.drivers.first() {
        let each = show_bytes(driver.per_unit);
        facts.push(Fact::Says(format!("{each} per {}", driver.name)));
    }
    if let Some(objects) = &explanation.objects {
        facts.push(Fact::Says(objects.in_short()));
    }
    if let Some(held) = explanation.held.iter().flat_map(|held| &held.lines).next() {
        facts.push(Fact::Says(held.says.clone()));
    }
    if let Some(holder) = explanation.holders.first() {
        facts.push(Fact::Says(holder.says.clone()));
    }
    let memory = explanation.memory.iter();
    for growth in memory.flat_map(|memory| &memory.breakdowns) {
        let grown = growth.parts.iter().filter(|part| part.grew > 0.0);
        let grown = grown.map(|part| (part.grew, part.name.clone()));
        facts.extend(broken_down(&growth.by, &growth.title, grown.collect()));
    }
    facts
}

/// What grew of one breakdown, under its title; the leading one, by mapping, needs none.
fn broken_down(by: &By, title: &str, grown: Vec<(f64, String)>) -> Vec<Fact> {
    let title = (*by != By::Mapping && !grown.is_empty()).then(|| Fact::Says(title.to_owned()));
    let grown = grown.into_iter().map(|(grew, name)| Fact::Grew(grew, name));
    title.into_iter().chain(grown).collect()
}

/// First look against last, largest growth first.
fn looked(table: &BreakdownTable) -> Vec<Fact> {
    let (Some(first), Some(last)) = (table.looks.first(), table.looks.last()) else {
        return Vec::new();
    };
    let mut grown: Vec<(f64, String)> = Vec::new();
    let rows = first.bytes.iter().zip(&last.bytes);
    for (part, (old, new)) in table.parts.iter().zip(rows) {
        let grew = new.unwrap_or(0) as f64 - old.unwrap_or(0) as f64;
        if part.held && grew > 0.0 && old.is_some() {
            grown.push((grew, part.name.clone()));
        }
    }
    grown.sort_by(|a, b| b.0.total_cmp(&a.0));
    broken_down(&table.by, &table.title, grown)
}

/// Now against the least that each has held.
fn processes(report: &Report) -> Vec<Fact> {
    let mut grown: Vec<(f64, String)> = report
        .processes
        .iter()
        .filter(|process| process.gone.is_none())
        .map(|p| (p.held[2] - p.held[0], format!("{} {}", p.role, p.pid)))
        // A megabyte is what an idle interpreter moves by itself.
        .filter(|(grew, _)| *grew > 1e6)
        .collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0));
    grown
        .into_iter()
        .map(|(grew, name)| Fact::Grew(grew, name))
        .collect()
}
