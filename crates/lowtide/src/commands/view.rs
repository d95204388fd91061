//! The live view of `attach` and `run --tui`: opened, fed and closed in one place.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use lowtide_core::units::Bytes;
use lowtide_session::keeper::Handle;
use lowtide_session::watch::Watch;
use lowtide_sys::sink::Sink;

use crate::serve;
use crate::show::tui::{self, Keyboard, Stage, Wish};

/// How a run is shown while it goes on, apart from plain lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// `run --tui`.
    pub tui: bool,
    /// `--web`: a page at this address.
    pub web: Option<SocketAddr>,
}

/// Shows the run on a page. Without it a run is as good: what fails here is only told.
pub fn open_page(address: Option<SocketAddr>, watch: &Watch) {
    let Some(address) = address else { return };
    let teller = watch.teller();
    if watch.dir().is_none() {
        return teller.say("there is no page of a run that is not recorded");
    }
    match serve::beside(&watch.run.header().name, address) {
        Ok(said) => teller.say(&said),
        Err(error) => teller.say(&format!("there is no page: {error:#}")),
    }
}

/// Starts to draw what is watched. None where this terminal cannot be drawn on, which is told.
pub fn open(keyboard: Keyboard, watch: &mut Watch) -> Option<Stage> {
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
pub fn close(stage: Option<Stage>, watch: &mut Watch) {
    if let Some(stage) = stage {
        watch.listen(None);
        stage.close();
        watch.teller().into_view(None);
    }
}

/// The view of `run --tui`. The keeper lets us draw, and gives us what the job prints and the user types.
#[derive(Default)]
pub struct RunView {
    wanted: bool,
    stage: Option<Stage>,
    /// The keeper does not know yet that we left: what the job prints still comes to us alone.
    leaving: bool,
    /// What the job printed before there was a view.
    early: Vec<u8>,
}

/// More than a screen of what was printed early is not needed.
const EARLY: usize = 64 * 1024;

impl RunView {
    pub fn new(wanted: bool) -> RunView {
        RunView {
            wanted,
            ..RunView::default()
        }
    }

    /// Asks a new keeper for the terminal.
    pub fn begin(&mut self, handle: &mut Handle, watch: &Watch) {
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

    /// The keeper answered: the terminal is ours, or the job's again.
    pub fn screen(&mut self, ours: bool, handle: &mut Handle, watch: &mut Watch) {
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

    pub fn output(&mut self, bytes: &[u8]) {
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

    /// The job printed faster than we could take it.
    pub fn dropped(&mut self, bytes: u64) {
        let text = format!("\r\n[lowtide: {} of output left out]\r\n", Bytes(bytes));
        self.output(text.as_bytes());
    }

    pub fn keys(&self, bytes: Vec<u8>) {
        if let Some(stage) = &self.stage {
            stage.keys(bytes);
        }
    }

    /// The job was stopped and goes on, and so do we.
    pub fn resume(&self) {
        if let Some(stage) = &self.stage {
            stage.resume();
        }
    }

    /// Does what the user asked for in the view.
    pub fn turn(&mut self, handle: &mut Handle, watch: &mut Watch) {
        while let Some(wish) = self.stage.as_ref().and_then(Stage::wish) {
            match wish {
                Wish::JobSize { rows, columns } => handle.take_screen(rows, columns),
                Wish::Quit => self.leave(handle, watch),
                // The keeper gives Ctrl-Z to the job.
                Wish::Stop => {}
            }
        }
    }

    /// The job goes on without a view.
    fn leave(&mut self, handle: &mut Handle, watch: &mut Watch) {
        self.end(handle, watch);
        (self.wanted, self.leaving) = (false, true);
        handle.leave_screen();
    }

    pub fn end(&mut self, handle: &mut Handle, watch: &mut Watch) {
        handle.before_stop(None);
        close(self.stage.take(), watch);
    }
}
