//! The live view in a terminal: verdict, chart, processes, what grows, events, and the job's own output.
//!
//! A frame is a pure function of a [`Content`] (made from a [`Picture`](lowtide_core::report::Picture)),
//! a [`View`] (what the user's keys chose) and a size. [`Stage`] owns the terminal and the thread that
//! draws; `attach` and `run --tui` feed it. Drawing never waits for the terminal, and nobody waits for
//! the drawing.

mod axis;
mod bytes;
mod chart;
mod content;
mod events;
mod footer;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod grows;
mod headroom;
mod help;
mod keys;
mod layout;
mod output;
mod paint;
mod player;
mod processes;
mod range;
mod restore;
mod spark;
mod stage;
mod step_times;
#[cfg(test)]
mod tests;
mod title;
mod verdict;
mod view;

pub(crate) use content::Content;
pub(crate) use layout::job_size;
pub(crate) use player::screen_size;
pub(crate) use restore::write;
pub(crate) use stage::{Keyboard, Stage, Wish};
pub(crate) use view::View;

use ratatui::buffer::Buffer;

use super::style::Style;
use paint::Palette;

/// Draws one frame. `job` is the screen that the job prints on, where it is ours to show.
pub(crate) fn draw(
    content: &Content,
    view: &View,
    job: Option<&vt100::Screen>,
    style: Style,
    buf: &mut Buffer,
) {
    let palette = Palette::of(style);
    let panes = layout::panes(buf.area, job.is_some());
    title::draw(content, palette, panes.title, buf);
    let outlook_below = !panes.headroom.is_empty();
    verdict::draw(content, palette, panes.verdict, outlook_below, buf);
    chart::draw(content, view, palette, panes.chart, buf);
    headroom::draw(content, palette, panes.headroom, buf);
    processes::draw(content, palette, panes.processes, buf);
    grows::draw(content, palette, panes.grows, buf);
    events::draw(content, palette, panes.events, buf);
    if let Some(screen) = job {
        output::draw(screen, palette, panes.job, buf);
    }
    footer::draw(job.is_some(), palette, panes.footer, buf);
    if view.help {
        help::draw(job.is_some(), palette, buf);
    }
}
