//! A place that bytes are written to without ever waiting for it: the user's end of a stream of the job, or
//! the terminal that a live view is drawn on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec, write};
use rustix::net::{SendFlags, send};

/// A pipe takes this much without blocking once poll says it is writable (PIPE_BUF).
const SURE_TO_FIT: usize = 4096;

pub struct Sink {
    fd: OwnedFd,
    way: Way,
}

enum Way {
    /// An open file description of our own, which does not block.
    NonBlocking,
    /// One that is shared with the user's shell: making it non-blocking would change it for all.
    Shared,
    Socket,
}

impl Sink {
    pub fn to(user: BorrowedFd) -> io::Result<Self> {
        // Opening it anew through /proc leaves the user's own description as it is.
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&user));
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if let Ok(fd) = open(path, flags, Mode::empty()) {
            return Ok(Self {
                fd,
                way: Way::NonBlocking,
            });
        }
        let fd = fcntl_dupfd_cloexec(user, 3)?;
        let way = match rustix::net::sockopt::socket_type(&fd) {
            Ok(_) => Way::Socket,
            Err(_) => Way::Shared,
        };
        Ok(Self { fd, way })
    }

    /// `EAGAIN` when nothing can be taken now.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self.way {
            Way::NonBlocking => write(&self.fd, bytes),
            Way::Socket => send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            Way::Shared if self.now(PollFlags::OUT).is_empty() => Err(Errno::AGAIN),
            Way::Shared => write(&self.fd, &bytes[..bytes.len().min(SURE_TO_FIT)]),
        }
    }

    /// Whether nobody can read any more what is written here.
    pub fn is_gone(&self) -> bool {
        self.now(PollFlags::empty())
            .intersects(PollFlags::ERR | PollFlags::HUP)
    }

    fn now(&self, wanted: PollFlags) -> PollFlags {
        let mut fds = [PollFd::new(&self.fd, wanted)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match poll(&mut fds, Some(&at_once)) {
            Ok(_) => fds[0].revents(),
            Err(_) => PollFlags::empty(),
        }
    }
}

impl AsFd for Sink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
