//! What a live view hears of a session, and what it may ask of it. The program draws; the session only
//! tells.

use crate::keeper::{Event, Handle};
use crate::watch::Watch;

/// What a view asks of the session of a job that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewWish {
    /// Watching is to end; the job goes on.
    Leave,
    /// Ctrl-Z.
    Stop,
}

/// A view that does nothing by itself.
pub trait View {
    /// Watching has begun.
    fn opened(&mut self, _watch: &mut Watch) {}

    /// An attempt of a job of ours begins.
    fn begun(&mut self, _handle: &mut Handle, _watch: &Watch) {}

    /// What the keeper of a job of ours told.
    fn heard(&mut self, _event: &Event, _handle: &mut Handle, _watch: &mut Watch) {}

    /// Does what the user asked for in the view. `handle` is there for a job of ours.
    fn turn(&mut self, _handle: Option<&mut Handle>, _watch: &mut Watch) -> Option<ViewWish> {
        None
    }

    /// Takes what was typed at our own terminal; whether more of it is worth waiting for.
    fn reads_keys(&mut self) -> bool {
        false
    }

    /// We are about to be stopped: the terminal is the shell's for a while.
    fn pause(&mut self) {}

    fn resume(&mut self) {}

    /// Gives the terminal back for good.
    fn close(&mut self, _handle: Option<&mut Handle>, _watch: &mut Watch) {}
}

/// Plain lines only.
pub struct NoView;

impl View for NoView {}
