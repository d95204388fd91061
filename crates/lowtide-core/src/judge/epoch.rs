//! Rule "first pass over the data": whatever is kept once per example grows until every example was
//! seen once. Before the end of the first epoch could be seen, such growth is never called a leak.

use crate::point::Context;
use crate::verdict::Axis;

use super::line::Line;

/// How much of a second epoch has to be seen before its end is visible.
const SEEN: f64 = 1.25;
/// Growth that stopped this close to the end of the epoch (as a share of it) stopped with it.
const WITH_THE_EPOCH: f64 = 0.15;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    pub steps: f64,
    /// Where the first pass began.
    pub begin: f64,
    /// Where its last new example is in memory. A sample of a marked loop bears the number of steps
    /// that are done and is taken within the next, whose examples are loaded at its beginning; a
    /// number that was printed with a step is from its end.
    pub filled_at: f64,
    pub examples_per_step: Option<f64>,
}

impl Epoch {
    pub fn of(axis: Axis, context: &Context, line: &Line) -> Option<Epoch> {
        if axis != Axis::Step {
            return None;
        }
        let steps = context.geometry.steps_per_epoch()?;
        let begin = match context.first_step.filter(|_| context.marked) {
            // Until the next epoch ends, some examples may not have been seen by this process.
            Some(first) if context.resumed => (first / steps).ceil() * steps,
            Some(first) => first,
            // Steps are counted from the start of the run, and the first log line comes a little later.
            None if line.first_x() <= steps => 0.0,
            // A run that was resumed or attached to: its first pass began when we came.
            None => line.first_x(),
        };
        Some(Epoch {
            steps,
            begin,
            filled_at: begin + steps - f64::from(u8::from(context.marked)),
            examples_per_step: context.geometry.examples_per_step().or_else(|| {
                let examples = context.geometry.examples? as f64;
                Some(examples / steps)
            }),
        })
    }

    pub fn end(&self) -> f64 {
        self.begin + self.steps
    }

    /// From here on the end of the epoch can be seen.
    pub fn seen_at(&self) -> f64 {
        self.begin + SEEN * self.steps
    }

    pub fn ended_with(&self, x: f64, spacing: f64) -> bool {
        (x - self.end()).abs() <= (WITH_THE_EPOCH * self.steps).max(spacing)
    }
}
