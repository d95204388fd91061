//! The way to the thread that draws. That thread folds its own picture from the entries that the watching
//! loop hands over, so that the loop does nothing but hand over. It writes without waiting: while the
//! terminal takes nothing, frames are left out.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use lowtide_core::entry::Entry;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use super::player::Player;
use super::restore;

/// Output of the job that waits to be shown at most; beyond that it is left out of the pane.
const WAITING: usize = 4 << 20;
/// How long the end of the thread is waited for: longer than it waits for the terminal itself.
const CLOSE_WITHIN: Duration = Duration::from_secs(10);

/// Whose the terminal's modes are, and who reads the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyboard {
    /// Ours: `attach`.
    Own,
    /// The keeper's, which hands over what is not for the job: `run --tui`.
    Keepers,
}

/// What the view asks of the watching loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Quit,
    /// Ctrl-Z.
    Stop,
    /// The job's terminal is to have this size.
    JobSize {
        rows: u16,
        columns: u16,
    },
}

pub(super) enum Input {
    Entry(Box<Entry>),
    Output(Vec<u8>),
    Known(Vec<u8>),
    Keys(Vec<u8>),
    Said(String),
    /// Gives the terminal away, and says when it is done.
    Pause(SyncSender<()>),
    Resume,
    Redraw,
    Close(SyncSender<()>),
}

pub(crate) struct Stage {
    to: Sender<Input>,
    wishes: Receiver<Wish>,
    thread: JoinHandle<()>,
    waiting: Arc<AtomicUsize>,
}

impl Stage {
    /// Whether stdin and stdout are one terminal that can be drawn on.
    pub(crate) fn is_possible() -> bool {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb" || term.is_empty());
        let place = |fd: rustix::fs::Stat| (fd.st_dev, fd.st_ino);
        let same = || {
            let both = (rustix::fs::fstat(&stdin), rustix::fs::fstat(&stdout));
            matches!(both, (Ok(a), Ok(b)) if place(a) == place(b))
        };
        stdin.is_terminal() && stdout.is_terminal() && !dumb && same()
    }

    /// Starts to draw on stdout. Signals that are not for us must be blocked, SIGTTOU among them.
    pub(crate) fn open(keyboard: Keyboard) -> io::Result<Stage> {
        let (to, inputs) = channel();
        let (wish, wishes) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut player = Player::new(keyboard, wish, Arc::clone(&waiting))?;
        let thread = std::thread::Builder::new()
            .name("lowtide-view".to_owned())
            .spawn(move || player.play(&inputs))?;
        Ok(Stage {
            to,
            wishes,
            thread,
            waiting,
        })
    }

    // A thread that is gone takes nothing: `wish` tells that it is.

    pub(crate) fn listener(&self) -> impl FnMut(&Entry) + Send + use<> {
        let to = self.to.clone();
        move |entry| {
            let _ = to.send(Input::Entry(Box::new(entry.clone())));
        }
    }

    pub(crate) fn ear(&self) -> impl Fn(&str) + Send + use<> {
        let to = self.to.clone();
        move |text| {
            let _ = to.send(Input::Said(text.to_owned()));
        }
    }

    /// What the job printed.
    pub(crate) fn output(&self, bytes: &[u8]) {
        if self.waiting.load(Ordering::Relaxed) + bytes.len() <= WAITING {
            self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
            let _ = self.to.send(Input::Output(bytes.to_vec()));
        }
    }

    /// What it printed on the user's own screen before there was a view.
    pub(crate) fn known_output(&self, bytes: Vec<u8>) {
        let _ = self.to.send(Input::Known(bytes));
    }

    pub(crate) fn keys(&self, bytes: Vec<u8>) {
        let _ = self.to.send(Input::Keys(bytes));
    }

    /// What the view asks for, one at a time. A view that broke down asks to quit.
    pub(crate) fn wish(&self) -> Option<Wish> {
        let wish = self.wishes.try_recv().ok();
        wish.or_else(|| self.thread.is_finished().then_some(Wish::Quit))
    }

    /// Hands over what was typed at our own keyboard, when the terminal is ours. False when there is
    /// nothing to wait for there now.
    pub(crate) fn take_keys(&self) -> bool {
        let stdin = io::stdin();
        if tcgetpgrp(&stdin).is_ok_and(|group| group != getpgrp()) {
            return false;
        }
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0) {
            let mut keys = [0; 256];
            match rustix::io::read(&stdin, &mut keys[..]) {
                Ok(got @ 1..) => self.keys(keys[..got].to_vec()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                // Hung up.
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    /// Gives the terminal back for a while: the shell wants it.
    pub(crate) fn pause(&self) {
        wait_for(&self.to, Input::Pause);
    }

    /// The same, for whoever stops us.
    pub(crate) fn pauser(&self) -> impl Fn() + use<> {
        let to = self.to.clone();
        move || wait_for(&to, Input::Pause)
    }

    /// Somebody else wrote on the screen.
    pub(crate) fn redraw(&self) {
        let _ = self.to.send(Input::Redraw);
    }

    pub(crate) fn resume(&self) {
        let _ = self.to.send(Input::Resume);
    }

    /// Gives the terminal back for good.
    pub(crate) fn close(self) {
        wait_for(&self.to, Input::Close);
        restore::give_back();
    }
}

/// Hands over and waits until it is done, but not for ever.
fn wait_for(to: &Sender<Input>, input: impl FnOnce(SyncSender<()>) -> Input) {
    let (done, wait) = sync_channel(1);
    if to.send(input(done)).is_ok() {
        let _ = wait.recv_timeout(CLOSE_WITHIN);
    }
}
