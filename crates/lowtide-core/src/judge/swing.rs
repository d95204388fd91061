//! Rule "spikes": excursions over the floor that come down again.

use super::line::Line;
use crate::stats;

/// An excursion is worth naming from this share of the floor on ...
const NAMED: f64 = 0.1;
/// ... and makes the run one of spikes, whatever its start-up, from this share on.
const LARGE: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// The largest distance from a crest down to a later floor.
    pub highest: f64,
    pub level: f64,
}

impl Swing {
    /// Of the line from the first eighth on: loading peaks belong to start-up.
    pub fn of(line: &Line) -> Option<Swing> {
        let body = line.from(line.first_x() + line.span() / 8.0);
        let level = stats::median(&mut body.ys.clone())?;
        // From each crest down to the lowest floor that came later: what only rises has no swing.
        let mut later = f64::INFINITY;
        let mut highest: f64 = 0.0;
        for (crest, y) in body.crests.iter().zip(&body.ys).rev() {
            highest = highest.max(crest - later);
            later = later.min(*y);
        }
        Some(Swing { highest, level })
    }

    pub fn named(&self) -> bool {
        self.highest > NAMED * self.level
    }

    pub fn large(&self) -> bool {
        self.highest > LARGE * self.level
    }
}
