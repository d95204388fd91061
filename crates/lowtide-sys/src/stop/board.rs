//! What the helper and the one who asked for it tell each other: a few words of memory that both have. No locks:
//! the helper can be killed between any two instructions.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::futex;

/// Where the helper is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Phase {
    /// Stopping threads; [`Board::tid`] is the one it is at.
    Stopping,
    /// All are stopped.
    Stopped,
    /// Ends, and lets go by that; all were stopped until then.
    Done,
    /// The process has ended.
    Ended,
    /// The kernel refused: [`Board::errno`], for [`Board::tid`].
    Refused,
    /// The helper could not get ready: [`Board::errno`].
    Unready,
    /// Killed by its timer while it was stopping threads.
    Killed,
}

const PHASES: [Phase; 7] = [
    Phase::Stopping,
    Phase::Stopped,
    Phase::Done,
    Phase::Ended,
    Phase::Refused,
    Phase::Unready,
    Phase::Killed,
];

#[derive(Debug)]
pub(super) struct Board {
    phase: AtomicU32,
    /// Not zero: the work is done.
    asked_to_let_go: AtomicU32,
    tid: AtomicU32,
    errno: AtomicU32,
    threads: AtomicU32,
    origin: Instant,
    /// Both in nanoseconds after `origin`.
    began: AtomicU64,
    stopped: AtomicU64,
}

impl Board {
    pub(super) fn new() -> Board {
        Board {
            phase: AtomicU32::new(Phase::Stopping as u32),
            asked_to_let_go: AtomicU32::new(0),
            tid: AtomicU32::new(0),
            errno: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            origin: Instant::now(),
            began: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
        }
    }

    // The helper's side.

    pub(super) fn begins(&self) {
        self.began.store(self.now(), Ordering::Relaxed);
    }

    pub(super) fn is_at(&self, tid: u32) {
        self.tid.store(tid, Ordering::Relaxed);
    }

    pub(super) fn all_stopped(&self, threads: u32) {
        self.threads.store(threads, Ordering::Relaxed);
        self.stopped.store(self.now(), Ordering::Relaxed);
        self.say(Phase::Stopped);
    }

    pub(super) fn fails(&self, phase: Phase, errno: i32) {
        self.errno.store(errno.cast_unsigned(), Ordering::Relaxed);
        self.say(phase);
    }

    pub(super) fn say(&self, phase: Phase) {
        self.phase.store(phase as u32, Ordering::Release);
        let _ = futex::wake(&self.phase, futex::Flags::PRIVATE, 1);
    }

    pub(super) fn wait_until_asked(&self) {
        while self.asked_to_let_go.load(Ordering::Acquire) == 0 {
            // Whatever wakes it, the loop looks.
            let _ = futex::wait(&self.asked_to_let_go, futex::Flags::PRIVATE, 0, None);
        }
    }

    // Ours.

    /// Waits until the helper has stopped all threads, or has failed.
    pub(super) fn wait_until_stopped(&self) -> Phase {
        loop {
            let phase = self.phase();
            if phase != Phase::Stopping {
                return phase;
            }
            let _ = futex::wait(&self.phase, futex::Flags::PRIVATE, phase as u32, None);
        }
    }

    pub(super) fn let_go(&self) {
        self.asked_to_let_go.store(1, Ordering::Release);
        let _ = futex::wake(&self.asked_to_let_go, futex::Flags::PRIVATE, 1);
    }

    /// The helper is no more; if it has said nothing, its timer was what ended it.
    pub(super) fn helper_is_gone(&self) {
        let (from, to) = (Phase::Stopping as u32, Phase::Killed as u32);
        let _ = (self.phase).compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        let _ = futex::wake(&self.phase, futex::Flags::PRIVATE, 1);
    }

    pub(super) fn phase(&self) -> Phase {
        let number = self.phase.load(Ordering::Acquire) as usize;
        PHASES.get(number).copied().unwrap_or(Phase::Killed)
    }

    pub(super) fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    pub(super) fn errno(&self) -> i32 {
        self.errno.load(Ordering::Relaxed).cast_signed()
    }

    pub(super) fn threads(&self) -> u32 {
        self.threads.load(Ordering::Relaxed)
    }

    /// When the first thread was stopped.
    pub(super) fn began_at(&self) -> Instant {
        self.origin + Duration::from_nanos(self.began.load(Ordering::Relaxed))
    }

    /// When the last one was.
    pub(super) fn stopped_at(&self) -> Instant {
        self.origin + Duration::from_nanos(self.stopped.load(Ordering::Relaxed))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_told_by_their_numbers() {
        let board = Board::new();
        for phase in PHASES {
            board.say(phase);
            assert_eq!(board.phase(), phase);
        }
    }

    /// A helper that has said how it went keeps its word when it ends.
    #[test]
    fn only_silence_means_killed() {
        for (said, meant) in [
            (Phase::Stopping, Phase::Killed),
            (Phase::Stopped, Phase::Stopped),
            (Phase::Refused, Phase::Refused),
        ] {
            let board = Board::new();
            board.say(said);
            board.helper_is_gone();
            assert_eq!(board.phase(), meant);
        }
    }
}
