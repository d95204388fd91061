//! Lists of processes, as `ps`, `top` and `pidstat` print them: a head of names, then a row a process, cells parted
//! by blanks. Only the last cell, the command, may hold blanks itself.

use lowtide_core::verdict::Meter;

use super::super::gather::{Gather, Whose};
use super::super::time;

/// How the tools call the columns.
const SIZE: [&str; 4] = ["RSS", "RSZ", "RSSIZE", "RES"];
const NAME: [&str; 5] = ["COMMAND", "CMD", "ARGS", "Command", "CommandLine"];

#[derive(Clone, Debug)]
pub(super) struct Listing {
    /// Some only as far as a row has them: `ps -o rss` has no more than the size.
    pid: Option<usize>,
    size: usize,
    name: Option<usize>,
    /// `ps -o lstart`, which is five words in a row: `Tue Nov 17 21:02:21 2026`.
    started: Option<usize>,
    /// The rows begin with their time (`pidstat`).
    timed: bool,
}

impl Listing {
    /// The head of a list, if the line is one that has resident sizes.
    pub(super) fn head(line: &str) -> Option<Listing> {
        // Asked of every line: most have no such word.
        if !SIZE.iter().any(|name| line.contains(name)) {
            return None;
        }
        let bare = line.trim_start();
        let marked = bare.strip_prefix('#');
        let words: Vec<&str> = marked.unwrap_or(bare).split_whitespace().collect();
        let find = |names: &[&str]| words.iter().position(|w| names.contains(w));
        let size = find(&SIZE)?;
        let timed = marked.is_some() || time::moment(bare).is_some();
        let numbers = words.iter().filter(|w| w.parse::<f64>().is_ok()).count();
        if numbers > 0 {
            return None;
        }
        Some(Listing {
            pid: find(&["PID"]),
            size,
            name: find(&NAME).filter(|at| at + 1 == words.len()),
            started: find(&["STARTED"]).filter(|at| *at < size),
            timed,
        })
    }

    /// Hands the row's reading over. Whether it was one.
    pub(super) fn take(
        &self,
        line: &str,
        factor: fn(&str) -> Option<f64>,
        gather: &mut Gather,
    ) -> bool {
        let line = self.without_start(line);
        let mut words = line.split_whitespace();
        let Some(bytes) = words.nth(self.size).and_then(factor) else {
            return false;
        };
        let cell = |at: usize| line.split_whitespace().nth(at);
        let pid = match self.pid {
            Some(at) => match cell(at).and_then(|pid| pid.parse().ok()) {
                Some(pid) => Some(pid),
                None => return false,
            },
            None => None,
        };
        if self.timed
            && let Some(moment) = time::moment(line.trim_start())
        {
            gather.at(moment);
        }
        let name = self.name.map_or("", |at| from_word(&line, at));
        let whose = Whose {
            name: if name.is_empty() { "process" } else { name },
            pid,
            command: None,
            kind: "resident memory",
            meter: Meter::Rss,
        };
        gather.take(whose, bytes);
        true
    }

    /// The row with its start as one word.
    fn without_start<'a>(&self, line: &'a str) -> std::borrow::Cow<'a, str> {
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let Some(at) = self.started else {
            return line.into();
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.get(at) {
            Some(day) if DAYS.contains(day) && words.len() > at + 5 => {
                let mut short = words[..=at].to_vec();
                short.extend(&words[at + 5..]);
                short.join(" ").into()
            }
            _ => line.into(),
        }
    }
}

/// The line from its word of that number on.
fn from_word(line: &str, at: usize) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..at {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = rest[end..].trim_start();
    }
    rest.trim_end()
}

/// KiB without a suffix, as `ps` and `pidstat` print them.
pub(super) fn kib(cell: &str) -> Option<f64> {
    cell.parse::<u64>().ok().map(|kib| kib as f64 * 1024.0)
}
