//! What happened in the loop, counted where it happened: evaluations, saves, log calls, epochs,
//! started workers, slow steps. Marks, members and records feed it; `explain` asks which of these
//! counts the growth follows.

use std::collections::VecDeque;

use crate::mark::{Mark, Phase};
use crate::stats;
use crate::units::Micros;

use super::thin::Thin;

/// Moments kept of one kind: every one of them up to here, every second up to twice that, ...
const KEPT: usize = 128;

/// Durations that say what a usual step takes.
const USUAL: usize = 33;
/// Before so many steps nothing is usual.
const LEAST_STEPS: usize = 8;
/// A step is slow from this many times the usual one on: a recompilation takes 3 to 100 times as long.
const SLOW: f64 = 3.0;
/// And by this many seconds: below, a busy machine does the same.
const SLOW_SECONDS: f64 = 0.2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct At {
    pub seconds: f64,
    pub step: Option<f64>,
}

/// One kind of happening.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Thin<At, KEPT>);

impl Count {
    pub(crate) fn push(&mut self, at: At) {
        self.0.push(at);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.count()
    }

    /// Every one of them is kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.stride() == 1
    }

    pub(crate) fn first(&self) -> Option<At> {
        self.0.first().copied()
    }

    /// Where they were, as far as that is kept: every second or fourth one when there were many.
    pub(crate) fn places(&self, place: impl Fn(&At) -> Option<f64>) -> Vec<f64> {
        self.0.kept().iter().filter_map(place).collect()
    }

    /// How many there were before this place on the axis, which `place` finds in a moment.
    pub(crate) fn before(&self, x: f64, place: impl Fn(&At) -> Option<f64>) -> f64 {
        let kept = self.0.kept();
        let stride = self.0.stride() as f64;
        let earlier = kept.partition_point(|at| place(at).is_some_and(|p| p < x));
        let whole = match earlier {
            0 => return 0.0,
            n => (n - 1) as f64 * stride + 1.0,
        };
        let rest = self.0.count() as f64 - whole;
        let from = place(&kept[earlier - 1]);
        let to = kept.get(earlier).or(self.0.last()).and_then(&place);
        let (Some(from), Some(to)) = (from, to) else {
            return whole;
        };
        // Of those between two kept ones it is known how many, not where: spread them evenly.
        let between = (stride - 1.0).min(rest);
        let share = if to > from {
            (x - from) / (to - from)
        } else {
            1.0
        };
        whole + (between * share.clamp(0.0, 1.0)).floor()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Occurrences {
    pub evaluations: Count,
    pub saves: Count,
    pub logs: Count,
    pub epochs: Count,
    pub worker_starts: Count,
    pub slow_steps: Count,
    phase: Option<Phase>,
    epoch: Option<f64>,
    /// Epochs that fell belong to an inner loop, or to another fold: none is a pass over the data.
    epochs_begin_anew: bool,
    step: Option<(Micros, u64)>,
    /// Something else than training happened since the last step: its length says nothing.
    mixed: bool,
    durations: VecDeque<f64>,
}

impl Occurrences {
    /// A mark that the run's steps accepted, and the phase and step after it.
    pub(crate) fn mark(&mut self, mark: &Mark, phase: Option<Phase>, step: Option<u64>) {
        let at = At {
            seconds: mark.at.seconds(),
            step: step.map(|step| step as f64),
        };
        if phase != self.phase {
            match phase {
                Some(Phase::Eval) => self.evaluations.push(at),
                Some(Phase::Save) => self.saves.push(at),
                _ => {}
            }
            self.phase = phase;
        }
        self.mixed |= !matches!(phase, None | Some(Phase::Train));
        if let Some(epoch) = mark.epoch.filter(|epoch| epoch.is_finite()) {
            let before = self.epoch.replace(epoch).map_or(epoch, f64::floor);
            if epoch.floor() > before {
                self.epochs.push(at);
            }
            self.epochs_begin_anew |= epoch.floor() < before;
        }
        if let Some(step) = step {
            self.pace(mark.at, step, at);
        }
    }

    fn pace(&mut self, at: Micros, step: u64, place: At) {
        let Some((since, before)) = self.step else {
            self.step = Some((at, step));
            return;
        };
        if step == before {
            return;
        }
        self.step = Some((at, step));
        let mixed = std::mem::take(&mut self.mixed);
        if step < before || mixed {
            return;
        }
        let took = at.since(since).seconds() / (step - before) as f64;
        if self.durations.len() >= LEAST_STEPS {
            let mut durations: Vec<f64> = self.durations.iter().copied().collect();
            let usual = stats::median(&mut durations).unwrap_or(took);
            if took > SLOW * usual && took > usual + SLOW_SECONDS {
                self.slow_steps.push(place);
            }
        }
        if self.durations.len() >= USUAL {
            self.durations.pop_front();
        }
        self.durations.push_back(took);
    }

    /// Where passes over the data ended.
    pub(crate) fn passes(&self) -> Option<&Count> {
        (!self.epochs_begin_anew).then_some(&self.epochs)
    }

    /// Another counter is the axis now: what was counted on the old one is forgotten.
    pub(crate) fn forget_steps(&mut self) {
        let worker_starts = std::mem::take(&mut self.worker_starts);
        *self = Occurrences {
            worker_starts,
            ..Occurrences::default()
        };
    }

    /// Whether the length of steps is known at all.
    pub(crate) fn paced(&self) -> bool {
        self.durations.len() >= LEAST_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> At {
        At {
            seconds: n as f64,
            step: Some(n as f64),
        }
    }

    fn mark(second: f64) -> Mark {
        Mark {
            at: Micros((second * 1e6) as u64),
            ..Mark::default()
        }
    }

    #[test]
    fn a_count_knows_how_many_came_before() {
        let mut count = Count::default();
        for n in 1..=10 {
            count.push(at(n * 10));
        }
        assert_eq!(count.before(10.0, |at| at.step), 0.0);
        assert_eq!(count.before(11.0, |at| at.step), 1.0);
        assert_eq!(count.before(1e9, |at| at.step), 10.0);
        for n in 11..=10_000 {
            count.push(at(n * 10));
        }
        let half = count.before(50_000.0, |at| at.step);
        assert!((half - 5000.0).abs() < 100.0, "{half}");
        assert_eq!(count.before(1e9, |at| at.step), 10_000.0);
    }

    #[test]
    fn a_phase_counts_when_it_begins() {
        let mut occurrences = Occurrences::default();
        for (second, phase) in [
            (1.0, Phase::Train),
            (2.0, Phase::Eval),
            (3.0, Phase::Eval),
            (4.0, Phase::Train),
            (5.0, Phase::Eval),
            (6.0, Phase::Save),
        ] {
            occurrences.mark(&mark(second), Some(phase), Some(1));
        }
        assert_eq!(occurrences.evaluations.total(), 2);
        assert_eq!(occurrences.saves.total(), 1);
    }

    #[test]
    fn a_slow_step_is_one_among_usual_ones_and_no_evaluation() {
        let mut occurrences = Occurrences::default();
        let mut second = 0.0;
        for step in 1..=40_u64 {
            second += match step {
                20 => 5.0,
                _ => 0.5,
            };
            if step == 30 {
                occurrences.mark(&mark(second), Some(Phase::Eval), Some(29));
                second += 9.0;
            }
            occurrences.mark(&mark(second), Some(Phase::Train), Some(step));
        }
        assert_eq!(occurrences.slow_steps.total(), 1);
        assert_eq!(occurrences.slow_steps.first().unwrap().step, Some(20.0));
    }
}
