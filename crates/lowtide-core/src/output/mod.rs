//! Reads training steps from a job's own output: no change to the job, no parsing by the user.
//!
//! The keeper (or whoever tails a log file) feeds bytes as they come; out come [`Mark`]s for the
//! recording and the judge. One file per format: `bar` (tqdm, Rich, Keras), `trainer`
//! (dictionaries and settings), `plain` (`Step 10: …`), `named` (`Epoch 2/10`), `state`
//! (`trainer_state.json`); `choose` decides which counter is the one and `round` follows it over
//! its restarts, `epoch` weighs what is known of the length of an epoch (from `begins` and
//! `parts`), `reader` puts it together, `lines` cuts the bytes into lines.

mod bar;
mod begins;
mod choose;
mod epoch;
mod lines;
mod lone_index;
mod named;
mod parts;
mod plain;
mod reader;
mod round;
mod state;
mod text;
mod told;
mod trainer;

pub use choose::Counter;
pub use lines::Lines;
pub use state::{StateError, trainer_state};
pub use text::{OUR_LEAD, jobs_own, may_tell};

pub(crate) use bar::{Purpose, epoch_of, names_a_round, purpose_in as bar_purpose};

use reader::LineReader;

use crate::mark::Mark;
use crate::units::Micros;

/// Bytes in, marks out. Memory is bounded by one line and a few dozen counters.
#[derive(Debug, Default)]
pub struct StepReader {
    lines: Lines,
    reader: LineReader,
}

impl StepReader {
    pub fn new() -> StepReader {
        StepReader::default()
    }

    /// Of a job whose command is known: it may say how many epochs there are.
    pub fn of_job(command: &[String]) -> StepReader {
        StepReader {
            lines: Lines::default(),
            reader: LineReader::of_job(told::epochs_of(command)),
        }
    }

    /// Follows one counter and no other: a second reading of the same log.
    pub fn following(counter: Counter) -> StepReader {
        StepReader {
            lines: Lines::default(),
            reader: LineReader::following(counter),
        }
    }

    /// The marks that these bytes complete. `at` is when they arrived.
    pub fn feed(&mut self, bytes: &[u8], at: Micros) -> Vec<Mark> {
        let mut marks = Vec::new();
        let reader = &mut self.reader;
        self.lines
            .feed(bytes, |line| reader.line(line, at, &mut marks));
        marks
    }

    /// The marks of a last line without an end.
    pub fn finish(&mut self, at: Micros) -> Vec<Mark> {
        let mut marks = Vec::new();
        let reader = &mut self.reader;
        self.lines.finish(|line| reader.line(line, at, &mut marks));
        marks
    }

    /// One line that somebody else has cut already. Its marks are added to `marks`.
    pub fn line(&mut self, line: &str, at: Micros, marks: &mut Vec<Mark>) {
        self.reader.line(line, at, marks);
    }

    /// The step that the line before this call itself named, as [`printed_step`] tells: it was looked for.
    pub fn printed(&self, line: &str) -> Option<(u64, &'static str)> {
        self.reader.printed().unwrap_or_else(|| printed_step(line))
    }

    /// The counter that is followed, for "steps from `Step N`".
    pub fn counter(&self) -> Option<&Counter> {
        self.reader.counter()
    }
}

/// The step that a line itself names, such as 10 in `Step 10: RAM 5552 MB`, and the word for it.
pub fn printed_step(line: &str) -> Option<(u64, &'static str)> {
    named_by(&plain::parse(line)?)
}

fn named_by(plain: &plain::Plain) -> Option<(u64, &'static str)> {
    let counts = matches!(
        plain.word,
        plain::Word::GlobalStep | plain::Word::Step | plain::Word::Iteration | plain::Word::Index
    );
    (counts && plain.purpose == bar::Purpose::Unknown).then(|| (plain.n, plain.word.shown()))
}

#[cfg(test)]
mod epoch_tests;
#[cfg(test)]
mod tests;
