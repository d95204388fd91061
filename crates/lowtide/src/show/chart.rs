//! A small chart of a series for the terminal: the floor as a line, the crest as dots above it, the
//! limit as dashes, and where growth ended or a verdict will be possible below the axis.

use lowtide_core::judge::words::place;
use lowtide_core::series::{Bucket, Series};
use lowtide_core::units::show_bytes;
use lowtide_core::verdict::Verdict;

use super::style::{Paint, Style};

const ROWS: usize = 9;
/// Room for `17.4 GB ┤`.
const LABEL: usize = 9;
/// A limit further away than this many times the highest point would press the curve flat; it is
/// told in words instead.
pub(crate) const LIMIT_IN_SIGHT: f64 = 1.6;

/// One character of the picture: which of its 2 x 4 dots belong to what.
#[derive(Clone, Copy, Default)]
struct Cell {
    floor: u8,
    crest: u8,
    limit: bool,
}

pub(crate) fn chart(series: &Series, verdict: &Verdict, style: Style) -> String {
    let Some(frame) = Frame::of(series, verdict, style) else {
        return String::new();
    };
    let grid = frame.draw(series.buckets());
    let mut out = String::new();
    for row in 0..ROWS {
        let label = match row {
            0 => show_bytes(frame.top),
            r if r == ROWS / 2 => show_bytes((frame.top + frame.bottom) / 2.0),
            r if r == ROWS - 1 => show_bytes(frame.bottom),
            _ => String::new(),
        };
        let tick = match (label.is_empty(), style.unicode) {
            (true, true) => '│',
            (false, true) => '┤',
            (_, false) => '|',
        };
        out.push_str(&format!("{label:>LABEL$} {tick}"));
        let cells = row * frame.columns..(row + 1) * frame.columns;
        out.push_str(&line(&grid[cells], style));
        out.push('\n');
    }
    let shown = (frame.from, frame.to);
    out.push_str(&axis(series, verdict, shown, frame.columns, style));
    out
}

/// Which part of the axis and which sizes the picture shows.
struct Frame {
    columns: usize,
    from: f64,
    to: f64,
    bottom: f64,
    top: f64,
    /// Where it is in sight.
    limit: Option<f64>,
}

impl Frame {
    /// None where there is no line to draw.
    fn of(series: &Series, verdict: &Verdict, style: Style) -> Option<Frame> {
        let buckets = series.buckets();
        let (from, to) = (buckets.first()?.first, buckets.last()?.last);
        if buckets.len() < 2 || to <= from {
            return None;
        }
        let floors = buckets.iter().map(|b| b.floor);
        let lowest = floors.fold(f64::INFINITY, f64::min);
        let highest = buckets.iter().map(|b| b.crest).fold(0.0, f64::max);
        let limit = verdict
            .limit
            .filter(|l| *l <= highest * LIMIT_IN_SIGHT && *l > 0.0);
        let (bottom, top) = spread(lowest, limit.map_or(highest, |l| l.max(highest)));
        Some(Frame {
            columns: style.width.saturating_sub(LABEL + 4).clamp(20, 100),
            from,
            to,
            bottom,
            top,
            limit,
        })
    }

    /// The row of dots that a size lies in.
    fn row(&self, bytes: f64) -> usize {
        let share = ((bytes - self.bottom) / (self.top - self.bottom)).clamp(0.0, 1.0);
        ((1.0 - share) * (ROWS * 4 - 1) as f64).round() as usize
    }

    fn draw(&self, buckets: &[Bucket]) -> Vec<Cell> {
        let (columns, width) = (self.columns, self.columns * 2);
        let mut grid = vec![Cell::default(); columns * ROWS];
        if let Some(limit) = self.limit {
            let row = self.row(limit) / 4;
            let cells = &mut grid[row * columns..(row + 1) * columns];
            cells.iter_mut().for_each(|c| c.limit = true);
        }
        let floors: Vec<(f64, f64)> = buckets.iter().map(|b| (b.floor_at, b.floor)).collect();
        let crests = buckets.iter().map(|b| ((b.first + b.last) / 2.0, b.crest));
        let crests: Vec<(f64, f64)> = crests.collect();
        let at = |column: usize| self.from + (self.to - self.from) * column as f64 / width as f64;
        let mut before = None;
        for column in 0..width {
            let (a, b) = (at(column), at(column + 1));
            let floor = self.row(level(&floors, a, b, f64::min));
            let crest = self.row(level(&crests, a, b, f64::max));
            let dot = |row: usize| {
                let cell = row / 4 * columns + column / 2;
                (cell, DOTS[row % 4][column % 2])
            };
            // A steep piece is a connected line.
            let before = before.replace(floor).unwrap_or(floor);
            for row in floor.min(before)..=floor.max(before) {
                let (cell, bit) = dot(row);
                grid[cell].floor |= bit;
            }
            if crest < floor {
                let (cell, bit) = dot(crest);
                grid[cell].crest |= bit;
            }
        }
        grid
    }
}

/// Bits of a braille character by row and column.
pub(crate) const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A flat line belongs into the middle of something, not on an axis of zero height.
pub(crate) fn spread(bottom: f64, top: f64) -> (f64, f64) {
    // Five per cent of the level: wobble below that is shown as the flat line it is.
    let least = (top.abs() * 0.05).max(1.0);
    if top - bottom >= least {
        return (bottom, top);
    }
    let middle = (top + bottom) / 2.0;
    ((middle - least / 2.0).max(0.0), middle + least / 2.0)
}

/// The lowest or highest point between two places, or the line between its neighbours.
pub(crate) fn level(points: &[(f64, f64)], from: f64, to: f64, pick: fn(f64, f64) -> f64) -> f64 {
    let start = points.partition_point(|p| p.0 < from);
    let end = points.partition_point(|p| p.0 < to);
    if let Some(inside) = points[start..end].iter().map(|p| p.1).reduce(pick) {
        return inside;
    }
    match (start.checked_sub(1).map(|i| points[i]), points.get(start)) {
        (Some((x0, y0)), Some(&(x1, y1))) if x1 > x0 => {
            y0 + (y1 - y0) * (((from + to) / 2.0 - x0) / (x1 - x0)).clamp(0.0, 1.0)
        }
        (Some((_, y)), _) => y,
        (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

fn line(cells: &[Cell], style: Style) -> String {
    let mut out = String::new();
    let mut run = String::new();
    let mut paint = Paint::Plain;
    for cell in cells {
        let (next, shown) = match cell {
            Cell {
                floor: 0,
                crest: 0,
                limit: false,
            } => (Paint::Plain, ' '),
            Cell {
                floor: 0,
                crest: 0,
                limit: true,
            } if style.unicode => (Paint::Bad, '╌'),
            Cell {
                floor: 0,
                crest: 0,
                limit: true,
            } => (Paint::Bad, '-'),
            Cell {
                floor: 0, crest, ..
            } if style.unicode => (Paint::Crest, braille(*crest)),
            Cell { floor: 0, .. } => (Paint::Crest, '.'),
            Cell { floor, crest, .. } if style.unicode => (Paint::Floor, braille(*floor | *crest)),
            Cell { .. } => (Paint::Floor, '#'),
        };
        if next != paint && !run.is_empty() {
            out.push_str(&style.paint(paint, &run));
            run.clear();
        }
        paint = next;
        run.push(shown);
    }
    out.push_str(&style.paint(paint, &run));
    out.trim_end().to_owned()
}

pub(crate) fn braille(bits: u8) -> char {
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

/// The axis with its ends, and a mark where growth settled or where a verdict will be possible.
fn axis(
    series: &Series,
    verdict: &Verdict,
    ends: (f64, f64),
    columns: usize,
    style: Style,
) -> String {
    let (from, to) = ends;
    let (corner, dash, mark) = if style.unicode {
        ('└', '─', '▲')
    } else {
        ('+', '-', '^')
    };
    let at = |x: f64| (((x - from) / (to - from)) * (columns - 1) as f64).round() as usize;
    let mut rule: Vec<char> = vec![dash; columns];
    let marked = verdict.settled_at.filter(|x| (from..=to).contains(x));
    if let Some(x) = marked {
        rule[at(x)] = mark;
    }
    let rule: String = rule.into_iter().collect();
    let (start, end) = (place(series.axis, from), place(series.axis, to));
    let middle = marked.map_or(String::new(), |x| {
        format!("settled at {}", place(series.axis, x))
    });
    let room = columns.saturating_sub(start.len() + end.len());
    let centre = marked.map_or(0, |x| at(x).saturating_sub(start.len() + middle.len() / 2));
    let pad = centre.clamp(2, room.saturating_sub(middle.len() + 2).max(2));
    let rest = room.saturating_sub(pad + middle.len()).max(2);
    format!(
        "{:LABEL$} {corner}{rule}\n{:LABEL$}  {start}{:pad$}{middle}{:rest$}{end}\n",
        "", "", "", ""
    )
}
