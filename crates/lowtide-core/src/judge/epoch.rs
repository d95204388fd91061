//! One pass over the data: how long it is, where the first one began and from where on its end can be seen.
//! Rules about epochs ask here (`ending/first_pass`, `ending/outlasts_epoch`, `flat/ends_at_epoch`).

use crate::mark::Geometry;
use crate::point::{Context, Round, RoundKind};
use crate::stats;
use crate::verdict::{Axis, Certainty};

use super::line::FloorLine;

/// How much of the next epoch has to be seen before an end is visible.
pub(crate) const SEEN: f64 = 0.25;
/// Ends of epochs that are laid against the floor: it has not more points to tell them apart.
const MOST_ENDS: f64 = 128.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Epoch {
    pub steps: f64,
    /// Where the first pass began.
    pub begin: f64,
    /// Where its last new example is in memory. A sample of a marked loop bears the number of steps
    /// that are done and is taken within the next, whose examples are loaded at its beginning; a
    /// number that was printed with a step is from its end.
    pub filled_at: f64,
    pub examples_per_step: Option<f64>,
    /// Passes after which what is kept per example grows at half its pace at most. One, where one process
    /// sees all examples in a pass; workers and ranks that share a pass see other parts in the next.
    pub passes: f64,
}

/// A pass of `shards` processes leaves each of them all but its share to see. After so many passes half of
/// the examples are new to it at most.
fn passes(shards: f64) -> f64 {
    if shards <= 1.0 {
        return 1.0;
    }
    (0.5_f64.ln() / (1.0 - 1.0 / shards).ln()).ceil()
}

/// Epochs have stopped when none ended for so many times their length.
const STOPPED: f64 = 4.0;

/// Two ends closer than this share of the widest distance are one: its result is printed, and then the
/// next epoch.
const APART: f64 = 0.25;

fn apart(ends: &[f64]) -> Vec<f64> {
    let gaps = ends.windows(2).map(|two| two[1] - two[0]);
    let least = APART * gaps.fold(0.0, f64::max);
    let mut kept: Vec<f64> = Vec::new();
    for end in ends {
        if kept.last().is_none_or(|last| end - last > least) {
            kept.push(*end);
        }
    }
    kept
}

/// A run begins with an epoch if its first step is within this share of one. What it has not seen then is
/// spread over the next epoch, where growth runs at that share of its pace: clearly slower.
pub(super) const AT_THE_START: f64 = 0.3;

impl Epoch {
    pub(crate) fn of(axis: Axis, context: &Context, line: &FloorLine) -> Option<Epoch> {
        // What is printed contradicts itself: where epochs seem to end says nothing either.
        if axis != Axis::Time && context.geometry.epoch_steps == Some(Geometry::UNKNOWN) {
            return None;
        }
        // Steps, or samples of which somebody says how many are one round of the same work.
        let told = context.geometry.steps_per_epoch();
        let Some(steps) = told.filter(|_| axis != Axis::Time) else {
            return Epoch::between(context, line);
        };
        let next = |first: f64| (first / steps).ceil() * steps;
        // Steps that are printed now and then begin with the first that is.
        let stride = line.xs.get(1).map_or(0.0, |second| second - line.xs[0]);
        let start = (AT_THE_START * steps).max(stride);
        // A worker that was started later has its first pass later.
        let own = |first: f64| match line.first_x() - first > start {
            true => line.first_x(),
            false => first,
        };
        let begin = match context.first_step.filter(|_| context.marked).map(own) {
            // Until the next epoch ends, some examples may not have been seen by this process: it was
            // started again from a checkpoint, by us or by somebody else, or ran before we came.
            Some(first) if context.resumed || first % steps > start => next(first),
            Some(first) => first,
            // Steps are counted from the start of the run, and the first log line comes a little later.
            None if line.first_x() <= steps => 0.0,
            // A run that was resumed or attached to.
            None => next(line.first_x()),
        };
        Some(Epoch {
            steps,
            begin,
            filled_at: begin + steps - f64::from(u8::from(context.marked)),
            examples_per_step: context.geometry.examples_per_step().or_else(|| {
                let examples = context.geometry.examples? as f64;
                Some(examples / steps)
            }),
            passes: passes(context.shards),
        })
    }

    /// From where epochs were seen to end: the first end is that of a pass whose length the others show.
    fn between(context: &Context, line: &FloorLine) -> Option<Epoch> {
        let ends = apart(&context.epoch_ends);
        let mut lengths: Vec<f64> = ends.windows(2).map(|two| two[1] - two[0]).collect();
        let steps = stats::median(&mut lengths).filter(|length| *length > 0.0)?;
        // A counter that has stopped while the job goes on, such as that of ten files which are read first, was none
        // of passes over the data, or tells nothing of what came after them.
        if line.last_x() - ends[ends.len() - 1] > STOPPED * steps {
            return None;
        }
        // The pass before the first end counts if it was watched whole.
        let whole = ends[0] - steps >= line.first_x() - AT_THE_START * steps;
        let begin = match whole && !context.resumed {
            true => ends[0] - steps,
            false => ends[0],
        };
        Some(Epoch {
            steps,
            begin,
            filled_at: begin + steps,
            examples_per_step: None,
            passes: passes(context.shards),
        })
    }

    /// Told or counted, or worked out from a fraction that was printed and not passed yet.
    pub(crate) fn certainty(&self, context: &Context, last: f64) -> Certainty {
        let counted = context.geometry.examples_per_step().is_some();
        if counted && context.geometry.examples.is_some() || last >= self.end() {
            Certainty::Exact
        } else {
            Certainty::Inferred
        }
    }

    pub(crate) fn end(&self) -> f64 {
        self.begin + self.steps
    }

    /// Where what is kept per example has ended, or fell to half its pace.
    pub(crate) fn faded_at(&self) -> f64 {
        self.begin + self.passes * self.steps
    }

    /// From here on that can be seen.
    pub(crate) fn seen_at(&self) -> f64 {
        self.faded_at() + SEEN * self.steps
    }

    /// Where the epochs until `to` ended.
    pub(crate) fn ends(self, to: f64) -> impl Iterator<Item = Round> {
        let many = ((to - self.begin) / self.steps).clamp(0.0, MOST_ENDS);
        (1..=many as u32).map(move |nth| Round {
            kind: RoundKind::Epoch,
            x: self.begin + f64::from(nth) * self.steps,
        })
    }
}
