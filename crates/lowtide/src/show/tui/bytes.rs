//! A change of the picture as bytes for the terminal: only the cells that changed, and of their style
//! only what differs. The usual backends write and wait; ours must not, so this makes bytes and
//! [`super::stage`] sends them when the terminal takes them.

use std::io::Write;

use lowtide_core::text::is_unseen;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// Terminals that know it show the frame at once; others ignore it.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[m\x1b[?2026l";

/// Empty when nothing changed.
pub(super) fn changes(before: &Buffer, after: &Buffer) -> Vec<u8> {
    let changed = before.diff(after);
    if changed.is_empty() {
        return Vec::new();
    }
    let mut out = BEGIN.to_vec();
    out.extend_from_slice(b"\x1b[m");
    let mut pen = None;
    let mut cursor = None;
    for (x, y, cell) in changed {
        if cursor != Some((x, y)) {
            // Writing into a vector cannot fail.
            let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
        }
        let style = (cell.fg, cell.bg, cell.modifier);
        if pen != Some(style) {
            sgr(&mut out, cell);
            pen = Some(style);
        }
        // The last door: what no terminal should obey has no place in a cell, whoever put it there.
        let seen = cell.symbol().chars().filter(|c| !is_unseen(*c));
        let before = out.len();
        out.extend(seen.flat_map(|c| c.encode_utf8(&mut [0; 4]).as_bytes().to_vec()));
        if out.len() == before {
            out.push(b' ');
        }
        // After a wide character the cursor's place is the terminal's opinion.
        cursor = cell.symbol().is_ascii().then_some((x + 1, y));
    }
    out.extend_from_slice(END);
    out
}

fn sgr(out: &mut Vec<u8>, cell: &Cell) {
    out.extend_from_slice(b"\x1b[0");
    for (modifier, code) in [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ] {
        if cell.modifier.contains(modifier) {
            let _ = write!(out, ";{code}");
        }
    }
    colour(out, cell.fg, 30);
    colour(out, cell.bg, 40);
    out.push(b'm');
}

fn colour(out: &mut Vec<u8>, colour: Color, base: u8) {
    let _ = match colour {
        Color::Blue => write!(out, ";{}", base + 4),
        Color::Yellow => write!(out, ";{}", base + 3),
        Color::Indexed(index) => write!(out, ";{};5;{index}", base + 8),
        Color::Rgb(r, g, b) => write!(out, ";{};2;{r};{g};{b}", base + 8),
        // The view uses no others.
        _ => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn seen(parser: &vt100::Parser) -> String {
        parser.screen().contents()
    }

    #[test]
    fn a_terminal_that_follows_the_changes_shows_the_picture() {
        let area = Rect::new(0, 0, 12, 3);
        let mut terminal = vt100::Parser::new(3.try_into().unwrap(), 12.try_into().unwrap(), 0);
        let mut before = Buffer::empty(area);
        for words in [["one", "zwölf ⣿⣿"], ["once", "漢字 x"], ["", "two"]] {
            let mut after = Buffer::empty(area);
            after.set_string(1, 0, words[0], Style::new().fg(Color::Blue));
            after.set_string(0, 2, words[1], Style::new().add_modifier(Modifier::BOLD));
            terminal.process(&changes(&before, &after));
            let rows: Vec<String> = terminal.screen().rows(0, 12).collect();
            assert_eq!(rows[0].trim(), words[0], "{:?}", seen(&terminal));
            assert_eq!(rows[2].trim_end(), words[1], "{:?}", seen(&terminal));
            before = after;
        }
        assert!(changes(&before, &before).is_empty());
    }

    #[test]
    fn styles_are_written_when_they_change() {
        let area = Rect::new(0, 0, 4, 1);
        let mut after = Buffer::empty(area);
        after.set_string(0, 0, "ab", Style::new().fg(Color::Blue));
        after.set_string(2, 0, "c", Style::new());
        let bytes = String::from_utf8(changes(&Buffer::empty(area), &after)).unwrap();
        assert_eq!(
            bytes,
            "\x1b[?2026h\x1b[m\x1b[1;1H\x1b[0;34mab\x1b[0mc\x1b[m\x1b[?2026l"
        );
    }
}
