//! Which signals reach the job, and whom of it.
//!
//! The watcher is what the user knows, so signals meant for the job arrive there. Some of them reach the job without
//! our help: Ctrl-C of a terminal, `kill -- -GROUP`, `kill 0` in a script, a batch system that signals every process
//! of a cgroup. The keeper is the witness: it does nothing with a signal itself, and when it got one too, the sender
//! aimed at more than the watcher. Fed and read by the keeper's loop; time comes in as an argument.

use std::time::{Duration, Instant};

use lowtide_sys::sigwait::Arrived;

/// How long a signal that only the watcher got waits for the keeper's copy. `kill` of a group signals all members
/// in one system call; a batch system walks a list in microseconds per process.
const GRACE: Duration = Duration::from_millis(50);

/// Copies of a signal within this time come from one sender: `timeout` signals its child and then its group.
const SAME: Duration = Duration::from_millis(300);

/// Where the job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// In our process group: what reaches the group reaches the job.
    Beside,
    /// In a session of its own: nothing reaches it but through us.
    Apart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// To the job's main process.
    Main(i32),
    /// To the job's process group.
    Group(i32),
}

#[derive(Debug)]
pub(super) struct Relay {
    stands: Stands,
    /// Signals that the keeper got, when, and whether the watcher's copy was met.
    witnessed: Vec<(Arrived, Instant, bool)>,
    /// Signals that the watcher got, and when they are sent.
    waiting: Vec<(i32, Instant)>,
}

impl Relay {
    pub(super) fn new(stands: Stands) -> Self {
        Self {
            stands,
            witnessed: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// The watcher got a signal.
    pub(crate) fn passed_on(&mut self, signal: i32, now: Instant) -> Option<Delivery> {
        self.forget(now);
        match self
            .witnessed
            .iter_mut()
            .find(|(seen, ..)| seen.signal == signal)
        {
            Some((.., met)) => {
                let first = !std::mem::replace(met, true);
                (first && self.stands == Stands::Apart).then_some(Delivery::Group(signal))
            }
            None => {
                self.waiting.push((signal, now + GRACE));
                None
            }
        }
    }

    /// The keeper got a signal itself, while the watcher lives.
    pub(super) fn witness(&mut self, arrived: Arrived, now: Instant) -> Option<Delivery> {
        self.forget(now);
        let signal = arrived.signal;
        let waiting = self.waiting.iter().any(|(waits, _)| *waits == signal);
        self.waiting.retain(|(waits, _)| *waits != signal);
        self.witnessed.push((arrived, now, waiting));
        (waiting && self.stands == Stands::Apart).then_some(Delivery::Group(signal))
    }

    /// A signal that waited long enough.
    pub(super) fn due(&mut self, now: Instant) -> Option<Delivery> {
        let at = self.waiting.iter().position(|(_, due)| *due <= now)?;
        Some(Delivery::Main(self.waiting.remove(at).0))
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.waiting.iter().map(|(_, due)| *due).min()
    }

    /// The watcher is dead: signals that the keeper got and of which the watcher can have told nothing any more.
    pub(crate) fn watcher_gone(&mut self, now: Instant) -> Vec<Arrived> {
        self.forget(now);
        self.witnessed
            .drain(..)
            .filter(|(.., met)| !met)
            .map(|(arrived, ..)| arrived)
            .collect()
    }

    fn forget(&mut self, now: Instant) {
        self.witnessed
            .retain(|(_, at, _)| now.duration_since(*at) < SAME);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: i32 = 15;
    const MS: Duration = Duration::from_millis(1);

    fn by_somebody(signal: i32) -> Arrived {
        Arrived { signal, sender: 77 }
    }

    #[test]
    fn a_signal_for_the_watcher_alone_goes_to_the_main_process_once() {
        for stands in [Stands::Beside, Stands::Apart] {
            let (mut relay, now) = (Relay::new(stands), Instant::now());
            assert_eq!(relay.passed_on(TERM, now), None);
            assert_eq!(relay.due(now), None);
            assert_eq!(relay.next_due(), Some(now + GRACE));
            assert_eq!(relay.due(now + GRACE), Some(Delivery::Main(TERM)));
            assert_eq!(relay.due(now + GRACE), None);
        }
    }

    #[test]
    fn a_signal_for_the_group_is_not_doubled_beside_it() {
        let (mut relay, now) = (Relay::new(Stands::Beside), Instant::now());
        assert_eq!(relay.passed_on(TERM, now), None);
        assert_eq!(relay.witness(by_somebody(TERM), now + MS), None);
        // `timeout` sends it to its child a second time, with the group.
        assert_eq!(relay.passed_on(TERM, now + 2 * MS), None);
        assert_eq!(relay.due(now + 10 * GRACE), None);
    }

    #[test]
    fn a_signal_for_the_group_reaches_a_group_apart_once_in_either_order() {
        let (mut relay, now) = (Relay::new(Stands::Apart), Instant::now());
        assert_eq!(relay.passed_on(TERM, now), None);
        assert_eq!(
            relay.witness(by_somebody(TERM), now + MS),
            Some(Delivery::Group(TERM))
        );
        let later = now + 2 * SAME;
        assert_eq!(relay.witness(by_somebody(TERM), later), None);
        assert_eq!(
            relay.passed_on(TERM, later + MS),
            Some(Delivery::Group(TERM))
        );
        assert_eq!(relay.passed_on(TERM, later + 2 * MS), None);
        assert_eq!(relay.due(later + 10 * GRACE), None);
    }

    #[test]
    fn what_a_dying_watcher_did_not_pass_on_is_handed_over() {
        let (mut relay, now) = (Relay::new(Stands::Beside), Instant::now());
        relay.witness(by_somebody(1), now);
        relay.witness(by_somebody(TERM), now + SAME);
        relay.passed_on(2, now + SAME);
        relay.witness(by_somebody(2), now + SAME);
        // The first is long over, the last was passed on.
        assert_eq!(relay.watcher_gone(now + SAME), [by_somebody(TERM)]);
        assert_eq!(relay.watcher_gone(now + SAME), []);
    }

    #[test]
    fn another_signal_or_a_later_one_is_no_copy() {
        let (mut relay, now) = (Relay::new(Stands::Beside), Instant::now());
        relay.witness(by_somebody(2), now);
        relay.passed_on(TERM, now);
        relay.passed_on(2, now + SAME);
        assert_eq!(relay.due(now + SAME + GRACE), Some(Delivery::Main(TERM)));
        assert_eq!(relay.due(now + SAME + GRACE), Some(Delivery::Main(2)));
    }
}
