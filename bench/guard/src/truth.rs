//! What may never happen, measured by what really was and would have been.

use crate::job::{End, Job};
use crate::plan::Manners;

/// The policy may ask for close looks: that far apart.
const CLOSE_LOOK: f64 = 0.05;
/// Steps that a guard has to remember. It may remember those of all attempts.
const MUST_KNOW: usize = 14;
/// How many times the room that was shown to be needed may be kept: looks do not show all.
const TOO_MUCH: f64 = 3.0;
/// Nobody knows a job before looks have met so many of its steps (beyond its first two, which are start-up), and
/// before so many seconds of it: where all room is gone in a breath, starting again gains nothing.
const KNOWN_AFTER: usize = 12;
const KNOWN_SECONDS: f64 = 5.0;
/// A restart clearly gains something when so much was added since the first steps: this share of the limit,
/// or that of the room that there was then. (The policy asks at half of it; looks do not show all.)
const PAYS_LIMIT: f64 = 0.1;
const PAYS_ROOM: f64 = 0.5;
/// A level that rose by less than this share of the limit in all the steps that are remembered is flat.
const FLAT: f64 = 0.005;
/// Ranks that share a step hear of a stop when it is that many steps away, or that many seconds and what looks are
/// late.
const AHEAD_ALONE: u64 = 1;
const AHEAD_RANKS: u64 = 2;
const HEARD_SECONDS: f64 = 0.05;

/// A promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The limit was met although a stop was possible, see [`stop_was_possible`].
    BeyondTheLimit,
    /// The guard killed a job that had to be killed only because it was not asked before.
    TooLate,
    /// The guard killed or terminated a job that would have saved and stopped by itself.
    KilledInVain,
    /// Ranks were asked to stop at a step that some of them had passed.
    Torn,
    /// The job was asked without need, see [`is_needed`].
    WithoutNeed,
    /// A job that cannot go on after a stop was asked, terminated or killed.
    LostByUs,
    /// Such a job met the limit although a stop was possible for any other, and nobody told its user.
    Untold,
}

/// The moment of a look at which nothing was asked yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    pub(crate) job: Job<'a>,
    pub(crate) limit: f64,
    /// When a request would have been written.
    pub(crate) acts_at: f64,
    /// Stops of this run that were lost before.
    pub(crate) lost: u32,
}

impl Moment<'_> {
    fn ahead(&self) -> u64 {
        if self.job.ranks() == 1 {
            return AHEAD_ALONE;
        }
        let seen = &self.job.seen;
        let heard = (HEARD_SECONDS + seen.latest_look()) / seen.shortest_step();
        AHEAD_RANKS.max(1 + heard.ceil() as u64)
    }

    fn room(&self) -> f64 {
        self.limit - self.job.floor_and_others()
    }

    fn pays(&self) -> bool {
        self.job.seen.baseline.is_some_and(|baseline| {
            let grown = self.job.floor_and_others() - baseline;
            grown >= (PAYS_LIMIT * self.limit).min(PAYS_ROOM * (self.limit - baseline).max(0.0))
        })
    }

    /// The room that the job has shown it needs: for its steps until the stop, looks as late as they were, and
    /// its save, at the worst of each so far.
    fn need(&self) -> f64 {
        let seen = &self.job.seen;
        seen.need(self.ahead(), CLOSE_LOOK, self.limit, MUST_KNOW)
    }

    /// There is no more room than what was shown to be needed, and a restart would gain something.
    fn is_due(&self) -> bool {
        is_known(&self.job) && self.pays() && self.room() <= self.need()
    }

    /// There is room for much more than that, and for all that others take, too. A run that has lost a stop
    /// before may keep twice as much, and so on.
    fn is_early(&self) -> bool {
        let seen = self.job.seen_now();
        let need = seen.need_of_all(self.ahead(), CLOSE_LOOK, self.limit);
        let need = need + self.job.others_at_most();
        self.room() > TOO_MUCH * need * f64::from(1 << self.lost.min(8))
    }

    /// What becomes of the job if it is asked then.
    fn if_asked(&self) -> Option<End> {
        let mut job = self.job;
        job.advance(self.acts_at, &mut |_| {});
        let stop_at = self.job.step + self.ahead();
        job.ask(Some(stop_at));
        job.play_out().end
    }
}

/// Looks have met enough of its steps, and it has trained for a while.
pub(crate) fn is_known(job: &Job) -> bool {
    job.seen.looks() >= KNOWN_AFTER && job.trained_for() >= KNOWN_SECONDS
}

/// A stop was possible if there were looks in a row, as late as they really were, at which what the job had shown
/// until then made a stop due ([`Moment::is_due`]), three at least and with a whole step between the first and
/// the last of them; and if a request at the last would have led to a checkpoint and a clean end below the
/// limit. A whole step, because what goes up in a step may come down in it.
/// Not possible: jobs that do not co-operate, that are lost before they are known, that gain nothing by a restart,
/// and those whose next step, save or neighbour takes more than anything before it did.
pub(crate) fn stop_was_possible(moments: &[Moment]) -> bool {
    let mut first = None;
    moments.iter().enumerate().any(|(at, moment)| {
        if !moment.is_due() {
            first = None;
            return false;
        }
        let (began, step) = *first.get_or_insert((at, moment.job.step));
        at >= began + 2 && moment.job.step >= step + 2 && moment.if_asked() == Some(End::Stopped)
    })
}

/// A stop is needed when there is less than three times the room that was shown to be needed, unless the job is flat
/// and would have run to its end below the limit; when the job, left alone, would have met the limit
/// before three times the steps until a stop were over; or when it rises higher than it ever did, so fast that nobody
/// could wait for the rise to end.
pub(crate) fn is_needed(moment: &Moment) -> bool {
    let seen = &moment.job.seen;
    if moment.job.runs_away(moment.room()) {
        return true;
    }
    let early = seen.steps() == 0 || moment.is_early();
    let flat = seen.rise() < FLAT * moment.limit;
    if !early && !flat {
        return true;
    }
    let alone = moment.job.play_out();
    let soon = TOO_MUCH * seen.steps_to_stop(moment.ahead(), CLOSE_LOOK);
    alone.end == Some(End::OutOfMemory) && (!early || (alone.step - moment.job.step) as f64 <= soon)
}

/// Whether the job that the guard is about to end by a signal would have stopped by itself in good order. One that
/// rises higher than it ever did, too fast to wait, may be ended: nobody can know that the rise will end.
pub(crate) fn would_have_stopped(job: &Job, limit: f64) -> bool {
    job.manners() == Manners::Serves
        && job.is_asked()
        && !job.runs_away(limit - job.floor_and_others())
        && job.play_out().end == Some(End::Stopped)
}
