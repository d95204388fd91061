//! Tables in text: comma, semicolon, tab, bar or blank between cells, with or without a header.

use super::table::{Cell, Place, plans};
use super::tables::Tables;
use super::{Feed, ImportError, Imported, Options};

/// What the first lines look like.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    delimiter: u8,
    header: Option<Vec<String>>,
    /// Per column: numbers, sizes or moments in most rows.
    numeric: Vec<bool>,
}

/// How many lines are looked at to recognise a table.
const SAMPLE: usize = 50;

/// A table has numbers (or moments) in this share of its rows; a log does not.
const REGULAR: f64 = 0.8;

/// Tells a table from a log by its first lines.
pub(super) fn shape(start: &[u8]) -> Option<Shape> {
    let text = String::from_utf8_lossy(start);
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|l| !is_comment(l))
        .take(SAMPLE + 1)
        .collect();
    // The look may end inside a line.
    if lines.len() > 2 && !text.ends_with('\n') {
        lines.pop();
    }
    [b',', b'\t', b';', b'|', b' ']
        .into_iter()
        .find_map(|delimiter| shape_with(&lines, delimiter))
        .or_else(|| single_column(&lines))
}

fn shape_with(lines: &[&str], delimiter: u8) -> Option<Shape> {
    let first: Vec<String> = cells(lines.first()?, delimiter)
        .map(str::to_owned)
        .collect();
    if first.len() < 2 {
        return None;
    }
    let is_number = |cell: &str| number(cell, delimiter).is_some() || Place::parse(cell).is_some();
    // A header has no numbers in it.
    let header = first.iter().all(|c| !is_number(c)).then_some(first);
    let rows = &lines[usize::from(header.is_some())..];
    let width = header.as_ref().map_or_else(
        || cells(rows.first().unwrap_or(&""), delimiter).count(),
        Vec::len,
    );
    let mut counts = vec![0usize; width];
    // Sizes are not negative, and neither are steps and times.
    let mut negative = vec![false; width];
    let mut regular = 0;
    for row in rows {
        let row: Vec<&str> = cells(row, delimiter).collect();
        let numbers = row.iter().filter(|c| is_number(c)).count();
        // Blanks separate words too, and commas the parts of a sentence: without a header, or with
        // blanks, only numbers make a table, and `Step 10: 5` in a cell makes a log.
        let all = delimiter == b' ' || header.is_none();
        let spoken = |c: &&str| !is_number(c) && c.contains([':', '=']);
        let fits = row.len() == width
            && if all {
                numbers == width
            } else {
                numbers > 0 && !row.iter().any(spoken)
            };
        if fits {
            regular += 1;
            for (at, cell) in row.iter().enumerate() {
                counts[at] += usize::from(is_number(cell));
                negative[at] |= cell.starts_with('-') && is_number(cell);
            }
        }
    }
    if rows.is_empty() || (regular as f64) < REGULAR * rows.len() as f64 {
        return None;
    }
    let numeric: Vec<bool> = (0..width)
        .map(|at| counts[at] * 2 > regular && !negative[at])
        .collect();
    numeric.contains(&true).then_some(Shape {
        delimiter,
        header,
        numeric,
    })
}

/// One number per line, perhaps under a name.
fn single_column(lines: &[&str]) -> Option<Shape> {
    let is_number = |l: &&str| Cell::parse(l.trim()).is_some();
    let header = lines
        .first()
        .filter(|l| !is_number(l))
        .map(|l| vec![l.trim().to_owned()]);
    let rows = &lines[usize::from(header.is_some())..];
    let numbers = rows.iter().filter(|l| is_number(l)).count();
    (numbers > 0 && numbers as f64 >= REGULAR * rows.len() as f64).then_some(Shape {
        delimiter: b'\n',
        header,
        numeric: vec![true],
    })
}

pub(super) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    shape: &Shape,
    options: &Options,
) -> Result<Vec<Imported>, ImportError> {
    let names = names(shape, options)?;
    let plans = plans(names, &shape.numeric, options)?;
    let (x, seconds, owner) = (plans[0].x, plans[0].seconds, plans[0].owner);
    let columns: Vec<usize> = plans.iter().map(|plan| plan.value).collect();
    let last = [x, seconds, owner].into_iter().flatten();
    let last = last.chain(columns.iter().copied()).max().unwrap_or(0);
    let mut tables = Tables::new(plans);
    let mut values: Vec<Option<Cell>> = Vec::with_capacity(columns.len());
    let mut header_left = shape.header.is_some();
    feed.each_line(|line| {
        let Ok(line) = std::str::from_utf8(line) else {
            return tables.skip();
        };
        if is_comment(line) || std::mem::take(&mut header_left) {
            return;
        }
        let (mut at_x, mut at_seconds, mut whose) = (None, None, None);
        values.clear();
        for (i, cell) in cells(line, shape.delimiter).enumerate().take(last + 1) {
            if Some(i) == x {
                at_x = place(cell, shape.delimiter);
            }
            if Some(i) == seconds {
                at_seconds = place(cell, shape.delimiter);
            }
            if columns.get(values.len()) == Some(&i) {
                values.push(number(cell, shape.delimiter));
            }
            if Some(i) == owner {
                whose = Some(cell);
            }
        }
        values.resize(columns.len(), None);
        tables.row(whose, at_x, &values, at_seconds);
    })?;
    tables.finish(name, options)
}

/// The names in the header. Without one, two columns are time and memory.
fn names(shape: &Shape, options: &Options) -> Result<Vec<String>, ImportError> {
    if let Some(names) = &shape.header {
        return Ok(names.clone());
    }
    match shape.numeric.len() {
        1 => Ok(vec!["value".to_owned()]),
        2 => Ok(vec!["t".to_owned(), "value".to_owned()]),
        n if options.column.is_some() => {
            let mut names: Vec<String> = (1..=n).map(|i| i.to_string()).collect();
            names[0] = "t".to_owned();
            Ok(names)
        }
        n => Err(ImportError::new(format!("{n} columns and no header")).hint(
            "say which one holds the memory, counted from 1, and its unit: --column 2 --unit MB",
        )),
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The cells of a line, without blanks and quotes. Text in quotes may hold the delimiter.
fn cells(line: &str, delimiter: u8) -> impl Iterator<Item = &str> {
    let blank = delimiter == b' ';
    let mut rest = Some(if blank {
        line.trim()
    } else {
        line.trim_end_matches('\r')
    });
    std::iter::from_fn(move || {
        let text = rest?;
        let from = if text.trim_start().starts_with('"') {
            let open = text.find('"').unwrap_or(0);
            text[open + 1..]
                .find('"')
                .map_or(0, |close| open + close + 2)
        } else {
            0
        };
        let end = text.as_bytes()[from..]
            .iter()
            .position(|b| *b == delimiter)
            .map(|i| i + from);
        let cell = match end {
            Some(end) => {
                let after = &text[end + 1..];
                rest = Some(if blank { after.trim_start() } else { after });
                &text[..end]
            }
            None => {
                rest = None;
                text
            }
        };
        Some(cell.trim().trim_matches('"').trim())
    })
}

/// A number, a size, or a number with a decimal comma where the comma does not separate cells.
fn number(cell: &str, delimiter: u8) -> Option<Cell> {
    if let Ok(value) = cell.parse::<f64>() {
        return Some(Cell::Number(value));
    }
    match decimal_comma(cell, delimiter) {
        Some(cell) => Cell::parse(&cell),
        None => Cell::parse(cell),
    }
}

fn place(cell: &str, delimiter: u8) -> Option<Place> {
    Place::parse(cell).or_else(|| Place::parse(&decimal_comma(cell, delimiter)?))
}

fn decimal_comma(cell: &str, delimiter: u8) -> Option<String> {
    let comma = delimiter != b',' && cell.matches(',').count() == 1 && !cell.contains('.');
    comma.then(|| cell.replace(',', "."))
}
