//! One attempt of a job, from its start to the end of its main process: the loop that waits, samples, reads
//! what was printed, and hands over what happens.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lowtide_core::entry::Exit;
use lowtide_sys::sigwait::stop_here;

use super::{Session, ViewWish, Watched};
use crate::attached::Heard;
use crate::keeper::{Event, Starter};
use crate::monotonic::monotonic_ns;
use crate::watch::Ticker;

/// Marks wait in a short queue of the kernel (10 by default): a loop of a hundred steps a second
/// fits when they are taken this often.
const MARKS_EVERY: Duration = Duration::from_millis(100);
/// Packets from the keeper that are read before a sample: about as many as its socket holds. A job that
/// prints without end does not keep the sample from being taken.
const WAITING: usize = 256;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited(Exit),
    /// Its main process ended; only its parent knows how.
    Vanished,
    /// Nothing of its tree is left, as a tick has seen.
    TreeGone,
    /// It did not: the user ended us, or our time is over.
    Left,
}

/// What a moment of listening to the keeper brought.
enum FromKeeper {
    Nothing,
    Something,
    End(End),
}

impl FromKeeper {
    fn end(self) -> Option<End> {
        match self {
            FromKeeper::End(end) => Some(end),
            FromKeeper::Nothing | FromKeeper::Something => None,
        }
    }
}

impl Session<'_> {
    pub(super) fn attempt(&mut self) -> Result<End> {
        let mut ticker = match &mut self.job {
            Watched::Started(handle) => {
                self.view.begun(handle, &self.watch);
                Ticker::from_the_start(self.options.interval)
            }
            Watched::Attached(_) => Ticker::new(self.options.interval),
        };
        loop {
            if ticker.wait().is_zero() {
                if let Some(end) = self.hear_waiting()? {
                    return Ok(end);
                }
                if !self.tick(&mut ticker) && self.ends_with_its_tree() {
                    return Ok(End::TreeGone);
                }
            }
            self.watch.take_marks();
            if self.until.is_some_and(|until| self.watch.now() >= until) {
                return Ok(End::Left);
            }
            let end = match self.job {
                Watched::Started(_) => self.hear_keeper(ticker.wait().min(MARKS_EVERY))?.end(),
                Watched::Attached(_) => self.hear_attached(&mut ticker)?,
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Who only watches a job that was found stays with its descendants. A guard has to act on the end of
    /// the main process, and for a job of ours the keeper tells it.
    fn ends_with_its_tree(&self) -> bool {
        matches!(self.job, Watched::Attached(_)) && self.guard.is_none()
    }

    /// Takes a sample and what was printed, and has the guard act on it. False when nothing of the tree is
    /// left.
    fn tick(&mut self, ticker: &mut Ticker) -> bool {
        let watch = &mut self.watch;
        self.files.read(|bytes| watch.output(bytes, monotonic_ns()));
        let anybody = watch.tick(ticker.take());
        if let Watched::Attached(job) = &self.job {
            let main = watch.run.processes().map(|track| track.member.id);
            let main = main.into_iter().find(|id| id.pid == job.pid);
            let chosen = watch.run.watched().map(|(track, _)| track.member.id);
            for id in main.into_iter().chain(chosen) {
                self.files
                    .follow_found(id, |bytes| watch.printed_before(bytes));
            }
        }
        if let Some(mark) = self.state.read(|| watch.now()) {
            watch.mark(mark);
        }
        if let (Some(guard), Some(ruling)) = (&mut self.guard, watch.ruling()) {
            guard.turn(watch, &ruling);
            if let Some(within) = ruling.look_within {
                ticker.soon(Duration::from_micros(within.0));
            }
        }
        anybody
    }

    /// What a job of ours has printed until now, before the next sample: on a busy machine a tick is late,
    /// and a sample that is taken before the steps that wait here would be put to a step long past.
    fn hear_waiting(&mut self) -> Result<Option<End>> {
        for _ in 0..WAITING {
            match self.hear_keeper(Duration::ZERO)? {
                FromKeeper::Nothing => break,
                FromKeeper::Something => {}
                FromKeeper::End(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    /// What becomes of a job of ours, within the time.
    fn hear_keeper(&mut self, within: Duration) -> Result<FromKeeper> {
        let Watched::Started(handle) = &mut self.job else {
            return Ok(FromKeeper::Nothing);
        };
        let watch = &mut self.watch;
        // The keeper passes Ctrl-Z on to the job, and the job is not left for its view.
        let _ = self.view.turn(Some(handle), watch);
        watch.teller().pump(handle);
        let event = handle
            .next(Some(Instant::now() + within))
            .context("lost sight of the job")?;
        let Some(event) = event else {
            return Ok(FromKeeper::Nothing);
        };
        self.view.heard(&event, handle, watch);
        watch.teller().heard(&event);
        match event {
            Event::Signal(signal) => {
                if let Some(guard) = self.guard.as_mut().filter(|_| Starter::is_end(signal)) {
                    guard.interrupt();
                }
            }
            Event::Output { bytes, at_ns, .. } => watch.output(&bytes, at_ns),
            Event::Stopped => watch.job_stopped(true),
            Event::Continued => watch.job_stopped(false),
            Event::KeeperLost => {
                self.view.close(Some(handle), watch);
                watch.teller().say(
                    "the keeper is dead: a job that prints through it was hung up, one that prints to files goes on",
                );
            }
            Event::Exited(exit) => return Ok(FromKeeper::End(End::Exited(exit))),
            Event::Dropped(_) | Event::Screen(_) | Event::Keys(_) | Event::Inserted { .. } => {}
        }
        Ok(FromKeeper::Something)
    }

    /// What becomes of a job that was found, and of us.
    fn hear_attached(&mut self, ticker: &mut Ticker) -> Result<Option<End>> {
        let Watched::Attached(job) = &mut self.job else {
            return Ok(None);
        };
        let keys = self.view.reads_keys();
        let heard = job.next(ticker.wait().min(MARKS_EVERY), keys)?;
        match heard {
            Some(Heard::Ended) if self.guard.is_some() => return Ok(Some(End::Vanished)),
            // Whether anybody is left is for the next tick to say.
            Some(Heard::Ended) => ticker.soon(Duration::ZERO),
            Some(Heard::End) => return Ok(Some(End::Left)),
            Some(Heard::Stop) => self.stop()?,
            Some(Heard::Keys) | None => {}
        }
        match self.view.turn(None, &mut self.watch) {
            Some(ViewWish::Leave) => return Ok(Some(End::Left)),
            Some(ViewWish::Stop) => self.stop()?,
            None => {}
        }
        Ok(None)
    }

    /// Ctrl-Z: the shell gets its terminal as it was, and `fg` goes on.
    fn stop(&mut self) -> Result<()> {
        self.view.pause();
        stop_here()?;
        self.view.resume();
        Ok(())
    }
}
