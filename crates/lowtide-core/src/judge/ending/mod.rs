//! Will it end? Growth that is shown is a leak only when something would have ended it and did not. A
//! straight line says nothing of that; knowledge does: an epoch that passed, rounds of the same work that
//! each added to it, reserved memory, or a time that few stores take to fill.

pub(super) mod first_pass;
pub(super) mod may_fade;
pub(super) mod no_end_known;
pub(super) mod outlasts_epoch;
pub(super) mod outlasts_fills;
pub(super) mod reserved;
pub(super) mod reserved_full;
pub(super) mod rounds;

use super::decide::Case;
use super::epoch::Epoch;
use super::limit;
use super::line::FloorLine;
use super::prior::{Lasted, Prior};
use super::tail::Tail;
use crate::verdict::{Axis, Evidence};
use rounds::Rounds;

/// What is known of the end of growth that is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// It should have ended and did not; with the probability that it never does.
    Passed { says: Evidence, surely: f64 },
    /// Nobody knows; and where it will be known, if it goes on like this.
    Open {
        says: Evidence,
        decides_at: Option<f64>,
    },
}

/// What can be known beside the growth itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knowledge<'a> {
    pub axis: Axis,
    /// The line that grows.
    pub line: &'a FloorLine,
    pub epoch: Option<Epoch>,
    pub rounds: Option<&'a Rounds>,
    /// Seconds per unit of the axis.
    pub pace: Option<f64>,
    /// Somebody told how long an epoch is.
    pub told: bool,
    /// How long harmless growth lasts.
    pub prior: &'a Prior,
}

impl Knowledge<'_> {
    fn ending(&self, tail: &Tail) -> Ending {
        match (self.rounds, self.epoch) {
            (Some(rounds), _) if rounds.are_enough() => Ending::Passed {
                says: rounds.says(),
                surely: self.prior.rounds_leak(rounds.count as f64),
            },
            // What every round leaves behind was never a first pass over the data.
            (Some(rounds), _) => Ending::Open {
                says: rounds.says(),
                decides_at: None,
            },
            (None, Some(epoch)) => self.by_epoch(tail, epoch),
            (None, None) => self.by_length(tail),
        }
    }

    /// What a length on the axis comes to, by all that is counted.
    fn lasted(&self, length: f64) -> Lasted {
        let passes = |epoch: Epoch| length / (epoch.passes * epoch.steps);
        Lasted {
            epochs: self.epoch.map(passes),
            told: self.told,
            steps: (self.axis == Axis::Step).then_some(length),
            seconds: self.pace.map(|pace| length * pace),
        }
    }
}

impl Case<'_> {
    /// What is known of the end of growth that is steady.
    pub(super) fn ending(
        &self,
        (whole, line): (&FloorLine, &FloorLine),
        tail: &Tail,
        epoch: Option<Epoch>,
    ) -> Ending {
        if let Some(reserve) = self.explains() {
            return reserved_full::past_its_end(reserve);
        }
        let mut rounds = self.context.rounds.clone();
        rounds.extend(epoch.into_iter().flat_map(|epoch| epoch.ends(tail.to)));
        // Of teeth only the valleys are a floor; else the finest line tells rounds apart best.
        let floor = match std::ptr::eq(whole, line) {
            true => &self.fine,
            false => line,
        };
        let prior = &self.context.prior;
        let enough = prior.sure_rounds();
        let rounds = Rounds::of_any(floor, tail, &rounds, &self.context.kept, enough);
        let known = Knowledge {
            axis: self.axis,
            line,
            epoch,
            rounds: rounds.as_ref(),
            pace: limit::pace(self.series),
            told: self.context.told,
            prior,
        };
        known.ending(tail)
    }
}

/// How far the floor may lie off the line of the growth, as a share of the growth ...
const OFF_THE_LINE: f64 = 0.1;
/// ... or as so many times its noise: nearly every point of a noisy line lies closer to it.
const OFF_BY_NOISE: f64 = 4.0;

/// Where growth at this pace began: a steady end of the line often begins at its newest ripple, and what
/// lies before it is on the same line.
fn since(line: &FloorLine, tail: &Tail) -> f64 {
    let margin = (OFF_THE_LINE * tail.growth()).max(OFF_BY_NOISE * tail.noise);
    let at = |x: f64| tail.level + tail.slope * (x - tail.from);
    let on_it = |i: &usize| (line.ys[*i] - at(line.xs[*i])).abs() <= margin;
    let first = line.xs.partition_point(|x| *x < tail.from);
    let began = (0..first).rev().take_while(on_it).last().unwrap_or(first);
    line.xs.get(began).copied().unwrap_or(tail.from)
}
