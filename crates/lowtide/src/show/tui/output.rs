//! The job's own output in a pane: a small terminal of its own, so that progress bars style as they do
//! without us. What a job prints can move nothing outside its pane.

use std::num::NonZeroU16;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::paint::Palette;

/// Rows kept for the user when the view ends: some screens.
const KEPT: usize = 400;

pub(crate) struct Output {
    parser: vt100::Parser,
    /// Rows that the user's own screen shows already.
    known: usize,
}

impl Output {
    pub(crate) fn new(rows: u16, columns: u16) -> Output {
        let parser = vt100::Parser::new(at_least_one(rows), at_least_one(columns), KEPT);
        Output { parser, known: 0 }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// What was printed before there was a pane: the user's own screen has it.
    pub(crate) fn feed_known(&mut self, bytes: &[u8]) {
        self.feed(bytes);
        let screen = self.parser.screen();
        self.known = screen.scrollback_len() + usize::from(screen.cursor_position().0);
    }

    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.parser
            .screen_mut()
            .set_size(at_least_one(rows), at_least_one(columns));
    }

    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// What the job printed last, to be written where the view was. Empty when it printed nothing.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let (_, columns) = self.parser.screen().size();
        let columns = columns.get();
        let screen = self.parser.screen_mut();
        let mut lines: Vec<String> = Vec::new();
        // Above the screen: one row at a time, as each comes to the top.
        for back in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            lines.extend(screen.rows_formatted(0, columns).next());
        }
        screen.set_scrollback(0);
        let plain: Vec<String> = screen.rows(0, columns).collect();
        let used = plain
            .iter()
            .rposition(|row| !row.trim().is_empty())
            .map_or(0, |last| last + 1);
        lines.extend(screen.rows_formatted(0, columns).take(used));
        // Once rows were forgotten, the first ones were.
        if lines.len() < KEPT {
            lines.drain(..self.known.min(lines.len()));
        }
        // A bar that is not finished goes on where it stands.
        let unfinished = usize::from(screen.cursor_position().0) + 1 == used;
        let mut out = lines.join("\x1b[m\r\n").into_bytes();
        if !lines.is_empty() {
            out.extend_from_slice(if unfinished { b"\x1b[m" } else { b"\x1b[m\r\n" });
        }
        out
    }
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

pub(super) fn draw(screen: &vt100::Screen, palette: Palette, area: Rect, buf: &mut Buffer) {
    let area = palette.titled("the job's output", "", area, buf);
    for y in 0..area.height {
        for x in 0..area.width {
            let Some(cell) = screen.cell(y, x) else {
                continue;
            };
            let place = &mut buf[(area.x + x, area.y + y)];
            if cell.has_contents() && !cell.is_wide_continuation() {
                place.set_symbol(cell.contents());
            }
            place.set_style(style(cell, palette));
        }
    }
}

fn style(cell: &vt100::Cell, palette: Palette) -> Style {
    let mut style = Style::default();
    if palette.colour() {
        style = style.fg(colour(cell.fgcolor())).bg(colour(cell.bgcolor()));
    }
    for (is, modifier) in [
        (cell.bold(), Modifier::BOLD),
        (cell.dim(), Modifier::DIM),
        (cell.italic(), Modifier::ITALIC),
        (cell.underline(), Modifier::UNDERLINED),
        (cell.inverse(), Modifier::REVERSED),
    ] {
        if is {
            style = style.add_modifier(modifier);
        }
    }
    style
}

fn colour(colour: vt100::Color) -> Color {
    match colour {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => Color::Indexed(index),
        vt100::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_bar_stays_on_its_line() {
        let mut output = Output::new(4, 40);
        output.feed(b"loading\r\n");
        for step in 1..=50 {
            output.feed(format!("\r{step:>3}/50 [{:<10}]", "#".repeat(step / 5)).as_bytes());
        }
        assert_eq!(output.screen().contents(), "loading\n 50/50 [##########]");
    }

    #[test]
    fn what_scrolled_away_is_handed_over_at_the_end() {
        let mut output = Output::new(3, 20);
        for line in 1..=10 {
            output.feed(format!("line {line}\r\n").as_bytes());
        }
        output.feed(b"\x1b[31mred\x1b[0m\r\n");
        let rest = String::from_utf8(output.rest()).unwrap();
        let plain = rest.replace("\x1b[m", "");
        for line in 1..=10 {
            assert_eq!(
                plain.matches(&format!("line {line}\r\n")).count(),
                1,
                "{rest:?}"
            );
        }
        assert!(rest.ends_with("red\x1b[m\r\n"), "{rest:?}");
        output.feed(b" 50%|");
        assert!(
            String::from_utf8(output.rest())
                .unwrap()
                .ends_with("50%|\x1b[m")
        );
        assert!(Output::new(3, 20).rest().is_empty());
    }

    #[test]
    fn what_the_screen_shows_already_is_not_told_twice() {
        let mut output = Output::new(3, 20);
        output.feed_known(b"early\r\n");
        assert!(output.screen().contents().contains("early") && output.rest().is_empty());
        output.feed(b"late\r\n");
        assert_eq!(output.rest(), b"late\x1b[m\r\n");
    }
}
