//! The user's terminal as the job has drawn it, and the bytes that put lines of ours above what it draws again.
//!
//! Fed with what the keeper passed on. The rows that the job may still change (a bar, several, a prompt) are
//! cleared, our lines take their place, and the rows follow below as they were, with cursor and colours: the
//! job's next redraw finds all as it left it.

use std::fmt::Write as _;
use std::num::NonZeroU16;

use crate::guard::contained::contained;

use super::moves::Moves;

/// What was printed is taken apart only when something is to be said, or when so much has come.
const UNREAD: usize = 64 * 1024;
/// What a terminal that does not tell its size is taken for.
const USUAL: (u16, u16) = (24, 80);
/// Colours and the like as they are when nothing has changed them.
const PLAIN: &str = "\x1b[m";

pub(super) struct Screen {
    parser: vt100::Parser,
    moves: Moves,
    unread: Vec<u8>,
}

/// Whether something can be said now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Composed {
    Bytes(Vec<u8>),
    /// A character or a sequence is on its way.
    Soon,
    /// A full-screen program has the terminal: what is written there would be lost with it.
    Later,
}

impl Screen {
    pub(super) fn new() -> Screen {
        Screen {
            parser: new_parser(USUAL),
            moves: Moves::default(),
            unread: Vec::new(),
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.moves.feed(bytes);
        self.unread.extend_from_slice(bytes);
        if self.unread.len() > UNREAD {
            self.read();
        }
    }

    /// Has the size of the user's terminal (rows, columns).
    pub(super) fn resize(&mut self, size: (u16, u16)) {
        let (rows, columns) = at_least_one(size);
        if self.parser.screen().size() != (rows, columns) {
            self.read();
            self.parser.screen_mut().set_size(rows, columns);
        }
    }

    /// What to write so that `text` (whole lines, with their ends) stands on lines of its own. `torn`: also in
    /// the middle of a sequence, which did not go on for long.
    pub(super) fn compose(&mut self, text: &str, torn: bool) -> Composed {
        self.read();
        let screen = self.parser.screen();
        if screen.alternate_screen() {
            return Composed::Later;
        }
        if !torn && !self.moves.is_at_rest() {
            return Composed::Soon;
        }
        let live = Live::of(screen, self.moves.reach());
        let colours = screen.attributes_formatted();
        let mut out = String::new();
        if colours != PLAIN {
            out.push_str(PLAIN);
        }
        if live.is_empty() {
            out.push_str(text);
        } else {
            up(&mut out, live.row - live.top);
            out.push_str("\r\x1b[J");
            out.push_str(text);
            out.push_str(&live.rows.join("\x1b[m\r\n"));
            out.push_str(PLAIN);
            up(&mut out, live.last - live.row);
            let (_, columns) = screen.size();
            // Beyond the last column the cursor stays where a full row leaves it.
            if live.column < columns.get() {
                let _ = write!(out, "\x1b[{}G", live.column + 1);
            }
        }
        if colours != PLAIN {
            out.push_str(&colours);
        }
        Composed::Bytes(out.into_bytes())
    }

    /// What was composed is on the terminal now. Our own ways up are none of the job's.
    pub(super) fn composed(&mut self, bytes: &[u8]) {
        self.read();
        self.unread.extend_from_slice(bytes);
        self.read();
    }

    /// After the job's end: what leads to a line of our own below all it has drawn.
    pub(super) fn lead(&mut self) -> String {
        self.read();
        let screen = self.parser.screen();
        let mut out = String::new();
        if screen.attributes_formatted() != PLAIN {
            out.push_str(PLAIN);
        }
        let live = Live::of(screen, 0);
        if !live.is_empty() {
            out.push_str(&"\r\n".repeat(usize::from(live.last - live.row) + 1));
        }
        out
    }

    fn read(&mut self) {
        let unread = std::mem::take(&mut self.unread);
        let parser = &mut self.parser;
        // A job's bytes must not end its watch, whatever the library makes of them.
        if contained(|| parser.process(&unread)).is_err() {
            let (rows, columns) = self.parser.screen().size();
            self.parser = new_parser((rows.get(), columns.get()));
        }
    }
}

/// The rows that the job may draw again.
struct Live {
    top: u16,
    row: u16,
    column: u16,
    last: u16,
    /// From `top` to `last`, with their colours.
    rows: Vec<String>,
}

impl Live {
    fn of(screen: &vt100::Screen, reach: u16) -> Live {
        let (row, column) = screen.cursor_position();
        let width = screen.size().1.get();
        let top = row.saturating_sub(reach);
        let used = screen
            .rows(0, width)
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty())
            .last();
        let last = used.map_or(row, |(at, _)| (at as u16).max(row));
        let rows = screen.rows_formatted(0, width);
        Live {
            top,
            row,
            column,
            last,
            rows: rows
                .skip(usize::from(top))
                .take(usize::from(last - top) + 1)
                .collect(),
        }
    }

    /// The cursor stands at the begin of a line with nothing on it and below.
    fn is_empty(&self) -> bool {
        self.column == 0 && self.top == self.last && self.rows.iter().all(String::is_empty)
    }
}

fn up(out: &mut String, lines: u16) {
    if lines > 0 {
        let _ = write!(out, "\x1b[{lines}A");
    }
}

fn new_parser(size: (u16, u16)) -> vt100::Parser {
    let (rows, columns) = at_least_one(size);
    vt100::Parser::new(rows, columns, 0)
}

fn at_least_one((rows, columns): (u16, u16)) -> (NonZeroU16, NonZeroU16) {
    let number = |number, usual| NonZeroU16::new(number).or(NonZeroU16::new(usual));
    let least = NonZeroU16::MIN;
    (
        number(rows, USUAL.0).unwrap_or(least),
        number(columns, USUAL.1).unwrap_or(least),
    )
}

/// What `scripts/fuzz` tries: whatever a job prints on a terminal of any size, what is said is the same whether
/// it came in one piece or in many, and says it whole.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(data: &[u8]) {
    const SAID: &str = "lowtide: said\r\n";
    let Some(([rows, columns], printed)) = data.split_first_chunk() else {
        return;
    };
    let size = (u16::from(*rows), u16::from(*columns));
    let (mut whole, mut pieces) = (Screen::new(), Screen::new());
    whole.resize(size);
    pieces.resize(size);
    whole.feed(printed);
    for piece in printed.chunks(3) {
        pieces.feed(piece);
        pieces.read();
    }
    assert_eq!(whole.lead(), pieces.lead());
    let composed = whole.compose(SAID, false);
    assert_eq!(composed, pieces.compose(SAID, false));
    if let Composed::Bytes(bytes) = composed {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(text.contains(SAID), "{text:?}");
        whole.composed(&bytes);
    }
}
