//! How far long work has come: one line on stderr that appears when there is something to wait for and
//! is gone when the work is. Who reads a recording tells it; nobody sees it unless stderr is a terminal.
//!
//! `LOWTIDE_PROGRESS=never` switches it off, `always` shows it from the first moment on.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use lowtide_core::text::shown;
use lowtide_core::units::show_bytes;

use super::style::{Paint, Style};

/// Shorter work needs no bar: it would only flicker.
const AFTER: Duration = Duration::from_millis(500);
/// Often enough to look alive, seldom enough to cost nothing over ssh.
const EVERY: Duration = Duration::from_millis(100);
/// Columns of the bar.
const BAR: usize = 30;

pub(crate) struct Progress {
    what: String,
    /// None when nobody knows where it ends: then `done` counts bytes.
    total: Option<u64>,
    /// None when nobody would see it.
    style: Option<Style>,
    next: Instant,
    drawn: bool,
}

impl Progress {
    /// Work of so many parts begins.
    pub(crate) fn new(what: impl Into<String>, total: u64) -> Progress {
        Progress::begin(what.into(), Some(total))
    }

    /// Reading begins, of what ends nobody knows where.
    pub(crate) fn endless(what: impl Into<String>) -> Progress {
        Progress::begin(what.into(), None)
    }

    fn begin(what: String, total: Option<u64>) -> Progress {
        let stderr = std::io::stderr();
        let wish = std::env::var("LOWTIDE_PROGRESS").unwrap_or_default();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let seen = stderr.is_terminal() && !dumb && wish != "never";
        let after = if wish == "always" {
            Duration::ZERO
        } else {
            AFTER
        };
        let mut progress = Progress {
            what,
            total,
            style: seen.then(|| Style::of(&stderr)),
            next: Instant::now() + after,
            drawn: false,
        };
        progress.at(0);
        progress
    }

    /// So many parts are done.
    pub(crate) fn at(&mut self, done: u64) {
        let Some(style) = self.style else { return };
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        self.drawn = true;
        // A terminal that cannot be written to is no reason to stop the work.
        let line = match self.total {
            Some(total) => line(&self.what, done, total, style),
            None => format!("{}: {}", self.what, show_bytes(done as f64)),
        };
        let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(what: &str, done: u64, total: u64, style: Style) -> String {
    let share = done.min(total) as f64 / total.max(1) as f64;
    let (full, left) = if style.unicode {
        ("█", "░")
    } else {
        ("#", ".")
    };
    let filled = (share * BAR as f64) as usize;
    let bar = style.paint(Paint::Floor, &full.repeat(filled)) + &left.repeat(BAR - filled);
    // What is longer than the line would wrap, and could not be taken back.
    let room = style.width.saturating_sub(BAR + 8);
    let what: String = shown(what).chars().take(room).collect();
    format!("{what} {bar} {:3.0} %", (share * 100.0).floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_and_says_how_much_is_done() {
        let ascii = Style {
            width: 60,
            colour: false,
            unicode: false,
        };
        let half = line("reading \x1b[31mx", 5, 10, ascii);
        assert_eq!(
            half,
            format!(
                r"reading \x1b[31mx {}{}  50 %",
                "#".repeat(15),
                ".".repeat(15)
            )
        );
        let long = line(&"x".repeat(300), 12, 10, ascii);
        assert!(
            long.chars().count() < 60 && long.ends_with("100 %"),
            "{long}"
        );
        assert!(line("nothing", 0, 0, ascii).ends_with("  0 %"));
    }
}
