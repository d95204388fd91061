//! Steps that nobody sends, and the counts of Python's collector, read from the watched process's own objects by a
//! thread of its own, and what is in the holders that a census named: a search takes up to seconds, and a read waits while the process changes its mappings.
//! A tick asks, waits a few milliseconds, and takes what comes later with the next one.

mod followed;
mod schedule;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use lowtide_census::{Counts, Follower, Refusal};
use lowtide_core::entry::{Entry, EventKind};
use lowtide_core::followed::{Followed, Lengths};
use lowtide_core::inside::InsideReader;
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_sys::proc::Proc;

use super::Watch;
use super::clock::Clock;
use followed::FollowedHolders;
pub(super) use followed::NewMeters;
use schedule::{CountedAt, Schedule};

/// How long a tick waits for the thread: a read takes less than one.
const PATIENCE: Duration = Duration::from_millis(5);
/// A search ends after this much work, whatever is left: about ten million objects.
const WITHIN: Duration = Duration::from_secs(5);
/// An interpreter that starts is no interpreter yet: asked again after this, so often.
const AGAIN: Micros = Micros(1_000_000);
const TIMES: u32 = 30;

/// What is asked on a tick.
#[derive(Clone, Copy, Debug)]
struct Ask {
    id: ProcId,
    /// The job does not tell its steps itself.
    steps: bool,
    /// How long it had worked at the last tick, where that is known.
    worked: Option<Micros>,
}

/// What the thread found.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub counts: Option<(ProcId, Counts)>,
    pub mark: Option<Mark>,
    /// Why nothing can be read of a process, once.
    pub refusal: Option<(ProcId, Refusal)>,
    /// How it is with the steps, when that changes.
    pub news: Option<(ProcId, News)>,
    /// Holders that are read from now on.
    pub followed: Vec<Followed>,
    /// What is in them.
    pub lengths: Vec<Lengths>,
}

/// What a user would wonder about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It was searched several times, and nothing counts steps.
    NoSteps,
    /// What counted them does not any more.
    Ended(u64),
}

/// The thread and what is asked of it.
pub(super) struct InsideWatch {
    ask: Sender<Ask>,
    told: Receiver<Told>,
    /// It has not answered yet.
    busy: bool,
}

impl InsideWatch {
    /// None: no thread could be had; then nothing is read. `meters` come from censuses.
    pub(super) fn start(clock: Clock, meters: Receiver<NewMeters>) -> Option<InsideWatch> {
        let (ask, asked) = channel::<Ask>();
        let (tell, told) = channel();
        // Not joined: it ends with its last search, seconds after us at most.
        std::thread::Builder::new()
            .name("inside".to_owned())
            .spawn(move || {
                let mut mind = Mind::new(clock);
                let mut holders = FollowedHolders::default();
                for ask in asked {
                    let mut told = mind.read(ask);
                    let at = clock.now();
                    let newer = meters.try_iter();
                    told.followed = newer.filter_map(|one| holders.renew(one, at)).collect();
                    told.lengths = holders.read(at);
                    if tell.send(told).is_err() {
                        return;
                    }
                    mind.search(ask);
                }
            })
            .ok()?;
        Some(InsideWatch {
            ask,
            told,
            busy: false,
        })
    }

    /// Asks for what stands there now, and hands over what came.
    pub(super) fn turn(
        &mut self,
        id: Option<ProcId>,
        steps: bool,
        worked: Option<Micros>,
    ) -> Vec<Told> {
        let mut all = Vec::new();
        if self.busy {
            // A search, or a process that keeps its readers waiting: nobody waits for that here.
            all.extend(self.told.try_recv().ok());
            self.busy = all.is_empty();
        }
        if let Some(id) = id.filter(|_| !self.busy) {
            self.busy = self.ask.send(Ask { id, steps, worked }).is_ok();
            if let Ok(told) = self.told.recv_timeout(PATIENCE) {
                all.push(told);
                self.busy = false;
            }
        }
        all
    }
}

/// What the thread remembers of the process that it reads.
struct Mind {
    clock: Clock,
    follower: Option<Follower>,
    reader: InsideReader,
    of: Option<ProcId>,
    schedule: Schedule,
    refused: bool,
    /// That there are none, or none any more, was told.
    said: Option<News>,
    /// Next time to try, and tries so far.
    again: (Micros, u32),
}

impl Mind {
    fn new(clock: Clock) -> Mind {
        Mind {
            clock,
            follower: None,
            reader: InsideReader::new(0),
            of: None,
            schedule: Schedule::default(),
            refused: false,
            said: None,
            again: (Micros(0), 0),
        }
    }

    fn read(&mut self, ask: Ask) -> Told {
        let mut told = Told::default();
        if self.of != Some(ask.id) {
            *self = Mind {
                of: Some(ask.id),
                reader: InsideReader::new(ask.id.pid),
                ..Mind::new(self.clock)
            };
        }
        if let Err(refusal) = self.open(ask.id) {
            told.refusal = Some((ask.id, refusal));
        }
        let Some(follower) = &mut self.follower else {
            return told;
        };
        let Ok(now) = follower.read() else {
            // Gone, or another program by now: from the start, next time.
            self.follower = None;
            return told;
        };
        let at = self.clock.now();
        told.counts = now.counts.map(|counts| (ask.id, counts));
        self.schedule.counted(CountedAt {
            at,
            worked: ask.worked,
            objects: now.counts.map_or(0, |counts| counts.objects),
        });
        if now.counts.is_none() {
            // Its interpreter is not where it was: the process became another program.
            self.follower = None;
        } else if ask.steps {
            told.mark = self.reader.see(&now.inside, at);
            if told.mark.as_ref().is_some_and(|mark| mark.step.is_some()) {
                self.schedule.moved(at);
            }
            self.schedule.seeks(self.reader.seeks());
            told.news = self.news(at).map(|news| (ask.id, news));
        }
        told
    }

    /// Once each time that it changes.
    fn news(&mut self, at: Micros) -> Option<News> {
        let news = match self.reader.lost_at(at) {
            Some(step) => Some(News::Ended(step)),
            None if self.schedule.is_in_vain(at) => Some(News::NoSteps),
            None => None,
        };
        let is_new = news.is_some() && self.said != news;
        self.said = news.or(self.said);
        news.filter(|_| is_new)
    }

    /// Finds the interpreter, or says why there is none; once.
    fn open(&mut self, id: ProcId) -> Result<(), Refusal> {
        let now = self.clock.now();
        if self.follower.is_some() || self.refused || now < self.again.0 {
            return Ok(());
        }
        let Ok(proc) = Proc::at("/proc") else {
            return Ok(());
        };
        match Follower::open(proc, id) {
            Ok(follower) => {
                self.follower = Some(follower);
                self.schedule = Schedule::default();
                Ok(())
            }
            Err(refusal) if refusal.may_pass() && self.again.1 < TIMES => {
                self.again = (Micros(now.0 + AGAIN.0), self.again.1 + 1);
                Ok(())
            }
            Err(refusal) => {
                self.refused = true;
                Err(refusal)
            }
        }
    }

    fn search(&mut self, ask: Ask) {
        let now = self.clock.now();
        let Some(follower) = self.follower.as_mut() else {
            return;
        };
        if !ask.steps || !self.schedule.is_due(now) {
            return;
        }
        if let Ok(searched) = follower.search(WITHIN) {
            self.schedule.searched(self.clock.now(), searched.cost);
        } else {
            self.follower = None;
        }
    }
}

impl Watch {
    /// What the watched process's own objects tell: steps, where the job does not tell them itself, and what its
    /// collector counts.
    pub(super) fn take_inside(&mut self) -> Vec<(ProcId, Counts)> {
        let Some(inside) = &mut self.inside else {
            return Vec::new();
        };
        let watched = self.run.watched().map(|(track, _)| track.member.id);
        let tells = matches!(
            self.run.steps_from(),
            Some(MarkSource::Callback | MarkSource::Output)
        );
        let readings = self.sample.readings.iter();
        let worked = readings
            .filter(|reading| Some(reading.id) == watched)
            .map(|reading| reading.cpu)
            .next();
        let (mut counted, counter) = (Vec::new(), self.run.counter());
        for told in inside.turn(watched, !tells, worked) {
            counted.extend(told.counts);
            if let Some(mark) = told.mark {
                self.enter(Entry::Mark(mark));
            }
            for followed in told.followed {
                self.enter(Entry::Followed(followed));
            }
            for lengths in told.lengths {
                self.enter(Entry::Lengths(lengths));
            }
            if let Some((id, refusal)) = told.refusal {
                self.tell_refusal(id, &refusal);
            }
            if let Some((id, news)) = told.news {
                self.tell_news(id, news);
            }
        }
        if let Some(new) = self.run.counter()
            && Some(new) != counter
            && self.run.steps_from() == Some(MarkSource::Memory)
        {
            let text = format!("steps from {new}");
            self.teller.say(&text);
            self.event(EventKind::Info, text);
        }
        counted
    }

    /// A job that was started with us may be anything; who attaches to one wants to know.
    fn tell_news(&mut self, id: ProcId, news: News) {
        let steps = self.run.steps_from();
        let text = match news {
            News::NoSteps if self.attached && steps.is_none() => format!(
                "no steps so far: nothing that counts them was found among the Python objects of {}",
                id.pid
            ),
            News::Ended(step) if steps == Some(MarkSource::Memory) => {
                format!(
                    "steps ended at {step}: nothing in {}'s memory counts them now",
                    id.pid
                )
            }
            _ => return,
        };
        self.teller.say(&text);
        self.event(EventKind::Info, text);
    }

    /// A program that is no Python has no objects, and that is no news.
    fn tell_refusal(&mut self, id: ProcId, refusal: &Refusal) {
        if matches!(refusal, Refusal::NotPython | Refusal::Gone) {
            return;
        }
        // The package can look from inside, where the job has it; nobody else runs it.
        if let Some(inbox) = &mut self.inbox
            && !matches!(refusal, Refusal::PyPy)
        {
            // A page that cannot be written leaves it at that.
            let _ = inbox.page().ask_inside(true);
        }
        let text = format!("the Python objects of {} are not read: {refusal}", id.pid);
        self.teller.say(&text);
        if let Some(hint) = refusal.hint() {
            self.teller.hint(hint);
        }
        self.event(EventKind::Info, text);
    }
}
