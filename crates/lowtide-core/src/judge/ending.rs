//! Rule "will it end": growth that is shown is a leak only when something would have ended it and did
//! not. A straight line says nothing of that; knowledge does: an epoch that passed, rounds of the same
//! work that each added to it, or a time that no store takes to fill.

use super::epoch::Epoch;
use super::line::Line;
use super::rounds::Rounds;
use super::tail::Tail;
use super::words::{epoch_length, evidence, place, stretch};
use crate::stats;
use crate::units::show_duration;
use crate::verdict::{Axis, Evidence};

/// How long a store takes to fill. The longest straight fills of the shared logs, replay buffers, take
/// half an hour: six times that. How much the growth is against the process says nothing: a cache beside
/// a large model fills as slowly as one beside a small one.
const FILL_SECONDS: f64 = 10_800.0;
/// And it has to last for this many steps where steps are counted and nobody tells how many make an
/// epoch: a first pass over the data takes as many steps as there is data. A data set of 160,000
/// examples in batches of eight is larger than what people keep in memory.
const FILL_STEPS: f64 = 20_000.0;

/// Half an epoch before the newest piece of growth belongs to it if it rose at this share of its pace, ...
const NO_PAUSE: f64 = 0.5;
/// ... by at least so many points.
const LEAST_PIECE: usize = 4;
/// Growth that began after the first pass has to go on for this many epochs of its own: where it began is
/// known less well than where the first pass did.
const SEEN_LATE: f64 = 1.5;
/// Growth that goes on after the first pass over the data keeps at least this share of the pace it had in
/// it: a cache that is filled by drawing with replacement runs at 52 % of it in the next quarter epoch.
const KEEPS_PACE: f64 = 0.7;

/// Whether growth that began at `since` goes on after `end` at the pace it had until `first_end`.
pub fn outlasts(line: &Line, since: f64, first_end: f64, end: f64) -> bool {
    let slope = |part: &Line| {
        (part.len() >= 4)
            .then(|| stats::fit(&part.xs, &part.ys))
            .flatten()
            .map(|fit| fit.slope)
    };
    let grown = line.from(since);
    let Some(after) = slope(&line.from(end)) else {
        return false;
    };
    let before = slope(&grown.until(first_end)).or_else(|| slope(&grown));
    before.is_some_and(|before| after >= KEEPS_PACE * before)
}

/// What is known of the end of growth that is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// It should have ended and did not.
    Passed(Evidence),
    /// Nobody knows; and where it will be known, if it goes on like this.
    Open {
        says: Evidence,
        decides_at: Option<f64>,
    },
}

/// What can be known beside the growth itself.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    pub axis: Axis,
    /// The line that grows.
    pub line: &'a Line,
    pub epoch: Option<Epoch>,
    pub rounds: Option<&'a Rounds>,
    /// Seconds per unit of the axis.
    pub pace: Option<f64>,
}

impl Knowledge<'_> {
    pub fn ending(&self, tail: &Tail) -> Ending {
        match (self.rounds, self.epoch) {
            (Some(rounds), _) if rounds.are_enough() => Ending::Passed(rounds.says()),
            // What every round leaves behind was never a first pass over the data.
            (Some(rounds), _) => Ending::Open {
                says: rounds.says(),
                decides_at: None,
            },
            (None, Some(epoch)) => self.by_epoch(tail, epoch),
            (None, None) => self.by_length(tail),
        }
    }

    /// Growth that began with the first pass is past it; growth that began later has to go on for a pass
    /// of its own.
    fn by_epoch(&self, tail: &Tail, epoch: Epoch) -> Ending {
        let since = self.began(tail, epoch).max(epoch.begin);
        let late = since >= epoch.end();
        let needed = if late {
            since + (epoch.passes - 1.0 + SEEN_LATE) * epoch.steps
        } else {
            epoch.seen_at()
        };
        let (first_end, end) = (since + epoch.steps, since + epoch.passes * epoch.steps);
        let goes_on = !late || outlasts(self.line, since, first_end, end);
        if tail.to >= needed && goes_on {
            return Ending::Passed(evidence(
                "growth outlasts the epoch",
                format!(
                    "an epoch is {}; it grows since {} and has not ended with it",
                    epoch_length(self.axis, epoch.steps),
                    place(self.axis, tail.from)
                ),
            ));
        }
        Ending::Open {
            says: evidence(
                "first pass over the data",
                format!(
                    "it grows since {}; an epoch is {}, and nothing has passed it yet",
                    place(self.axis, tail.from),
                    epoch_length(self.axis, epoch.steps)
                ),
            ),
            decides_at: Some(needed.max(tail.to + 0.25 * epoch.steps)),
        }
    }

    /// Where growth began that has not paused since: the newest straight piece of it often begins later.
    fn began(&self, tail: &Tail, epoch: Epoch) -> f64 {
        let half = 0.5 * epoch.steps;
        let mut began = since(self.line, tail);
        while began > epoch.begin {
            let piece = self.line.from(began - half).until(began);
            let rises = piece.len() >= LEAST_PIECE
                && stats::fit(&piece.xs, &piece.ys)
                    .is_some_and(|fit| fit.slope >= NO_PAUSE * tail.slope);
            if !rises {
                break;
            }
            began -= half;
        }
        began
    }

    /// Growth that lasted for longer than stores take to fill. Without a clock nobody knows that: steps
    /// may be the thousandth part of a second.
    fn by_length(&self, tail: &Tail) -> Ending {
        let since = since(self.line, tail);
        let length = tail.to - since;
        let lasted = stretch(self.axis, length);
        let Some(pace) = self.pace else {
            return Ending::Open {
                says: evidence(
                    "no end is known",
                    format!(
                        "the same pace for {lasted}; a first pass over the data or a store that fills looks the same"
                    ),
                ),
                decides_at: None,
            };
        };
        let by_time = FILL_SECONDS / pace;
        let fills = show_duration(FILL_SECONDS);
        let (needed, fills, lasted) = match self.axis {
            Axis::Time => (by_time, fills, lasted),
            _ => (
                by_time.max(FILL_STEPS),
                format!("{fills} and {FILL_STEPS:.0} steps"),
                format!("{lasted} in {}", show_duration(length * pace)),
            ),
        };
        if length >= needed {
            return Ending::Passed(evidence(
                "growth outlasts what fills",
                format!("the same pace for {lasted}: stores that fill are full within {fills}"),
            ));
        }
        Ending::Open {
            says: evidence(
                "no end is known",
                format!(
                    "the same pace for {lasted}; a first pass over the data or a store that fills looks the same for up to {fills}"
                ),
            ),
            decides_at: Some(since + needed),
        }
    }
}

/// How far the floor may lie off the line of the growth, as a share of the growth.
const OFF_THE_LINE: f64 = 0.1;

/// Where growth at this pace began: a steady end of the line often begins at its newest ripple, and what
/// lies before it is on the same line.
fn since(line: &Line, tail: &Tail) -> f64 {
    let margin = (OFF_THE_LINE * tail.growth()).max(4.0 * tail.noise);
    let at = |x: f64| tail.level + tail.slope * (x - tail.from);
    let on_it = |i: &usize| (line.ys[*i] - at(line.xs[*i])).abs() <= margin;
    let first = line.xs.partition_point(|x| *x < tail.from);
    let began = (0..first).rev().take_while(on_it).last().unwrap_or(first);
    line.xs.get(began).copied().unwrap_or(tail.from)
}
