//! How each of the job's three streams is connected, seen from what the user connected us to.
//!
//! | user's stream | the job gets |
//! |---|---|
//! | terminal | a pty; the keeper copies |
//! | pipe, socket | a pipe; the keeper copies |
//! | file, device | the same file |
//!
//! stdin is inherited, except when stdin and stdout are the same terminal: then the job gets a pty for both and a
//! session of its own on it, so that full-screen programs work, and the user's terminal passes every key through.
//! In a pipeline (`… | lowtide run -- job`, `lowtide run -- job | tee log`) the terminal is shared with others: the
//! job stays in our process group, the terminal keeps its modes, and Ctrl-C and Ctrl-Z reach all as without us.
//! A pager at the end of such a pipeline that asks its stderr for keys (`less`) gets none: the keys stay with the
//! terminal that all share.
//! Streams of one place share one pipe or pty, so that their order is kept.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lowtide_sys::pty::Pty;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::isatty;

use super::channel::Channel;
use super::wire::{Route, Stream};

/// The job's streams and what the keeper copies for them.
pub(super) struct Routes {
    /// What the job gets as stdin, stdout and stderr; None is what we have.
    pub job: [Option<OwnedFd>; 3],
    pub stdout: Route,
    pub stderr: Route,
    /// The first one is the job's own terminal when `apart` is there.
    pub channels: Vec<Channel>,
    /// The job's own terminal, when it gets a session.
    pub apart: Option<OwnedFd>,
    /// Job's ends of ptys. Kept open while the main process lives, so that it may close and reopen its terminal.
    pub slaves: Vec<OwnedFd>,
}

impl Routes {
    pub(super) fn find() -> io::Result<Self> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let ends = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        Self::of(ends, std::env::var_os("JOURNAL_STREAM").is_some())
    }

    /// `journal`: sockets lead to systemd's journal, and programs look whether they still do.
    fn of(user: [BorrowedFd; 3], journal: bool) -> io::Result<Self> {
        let place = [
            StreamEnd::of(user[0])?,
            StreamEnd::of(user[1])?,
            StreamEnd::of(user[2])?,
        ];
        let full = place[0].kind == StreamKind::Terminal && place[0] == place[1];
        let mut routes = Self {
            job: [None, None, None],
            stdout: Route::Unread,
            stderr: Route::Unread,
            channels: Vec::new(),
            apart: None,
            slaves: Vec::new(),
        };
        routes.stdout = routes.output(1, user[1], place[1], journal, full)?;
        routes.stderr = if place[1] == place[2] && routes.job[1].is_some() {
            routes.job[2] = routes.job[1].as_ref().map(OwnedFd::try_clone).transpose()?;
            routes.stdout
        } else {
            routes.output(2, user[2], place[2], journal, false)?
        };
        if full && routes.stdout == Route::Terminal {
            routes.job[0] = routes.job[1].as_ref().map(OwnedFd::try_clone).transpose()?;
            routes.apart = routes.job[1].as_ref().map(OwnedFd::try_clone).transpose()?;
        }
        Ok(routes)
    }

    fn output(
        &mut self,
        index: usize,
        user: BorrowedFd,
        place: StreamEnd,
        journal: bool,
        full: bool,
    ) -> io::Result<Route> {
        let stream = if index == 1 {
            Stream::Stdout
        } else {
            Stream::Stderr
        };
        Ok(match place.kind {
            // Without ptys (no /dev/ptmx) the job gets the terminal itself: nobody reads along, all else works.
            StreamKind::Terminal => match Pty::like(user) {
                Ok(pty) => {
                    if !full {
                        pty.output_untreated()?;
                    }
                    unblocked(&pty.master)?;
                    self.channels
                        .push(Channel::new(pty.master, user, stream, Route::Terminal)?);
                    self.job[index] = Some(pty.slave.try_clone()?);
                    self.slaves.push(pty.slave);
                    Route::Terminal
                }
                Err(_) => Route::Unread,
            },
            StreamKind::Socket if journal => Route::Unread,
            StreamKind::Pipe | StreamKind::Socket => {
                let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
                unblocked(&ours)?;
                self.channels
                    .push(Channel::new(ours, user, stream, Route::Pipe)?);
                self.job[index] = Some(theirs);
                Route::Pipe
            }
            StreamKind::File => Route::File,
            StreamKind::Device => Route::Unread,
        })
    }
}

/// The name under which the output beside our own messages comes: stderr's, unless stdout is the same place.
pub(crate) fn beside_our_messages() -> Stream {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    match (StreamEnd::of(stdout.as_fd()), StreamEnd::of(stderr.as_fd())) {
        (Ok(stdout), Ok(stderr)) if stdout == stderr => Stream::Stdout,
        _ => Stream::Stderr,
    }
}

fn unblocked(fd: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamKind {
    Terminal,
    Pipe,
    Socket,
    File,
    Device,
}

/// What a descriptor leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StreamEnd {
    kind: StreamKind,
    file: (u64, u64),
}

impl StreamEnd {
    fn of(fd: BorrowedFd) -> io::Result<Self> {
        let stat = fstat(fd)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => StreamKind::Pipe,
            FileType::Socket => StreamKind::Socket,
            FileType::RegularFile => StreamKind::File,
            _ if isatty(fd) => StreamKind::Terminal,
            _ => StreamKind::Device,
        };
        Ok(Self {
            kind,
            file: (stat.st_dev, stat.st_ino),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn one_pipe_for_two_streams_of_one_place() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let (_reader, one) = std::io::pipe().unwrap();
        let (_reader, two) = std::io::pipe().unwrap();
        let same = Routes::of([null.as_fd(), one.as_fd(), one.as_fd()], false).unwrap();
        assert_eq!(
            (same.channels.len(), same.stdout, same.stderr),
            (1, Route::Pipe, Route::Pipe)
        );
        let apart = Routes::of([null.as_fd(), one.as_fd(), two.as_fd()], false).unwrap();
        assert_eq!(apart.channels.len(), 2);
    }

    #[test]
    fn files_and_devices_stay_the_jobs_own() {
        let file = tempfile::tempfile().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let routes = Routes::of([null.as_fd(), file.as_fd(), null.as_fd()], false).unwrap();
        assert_eq!((routes.stdout, routes.stderr), (Route::File, Route::Unread));
        assert!(routes.channels.is_empty() && routes.job.iter().all(Option::is_none));
    }

    #[test]
    fn a_session_only_when_input_and_output_are_one_terminal() {
        let user = Pty::open().unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let (_reader, pipe) = std::io::pipe().unwrap();
        let tty = user.slave.as_fd();
        let full = Routes::of([tty, tty, tty], false).unwrap();
        assert!(full.apart.is_some() && full.job.iter().all(Option::is_some));
        assert_eq!(full.channels.len(), 1);
        let into_tee = Routes::of([tty, pipe.as_fd(), tty], false).unwrap();
        assert!(into_tee.apart.is_none() && into_tee.job[0].is_none());
        assert_eq!(
            (into_tee.stdout, into_tee.stderr),
            (Route::Pipe, Route::Terminal)
        );
        let fed = Routes::of([null.as_fd(), tty, tty], false).unwrap();
        assert!(fed.apart.is_none() && fed.stdout == Route::Terminal);
    }

    #[test]
    fn a_socket_is_copied_unless_it_is_the_journal() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let (socket, _other) = UnixStream::pair().unwrap();
        let user = [null.as_fd(), socket.as_fd(), null.as_fd()];
        assert_eq!(Routes::of(user, false).unwrap().stdout, Route::Pipe);
        assert_eq!(Routes::of(user, true).unwrap().stdout, Route::Unread);
    }
}
