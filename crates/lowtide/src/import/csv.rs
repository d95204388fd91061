//! Tables in text: comma, semicolon, tab, bar or blank between cells, with or without a header.

use super::marks::Marks;
use super::table::{Cell, Holds, Place, plans};
use super::tables::Tables;
use super::{Feed, ImportError, Imported, Options};

/// What the first lines look like.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    delimiter: u8,
    header: Option<Vec<String>>,
    /// Per column.
    holds: Vec<Holds>,
    marks: Marks,
    /// A table of Markdown, with text around it: it ends where its lines do.
    framed: bool,
}

/// How many lines are looked at to recognise a table.
const SAMPLE: usize = 50;

/// A table has numbers (or moments) in this share of its rows; a log does not.
const REGULAR: f64 = 0.8;

/// A column that is empty in most rows, as loggers leave it that write each value on a row of its own, holds at least
/// so many numbers.
const SPARSE: usize = 3;

/// Tells a table from a log by its first lines.
pub(super) fn shape(start: &[u8]) -> Option<Shape> {
    let text = String::from_utf8_lossy(start);
    if let Some(lines) = markdown(&text) {
        let shape = shape_with(&lines, b'|')?;
        return Some(Shape {
            framed: true,
            ..shape
        });
    }
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

/// The head and the rows of the table in a text of Markdown.
fn markdown(text: &str) -> Option<Vec<&str>> {
    let mut lines = text.lines().map(str::trim);
    let mut head = "";
    loop {
        let line = lines.next()?;
        if is_rule(line) {
            break;
        }
        head = line;
    }
    let rows = lines.take_while(|line| line.starts_with('|')).take(SAMPLE);
    let table = std::iter::once(head).chain(rows);
    head.starts_with('|').then(|| table.collect())
}

/// Of two tables in one text nobody said which is meant.
pub(super) fn refuse_several(start: &[u8]) -> Result<(), ImportError> {
    let text = String::from_utf8_lossy(start);
    match text.lines().filter(|line| is_rule(line)).count() {
        0 | 1 => Ok(()),
        several => Err(ImportError::new(format!("it holds {several} tables"))
            .hint("give the one to judge in a file of its own")),
    }
}

/// `|---:|:---|`, which stands below the head of a table. One cell alone is the frame of a box, as torch draws it.
fn is_rule(line: &str) -> bool {
    const BARS: usize = 3;
    let line = line.trim();
    let marks = |b: u8| matches!(b, b'|' | b'-' | b':' | b' ');
    let cells = line.matches('|').count() >= BARS;
    line.starts_with('|') && cells && line.contains("--") && line.bytes().all(marks)
}

fn shape_with(lines: &[&str], delimiter: u8) -> Option<Shape> {
    let first: Vec<String> = cells(lines.first()?, delimiter)
        .map(str::to_owned)
        .collect();
    if first.len() < 2 {
        return None;
    }
    let marks = match delimiter {
        b',' => Marks::Point,
        _ => Marks::of(lines.iter().flat_map(|line| cells(line, delimiter))),
    };
    let is_number = |cell: &str| {
        matches!(number(cell, marks), Some(c) if !matches!(c, Cell::Empty))
            || place(cell, marks).is_some()
    };
    // A header has no numbers in it.
    let header = first.iter().all(|c| !is_number(c)).then_some(first);
    let rows = &lines[usize::from(header.is_some())..];
    let width = header.as_ref().map_or_else(
        || cells(rows.first().unwrap_or(&""), delimiter).count(),
        Vec::len,
    );
    let mut columns = vec![Seen::default(); width];
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
            for (column, cell) in columns.iter_mut().zip(&row) {
                column.take(cell, is_number(cell), marks);
            }
        }
    }
    if rows.is_empty() || (regular as f64) < REGULAR * rows.len() as f64 {
        return None;
    }
    let holds: Vec<Holds> = columns.iter().map(|column| column.holds(regular)).collect();
    let any = holds.iter().any(|holds| *holds != Holds::Nothing);
    any.then_some(Shape {
        delimiter,
        header,
        holds,
        marks,
        framed: false,
    })
}

/// What the first rows have in one column.
#[derive(Clone, Debug, Default)]
struct Seen {
    filled: usize,
    numbers: usize,
    /// Those of them that are dates or clocks, the first, and whether another came.
    moments: usize,
    first: Option<f64>,
    moves: bool,
    /// The last number, and how often it came again at once.
    last: Option<f64>,
    again: usize,
    /// Sizes are not negative, and neither are steps and times.
    negative: bool,
}

impl Seen {
    fn take(&mut self, cell: &str, is_number: bool, marks: Marks) {
        self.filled += usize::from(!cell.is_empty());
        self.numbers += usize::from(is_number);
        self.negative |= is_number && cell.starts_with('-');
        match place(cell, marks) {
            Some(Place::Date(moment)) => {
                self.moments += 1;
                self.moves |= *self.first.get_or_insert(moment) != moment;
            }
            Some(Place::Number(number)) => {
                self.again += usize::from(self.last.replace(number) == Some(number));
            }
            None => {}
        }
    }

    fn holds(&self, rows: usize) -> Holds {
        match self {
            _ if self.negative => Holds::Nothing,
            _ if self.moments * 2 > rows && self.moves => Holds::Moments,
            _ if self.moments * 2 > rows => Holds::OneMoment,
            _ if self.numbers * 2 > rows && self.again * 2 > rows => Holds::Runs,
            _ if self.numbers * 2 > rows => Holds::Numbers,
            _ if self.numbers >= SPARSE && self.numbers * 2 > self.filled => Holds::SomeNumbers,
            _ => Holds::Nothing,
        }
    }
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
        holds: vec![Holds::Numbers],
        marks: Marks::Point,
        framed: false,
    })
}

pub(super) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    shape: &Shape,
    options: &Options,
) -> Result<Vec<Imported>, ImportError> {
    let names = names(shape, options)?;
    let plans = plans(names, &shape.holds, options)?;
    let (x, seconds, owner) = (plans[0].x, plans[0].seconds, plans[0].owner);
    let columns: Vec<usize> = plans.iter().map(|plan| plan.value).collect();
    let last = [x, seconds, owner].into_iter().flatten();
    let last = last.chain(columns.iter().copied()).max().unwrap_or(0);
    let mut tables = Tables::new(plans);
    let mut values: Vec<Option<Cell>> = Vec::with_capacity(columns.len());
    let mut header_left = shape.header.is_some();
    let mut frame = Frame::default();
    feed.each_line(|line| {
        let Ok(line) = std::str::from_utf8(line) else {
            return tables.skip();
        };
        if shape.framed && !frame.has(line) {
            return;
        }
        if is_comment(line) || std::mem::take(&mut header_left) {
            return;
        }
        let (mut at_x, mut at_seconds, mut whose) = (None, None, None);
        values.clear();
        for (i, cell) in cells(line, shape.delimiter).enumerate().take(last + 1) {
            if Some(i) == x {
                at_x = place(cell, shape.marks);
            }
            if Some(i) == seconds {
                at_seconds = place(cell, shape.marks);
            }
            if columns.get(values.len()) == Some(&i) {
                values.push(number(cell, shape.marks));
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
    match shape.holds.len() {
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

/// A number or a size.
fn number(cell: &str, marks: Marks) -> Option<Cell> {
    match cell {
        "" => Some(Cell::Empty),
        cell => Cell::parse(&marks.plain(cell)?),
    }
}

fn place(cell: &str, marks: Marks) -> Option<Place> {
    Place::parse(&marks.plain(cell)?)
}

/// Where in a text the lines of its table are: from the head above the first rule to the first line that is none.
#[derive(Default)]
struct Frame {
    in_rows: bool,
    ended: bool,
}

impl Frame {
    fn has(&mut self, line: &str) -> bool {
        let framed = line.trim_start().starts_with('|');
        self.ended |= self.in_rows && !framed;
        if self.ended || !framed {
            return false;
        }
        let rule = is_rule(line);
        self.in_rows |= rule;
        !rule
    }
}
