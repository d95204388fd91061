//! Starting a child that finds the world as if lowtide were not there.
//!
//! `std::process::Command` empties the signal mask and sets SIGPIPE to its default. A job must get both as its
//! user's shell left them; it may also need a place on a terminal of its own. Read by the keeper of `lowtide run`,
//! and by tests, whose programs must not depend on how the tests were started.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::inherited::{self, CHANGED};
use crate::sigwait::{LAST, SignalSet};

/// What the child does between fork and exec.
#[derive(Debug, Default)]
pub struct Start {
    /// Its signal mask.
    pub mask: SignalSet,
    pub dispositions: Dispositions,
    /// The signal it gets when the thread that starts it ends.
    pub parent_death: Option<i32>,
    pub place: Place,
    /// A descriptor that stays open in the child, see [`handed_over`].
    pub hand_over: Option<OwnedFd>,
    /// What the child sends of itself on this socket before it becomes its program: whoever has the other end
    /// knows of it then, whatever becomes of us. Its pid is put in after the first byte.
    pub announce: Option<(OwnedFd, Vec<u8>)>,
}

/// Which signals the child finds ignored. (One that we catch has its default in the child: exec sees to that.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispositions {
    /// Those that this program was started with: `nohup` stays `nohup`.
    #[default]
    AsInherited,
    /// These and no others.
    Ignoring(SignalSet),
}

impl Dispositions {
    /// In the child, between fork and exec.
    fn set(self) {
        let set = |signal, ignored| {
            let action = if ignored {
                libc::SIG_IGN
            } else {
                libc::SIG_DFL
            };
            // SAFETY: plain numbers, and neither action is code of ours. SIGKILL, SIGSTOP and what libc keeps for
            // itself are refused.
            unsafe { libc::signal(signal, action) };
        };
        match self {
            Dispositions::AsInherited => {
                let ignored = inherited::ignored();
                CHANGED
                    .into_iter()
                    .for_each(|n| set(n, ignored.contains(n)));
            }
            Dispositions::Ignoring(signals) => {
                (1..=LAST).for_each(|n| set(n, signals.contains(n)));
            }
        }
    }
}

/// Where the child stands with regard to terminals and process groups.
#[derive(Debug, Default)]
pub enum Place {
    /// In the group of its parent.
    #[default]
    Beside,
    /// In a group of its own, which becomes the foreground of this terminal (that of the parent's session).
    Foreground(OwnedFd),
    /// Leader of a new session with this terminal.
    Leader(OwnedFd),
}

impl Start {
    /// Adds all this to a command; call it last.
    pub fn apply(mut self, command: &mut Command) {
        let parent = std::process::id();
        // SAFETY: the closure runs in the child between fork and exec: system calls only, no allocation, no locks.
        unsafe {
            command.pre_exec(move || {
                match &self.place {
                    Place::Beside => {}
                    Place::Foreground(tty) => {
                        check(libc::setpgid(0, 0))?;
                        // SIGTTOU is blocked by the parent; else this would stop the child.
                        check(libc::tcsetpgrp(tty.as_raw_fd(), libc::getpid()))?;
                    }
                    Place::Leader(tty) => lead_session(tty)?,
                }
                if let Some(fd) = &self.hand_over {
                    check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0))?;
                }
                if let Some(signal) = self.parent_death {
                    check(libc::prctl(libc::PR_SET_PDEATHSIG, signal))?;
                    // The parent may have ended before the call; then nobody would send it.
                    if libc::getppid() != parent as i32 {
                        libc::raise(signal);
                    }
                }
                self.dispositions.set();
                self.mask.set_as_mask()?;
                if let Some((socket, packet)) = &mut self.announce {
                    announce(socket, packet);
                }
                Ok(())
            });
        }
    }
}

fn lead_session(tty: &OwnedFd) -> io::Result<()> {
    // SAFETY: plain system calls on a descriptor that is open.
    unsafe {
        check(libc::setsid())?;
        check(libc::ioctl(tty.as_raw_fd(), libc::TIOCSCTTY, 0))
    }
}

/// In the child, between fork and exec. A socket that takes nothing is no reason to start no job.
fn announce(socket: &OwnedFd, packet: &mut [u8]) {
    if let Some(place) = packet.get_mut(1..5) {
        place.copy_from_slice(&std::process::id().to_le_bytes());
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: an open socket, and a buffer with its length.
    unsafe {
        libc::send(
            socket.as_raw_fd(),
            packet.as_ptr().cast(),
            packet.len(),
            flags,
        )
    };
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The descriptor that the parent handed over with [`Start::hand_over`], by the number it passed on. A process
/// can take it once.
pub fn handed_over(number: i32) -> io::Result<OwnedFd> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("the descriptor was taken before"));
    }
    // SAFETY: fcntl takes plain numbers; it fails when the number is not open.
    unsafe { check(libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC))? };
    // SAFETY: it is open, was left open by the parent for this purpose, and is taken once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
