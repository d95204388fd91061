//! One stream of output on its way from the job to the user: every byte, in order, once.
//!
//! The keeper's loop says when to pump; the watcher gets copies as far as it keeps up.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use lowtide_sys::pty::{copy_size, set_size};
use lowtide_sys::sink::Sink;
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, read};

use super::wire::{ANYWHERE, LONGEST_PIECE, Route, Stream};

/// Reads per turn, so that a job that prints without end leaves room for signals and the other stream.
const READS_A_TURN: usize = 16;

/// What can be on its way when the main process ends: a pipe holds 64 KiB, a pty's buffers no more than twice
/// that. What descendants print after that is theirs and not waited for.
const ON_ITS_WAY: usize = 256 * 1024;

pub(super) struct Channel {
    /// Our end of the job's stream; None when the job's side or the user's side is closed.
    source: Option<OwnedFd>,
    sink: Sink,
    stream: Stream,
    route: Route,
    buffer: Box<[u8]>,
    /// The part of the buffer that is read and not yet written.
    held: std::ops::Range<usize>,
    /// How much the job has printed here.
    passed: u64,
    /// What is read goes to the watcher alone, which shows it.
    muted: bool,
    /// Bytes that may still be on their way, once the main process has ended.
    on_its_way: Option<usize>,
}

impl Channel {
    pub(super) fn new(
        source: OwnedFd,
        user: BorrowedFd,
        stream: Stream,
        route: Route,
    ) -> io::Result<Self> {
        Ok(Self {
            source: Some(source),
            sink: Sink::to(user)?,
            stream,
            route,
            buffer: vec![0; LONGEST_PIECE].into(),
            held: 0..0,
            passed: 0,
            muted: false,
            on_its_way: None,
        })
    }

    pub(super) fn stream(&self) -> Stream {
        self.stream
    }

    pub(super) fn passed(&self) -> u64 {
        self.passed
    }

    /// Puts the watcher's words between two pieces of output, at the next pump. False when they are not for this
    /// place any more, the user's side is behind, or the watcher has the screen.
    pub(super) fn insert(&mut self, at: u64, bytes: &[u8]) -> bool {
        let here = at == self.passed || at == ANYWHERE;
        if !here || self.muted || !self.held.is_empty() || bytes.len() > self.buffer.len() {
            return false;
        }
        self.buffer[..bytes.len()].copy_from_slice(bytes);
        self.held = 0..bytes.len();
        true
    }

    pub(super) fn is_open(&self) -> bool {
        self.source.is_some() || !self.held.is_empty()
    }

    /// The job's end of it, to write what the user types.
    pub(super) fn source(&self) -> Option<&OwnedFd> {
        self.source.as_ref()
    }

    /// What to poll for: input while nothing is held, room while something is, and the end of the user's side
    /// always.
    pub(crate) fn interests(&self) -> impl Iterator<Item = PollFd<'_>> {
        let source = self.source.as_ref().filter(|_| self.held.is_empty());
        let wanted = if self.held.is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::OUT
        };
        let sink = self.is_open().then(|| PollFd::new(&self.sink, wanted));
        source
            .map(|fd| PollFd::new(fd, PollFlags::IN))
            .into_iter()
            .chain(sink)
    }

    /// The main process ended.
    pub(crate) fn main_ended(&mut self) {
        self.on_its_way = Some(ON_ITS_WAY);
    }

    /// Whether all that the main process printed is out.
    pub(crate) fn is_drained(&self) -> bool {
        !self.is_open() || (self.on_its_way == Some(0) && self.held.is_empty())
    }

    /// Moves what can be moved now. Each piece that was read is shown to `copy`.
    pub(crate) fn pump(&mut self, mut copy: impl FnMut(Stream, &[u8])) {
        if self.is_open() && self.sink.is_gone() {
            self.close();
        }
        for _ in 0..READS_A_TURN {
            while !self.held.is_empty() {
                match self.sink.write(&self.buffer[self.held.clone()]) {
                    Ok(written) => self.held.start += written,
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return,
                    // EPIPE, or EIO of a terminal that was closed.
                    Err(_) => return self.close(),
                }
            }
            let Some(source) = &self.source else { return };
            match read(source, &mut self.buffer[..]) {
                Ok(0) => return self.source = None,
                Ok(got) => {
                    self.passed += got as u64;
                    self.held = 0..if self.muted { 0 } else { got };
                    if let Some(left) = &mut self.on_its_way {
                        *left = left.saturating_sub(got);
                    }
                    copy(self.stream, &self.buffer[..got]);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if let Some(left) = &mut self.on_its_way {
                        *left = 0;
                    }
                    return;
                }
                // EIO: nobody has the pty's other end open.
                Err(_) => return self.source = None,
            }
        }
    }

    /// From here on nothing reaches the user's terminal but through the watcher, which has got what is held.
    pub(crate) fn mute(&mut self) {
        self.muted = true;
        self.held = 0..0;
    }

    /// What is read goes to the user again, and first of all this.
    pub(crate) fn unmute(&mut self, first: &[u8]) {
        self.muted = false;
        self.buffer[..first.len()].copy_from_slice(first);
        self.held = 0..first.len();
    }

    pub(super) fn set_size(&self, rows: u16, columns: u16) {
        if let Some(source) = &self.source {
            // A terminal that is gone needs no size.
            set_size(source.as_fd(), rows, columns).ok();
        }
    }

    /// Gives the job's terminal the size of the user's; true when that was a change.
    pub(super) fn resize(&self) -> bool {
        match (&self.source, self.route) {
            (Some(source), Route::Terminal) if !self.muted => {
                copy_size(self.sink.as_fd(), source.as_fd()).unwrap_or(false)
            }
            _ => false,
        }
    }

    /// The user's side is gone: closing ours makes the job see it, by SIGPIPE or a hangup.
    fn close(&mut self) {
        self.source = None;
        self.held = 0..0;
    }
}
