//! What is said to the user while a job runs: few plain lines on stderr, or into the live view while one
//! has the terminal.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use lowtide_core::output::OUR_LEAD;
use lowtide_core::text::{for_terminal, shown};
use rustix::fs::FileType;

use crate::keeper::{Event, Handle, beside_our_messages};

use super::voice::{Voice, lead_in_file};

#[derive(Clone)]
pub struct Teller {
    quiet: bool,
    /// Under `run` the keeper puts the terminal into raw mode, where a line feed alone does not
    /// return to the first column.
    line_end: &'static str,
    /// Stderr is a file. The job's output often goes to the same one, and whoever reads steps from it (we
    /// do) must be able to leave out what is ours: every line begins with [`OUR_LEAD`] there.
    in_file: bool,
    /// The live view, shared by all who tell.
    view: Arc<Mutex<Option<Ear>>>,
    way: Arc<Mutex<Way>>,
}

/// How a message gets to stderr.
enum Way {
    /// A keeper carries the job's output there: between two pieces of it.
    Among(Voice),
    /// By ourselves, once this has led to a line of our own.
    Direct { lead: String },
}

/// Takes a line and never waits.
pub(super) type Ear = Box<dyn Fn(&str) + Send>;

impl Teller {
    pub fn new(quiet: bool) -> Teller {
        let line_end = if std::io::stderr().is_terminal() {
            "\r\n"
        } else {
            "\n"
        };
        Teller {
            quiet,
            line_end,
            in_file: rustix::fs::fstat(std::io::stderr())
                .is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_file()),
            view: Arc::default(),
            way: Arc::new(Mutex::new(Way::Direct {
                lead: String::new(),
            })),
        }
    }

    /// The job's output is carried by this keeper from here on, to our own stderr if that is `ours`.
    pub(crate) fn among_output_of(&self, handle: &Handle, ours: bool) {
        let (_, route) = handle.routes();
        if let Some(voice) = Voice::among(beside_our_messages(), route).filter(|_| ours) {
            *self.way() = Way::Among(voice);
        }
    }

    /// Has the keeper put in what waits, where the job's output allows for it.
    pub(crate) fn pump(&self, handle: &mut Handle) {
        if let Way::Among(voice) = &mut *self.way()
            && let Some(insertion) = voice.insertion(Instant::now())
        {
            handle.insert(insertion.stream, insertion.at, insertion.bytes);
        }
    }

    /// What the keeper told.
    pub(crate) fn heard(&self, event: &Event) {
        if matches!(event, Event::KeeperLost | Event::Exited(_)) {
            return self.by_ourselves();
        }
        if let Way::Among(voice) = &mut *self.way() {
            match event {
                Event::Output { stream, bytes, .. } => voice.heard(*stream, bytes),
                Event::Inserted { taken, passed } => voice.answered(*taken, *passed),
                _ => {}
            }
        }
    }

    /// No keeper carries any more.
    pub(crate) fn by_ourselves(&self) {
        let mut way = self.way();
        if let Way::Among(voice) = &mut *way {
            let (lead, waiting) = voice.rest();
            *way = Way::Direct { lead };
            if !waiting.is_empty() {
                self.put(&mut way, &waiting);
            }
        }
    }

    fn way(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A live view has the terminal from here on and shows what is said; none gives it back.
    pub fn into_view(&self, ear: Option<Ear>) {
        *self.view.lock().unwrap_or_else(PoisonError::into_inner) = ear;
    }

    /// One line; nothing when quiet. A stderr that is gone is no reason to stop watching.
    pub fn say(&self, text: &str) {
        self.line("", text);
    }

    fn line(&self, lead: &str, text: &str) {
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        match &*view {
            Some(ear) => ear(text),
            None if self.quiet => {}
            None => self.write(&format!("{OUR_LEAD}{lead}{}", shown(text))),
        }
    }

    pub fn hint(&self, text: &str) {
        self.line("hint: ", text);
    }

    /// Several lines, said even when quiet is not.
    pub fn block(&self, text: &str) {
        if self.quiet {
            return;
        }
        let text = text.trim_end_matches('\n');
        if self.in_file {
            let lines: Vec<String> = text.lines().map(|l| format!("{OUR_LEAD}{l}")).collect();
            self.write(&lines.join("\n"));
        } else {
            self.write(text);
        }
    }

    fn write(&self, text: &str) {
        let text = for_terminal(text).replace('\n', self.line_end) + self.line_end;
        self.put(&mut self.way(), &text);
    }

    /// Whole lines, with their ends.
    fn put(&self, way: &mut Way, text: &str) {
        match way {
            Way::Among(voice) => voice.say(text, Instant::now()),
            Way::Direct { lead } => {
                let mut lead = std::mem::take(lead);
                if self.in_file {
                    lead = lead_in_file(Path::new("/proc/self/fd/2")).to_owned();
                }
                // In one piece: the job may write to the same place between two.
                let _ = std::io::stderr().lock().write_all((lead + text).as_bytes());
            }
        }
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller")
            .field("quiet", &self.quiet)
            .finish_non_exhaustive()
    }
}
