//! Signals as data: a set that is blocked for good and read from a file descriptor.
//!
//! The watcher and the keeper of `lowtide run` use it to pass signals on instead of dying of them. Blocking
//! rather than ignoring or catching leaves the dispositions as they were inherited, so the job gets them unchanged
//! (`nohup` stays `nohup`); only the mask has to be put back, see [`crate::spawn`].

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A set of signals, as a bit mask: bit n - 1 is signal n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSet(pub u64);

/// Signals have numbers from 1 to 64 on Linux.
pub(crate) const LAST: i32 = 64;

/// What a process hurts itself with: blocked, the thread would loop or die anyway.
const FAULTS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
];

impl SignalSet {
    /// Everything that another process or the terminal may send and that can be blocked.
    pub fn from_outside() -> Self {
        let own = [libc::SIGKILL, libc::SIGSTOP, libc::SIGPIPE, libc::SIGSYS];
        // glibc keeps 32 and 33 for its threads.
        (1..=LAST)
            .filter(|n| !FAULTS.contains(n) && !own.contains(n) && ![32, 33].contains(n))
            .collect()
    }

    pub fn contains(self, signal: i32) -> bool {
        (1..=LAST).contains(&signal) && self.0 >> (signal - 1) & 1 == 1
    }

    pub fn without(self, signal: i32) -> Self {
        Self(self.0 & !(1 << (signal - 1)))
    }

    fn as_libc(self) -> libc::sigset_t {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset fills the whole set before anything reads it.
        let mut set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        };
        for signal in (1..=LAST).filter(|n| self.contains(*n)) {
            // SAFETY: the set is initialised; a number libc keeps for itself is refused, not added.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        set
    }

    fn of_libc(set: &libc::sigset_t) -> Self {
        // SAFETY: the set is initialised and sigismember only reads it.
        (1..=LAST)
            .filter(|n| unsafe { libc::sigismember(set, *n) } == 1)
            .collect()
    }

    /// Replaces the calling thread's mask and hands back the former one. Safe to call between fork and exec.
    pub(crate) fn set_as_mask(self) -> io::Result<SignalSet> {
        change_mask(libc::SIG_SETMASK, self)
    }

    /// Blocks these in the calling thread and in threads it starts later; hands back the former mask.
    pub fn block(self) -> io::Result<SignalSet> {
        change_mask(libc::SIG_BLOCK, self)
    }
}

impl FromIterator<i32> for SignalSet {
    fn from_iter<I: IntoIterator<Item = i32>>(signals: I) -> Self {
        Self(signals.into_iter().fold(0, |bits, n| bits | 1 << (n - 1)))
    }
}

fn change_mask(how: libc::c_int, set: SignalSet) -> io::Result<SignalSet> {
    let mut former = MaybeUninit::uninit();
    // SAFETY: both sets are valid for the call; `former` is filled when it succeeds.
    let former = unsafe {
        match libc::pthread_sigmask(how, &set.as_libc(), former.as_mut_ptr()) {
            0 => former.assume_init(),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    };
    Ok(SignalSet::of_libc(&former))
}

/// A signal that arrived, and the process that sent it (0: the kernel, for instance the terminal's Ctrl-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub signal: i32,
    pub sender: u32,
}

/// Reads blocked signals (signalfd(2)); the descriptor can be polled.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// The set must be blocked already, or the signals take their usual course.
    pub fn of(set: SignalSet) -> io::Result<Self> {
        // SAFETY: the set is valid for the call; -1 asks for a new descriptor, which nobody else owns.
        unsafe {
            match libc::signalfd(-1, &set.as_libc(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(Self(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// The next one that arrived, if any did.
    pub fn arrived(&mut self) -> io::Result<Option<Arrived>> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        // SAFETY: the buffer has the size that is passed; signalfd writes whole records or nothing.
        let got = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), SIZE) };
        if got == SIZE as isize {
            // SAFETY: a whole record was written.
            let info = unsafe { info.assume_init() };
            let kernel = info.ssi_code == libc::SI_KERNEL;
            return Ok(Some(Arrived {
                signal: info.ssi_signo as i32,
                sender: if kernel { 0 } else { info.ssi_pid },
            }));
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            error => Err(error),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends a signal to a process of ours. One that is gone already is not an error.
pub fn send(pid: u32, signal: i32) -> io::Result<()> {
    kill(pid as i32, signal)
}

/// Sends a signal to every process of a group.
pub fn send_group(group: u32, signal: i32) -> io::Result<()> {
    kill(-(group as i32), signal)
}

fn kill(target: i32, signal: i32) -> io::Result<()> {
    // SAFETY: kill takes plain numbers.
    if unsafe { libc::kill(target, signal) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(error),
    }
}

/// Stops this process as Ctrl-Z does and returns when it is continued. False when it was not stopped: in a
/// process group that no shell cares for (an orphaned one) the kernel drops the signal. SIGCONT must be blocked.
pub fn stop_here() -> io::Result<bool> {
    let mask = change_mask(libc::SIG_UNBLOCK, SignalSet::from_iter([libc::SIGTSTP]))?;
    // SAFETY: raise takes a plain number; the signal is delivered to this thread before raise returns.
    unsafe { libc::raise(libc::SIGTSTP) };
    mask.set_as_mask()?;
    let mut pending = MaybeUninit::uninit();
    // SAFETY: sigpending fills the set when it succeeds.
    let pending = unsafe {
        if libc::sigpending(pending.as_mut_ptr()) == -1 {
            return Err(io::Error::last_os_error());
        }
        pending.assume_init()
    };
    // The stop itself removed any older SIGCONT, so this one ended it.
    Ok(SignalSet::of_libc(&pending).contains(libc::SIGCONT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_survives_the_way_through_libc() {
        let set = SignalSet::from_outside();
        assert!(set.contains(libc::SIGTERM) && set.contains(libc::SIGTSTP) && set.contains(34));
        assert!(!set.contains(libc::SIGKILL) && !set.contains(libc::SIGSEGV) && !set.contains(0));
        assert_eq!(SignalSet::of_libc(&set.as_libc()), set);
        assert!(!set.without(libc::SIGTERM).contains(libc::SIGTERM));
    }

    #[test]
    fn a_blocked_signal_is_read_with_its_sender() {
        let set = SignalSet::from_iter([libc::SIGUSR2]);
        let former = set.block().unwrap();
        let mut signals = Signals::of(set).unwrap();
        assert_eq!(signals.arrived().unwrap(), None);
        // SAFETY: plain numbers; the signal is directed at this thread, which blocks it.
        unsafe { libc::raise(libc::SIGUSR2) };
        let arrived = signals.arrived().unwrap().unwrap();
        assert_eq!(
            arrived,
            Arrived {
                signal: libc::SIGUSR2,
                sender: std::process::id()
            }
        );
        former.set_as_mask().unwrap();
    }
}
