//! What is said to the user while a job runs: few plain lines on stderr.

use std::io::{IsTerminal, Write};

#[derive(Clone, Debug)]
pub struct Teller {
    quiet: bool,
    /// Under `run` the keeper puts the terminal into raw mode, where a line feed alone does not
    /// return to the first column.
    line_end: &'static str,
}

impl Teller {
    pub fn new(quiet: bool) -> Teller {
        let line_end = if std::io::stderr().is_terminal() {
            "\r\n"
        } else {
            "\n"
        };
        Teller { quiet, line_end }
    }

    /// One line; nothing when quiet. A stderr that is gone is no reason to stop watching.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.write(&format!("lowtide: {text}"));
        }
    }

    pub fn hint(&self, text: &str) {
        if !self.quiet {
            self.write(&format!("hint: {text}"));
        }
    }

    /// Several lines, said even when quiet is not.
    pub fn block(&self, text: &str) {
        if !self.quiet {
            self.write(text.trim_end_matches('\n'));
        }
    }

    fn write(&self, text: &str) {
        let text = text.replace('\n', self.line_end);
        let _ = write!(std::io::stderr().lock(), "{text}{}", self.line_end);
    }
}

/// At most `width` characters; what is cut shows as `…`.
pub fn short(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}
