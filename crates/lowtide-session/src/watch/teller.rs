//! What is said to the user while a job runs: few plain lines on stderr, or into the live view while one
//! has the terminal.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use lowtide_core::output::OUR_LEAD;
use lowtide_core::text::{for_terminal, shown};
use rustix::fs::FileType;

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
        }
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
        // In one piece: the job may write to the same place between two.
        let text = for_terminal(text).replace('\n', self.line_end) + self.line_end;
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Teller")
            .field("quiet", &self.quiet)
            .finish_non_exhaustive()
    }
}
