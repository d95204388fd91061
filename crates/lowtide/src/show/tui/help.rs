//! All keys and what the picture's signs mean, over everything else.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Widget};

use super::paint::Palette;
use crate::show::style::Paint;

const KEYS: &str = "\
up/down, j/k  another process, role or the tree
m             another meter of it
+ / -         zoom in and out; 0 shows all
left/right    earlier, later; End follows the run
a             steps or time
Esc           back to what decides the verdict
Ctrl-L        draw again";

const SIGNS: &str = "\
e s E on the axis: evaluation, save, end of an epoch
* beside a process: the one that is watched
floor: low-water mark, crest: high-water mark";

pub(super) fn draw(job: bool, palette: Palette, buf: &mut Buffer) {
    let leave = if job {
        "q             leave this view; the job goes on\n\
         Ctrl-C, Ctrl-Z  go to the job, other keys do not"
    } else {
        "q, Ctrl-C     stop watching; the job goes on"
    };
    let text = format!("{KEYS}\n{leave}\n\n{SIGNS}\n\nany key closes this");
    let lines: Vec<Line> = text
        .lines()
        .map(|line| Line::raw(line.to_owned()))
        .collect();
    let (wide, high) = (
        56.min(buf.area.width),
        (lines.len() as u16 + 2).min(buf.area.height),
    );
    let area = Rect {
        x: (buf.area.width - wide) / 2,
        y: (buf.area.height - high) / 2,
        width: wide,
        height: high,
    };
    Clear.render(area, buf);
    let mut block = Block::bordered()
        .title(" keys ")
        .border_style(palette.style(Paint::Dim));
    if !palette.unicode {
        block = block.border_set(ASCII);
    }
    Paragraph::new(lines).block(block).render(area, buf);
}

const ASCII: ratatui::symbols::border::Set = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};
