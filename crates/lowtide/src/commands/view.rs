//! The live view of `attach` and `run --tui`: opened, fed and closed in one place.

use std::os::fd::AsFd;

use lowtide_core::units::Bytes;
use lowtide_session::keeper::{Event, Handle};
use lowtide_session::session::{self, View};
use lowtide_session::watch::Watch;
use lowtide_sys::sink::Sink;

use crate::commands::common::Web;
use crate::serve;
use crate::show::tui::{self, Keyboard, Stage, Wish};

/// Shows the run on a page. Without it a run is as good: what fails here is only told.
fn open_page(web: Option<Web>, watch: &Watch) {
    let Some(web) = web else { return };
    let teller = watch.teller();
    if watch.dir().is_none() {
        return teller.say("there is no page of a run that is not recorded");
    }
    match serve::beside(&watch.run.header().name, web.address, web.open) {
        Ok(said) => teller.say(&said),
        Err(error) => teller.say(&format!("there is no page: {error:#}")),
    }
}

/// Starts to draw what is watched. None where this terminal cannot be drawn on, which is told.
fn open(keyboard: Keyboard, watch: &mut Watch) -> Option<Stage> {
    match Stage::open(keyboard) {
        Ok(stage) => {
            watch.listen(Some(Box::new(stage.listener())));
            watch.teller().into_view(Some(Box::new(stage.ear())));
            Some(stage)
        }
        Err(error) => {
            let text = format!("cannot draw on this terminal: {error}");
            watch.teller().say(&text);
            None
        }
    }
}

/// Gives the terminal back; what is told goes to stderr again.
fn close(stage: Option<Stage>, watch: &mut Watch) {
    if let Some(stage) = stage {
        watch.listen(None);
        stage.close();
        watch.teller().into_view(None);
    }
}

/// The view of `attach`: the terminal and its keys are ours.
#[derive(Default)]
pub(super) struct AttachView {
    wanted: bool,
    web: Option<Web>,
    stage: Option<Stage>,
}

impl AttachView {
    /// A live view if it is `wanted` and there is a terminal for it, a page with `web`.
    pub(super) fn new(wanted: bool, web: Option<Web>) -> AttachView {
        AttachView {
            wanted,
            web,
            stage: None,
        }
    }
}

impl View for AttachView {
    fn opened(&mut self, watch: &mut Watch) {
        open_page(self.web, watch);
        if self.wanted && Stage::is_possible() {
            self.stage = open(Keyboard::Own, watch);
        }
    }

    fn turn(&mut self, _: Option<&mut Handle>, _: &mut Watch) -> Option<session::ViewWish> {
        match self.stage.as_ref().and_then(Stage::wish)? {
            Wish::Quit => Some(session::ViewWish::Leave),
            Wish::Stop => Some(session::ViewWish::Stop),
            // What the job prints goes elsewhere.
            Wish::JobSize { .. } => None,
        }
    }

    fn reads_keys(&mut self) -> bool {
        self.stage.as_ref().is_some_and(Stage::take_keys)
    }

    fn pause(&mut self) {
        if let Some(stage) = &self.stage {
            stage.pause();
        }
    }

    fn resume(&mut self) {
        if let Some(stage) = &self.stage {
            stage.resume();
        }
    }

    fn close(&mut self, _: Option<&mut Handle>, watch: &mut Watch) {
        close(self.stage.take(), watch);
    }
}

/// The view of `run --tui`. The keeper lets us draw, and gives us what the job prints and the user types.
#[derive(Default)]
pub(super) struct RunView {
    wanted: bool,
    web: Option<Web>,
    stage: Option<Stage>,
    /// The keeper does not know yet that we left: what the job prints still comes to us alone.
    leaving: bool,
    /// What the job printed before there was a view.
    early: Vec<u8>,
}

/// More than a screen of what was printed early is not needed.
const EARLY: usize = 64 * 1024;

impl RunView {
    /// A live view if it is `wanted`, a page with `web`.
    pub(super) fn new(wanted: bool, web: Option<Web>) -> RunView {
        RunView {
            wanted,
            web,
            ..RunView::default()
        }
    }

    /// The keeper answered: the terminal is ours, or the job's again.
    fn screen(&mut self, ours: bool, handle: &mut Handle, watch: &mut Watch) {
        if !ours {
            self.leaving = false;
            return;
        }
        match &self.stage {
            // A job that was started again: its first words may be on our screen.
            Some(stage) => stage.redraw(),
            None => match open(Keyboard::Keepers, watch) {
                Some(stage) => {
                    handle.before_stop(Some(Box::new(stage.pauser())));
                    stage.known_output(std::mem::take(&mut self.early));
                    self.stage = Some(stage);
                }
                None => self.leave(handle, watch),
            },
        }
    }

    fn output(&mut self, bytes: &[u8]) {
        if let Some(stage) = &self.stage {
            stage.output(bytes);
        } else if self.wanted && self.early.len() + bytes.len() <= EARLY {
            self.early.extend_from_slice(bytes);
        } else if self.leaving
            && let Ok(sink) = Sink::to(std::io::stdout().as_fd())
        {
            tui::write(&sink, bytes);
        }
    }

    /// The job goes on without a view.
    fn leave(&mut self, handle: &mut Handle, watch: &mut Watch) {
        self.close(Some(handle), watch);
        (self.wanted, self.leaving) = (false, true);
        handle.leave_screen();
    }
}

impl View for RunView {
    fn opened(&mut self, watch: &mut Watch) {
        open_page(self.web, watch);
    }

    /// Asks a new keeper for the terminal.
    fn begun(&mut self, handle: &mut Handle, watch: &Watch) {
        if !self.wanted {
            return;
        }
        if !Stage::is_possible() || !handle.has_terminal() {
            self.wanted = false;
            let teller = watch.teller();
            teller.say("--tui needs one terminal for input and output: going on without it");
            return;
        }
        let (rows, columns) = tui::job_size(tui::screen_size());
        handle.take_screen(rows, columns);
    }

    fn heard(&mut self, event: &Event, handle: &mut Handle, watch: &mut Watch) {
        match event {
            Event::Output { bytes, .. } => self.output(bytes),
            // The job printed faster than we could take it.
            Event::Dropped(bytes) => {
                let text = format!("\r\n[lowtide: {} of output left out]\r\n", Bytes(*bytes));
                self.output(text.as_bytes());
            }
            Event::Screen(ours) => self.screen(*ours, handle, watch),
            Event::Keys(bytes) => {
                if let Some(stage) = &self.stage {
                    stage.keys(bytes.clone());
                }
            }
            // The job was stopped and goes on, and so do we.
            Event::Stopped => {
                if let Some(stage) = &self.stage {
                    stage.resume();
                }
            }
            Event::Signal(_)
            | Event::Continued
            | Event::KeeperLost
            | Event::Exited(_)
            | Event::Inserted { .. } => {}
        }
    }

    fn turn(
        &mut self,
        handle: Option<&mut Handle>,
        watch: &mut Watch,
    ) -> Option<session::ViewWish> {
        let handle = handle?;
        while let Some(wish) = self.stage.as_ref().and_then(Stage::wish) {
            match wish {
                Wish::JobSize { rows, columns } => handle.take_screen(rows, columns),
                Wish::Quit => self.leave(handle, watch),
                // The keeper gives Ctrl-Z to the job.
                Wish::Stop => {}
            }
        }
        None
    }

    fn close(&mut self, handle: Option<&mut Handle>, watch: &mut Watch) {
        if let Some(handle) = handle {
            handle.before_stop(None);
        }
        close(self.stage.take(), watch);
    }
}
