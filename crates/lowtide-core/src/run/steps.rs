//! Where the training loop is: folds marks into the current step, phase and geometry.

use std::collections::VecDeque;

use crate::look::Look;
use crate::mark::{Counter, Geometry, LoopObject, Mark, MarkSource, Phase, TrainingLoop};
use crate::units::Micros;

#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    source: Option<MarkSource>,
    /// What counts, where steps are read from memory.
    counter: Option<Counter>,
    current: Option<u64>,
    first: Option<(Micros, u64)>,
    last: Option<(Micros, u64)>,
    /// The newest steps, for those who ask what happened last.
    newest: VecDeque<(Micros, u64)>,
    /// The newest ticks, each with the step that was known then.
    ticks: VecDeque<(Micros, u64)>,
    /// The first step of the first attempt, and the furthest of all.
    began: Option<u64>,
    furthest: Option<u64>,
    distinct: u64,
    total: Option<u64>,
    phase: Option<Phase>,
    /// As the loop itself tells it, and as its output shows it.
    told: Geometry,
    shown: Geometry,
    /// The same of whose loop it is.
    told_loop: Option<TrainingLoop>,
    shown_loop: Option<TrainingLoop>,
}

/// One moment of the run, as a series needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepMoment {
    pub seconds: f64,
    pub step: Option<f64>,
    pub phase: Option<Phase>,
}

/// Steps that are remembered with their time.
const NEWEST: usize = 6;
/// Ticks that are: a look may take seconds, and comes with a later one.
const TICKS: usize = 16;

/// Steps are the axis once this many different ones were seen: one or two may be an accident of the output.
const STEPS_NEEDED: u64 = 3;

/// The loop itself knows best; once it speaks, guesses from its output are ignored. What is printed are steps
/// as the author counts them, an object in memory may count something else; a state file is of an earlier moment.
fn source_rank(source: MarkSource) -> u8 {
    match source {
        MarkSource::Callback => 3,
        MarkSource::Output | MarkSource::Other => 2,
        MarkSource::Memory => 1,
        MarkSource::TrainerState => 0,
    }
}

fn object_rank(object: Option<LoopObject>) -> u8 {
    object.map_or(0, LoopObject::rank)
}

/// Of two marks of one source, the better object counts: batches of a bar are not on the axis of optimizer steps.
fn rank_of(mark: &Mark) -> (u8, u8) {
    (source_rank(mark.source), object_rank(mark.object))
}

impl Steps {
    /// True when a better source took over: what was counted before is not on its axis.
    pub(super) fn mark(&mut self, mark: &Mark) -> bool {
        if let Some(geometry) = &mark.geometry {
            match mark.source {
                MarkSource::Callback => self.told.merge(geometry),
                MarkSource::Output
                | MarkSource::Memory
                | MarkSource::TrainerState
                | MarkSource::Other => self.shown.merge(geometry),
            }
        }
        match mark.source {
            MarkSource::Callback => self.told_loop = mark.training_loop.or(self.told_loop),
            // Nobody else writes that file.
            MarkSource::TrainerState => self.shown_loop = Some(TrainingLoop::Trainer),
            MarkSource::Memory => {
                let by_object = mark.object.and_then(LoopObject::training_loop);
                self.shown_loop = mark.training_loop.or(by_object).or(self.shown_loop);
            }
            MarkSource::Output | MarkSource::Other => {
                self.shown_loop = mark.training_loop.or(self.shown_loop)
            }
        }
        let mut took_over = false;
        match self.rank() {
            Some(rank) if rank_of(mark) < rank => return false,
            // What only tells of the loop's data counts nothing anew.
            Some(rank) if rank_of(mark).0 == rank.0 && mark.step.is_none() => {}
            Some(rank) if rank_of(mark) > rank => {
                took_over = true;
                *self = Steps {
                    told: self.told,
                    shown: self.shown,
                    told_loop: self.told_loop,
                    shown_loop: self.shown_loop,
                    ..Steps::default()
                };
            }
            _ => {}
        }
        self.source = Some(mark.source);
        let counter = (mark.source == MarkSource::Memory).then_some(Counter {
            object: mark.object,
            pid: mark.pid,
        });
        self.counter = self.counter.or(counter);
        // In a distributed job every rank marks the same steps: one is enough.
        if mark.rank.is_some_and(|rank| rank != 0) {
            return took_over;
        }
        // A state file says where the run was when it saved, not what it does now.
        if mark.source != MarkSource::TrainerState {
            self.phase = mark.phase.or(self.phase);
        }
        self.total = mark.total_steps.or(self.total);
        if mark.step.is_some() {
            self.counter = counter;
        }
        if let Some(step) = mark.step {
            if self.current != Some(step) {
                self.distinct += 1;
                self.newest.push_back((mark.at, step));
                if self.newest.len() > NEWEST {
                    self.newest.pop_front();
                }
            }
            self.began.get_or_insert(step);
            self.furthest = self.furthest.max(Some(step));
            self.first.get_or_insert((mark.at, step));
            self.last = Some((mark.at, step));
            self.current = Some(step);
        }
        took_over
    }

    /// Whether a mark counts: a better source speaks otherwise.
    pub(super) fn hears(&self, mark: &Mark) -> bool {
        self.rank().is_none_or(|rank| rank_of(mark) >= rank)
    }

    fn rank(&self) -> Option<(u8, u8)> {
        let object = self.counter.and_then(|counter| counter.object);
        Some((source_rank(self.source?), object_rank(object)))
    }

    /// Another attempt counts on from its checkpoint; until it says where, no step is known.
    pub(super) fn next_attempt(&mut self) {
        self.current = None;
        self.first = None;
        self.last = None;
        self.distinct = 0;
        self.phase = None;
        self.ticks.clear();
    }

    pub(super) fn tick(&mut self, at: Micros) {
        let Some(step) = self.current else { return };
        self.ticks.push_back((at, step));
        if self.ticks.len() > TICKS {
            self.ticks.pop_front();
        }
    }

    /// Where the loop was in the middle of a look. One from outside enters the recording with a later tick:
    /// between two ticks the loop is taken to go on evenly. One from inside comes when it is taken.
    pub(super) fn at_look(&self, look: &Look) -> Option<u64> {
        let current = self.current?;
        if look.objects.is_some() {
            return Some(current);
        }
        let middle = look.at.seconds() + look.cost.wall.seconds() / 2.0;
        let later = self.ticks.partition_point(|(at, _)| at.seconds() < middle);
        let before = later.checked_sub(1).and_then(|nth| self.ticks.get(nth));
        Some(match (before, self.ticks.get(later)) {
            (Some((from, old)), Some((to, new))) if new >= old => {
                let share = (middle - from.seconds()) / to.since(*from).seconds();
                old + ((new - old) as f64 * share).round() as u64
            }
            (None, Some((_, oldest))) => *oldest,
            _ => current,
        })
    }

    pub(super) fn moment(&self, at: Micros) -> StepMoment {
        // After the last step comes a last evaluation, a last save and the freeing of everything:
        // none of it says how the loop's memory behaves.
        let over = self
            .total
            .is_some_and(|total| total > 0 && self.current == Some(total));
        StepMoment {
            seconds: at.seconds(),
            step: self.current.map(|step| step as f64),
            phase: if over { Some(Phase::End) } else { self.phase },
        }
    }

    /// Whether steps are the axis to judge on.
    pub(super) fn usable(&self) -> bool {
        self.distinct >= STEPS_NEEDED
    }

    pub(super) fn current(&self) -> Option<u64> {
        self.current
    }

    /// The newest steps with the time at which they were done, oldest first.
    pub(super) fn newest(&self) -> impl Iterator<Item = (Micros, u64)> {
        self.newest.iter().copied()
    }

    /// The first step of the run, in whichever attempt.
    pub(super) fn began(&self) -> Option<u64> {
        self.began
    }

    /// The furthest step of the run, in whichever attempt.
    pub(super) fn furthest_step(&self) -> Option<u64> {
        self.furthest
    }

    /// Steps between two that are told: a job that prints every tenth is known to within ten.
    pub(super) fn stride(&self) -> f64 {
        let range = self.first.zip(self.last);
        let steps = range.map_or(0, |((_, first), (_, last))| last.saturating_sub(first));
        steps as f64 / self.distinct.saturating_sub(1).max(1) as f64
    }

    pub(super) fn phase(&self) -> Option<Phase> {
        self.phase
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.first.map(|(_, step)| step)
    }

    pub(super) fn total(&self) -> Option<u64> {
        // A total that was passed is none: that of one epoch, or of another counter.
        self.total.filter(|total| self.current <= Some(*total))
    }

    pub(super) fn source(&self) -> Option<MarkSource> {
        self.source
    }

    /// What counts in memory, where steps come from there.
    pub(super) fn counter(&self) -> Option<Counter> {
        self.counter
    }

    pub(super) fn training_loop(&self) -> Option<TrainingLoop> {
        self.told_loop.or(self.shown_loop)
    }

    pub(super) fn geometry(&self) -> Geometry {
        let mut geometry = self.shown;
        if self.told.steps_per_epoch().is_some() {
            // The length that the output shows would beat the one that follows from what was told.
            geometry.epoch_steps = None;
        }
        geometry.merge(&self.told);
        geometry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{Examiner, LookWhy, Objects};
    use crate::process::ProcId;

    fn mark(at: u64, step: u64, source: MarkSource) -> Mark {
        Mark {
            at: Micros(at),
            step: Some(step),
            source,
            ..Mark::default()
        }
    }

    fn of_object(at: u64, step: Option<u64>, object: LoopObject) -> Mark {
        Mark {
            at: Micros(at),
            source: MarkSource::Memory,
            pid: Some(42),
            step,
            object: Some(object),
            ..Mark::default()
        }
    }

    #[test]
    fn the_callback_overrules_the_output() {
        let mut steps = Steps::default();
        steps.mark(&mark(1, 700, MarkSource::Output));
        steps.mark(&mark(2, 3, MarkSource::Callback));
        steps.mark(&mark(3, 701, MarkSource::Output));
        assert_eq!(steps.current(), Some(3));
        assert_eq!(steps.first(), Some(3));
    }

    #[test]
    fn memory_stands_between_the_output_and_a_state_file() {
        let mut steps = Steps::default();
        assert!(!steps.mark(&mark(1, 500, MarkSource::TrainerState)));
        assert!(steps.mark(&mark(2, 600, MarkSource::Memory)));
        assert!(!steps.mark(&mark(3, 500, MarkSource::TrainerState)));
        assert_eq!(steps.current(), Some(600));
        assert!(steps.mark(&mark(4, 3, MarkSource::Output)));
        assert!(!steps.mark(&mark(5, 601, MarkSource::Memory)));
        assert_eq!((steps.current(), steps.counter()), (Some(3), None));
    }

    #[test]
    fn memory_tells_phases_geometry_and_whose_loop_it_is() {
        let mut steps = Steps::default();
        steps.mark(&Mark {
            phase: Some(Phase::Eval),
            geometry: Some(Geometry {
                epoch_steps: Some(40.0),
                ..Geometry::default()
            }),
            ..of_object(1, Some(7), LoopObject::LightningLoop)
        });
        assert_eq!(steps.phase(), Some(Phase::Eval));
        assert_eq!(steps.geometry().steps_per_epoch(), Some(40.0));
        assert_eq!(steps.training_loop(), Some(TrainingLoop::Lightning));
        let counter = steps.counter().unwrap();
        assert_eq!(counter.to_string(), "Lightning's loop in 42's memory");
    }

    #[test]
    fn a_better_object_takes_over_and_a_worse_one_is_not_mixed_in() {
        let mut steps = Steps::default();
        steps.mark(&of_object(1, Some(800), LoopObject::Bar));
        assert!(steps.mark(&of_object(2, Some(100), LoopObject::TrainerState)));
        assert_eq!(steps.first(), Some(100));
        let bar = of_object(3, Some(801), LoopObject::Bar);
        assert!(!steps.mark(&bar));
        assert!(!steps.hears(&bar));
        // Nor does a loader that only tells how much data there is.
        steps.mark(&of_object(4, None, LoopObject::DataLoader));
        assert_eq!(steps.current(), Some(100));
        let counter = steps.counter().unwrap();
        assert_eq!(counter.object, Some(LoopObject::TrainerState));
    }

    #[test]
    fn a_look_has_the_step_of_its_time_not_of_its_coming() {
        let second = |at: f64| Micros((at * 1e6) as u64);
        let mut steps = Steps::default();
        for tick in 1..=20u64 {
            steps.mark(&mark(tick * 1_000_000 - 1, tick * 30, MarkSource::Callback));
            steps.tick(second(tick as f64));
        }
        let id = ProcId { pid: 1, start: 1 };
        let mut look = Look::new(second(17.4), id, LookWhy::Due, Examiner::Mappings);
        look.cost.wall = second(0.2);
        assert_eq!(steps.at_look(&look), Some(525));
        // Longer ago than is remembered, and after the last tick.
        look.at = second(1.0);
        assert_eq!(steps.at_look(&look), Some(150));
        look.at = second(20.4);
        assert_eq!(steps.at_look(&look), Some(600));
        look.at = second(17.4);
        look.objects = Some(Objects::default());
        assert_eq!(steps.at_look(&look), Some(600));
        assert_eq!(Steps::default().at_look(&look), None);
    }

    #[test]
    fn a_job_that_prints_every_tenth_step_is_known_to_within_ten() {
        let mut steps = Steps::default();
        assert_eq!(steps.stride(), 0.0);
        for step in [10, 20, 20, 30, 40] {
            steps.mark(&mark(step, step, MarkSource::Output));
        }
        assert_eq!(steps.stride(), 10.0);
    }

    #[test]
    fn two_steps_are_no_axis_yet() {
        let mut steps = Steps::default();
        for (at, step) in [(1, 1), (2, 1), (3, 2)] {
            steps.mark(&mark(at, step, MarkSource::Output));
        }
        assert!(!steps.usable());
        steps.mark(&mark(4, 3, MarkSource::Output));
        assert!(steps.usable());
    }

    #[test]
    fn what_follows_the_last_step_is_the_end() {
        let mut steps = Steps::default();
        steps.mark(&Mark {
            total_steps: Some(9),
            ..mark(1, 8, MarkSource::Output)
        });
        assert_eq!(steps.moment(Micros(2)).phase, None);
        steps.mark(&mark(3, 9, MarkSource::Output));
        assert_eq!(steps.moment(Micros(4)).phase, Some(Phase::End));
    }

    #[test]
    fn a_total_that_was_passed_is_none() {
        let mut steps = Steps::default();
        steps.mark(&Mark {
            total_steps: Some(9),
            ..mark(1, 9, MarkSource::Output)
        });
        assert_eq!(steps.total(), Some(9));
        steps.mark(&mark(2, 10, MarkSource::Output));
        assert_eq!(steps.total(), None);
        assert_eq!(steps.moment(Micros(3)).phase, None, "it goes on");
    }

    #[test]
    fn the_loop_knows_its_epochs_better_than_its_output() {
        let with = |source, epoch_steps, examples| Mark {
            geometry: Some(Geometry {
                epoch_steps,
                examples,
                batch: examples.map(|_| 8),
                ..Geometry::default()
            }),
            ..mark(1, 1, source)
        };
        let mut steps = Steps::default();
        steps.mark(&with(MarkSource::Callback, None, Some(664)));
        steps.mark(&with(MarkSource::Output, Some(40.0), None));
        assert_eq!(steps.geometry().steps_per_epoch(), Some(83.0));
        let mut untold = Steps::default();
        untold.mark(&mark(1, 1, MarkSource::Callback));
        untold.mark(&with(MarkSource::Output, Some(40.0), None));
        assert_eq!(untold.geometry().steps_per_epoch(), Some(40.0));
    }

    #[test]
    fn other_ranks_do_not_count_steps_twice() {
        let mut steps = Steps::default();
        steps.mark(&Mark {
            rank: Some(1),
            ..mark(1, 9, MarkSource::Callback)
        });
        assert_eq!(steps.current(), None);
    }
}
