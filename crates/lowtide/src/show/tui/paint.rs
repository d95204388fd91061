//! The few colours of [`super::super::style`] as ratatui styles, and the characters of this terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style as CellStyle};

use crate::show::style::{Paint, Style};

#[derive(Clone, Copy, Debug)]
pub(super) struct Palette {
    colour: bool,
    pub unicode: bool,
}

impl Palette {
    pub(super) fn of(style: Style) -> Palette {
        Palette {
            colour: style.colour,
            unicode: style.unicode,
        }
    }

    pub(super) fn colour(self) -> bool {
        self.colour
    }

    /// Bold, dim and reversed are no colours: they stay under `NO_COLOR`.
    pub(super) fn style(self, paint: Paint) -> CellStyle {
        let style = CellStyle::default();
        let tinted = |colour| if self.colour { style.fg(colour) } else { style };
        match paint {
            Paint::Plain => style,
            Paint::Bold => style.add_modifier(Modifier::BOLD),
            Paint::Floor => tinted(Color::Blue),
            Paint::Crest => tinted(Color::Yellow),
            Paint::Bad => tinted(Color::Yellow).add_modifier(Modifier::BOLD),
            Paint::Dim => style.add_modifier(Modifier::DIM),
        }
    }

    /// One of two characters, by what the terminal can show.
    pub(super) fn or<T>(self, unicode: T, ascii: T) -> T {
        if self.unicode { unicode } else { ascii }
    }

    /// A pane's first row: its name on a rule. Returns the rows below.
    pub(super) fn titled(self, name: &str, right: &str, area: Rect, buf: &mut Buffer) -> Rect {
        if area.is_empty() {
            return area;
        }
        let rule = self.or("─", "-").repeat(usize::from(area.width));
        buf.set_stringn(
            area.x,
            area.y,
            rule,
            usize::from(area.width),
            self.style(Paint::Dim),
        );
        let name = format!(" {} ", clean(name));
        let room = usize::from(area.width).saturating_sub(2);
        let (end, _) = buf.set_stringn(area.x + 1, area.y, name, room, self.style(Paint::Bold));
        let width = right.chars().count() as u16 + 2;
        if !right.is_empty() && end + width < area.right() {
            let at = area.right() - width - 1;
            buf.set_string(at, area.y, format!(" {right} "), self.style(Paint::Dim));
        }
        Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        }
    }
}

/// Names come from processes, and a process may call itself anything.
pub(super) fn clean(text: &str) -> String {
    lowtide_core::text::shown(text).into_owned()
}

/// A command without the folders of its program: `python train.py`.
pub(super) fn brief(command: &str) -> String {
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let name = program.rsplit('/').next().unwrap_or(program);
    clean(&format!("{name} {rest}")).trim_end().to_owned()
}
