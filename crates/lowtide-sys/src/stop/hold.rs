//! What the helper does: takes all threads, waits until they stand still, says so, waits for word.
//!
//! It runs in memory that it shares with lowtide and can be killed at any instruction, so nothing here allocates, takes
//! a lock, or panics: system calls, the stack, and the [`Board`].

use std::ffi::CStr;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::board::{Board, Phase};
use super::tracee::{self, Tracee};
use crate::proc::{each_name, number, stat};

/// How long to wait between two looks at a thread that is to stop, at first and at most: most stop at once, one on
/// a busy processor when it gets its turn.
const FIRST_WAIT: Duration = Duration::from_micros(10);
const LONGEST_WAIT: Duration = Duration::from_millis(1);
/// `stat` is some 350 bytes; a name in it has 64 at most.
const STAT: usize = 1024;

/// What the helper is to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) pid: u32,
    /// `/proc/PID/task`.
    pub(super) threads: BorrowedFd<'a>,
    /// `/proc/PID/stat`.
    pub(super) stat: BorrowedFd<'a>,
}

/// Threads of one listing.
#[derive(Default)]
struct Pass {
    /// Taken just now.
    new: u32,
    stopped: u32,
    /// Listed, and will never run again: a first thread that ended before the others.
    ended: u32,
    /// One that is stopped.
    witness: u32,
    refused: Option<(u32, Errno)>,
}

/// Stops, says so, waits. Whoever calls it ends afterwards, which lets go.
pub(super) fn hold(job: Job<'_>, board: &Board) {
    board.begins();
    let witness = loop {
        let mut pass = Pass::default();
        let listed = each_name(&job.threads, |name| {
            if let Some(tid) = number(name).and_then(|tid| u32::try_from(tid).ok()) {
                pass.thread(job, board, tid);
            }
        });
        if let Some((tid, errno)) = pass.refused {
            board.is_at(tid);
            return board.fails(Phase::Refused, errno.raw_os_error());
        }
        if listed.is_err() || (pass.new == 0 && pass.stopped == 0) {
            return board.say(Phase::Ended);
        }
        // While some end, others may be left out of the listing. Those that are stopped end no more, so
        // once the numbers agree there are no others.
        let Some(threads) = count(job.stat) else {
            return board.say(Phase::Ended);
        };
        if pass.new == 0 && pass.stopped + pass.ended == threads {
            board.all_stopped(pass.stopped);
            break pass.witness;
        }
    };
    board.wait_until_asked();
    // Only SIGKILL wakes a thread that we hold, and that hits all.
    let whole = tracee::look(witness) == Tracee::Stopped;
    board.say(if whole { Phase::Done } else { Phase::Ended });
}

impl Pass {
    fn thread(&mut self, job: Job<'_>, board: &Board, tid: u32) {
        if self.refused.is_some() {
            return;
        }
        board.is_at(tid);
        match settled(job, tid) {
            Tracee::Stopped => {
                self.stopped += 1;
                self.witness = tid;
            }
            Tracee::Ended if tid == job.pid => self.ended += 1,
            Tracee::Ended => tracee::bury(tid),
            // It is waited for in the next pass: all of them stop side by side.
            Tracee::NotOurs | Tracee::Running => match tracee::seize(tid) {
                Ok(()) => {
                    self.new += 1;
                    // One that has just ended is found so in the next pass.
                    let _ = tracee::interrupt(tid);
                }
                Err(Errno::SRCH) => {}
                Err(_) if has_ended(job, tid) => self.ended += 1,
                Err(errno) => self.refused = Some((tid, errno)),
            },
        }
    }
}

/// Waits until a thread of ours has stopped or ended. There is no end to it but the helper's timer.
fn settled(job: Job<'_>, tid: u32) -> Tracee {
    let mut wait = FIRST_WAIT;
    loop {
        match tracee::look(tid) {
            Tracee::Running if wait < LONGEST_WAIT => {}
            // The kernel tells nobody of a first thread that ended while others go on.
            Tracee::Running if has_ended(job, tid) => return Tracee::Ended,
            Tracee::Running => {}
            settled => return settled,
        }
        sleep(wait);
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

fn sleep(time: Duration) {
    let time = rustix::thread::Timespec {
        tv_sec: 0,
        tv_nsec: time.subsec_nanos().into(),
    };
    let _ = rustix::thread::nanosleep(&time);
}

/// How many threads the process has; none when it has ended.
fn count(file: BorrowedFd<'_>) -> Option<u32> {
    let mut buffer = [MaybeUninit::<u8>::uninit(); STAT];
    let (bytes, _) = rustix::io::pread(file, &mut buffer, 0).ok()?;
    let stat = stat::parse(bytes)?;
    (!stat.has_ended()).then_some(stat.threads)
}

/// Whether a thread is a zombie, or not even that. (If it is gone by the time of the count, the numbers do not agree,
/// and there is another pass.)
fn has_ended(job: Job<'_>, tid: u32) -> bool {
    let mut name = [0; 32];
    let mut rest = &mut name[..];
    // Ten digits and `/stat` fit; what is not written stays 0 and ends the name.
    let _ = write!(rest, "{tid}/stat");
    let Ok(name) = CStr::from_bytes_until_nul(&name) else {
        return false;
    };
    let mut buffer = [MaybeUninit::<u8>::uninit(); STAT];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let read = rustix::fs::openat(job.threads, name, flags, Mode::empty())
        .and_then(|file| rustix::io::pread(&file, &mut buffer, 0));
    match read {
        Ok((bytes, _)) => {
            stat::parse(bytes).is_some_and(|stat| matches!(stat.state, b'Z' | b'X' | b'x'))
        }
        Err(errno) => matches!(errno, Errno::NOENT | Errno::SRCH),
    }
}
