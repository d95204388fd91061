//! The chart: floor and crest of one line, the whole that it is a part of, the limit, the forecast as a
//! cone, and on its axis the marks that the training loop told.

use lowtide_core::meter::Unit;
use lowtide_core::report::Line;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::axis::{self, column, epochs};
use super::content::Content;
use super::paint::{Palette, clean};
use super::range::Range;
use super::view::View;
use crate::show::chart::{DOTS, LIMIT_IN_SIGHT, braille, level, spread};
use crate::show::style::Paint;

/// Room for `17.4 GB `.
pub(super) const LABEL: u16 = 9;
/// A limit this much above the end of the forecast is still in sight.
const LIMIT_AHEAD: f64 = 1.25;
/// A title, two rows of dots, the axis and its words: less shows nothing.
pub(super) const LEAST: u16 = 5;

/// One character of the picture.
#[derive(Clone, Copy, Default)]
struct Cell {
    floor: u8,
    crest: u8,
    /// The middle of the forecast.
    ahead: u8,
    cone: bool,
    whole: bool,
    limit: bool,
    epoch: bool,
}

struct Grid {
    cells: Vec<Cell>,
    columns: usize,
    rows: usize,
    bottom: f64,
    top: f64,
}

impl Grid {
    /// The row of dots, from the top; values outside lie on the edge.
    fn dot(&self, bytes: f64) -> usize {
        let share = ((bytes - self.bottom) / (self.top - self.bottom)).clamp(0.0, 1.0);
        ((1.0 - share) * (self.rows * 4 - 1) as f64).round() as usize
    }

    fn contains(&self, bytes: f64) -> bool {
        (self.bottom..=self.top).contains(&bytes)
    }

    fn cell(&mut self, column: usize, row: usize) -> &mut Cell {
        &mut self.cells[row.min(self.rows - 1) * self.columns + column.min(self.columns - 1)]
    }
}

pub(super) fn draw(content: &Content, view: &View, palette: Palette, area: Rect, buf: &mut Buffer) {
    if area.height < LEAST || area.width < 3 * LABEL {
        return;
    }
    let range = Range::of(content, view);
    let line = content.line(&content.shown);
    let (Some(range), Some(line)) = (range, line) else {
        let inner = palette.titled("memory", "", area, buf);
        let text = "Nothing to draw yet: a line needs two ticks.";
        buf.set_stringn(
            inner.x + 1,
            inner.y,
            text,
            usize::from(inner.width),
            palette.style(Paint::Dim),
        );
        return;
    };
    let inner = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    let (columns, rows) = (
        usize::from(inner.width - LABEL - 2),
        usize::from(inner.height - 2),
    );
    let mut picture = Picture::new(content, line, &range, columns, rows);
    picture.fill();
    palette.titled(&name(content), &picture.legend(palette), area, buf);
    picture.print(palette, inner, buf);
    axis::draw(content, &range, palette, inner, buf);
}

/// `trainer 4242, anon + shmem + swap (held)`.
fn name(content: &Content) -> String {
    let shown = &content.shown;
    let who = content
        .row(&shown.who)
        .map(|row| row.name.clone())
        .or_else(|| {
            shown
                .who
                .strip_prefix("role:")
                .map(|role| format!("all {role}s"))
        })
        .unwrap_or_else(|| shown.who.clone());
    clean(&format!("{who}: {}", shown.meter))
}

struct Picture<'a> {
    content: &'a Content,
    range: &'a Range<'a>,
    grid: Grid,
    floors: Vec<(f64, f64)>,
    crests: Vec<(f64, f64)>,
    whole: Vec<(f64, f64)>,
    limit: Option<f64>,
    unit: Unit,
}

impl<'a> Picture<'a> {
    fn new(
        content: &'a Content,
        line: &Line,
        range: &'a Range<'a>,
        columns: usize,
        rows: usize,
    ) -> Picture<'a> {
        let floors = points(line, &line.low, range);
        let crests = points(line, &line.high, range);
        let mut whole = content
            .whole()
            .map(|line| points(line, &line.low, range))
            .unwrap_or_default();
        let visible = |points: &[(f64, f64)]| range.visible(points).to_vec();
        let low = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let high = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(0.0, f64::max);
        let bottom = low(&visible(&floors)).min(high(&visible(&crests)));
        let mut top = high(&visible(&crests));
        let in_sight = top * LIMIT_IN_SIGHT;
        let cone = range.forecast(content);
        // A forecast is drawn as far as it matters, which is often up to the limit.
        let ahead = cone.map_or(0.0, |c| LIMIT_AHEAD * (c.bytes + c.value * (c.to - c.from)));
        // What is far above would press the line flat.
        if high(&visible(&whole)) > in_sight {
            whole.clear();
        }
        let last = line.high.last().map_or(0.0, |bytes| *bytes as f64);
        let unit = line.meter.info().unit;
        let headroom = content.report.verdict.headroom;
        let left = headroom.filter(|_| unit == Unit::Bytes);
        let limit = left
            .map(|left| last + left)
            .filter(|until| *until <= in_sight.max(ahead) && *until > 0.0);
        if let Some(until) = limit {
            // It is this line's own: the whole, drawn on the same scale, would seem to be beyond it.
            whole.clear();
            top = top.max(until);
        }
        top = top.max(high(&visible(&whole)));
        if let Some(cone) = cone.filter(|_| limit.is_none()) {
            let end = cone.bytes + cone.value * (cone.to.min(range.to) - cone.from);
            top = top.max(end);
        }
        let (bottom, top) = spread(bottom.min(top), top);
        let grid = Grid {
            cells: vec![Cell::default(); columns * rows],
            columns,
            rows,
            bottom,
            top,
        };
        Picture {
            content,
            range,
            grid,
            floors,
            crests,
            whole,
            limit,
            unit,
        }
    }

    fn fill(&mut self) {
        self.epochs();
        if let Some(limit) = self.limit {
            let row = self.grid.dot(limit) / 4;
            (0..self.grid.columns).for_each(|column| self.grid.cell(column, row).limit = true);
        }
        self.cone();
        let columns = self.grid.columns;
        for column in 0..columns {
            let (a, b) = self.piece(column, columns);
            if let Some(level) =
                within(&self.whole, a, b, f64::max).filter(|y| self.grid.contains(*y))
            {
                let row = self.grid.dot(level) / 4;
                self.grid.cell(column, row).whole = true;
            }
        }
        let mut before = None;
        for dot in 0..columns * 2 {
            let (a, b) = self.piece(dot, columns * 2);
            let (Some(low), Some(high)) = (
                within(&self.floors, a, b, f64::min),
                within(&self.crests, a, b, f64::max),
            ) else {
                before = None;
                continue;
            };
            let (floor, crest) = (self.grid.dot(low), self.grid.dot(high));
            // A steep piece is a connected line.
            let start = before.unwrap_or(floor);
            for row in floor.min(start)..=floor.max(start) {
                self.grid.cell(dot / 2, row / 4).floor |= DOTS[row % 4][dot % 2];
            }
            for row in crest..floor {
                self.grid.cell(dot / 2, row / 4).crest |= DOTS[row % 4][dot % 2];
            }
            before = Some(floor);
        }
    }

    fn piece(&self, nth: usize, of: usize) -> (f64, f64) {
        let Range { from, to, .. } = *self.range;
        let at = |n: usize| from + (to - from) * n as f64 / of as f64;
        (at(nth), at(nth + 1))
    }

    fn cone(&mut self) {
        let Some(cone) = self.range.forecast(self.content) else {
            return;
        };
        let columns = self.grid.columns;
        for dot in 0..columns * 2 {
            let (a, b) = self.piece(dot, columns * 2);
            let x = (a + b) / 2.0;
            if x < cone.from || x > cone.to {
                continue;
            }
            let at = |slope: f64| cone.bytes + slope * (x - cone.from);
            let capped = |bytes: f64| {
                cone.plateau
                    .map_or(bytes, |most| bytes.min(most.max(cone.bytes)))
            };
            let (low, high) = (capped(at(cone.low)), at(cone.high));
            if low <= self.grid.top && high >= self.grid.bottom {
                let (first, last) = (self.grid.dot(high) / 4, self.grid.dot(low) / 4);
                (first..=last).for_each(|row| self.grid.cell(dot / 2, row).cone = true);
            }
            let middle = at(cone.value);
            if self.grid.contains(middle) && dot % 2 == 0 {
                let row = self.grid.dot(middle);
                self.grid.cell(dot / 2, row / 4).ahead |= DOTS[row % 4][0];
            }
        }
    }

    fn epochs(&mut self) {
        for at in epochs(self.content, self.range) {
            let column = column(at, self.range, self.grid.columns);
            (0..self.grid.rows).for_each(|row| self.grid.cell(column, row).epoch = true);
        }
    }

    fn legend(&self, palette: Palette) -> String {
        let any = |is: fn(&Cell) -> bool| self.grid.cells.iter().any(is);
        let mut parts = vec![palette.or("⠤ floor", "# floor")];
        if any(|c| c.floor == 0 && c.crest > 0) {
            parts.push(palette.or("⠿ crest", ". crest"));
        }
        if any(|c| c.whole) {
            parts.push(palette.or("∙ tree", ": tree"));
        }
        if any(|c| c.cone) {
            parts.push(palette.or("░ forecast", "/ forecast"));
        }
        if any(|c| c.limit) {
            parts.push(palette.or("╌ limit", "- limit"));
        }
        parts.join("  ")
    }

    fn print(&self, palette: Palette, area: Rect, buf: &mut Buffer) {
        let Grid {
            columns,
            rows,
            bottom,
            top,
            ..
        } = self.grid;
        for row in 0..rows {
            let y = area.y + row as u16;
            let label = match row {
                0 => self.unit.show(top),
                r if r == rows - 1 => self.unit.show(bottom),
                r if r == rows / 2 && rows > 4 => self.unit.show((top + bottom) / 2.0),
                _ => String::new(),
            };
            let tick = if label.is_empty() {
                palette.or("│", "|")
            } else {
                palette.or("┤", "|")
            };
            let text = format!("{label:>width$} {tick}", width = usize::from(LABEL));
            buf.set_stringn(
                area.x,
                y,
                text,
                usize::from(LABEL) + 2,
                palette.style(Paint::Dim),
            );
            for (nth, cell) in self.grid.cells[row * columns..(row + 1) * columns]
                .iter()
                .enumerate()
            {
                if let Some((shown, paint)) = character(cell, palette) {
                    buf[(area.x + LABEL + 2 + nth as u16, y)]
                        .set_char(shown)
                        .set_style(palette.style(paint));
                }
            }
        }
    }
}

fn character(cell: &Cell, palette: Palette) -> Option<(char, Paint)> {
    Some(match cell {
        Cell { floor: 1.., .. } => (
            palette.or(braille(cell.floor | cell.crest), '#'),
            Paint::Floor,
        ),
        Cell { crest: 1.., .. } => (palette.or(braille(cell.crest), '.'), Paint::Crest),
        Cell { ahead: 1.., .. } => (palette.or(braille(cell.ahead), '*'), Paint::Bad),
        Cell { limit: true, .. } => (palette.or('╌', '-'), Paint::Bad),
        Cell { cone: true, .. } => (palette.or('░', '/'), Paint::Dim),
        Cell { whole: true, .. } => (palette.or('∙', ':'), Paint::Plain),
        Cell { epoch: true, .. } => (palette.or('┊', '!'), Paint::Dim),
        _ => return None,
    })
}

/// The line on the axis that is shown.
fn points(line: &Line, bytes: &[u64], range: &Range) -> Vec<(f64, f64)> {
    line.x
        .iter()
        .zip(bytes)
        .filter_map(|(x, bytes)| Some((range.place(*x)?, *bytes as f64)))
        .collect()
}

/// The level of a piece that lies within the line.
fn within(points: &[(f64, f64)], from: f64, to: f64, pick: fn(f64, f64) -> f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    (to > first.0 && from <= last.0).then(|| level(points, from, to, pick))
}
