//! The doors to stdout and stderr: what people read goes through here and nowhere else, so that nothing of
//! outside reaches a terminal that the terminal would obey (`lowtide_core::text`).
//!
//! Talk goes to stderr, and a stderr that cannot be written (closed, full, gone) changes neither what we do
//! nor the code we end with: `eprintln!` would panic there.

use std::fmt::Display;
use std::io::{self, Write};

use lowtide_core::text::{for_terminal, json_for_terminal};

/// One line on stderr.
macro_rules! tell {
    ($($words:tt)*) => {
        $crate::tell::lines(&lowtide_core::text::shown(&format!($($words)*)))
    };
}

pub(crate) use tell;

/// Lines of ours on stderr.
pub(crate) fn lines(text: &str) {
    let text = format!("{}\n", for_terminal(text).trim_end_matches('\n'));
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A text for people on stdout; its lines are ours, their fields were made by [`lowtide_core::text::shown`].
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(for_terminal(text).as_bytes())?;
    out.flush()
}

/// One JSON object on stdout.
pub(crate) fn print_json(object: impl Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", json_for_terminal(&object.to_string()))?;
    out.flush()
}

/// Rows of a table on their way to a terminal, line by line.
pub(crate) struct Rows<W: Write> {
    pub out: W,
    /// What is JSON stays JSON.
    pub json: bool,
    begun: Vec<u8>,
}

impl<W: Write> Rows<W> {
    pub(crate) fn to(out: W, json: bool) -> Rows<W> {
        Rows {
            out,
            json,
            begun: Vec::new(),
        }
    }

    fn let_go(&mut self, whole: usize) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.begun[..whole]).into_owned();
        self.begun.drain(..whole);
        let safe = if self.json {
            json_for_terminal(&line)
        } else {
            for_terminal(&line)
        };
        self.out.write_all(safe.as_bytes())
    }
}

impl<W: Write> Write for Rows<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        if let Some(last) = self.begun.iter().rposition(|byte| *byte == b'\n') {
            self.let_go(last + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for Rows<W> {
    fn drop(&mut self) {
        let whole = self.begun.len();
        let _ = self.let_go(whole);
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn rows_are_whole_lines_without_what_a_terminal_obeys() {
        for (json, expected) in [
            (false, "\\x1b[2Jé\\u{202e}\nrest"),
            (true, "\x1b[2Jé\\u202e\nrest"),
        ] {
            let mut rows = Rows::to(Vec::new(), json);
            for byte in "\x1b[2Jé\u{202e}\nrest".bytes() {
                rows.write_all(&[byte]).unwrap();
            }
            rows.let_go(4).unwrap();
            assert_eq!(String::from_utf8(rows.out.clone()).unwrap(), expected);
        }
    }

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    /// A view that writes past the doors would be the next one to obey a stranger.
    #[test]
    fn nobody_else_writes_to_stdout_or_stderr() {
        // This file; the bar, which draws a line of its own; bytes of tables and reports.
        let doors = ["tell.rs", "progress.rs", "export.rs", "report.rs"];
        let mut files = Vec::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut files,
        );
        assert!(files.len() > 50);
        for path in files {
            let name = path.file_name().unwrap().to_str().unwrap();
            if doors.contains(&name) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text: String = text.split_whitespace().collect();
            for way in [
                "println!(",
                "eprint!(",
                "stdout().lock",
                "stderr().lock",
                "write!(std::io::",
                "writeln!(std::io::",
                "write!(io::",
                "writeln!(io::",
            ] {
                assert!(!text.contains(way), "{way} in {}", path.display());
            }
        }
    }
}
