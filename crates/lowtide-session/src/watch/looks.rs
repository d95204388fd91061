//! When to look into which process, and the thread that does it: a look takes up to seconds, and a tick
//! must not wait for it. What it found comes back with a later tick.
//!
//! Any number of examiners can look. Each has its own pauses for each process; one thread drives them one
//! after the other, and all of them live on one budget (`schedule`). A census of a Python process's objects costs
//! seconds and memory, so it has terms of its own (`census`).

mod census;
mod schedule;

use std::sync::mpsc::{Receiver, Sender, channel};

use lowtide_core::look::{Examine, Look, LookWhy, Options};
use lowtide_core::process::ProcId;
use lowtide_core::sample::Gap;
use lowtide_core::units::Micros;

pub(super) use census::{CensusExaminer, Spared};
use schedule::{Due, Schedule};
pub(super) use schedule::{Reached, Target};

/// An examiner, and on what terms it looks.
pub(super) enum Examiner {
    /// Into any process: milliseconds, and hardly any memory.
    Light(Box<dyn Examine>),
    /// Over all objects of a Python process.
    Census(Box<dyn Examine>),
}

impl Examiner {
    fn kind(&self) -> Kind {
        match self {
            Examiner::Light(_) => Kind::Light,
            Examiner::Census(_) => Kind::Census,
        }
    }

    fn examine(&mut self, id: ProcId, options: Options) -> Answer {
        let (Examiner::Light(examiner) | Examiner::Census(examiner)) = self;
        examiner.examine(id, options)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Light,
    Census,
}

type Answer = Result<Look, Gap>;

/// What was known when a look was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    due: Due,
    step: Option<u64>,
}

/// The schedule and its thread.
pub(super) struct Looks {
    schedule: Schedule,
    ask: Sender<(Due, Options)>,
    answers: Receiver<Answer>,
    /// The look that the thread is at.
    underway: Option<Asked>,
}

impl Looks {
    /// None: no thread could be had; then there are no looks.
    pub(super) fn start(mut examiners: Vec<Examiner>) -> Option<Looks> {
        let schedule = Schedule::new(examiners.iter().map(Examiner::kind).collect());
        let (ask, asked) = channel::<(Due, Options)>();
        let (answer, answers) = channel();
        // Not joined: it ends with its last look, at most seconds after us.
        std::thread::Builder::new()
            .name("looks".to_owned())
            .spawn(move || {
                for (due, options) in asked {
                    let Some(examiner) = examiners.get_mut(due.examiner) else {
                        return;
                    };
                    if answer.send(examiner.examine(due.id, options)).is_err() {
                        return;
                    }
                }
            })
            .ok()?;
        Some(Looks {
            schedule,
            ask,
            answers,
            underway: None,
        })
    }

    /// A look is wanted soon: the verdict changed, or the guard warned.
    pub(super) fn soon(&mut self, why: LookWhy) {
        self.schedule.soon(why);
    }

    /// What the thread has found since the last call. What refuses a census is told by who reads steps from the same
    /// objects on every tick (`inside`): once is enough. `step` is where the loop is now.
    pub(super) fn found(&mut self, step: Option<u64>) -> Option<Answer> {
        let mut answer = self.answers.try_recv().ok()?;
        let asked = self.underway.take()?;
        self.schedule.took(asked.due, &answer);
        if self.schedule.kind(asked.due) != Kind::Census {
            return Some(answer);
        }
        let look = answer.as_mut().ok()?;
        if let Some(heap) = &mut look.heap {
            // The run's own steps: rates are told by the same axis as everywhere. It was read meanwhile.
            let middle = asked.step.zip(step).map(|(from, to)| from.midpoint(to));
            heap.step = middle.or(heap.step);
        }
        Some(answer)
    }

    /// A census that was not taken because it would take too much memory itself: told once.
    pub(super) fn spared(&mut self) -> Option<Spared> {
        self.schedule.spared()
    }

    /// Asks for the look that is due, if any: into the watched process, into the one that the verdict
    /// names, into those that grow beside it. `all` is the tree, `headroom` what is left below the limit.
    pub(super) fn turn(
        &mut self,
        now: Micros,
        all: &[Target],
        wanted: [Option<ProcId>; 2],
        reached: Reached,
        headroom: Option<f64>,
    ) {
        let targets = self.schedule.targets(now, all, wanted);
        if self.underway.is_some() {
            return;
        }
        let Some(due) = self.schedule.due(now, &targets, reached, headroom) else {
            return;
        };
        let target = targets.iter().find(|target| target.id == due.id);
        let options = Options {
            at: now,
            why: due.why,
            within: self.schedule.within(now, due, target),
        };
        let step = reached.step;
        let asked = Asked { due, step };
        self.underway = self.ask.send((due, options)).is_ok().then_some(asked);
    }
}
