//! The thread that draws: folds its own picture, keeps what the user's keys chose, and writes frames
//! without waiting. Fed by [`super::stage`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use lowtide_core::entry::Entry;
use lowtide_core::explain::Explanation;
use lowtide_core::report::{Detail, Picture};
use lowtide_core::units::Micros;
use lowtide_core::verdict::Class;
use lowtide_sys::pty::Terminal;
use lowtide_sys::sink::Sink;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

use super::content::{Content, Said};
use super::keys;
use super::output::Output;
use super::stage::{Input, Keyboard, Wish};
use super::view::{Asked, View};
use super::{bytes, draw, job_size, restore};
use crate::show::style::Style;

/// More columns than a terminal is wide, so that there is something to zoom into: 21 s of a day.
const DETAIL: Detail = Detail {
    main: 4096,
    other: 256,
};
/// Frames that new data asks for come at most this often; a reader sees no more.
const FRAME: Duration = Duration::from_millis(250);
/// Frames that a key asks for: a held key repeats every 30 ms.
const KEY_FRAME: Duration = Duration::from_millis(50);
/// A terminal that took nothing is asked again after this long.
const AGAIN: Duration = Duration::from_millis(50);
/// Lines that lowtide said and that are kept.
const SAID: usize = 50;
/// A new explanation comes this often: it changes slowly.
const EXPLAIN_EVERY: Micros = Micros(10_000_000);

pub(super) struct Player {
    picture: Picture,
    view: View,
    said: Vec<Said>,
    content: Option<Content>,
    explanation: Option<Explanation>,
    explained: Option<Micros>,
    output: Option<Output>,
    style: Style,
    keyboard: Keyboard,
    sink: Sink,
    terminal: OwnedFd,
    /// Bytes of the last frame that the terminal has not taken yet.
    pending: Vec<u8>,
    before: Buffer,
    /// The terminal is ours.
    on: bool,
    paused: bool,
    /// The content is older than the picture.
    stale: bool,
    /// When the next frame may come; none when nothing changed.
    due: Option<Instant>,
    wish: Sender<Wish>,
    waiting: Arc<AtomicUsize>,
}

impl Player {
    pub(super) fn new(
        keyboard: Keyboard,
        wish: Sender<Wish>,
        waiting: Arc<AtomicUsize>,
    ) -> io::Result<Player> {
        let stdout = io::stdout();
        let mut player = Player {
            picture: Picture::new(DETAIL),
            view: View::default(),
            said: Vec::new(),
            content: None,
            explanation: None,
            explained: None,
            output: None,
            style: Style::of(&stdout),
            keyboard,
            sink: Sink::to(stdout.as_fd())?,
            terminal: stdout.as_fd().try_clone_to_owned()?,
            pending: Vec::new(),
            before: Buffer::default(),
            on: false,
            paused: false,
            stale: true,
            due: Some(Instant::now()),
            wish,
            waiting,
        };
        player.output = (keyboard == Keyboard::Keepers).then(|| {
            let (rows, columns) = job_size(player.area());
            Output::new(rows, columns)
        });
        Ok(player)
    }

    pub(super) fn play(&mut self, inputs: &Receiver<Input>) {
        loop {
            let wait = match self.due {
                _ if !self.pending.is_empty() => AGAIN,
                Some(due) => due.saturating_duration_since(Instant::now()).min(FRAME),
                None => FRAME,
            };
            let mut next = inputs.recv_timeout(wait);
            let since = Instant::now();
            loop {
                match next {
                    Ok(input) => {
                        if !self.take(input) {
                            return;
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return restore::give_back(),
                }
                // A job that prints without a pause must not keep the view from being drawn.
                if since.elapsed() >= FRAME {
                    break;
                }
                next = inputs.try_recv().map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                });
            }
            self.mind_the_foreground();
            self.flush();
            self.mind_the_size();
            self.flush();
            let now = Instant::now();
            if self.on && self.pending.is_empty() && self.due.is_some_and(|due| due <= now) {
                self.frame();
            }
        }
    }

    /// False at the end.
    fn take(&mut self, input: Input) -> bool {
        match input {
            Input::Entry(entry) => {
                self.picture.apply(&entry);
                // Marks come many times a second; what they change is seen with the next sample.
                if !matches!(*entry, Entry::Mark(_)) {
                    self.stale = true;
                    self.want(FRAME);
                }
            }
            Input::Output(bytes) => {
                self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
                if let Some(output) = &mut self.output {
                    output.feed(&bytes);
                    self.want(FRAME);
                }
            }
            Input::Known(bytes) => {
                if let Some(output) = &mut self.output {
                    output.feed_known(&bytes);
                }
            }
            Input::Said(text) => {
                let at = self.picture.run.last_at();
                self.said.push(Said { at, text });
                let old = self.said.len().saturating_sub(SAID);
                self.said.drain(..old);
                self.stale = true;
                self.want(FRAME);
            }
            Input::Keys(bytes) => self.keys(&bytes),
            Input::Pause(done) => {
                self.paused = true;
                self.leave();
                let _ = done.send(());
            }
            Input::Resume => self.paused = false,
            Input::Redraw => self.forget_screen(),
            Input::Close(done) => {
                self.leave();
                // It came to us alone, also while we did not draw.
                if let Some(output) = &mut self.output {
                    restore::write(&self.sink, &output.rest());
                }
                let _ = done.send(());
                return false;
            }
        }
        true
    }

    fn keys(&mut self, bytes: &[u8]) {
        for key in keys::parse(bytes) {
            let content = self.content();
            let asked = self.view.key(key, &content);
            self.content = Some(content);
            // The watching loop may be gone, and we soon after it.
            let _ = match asked {
                Asked::Quit => self.wish.send(Wish::Quit),
                Asked::Stop => self.wish.send(Wish::Stop),
                Asked::Redraw => {
                    self.forget_screen();
                    Ok(())
                }
                Asked::Nothing => Ok(()),
            };
            self.stale = true;
            self.want(KEY_FRAME);
        }
    }

    /// A frame, not sooner than this after the last one.
    fn want(&mut self, after: Duration) {
        let due = Instant::now() + after;
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    fn content(&mut self) -> Content {
        match self.content.take() {
            Some(content) if !self.stale => content,
            _ => {
                self.stale = false;
                let explanation = self.explanation();
                Content::of(&self.picture, &self.view, &self.said, explanation)
            }
        }
    }

    /// What explains a growth; kept for a while, as it costs more than a verdict.
    fn explanation(&mut self) -> Option<Explanation> {
        let now = self.picture.run.last_at();
        if self
            .explained
            .is_none_or(|at| now.since(at) >= EXPLAIN_EVERY)
        {
            self.explained = Some(now);
            let verdict = self.picture.run.verdict();
            let grew = verdict.growing || matches!(verdict.verdict, Class::Leak | Class::WarmUp);
            self.explanation = grew.then(|| self.picture.run.explained().2);
        }
        self.explanation.clone()
    }

    fn area(&self) -> Rect {
        size_of(self.terminal.as_fd())
    }

    fn frame(&mut self) {
        self.due = None;
        let mut after = Buffer::empty(self.before.area);
        let content = self.content();
        let job = self.output.as_ref().map(Output::screen);
        draw(&content, &self.view, job, self.style, &mut after);
        self.content = Some(content);
        self.pending = bytes::changes(&self.before, &after);
        self.before = after;
        self.flush();
    }

    fn flush(&mut self) {
        while !self.pending.is_empty() {
            match self.sink.write(&self.pending) {
                Ok(written) => drop(self.pending.drain(..written)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The terminal is gone; SIGHUP is on its way to the watching loop.
                Err(_) => self.pending.clear(),
            }
        }
    }

    /// A terminal tells its size to the foreground by a signal that is the keeper's or nobody's; asking
    /// four times a second costs less than it.
    fn mind_the_size(&mut self) {
        let area = self.area();
        if !self.on || !self.pending.is_empty() || self.before.area == area {
            return;
        }
        self.before = Buffer::empty(area);
        self.forget_screen();
        if let Some(output) = &mut self.output {
            let (rows, columns) = job_size(area);
            output.resize(rows, columns);
            let _ = self.wish.send(Wish::JobSize { rows, columns });
        }
    }

    /// What is on the screen is not known: it is cleared and drawn whole.
    fn forget_screen(&mut self) {
        self.before.reset();
        self.pending = b"\x18\x1b[m\x1b[2J".to_vec();
        self.due = Some(Instant::now());
    }

    /// `bg` leaves us running without the terminal, `fg` brings it back.
    fn mind_the_foreground(&mut self) {
        let ours = tcgetpgrp(&self.terminal).map_or(true, |group| group == getpgrp());
        if self.on && !ours {
            self.on = false;
        } else if !self.on && ours && !self.paused {
            self.enter();
        }
    }

    fn enter(&mut self) {
        let modes = match self.keyboard {
            Keyboard::Own => self.terminal.try_clone().ok().map(Terminal::new),
            Keyboard::Keepers => None,
        };
        let Ok(sink) = Sink::to(self.terminal.as_fd()) else {
            return;
        };
        if restore::take(sink, modes).is_ok() {
            self.on = true;
            self.before = Buffer::empty(Rect::default());
            self.due = Some(Instant::now());
        }
    }

    fn leave(&mut self) {
        self.on = false;
        self.pending.clear();
        restore::give_back();
    }
}

/// The size of the terminal on stdout.
pub(crate) fn screen_size() -> Rect {
    size_of(io::stdout().as_fd())
}

fn size_of(terminal: BorrowedFd) -> Rect {
    let size = tcgetwinsize(terminal).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(Rect::new(0, 0, 80, 24), |size| {
        Rect::new(0, 0, size.ws_col, size.ws_row)
    })
}
