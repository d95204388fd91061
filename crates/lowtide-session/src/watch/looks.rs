//! When to look into which process, and the threads that do it: a look takes up to seconds, and a tick
//! must not wait for it. What it found comes back with a later tick.
//!
//! Any number of examiners can look. Each has its own pauses for each process and a thread of its own, and all of them
//! live on one budget (`schedule`). A census of a Python process's objects costs seconds and memory, so it has terms of
//! its own (`census`), and nobody waits until it is done: on a busy machine that is half a minute.

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

/// An examiner's thread.
struct Lane {
    ask: Sender<(ProcId, Options)>,
    answers: Receiver<Answer>,
    /// The look that the thread is at.
    underway: Option<Asked>,
}

impl Lane {
    fn start(mut examiner: Examiner) -> Option<Lane> {
        let (ask, asked) = channel::<(ProcId, Options)>();
        let (answer, answers) = channel();
        // Not joined: it ends with its last look, at most seconds after us.
        std::thread::Builder::new()
            .name("looks".to_owned())
            .spawn(move || {
                for (id, options) in asked {
                    if answer.send(examiner.examine(id, options)).is_err() {
                        return;
                    }
                }
            })
            .ok()?;
        Some(Lane {
            ask,
            answers,
            underway: None,
        })
    }

    fn ask(&mut self, asked: Asked, options: Options) {
        let sent = self.ask.send((asked.due.id, options));
        self.underway = sent.is_ok().then_some(asked);
    }

    fn found(&mut self) -> Option<(Asked, Answer)> {
        let answer = self.answers.try_recv().ok()?;
        Some((self.underway.take()?, answer))
    }
}

/// The schedule and the threads.
pub(super) struct Looks {
    schedule: Schedule,
    /// Of each examiner.
    lanes: Vec<Lane>,
}

impl Looks {
    /// None: no threads could be had; then there are no looks. `before`: how long the job had run already; `stops`:
    /// censuses stop it.
    pub(super) fn start(examiners: Vec<Examiner>, before: Micros, stops: bool) -> Option<Looks> {
        let mut schedule = Schedule::new(examiners.iter().map(Examiner::kind).collect());
        schedule.before = before;
        schedule.census.stops = stops;
        let lanes: Option<Vec<Lane>> = examiners.into_iter().map(Lane::start).collect();
        let lanes = lanes?;
        Some(Looks { schedule, lanes })
    }

    /// A look is wanted soon: the verdict changed, or the guard warned.
    pub(super) fn soon(&mut self, why: LookWhy) {
        self.schedule.soon(why);
    }

    /// What the threads have found since the last call. What refuses a census is told by who reads steps from the same
    /// objects on every tick (`inside`): once is enough. `step` is where the loop is now.
    pub(super) fn found(&mut self, step: Option<u64>) -> Vec<Answer> {
        let answers: Vec<(Asked, Answer)> = self.lanes.iter_mut().filter_map(Lane::found).collect();
        let told = |(asked, answer)| self.told(asked, answer, step);
        answers.into_iter().filter_map(told).collect()
    }

    fn told(&mut self, asked: Asked, mut answer: Answer, step: Option<u64>) -> Option<Answer> {
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

    /// Asks for the looks that are due, if any: into the watched process, into the one that the verdict
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
        let idle = self.lanes.iter_mut().enumerate();
        for (examiner, lane) in idle.filter(|(_, lane)| lane.underway.is_none()) {
            let due = (self.schedule).due(examiner, now, &targets, reached, headroom);
            let Some(due) = due else { continue };
            let target = targets.iter().find(|target| target.id == due.id);
            let options = Options {
                at: now,
                why: due.why,
                within: self.schedule.within(now, due, target),
            };
            let step = reached.step;
            lane.ask(Asked { due, step }, options);
        }
    }
}
