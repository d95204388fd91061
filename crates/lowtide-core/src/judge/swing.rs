//! Rule "spikes": excursions over the floor that come down again.

use super::line::Line;
use crate::stats;

/// An excursion is worth naming from this share of the floor on ...
const NAMED: f64 = 0.1;
/// ... and makes the run one of spikes, whatever its start-up, from this share on.
const LARGE: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// The largest rise of a crest over the floors on both sides of it.
    pub highest: f64,
    pub level: f64,
}

impl Swing {
    /// Of the line from the first eighth on: loading peaks belong to start-up.
    pub fn of(line: &Line) -> Option<Swing> {
        let body = line.from(line.first_x() + line.span() / 8.0);
        let level = stats::median(&mut body.ys.clone())?;
        // What only rises comes down to no later floor, and what only falls rose from no earlier one.
        let mut after = vec![f64::INFINITY; body.ys.len()];
        for at in (1..body.ys.len()).rev() {
            after[at - 1] = after[at].min(body.ys[at]);
        }
        let mut before = f64::INFINITY;
        let mut highest: f64 = 0.0;
        for ((crest, y), after) in body.crests.iter().zip(&body.ys).zip(&after) {
            before = before.min(*y);
            highest = highest.max(crest - before.max(*after));
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
