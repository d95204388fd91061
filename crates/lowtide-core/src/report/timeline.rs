//! What the training loop told, as a picture needs it: where each step was in time, the phases, and
//! where epochs end. Bounded: a million steps leave some thousand points.

use serde::Serialize;

use crate::entry::Entry;
use crate::mark::Phase;
use crate::run::Run;

/// Points of the way from time to steps that are kept; between them it is a straight line.
const STEPS_KEPT: usize = 2048;
/// Phases that are kept: more than a screen has columns for.
const PHASES_KEPT: usize = 1024;
const EPOCHS_KEPT: usize = 512;

/// A stretch of the run in which the loop did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    pub phase: Phase,
    /// Seconds.
    pub from: f64,
    pub to: f64,
}

/// A moment at which an epoch ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EpochEnd {
    pub number: u64,
    /// Seconds; none when only the step is known.
    pub at: Option<f64>,
    pub step: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    steps: Vec<[f64; 2]>,
    /// The newest step, which may not be among those that are kept yet.
    newest: Option<[f64; 2]>,
    every: usize,
    skipped: usize,
    spans: Vec<Span>,
    /// Phases shorter than this were dropped to make room.
    shortest: f64,
    current: Option<Span>,
    epochs: Vec<EpochEnd>,
    epoch: Option<u64>,
    /// The guard has started the job again, and no step was told since.
    resumes: bool,
}

impl Timeline {
    /// To be called after the run has taken the entry in: it knows which marks count.
    pub(super) fn see(&mut self, entry: &Entry, run: &Run) {
        self.resumes |= matches!(entry, Entry::Attempt(_));
        let Entry::Mark(mark) = entry else { return };
        let at = mark.at.seconds();
        if let Some(step) = run.step() {
            self.step(at, step as f64);
        }
        if mark.rank.is_none_or(|rank| rank == 0) && run.hears(mark) {
            self.epoch_done(mark.epoch, at, run.step());
        }
        self.phase(run.phase(), at);
    }

    fn step(&mut self, at: f64, step: f64) {
        if let Some([_, before]) = self.newest {
            if step == before && !self.resumes {
                return;
            }
            if self.resumes {
                self.go_back_to(step);
            } else if step < before {
                // Another counter took over, or the loop began anew: the old steps are on another axis.
                *self = Timeline {
                    spans: std::mem::take(&mut self.spans),
                    current: self.current,
                    shortest: self.shortest,
                    ..Timeline::default()
                };
            }
        }
        self.resumes = false;
        self.newest = Some([at, step]);
        self.skipped += 1;
        if self.skipped < self.every {
            return;
        }
        self.skipped = 0;
        self.steps.push([at, step]);
        if self.steps.len() >= STEPS_KEPT {
            let mut nth = 0;
            self.steps.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every = self.every.max(1) * 2;
        }
    }

    /// An attempt goes on from a checkpoint: the steps after it were lost and are done again. What
    /// was held meanwhile stands at the place where it goes on.
    fn go_back_to(&mut self, step: f64) {
        self.steps.retain(|[_, kept]| *kept < step);
        self.epochs
            .retain(|epoch| epoch.step.is_some_and(|kept| kept < step));
        self.epoch = None;
    }

    fn epoch_done(&mut self, epoch: Option<f64>, at: f64, step: Option<u64>) {
        let Some(done) = epoch.filter(|e| e.is_finite() && *e >= 0.0) else {
            return;
        };
        let done = done as u64;
        let before = self.epoch.replace(done);
        if before.is_some_and(|before| done > before) && self.epochs.len() < EPOCHS_KEPT {
            self.epochs.push(EpochEnd {
                number: done,
                at: Some(at),
                step: step.map(|step| step as f64),
            });
        }
    }

    fn phase(&mut self, phase: Option<Phase>, at: f64) {
        if self.current.map(|span| span.phase) == phase {
            return;
        }
        if let Some(span) = self.current.take() {
            self.keep(Span { to: at, ..span });
        }
        self.current = phase.map(|phase| Span {
            phase,
            from: at,
            to: at,
        });
    }

    fn keep(&mut self, span: Span) {
        if span.to - span.from < self.shortest {
            return;
        }
        self.spans.push(span);
        while self.spans.len() > PHASES_KEPT {
            // The shortest ones would be thinner than a pixel.
            let mut lengths: Vec<f64> = self.spans.iter().map(|s| s.to - s.from).collect();
            let middle = lengths.len() / 2;
            let median = *lengths.select_nth_unstable_by(middle, f64::total_cmp).1;
            self.shortest = (median * 1.0001).max(1e-3);
            let shortest = self.shortest;
            self.spans.retain(|span| span.to - span.from >= shortest);
        }
    }

    /// Pairs of seconds and steps, both rising.
    pub(super) fn steps(&self) -> Vec<[f64; 2]> {
        let mut steps = self.steps.clone();
        if let Some(newest) = self.newest
            && steps.last() != Some(&newest)
        {
            steps.push(newest);
        }
        steps
    }

    pub(super) fn spans(&self, until: f64) -> Vec<Span> {
        let current = self.current.map(|span| Span {
            to: until.max(span.from),
            ..span
        });
        self.spans.iter().copied().chain(current).collect()
    }

    /// Where epochs ended: as told, or else by their length in steps.
    pub(super) fn epochs(&self, epoch_steps: Option<f64>) -> Vec<EpochEnd> {
        if !self.epochs.is_empty() {
            return self.epochs.clone();
        }
        let last = self.newest.map_or(0.0, |[_, step]| step);
        epoch_ends(epoch_steps, last)
            .map(|epoch| EpochEnd {
                at: epoch.step.and_then(|step| time_of(&self.steps(), step)),
                ..epoch
            })
            .collect()
    }
}

/// Epochs of a known length that end by this step.
pub(crate) fn epoch_ends(length: Option<f64>, last: f64) -> impl Iterator<Item = EpochEnd> {
    let length = length
        .filter(|length| *length >= 1.0)
        .unwrap_or(f64::INFINITY);
    let many = ((last / length) as usize).min(EPOCHS_KEPT);
    (1..=many).map(move |n| EpochEnd {
        number: n as u64,
        at: None,
        step: Some(n as f64 * length),
    })
}

fn time_of(steps: &[[f64; 2]], step: f64) -> Option<f64> {
    between(steps, step, 1)
}

/// Where a second was in steps: none before the first step, the last one after the last.
pub(super) fn step_of(steps: &[[f64; 2]], second: f64) -> Option<f64> {
    let [end, last] = *steps.last()?;
    if second >= end {
        return Some(last);
    }
    between(steps, second, 0)
}

/// From one column of the pairs to the other, in a straight line between neighbours.
fn between(pairs: &[[f64; 2]], x: f64, of: usize) -> Option<f64> {
    let at = pairs.partition_point(|pair| pair[of] <= x);
    let (after, before) = (pairs.get(at)?, pairs.get(at.checked_sub(1)?)?);
    let share = (x - before[of]) / (after[of] - before[of]);
    Some(before[1 - of] + share * (after[1 - of] - before[1 - of]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::Mark;
    use crate::units::Micros;

    fn tell(marks: impl IntoIterator<Item = Mark>) -> Timeline {
        let (mut run, mut timeline) = (Run::new(), Timeline::default());
        for mark in marks {
            let entry = Entry::Mark(mark);
            run.apply(&entry);
            timeline.see(&entry, &run);
        }
        timeline
    }

    fn at(second: u64, step: u64) -> Mark {
        Mark {
            at: Micros(second * 1_000_000),
            step: Some(step),
            ..Mark::default()
        }
    }

    #[test]
    fn a_million_steps_leave_a_bounded_rising_way() {
        let timeline = tell((0..1_000_000).map(|i| at(i, i + 1)));
        let steps = timeline.steps();
        assert!(steps.len() <= STEPS_KEPT + 1 && steps.len() > 500);
        assert!(
            steps
                .windows(2)
                .all(|w| w[0][0] < w[1][0] && w[0][1] < w[1][1])
        );
        assert_eq!(steps.last(), Some(&[999_999.0, 1_000_000.0]));
    }

    #[test]
    fn a_counter_that_begins_anew_starts_a_new_way() {
        let timeline = tell([at(1, 700), at(2, 701), at(3, 1), at(4, 2)]);
        assert_eq!(timeline.steps(), [[3.0, 1.0], [4.0, 2.0]]);
    }

    #[test]
    fn an_attempt_goes_on_where_it_was_resumed() {
        let again = Entry::Attempt(crate::entry::Attempt {
            at: Micros(6_000_000),
            ..crate::entry::Attempt::default()
        });
        let before = (1..=5).map(|i| Entry::Mark(at(i, i)));
        let after = (0..3).map(|i| Entry::Mark(at(10 + i, 4 + i)));
        let (mut run, mut timeline) = (Run::new(), Timeline::default());
        for entry in before.chain([again]).chain(after) {
            run.apply(&entry);
            timeline.see(&entry, &run);
        }
        let steps = timeline.steps();
        assert_eq!(
            steps[..4],
            [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [10.0, 4.0]]
        );
        assert_eq!(steps.last(), Some(&[12.0, 6.0]));
        // What the first attempt held after its checkpoint is not lost: it stands at the seam.
        let lost = step_of(&steps, 5.0).unwrap();
        assert!((3.0..4.0).contains(&lost), "{lost}");
    }

    #[test]
    fn epochs_are_told_or_else_computed() {
        let marks = (1..=20).map(|i| Mark {
            epoch: Some(i as f64 / 8.0),
            ..at(i, i)
        });
        let ends: Vec<u64> = tell(marks).epochs(None).iter().map(|e| e.number).collect();
        assert_eq!(ends, [1, 2]);
        let computed = tell((1..=20).map(|i| at(10 * i, i))).epochs(Some(7.5));
        assert_eq!(computed.len(), 2);
        assert_eq!(computed[0].at, Some(75.0));
    }

    #[test]
    fn phases_are_spans_and_their_number_is_bounded() {
        let phase = |second, phase| Mark {
            phase: Some(phase),
            ..at(second, second)
        };
        let timeline = tell([
            phase(1, Phase::Train),
            phase(5, Phase::Eval),
            phase(6, Phase::Train),
        ]);
        let spans = timeline.spans(9.0);
        assert_eq!(spans.len(), 3);
        assert_eq!(
            (spans[1].phase, spans[1].from, spans[1].to),
            (Phase::Eval, 5.0, 6.0)
        );
        assert_eq!(spans[2].to, 9.0);
        let many = (0..20_000).map(|i| phase(i, [Phase::Train, Phase::Eval][(i % 2) as usize]));
        assert!(tell(many).spans(3e4).len() <= PHASES_KEPT + 1);
    }
}
