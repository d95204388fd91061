//! What the user's keys chose: which line, which piece of the axis, what lies over it.

use lowtide_core::meter::Meter;
use lowtide_core::verdict::Axis;

use super::content::Content;
use super::keys::Key;

/// Each press of `+` halves what is shown; ten halvings of a day are a minute and a half.
const ZOOM_MOST: u32 = 10;
/// How much of what is shown a step to the side moves.
const SIDESTEP: f64 = 0.25;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// As in `Line::who`; none follows what decides the verdict.
    pub who: Option<String>,
    /// None: the one that suits the line.
    pub meter: Option<Meter>,
    /// Shows 1 / 2^zoom of the run.
    pub zoom: u32,
    /// How far the right edge is behind the end, in what is shown; 0 follows the run.
    pub behind: f64,
    /// None: the verdict's own.
    pub axis: Option<Axis>,
    pub help: bool,
}

/// What a key asks for beyond the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    Quit,
    /// Ctrl-Z.
    Stop,
    /// Ctrl-L: somebody else wrote on the screen.
    Redraw,
}

impl View {
    pub(crate) fn key(&mut self, key: Key, content: &Content) -> Asked {
        if self.help && !matches!(key, Key::Ctrl(_)) {
            self.help = false;
            if matches!(key, Key::Char('q' | '?') | Key::Escape) {
                return Asked::Nothing;
            }
        }
        match key {
            Key::Char('q') | Key::Ctrl('c') => return Asked::Quit,
            Key::Ctrl('z') => return Asked::Stop,
            Key::Ctrl('l') => return Asked::Redraw,
            Key::Char('?' | 'h') => self.help = true,
            Key::Up | Key::Char('k') => self.choose(content, -1),
            Key::Down | Key::Char('j') => self.choose(content, 1),
            Key::Char('m') => self.next_meter(content),
            Key::Char('+' | '=') => self.zoom = (self.zoom + 1).min(ZOOM_MOST),
            Key::Char('-') => {
                self.zoom = self.zoom.saturating_sub(1);
                self.behind = if self.zoom == 0 {
                    0.0
                } else {
                    self.behind / 2.0
                };
            }
            Key::Left if self.zoom > 0 => self.move_back(SIDESTEP),
            Key::Right => self.move_back(-SIDESTEP),
            Key::Home if self.zoom > 0 => self.move_back(f64::INFINITY),
            Key::End => self.behind = 0.0,
            Key::Char('0') => (self.zoom, self.behind) = (0, 0.0),
            Key::Char('a') => self.other_axis(content),
            Key::Escape => *self = View::default(),
            _ => {}
        }
        Asked::Nothing
    }

    /// In shares of what is shown; the rest of the run is 2^zoom - 1 of them.
    fn move_back(&mut self, by: f64) {
        let most = f64::from(1u32 << self.zoom) - 1.0;
        self.behind = (self.behind + by).clamp(0.0, most);
    }

    fn choose(&mut self, content: &Content, by: isize) {
        let rows = &content.rows;
        let now = rows.iter().position(|row| row.who == content.shown.who);
        let last = rows.len().saturating_sub(1);
        let next = now.unwrap_or(0).saturating_add_signed(by).min(last);
        if let Some(row) = rows.get(next) {
            self.who = Some(row.who.clone());
            self.meter = None;
        }
    }

    fn next_meter(&mut self, content: &Content) {
        let meters = &content.meters;
        let now = meters
            .iter()
            .position(|meter| *meter == content.shown.meter);
        if let (Some(now), false) = (now, meters.is_empty()) {
            self.who = Some(content.shown.who.clone());
            self.meter = Some(meters[(now + 1) % meters.len()]);
        }
    }

    fn other_axis(&mut self, content: &Content) {
        if content.report.steps.len() > 1 {
            self.axis = Some(match self.axis(content) {
                Axis::Step => Axis::Time,
                _ => Axis::Step,
            });
        }
    }

    /// Steps where they are known and the verdict counts them.
    pub(crate) fn axis(&self, content: &Content) -> Axis {
        let known = content.report.steps.len() > 1;
        match self.axis {
            Some(axis) if known => axis,
            None if known && content.report.verdict.axis == Axis::Step => Axis::Step,
            _ => Axis::Time,
        }
    }
}
