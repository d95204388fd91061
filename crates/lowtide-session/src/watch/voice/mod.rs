//! Our messages among the job's output: they stand on lines of their own, and tear none of the job's.
//!
//! Where the keeper carries the output beside them, they wait here until they are composed for the place where
//! the job's cursor stands; the keeper takes them only if nothing was printed since, else they are composed
//! anew. All that is known of the job's lines is known here: the keeper stays small, and no byte of the job can
//! break it.

mod line;
mod moves;
mod screen;
#[cfg(test)]
mod tests;

#[cfg(any(test, fuzzing))]
pub(crate) use screen::fuzz;

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use lowtide_sys::regular;
use rustix::termios::tcgetwinsize;

use crate::keeper::{ANYWHERE, LONGEST_PIECE, Route, Stream};

use line::Line;
use screen::{Composed, Screen};

/// How long a message waits for the end of a line that the job has begun, or for a moment at which the job
/// prints nothing. A line that is written in two pieces is whole within microseconds.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for a file that the job writes by itself: nobody tells when its line ends, so it is looked at.
const FILE_LOOKS: u32 = 10;
const FILE_LOOK: Duration = Duration::from_millis(5);
/// As much of a file's end as a line has.
const FILE_END: u64 = 4096;

/// Messages among the output that a keeper carries.
pub(super) struct Voice {
    stream: Stream,
    place: Place,
    /// How much of the stream has passed, as the keeper counts.
    passed: u64,
    /// Not said yet, and since when.
    waiting: Option<(String, Instant)>,
    /// On its way to the keeper: the bytes, and how much of what waits they say.
    asked: Option<(Vec<u8>, usize)>,
}

enum Place {
    Terminal(Box<Screen>),
    Line(Line),
}

/// What the keeper is asked to put in.
pub(super) struct Insertion {
    pub stream: Stream,
    pub at: u64,
    pub bytes: Vec<u8>,
}

impl Voice {
    /// None where the job and we write to the same place by ourselves.
    pub(super) fn among(stream: Stream, route: Route) -> Option<Voice> {
        let place = match route {
            Route::Terminal => Place::Terminal(Box::new(Screen::new())),
            Route::Pipe => Place::Line(Line::default()),
            Route::File | Route::Unread => return None,
        };
        Some(Voice {
            stream,
            place,
            passed: 0,
            waiting: None,
            asked: None,
        })
    }

    /// Whole lines, with their ends.
    pub(super) fn say(&mut self, text: &str, now: Instant) {
        let (waiting, _) = self.waiting.get_or_insert_with(|| (String::new(), now));
        waiting.push_str(text);
    }

    /// The job printed this, and the user has it.
    pub(super) fn heard(&mut self, stream: Stream, bytes: &[u8]) {
        if stream != self.stream {
            return;
        }
        self.passed += bytes.len() as u64;
        match &mut self.place {
            Place::Terminal(screen) => screen.feed(bytes),
            Place::Line(line) => line.feed(bytes),
        }
    }

    /// What the keeper is to be asked for now.
    pub(super) fn insertion(&mut self, now: Instant) -> Option<Insertion> {
        if self.asked.is_some() {
            return None;
        }
        let (text, since) = self.waiting.as_ref()?;
        let impatient = now.duration_since(*since) >= PATIENCE;
        let bytes = match &mut self.place {
            Place::Terminal(screen) => {
                if let Ok(size) = tcgetwinsize(std::io::stderr()) {
                    screen.resize((size.ws_row, size.ws_col));
                }
                match screen.compose(text, impatient) {
                    Composed::Bytes(bytes) => bytes,
                    Composed::Soon | Composed::Later => return None,
                }
            }
            Place::Line(Line::Begun) if !impatient => return None,
            Place::Line(line) => [line.lead(), text].concat().into_bytes(),
        };
        let bytes: Vec<u8> = bytes.into_iter().take(LONGEST_PIECE).collect();
        self.asked = Some((bytes.clone(), text.len()));
        Some(Insertion {
            stream: self.stream,
            at: if impatient { ANYWHERE } else { self.passed },
            bytes,
        })
    }

    /// The keeper's answer. All that it had passed on by then was heard before.
    pub(super) fn answered(&mut self, taken: bool, passed: u64) {
        self.passed = passed;
        let Some((bytes, said)) = self.asked.take().filter(|_| taken) else {
            return;
        };
        match &mut self.place {
            Place::Terminal(screen) => screen.composed(&bytes),
            Place::Line(line) => line.feed(&bytes),
        }
        if let Some((text, _)) = &mut self.waiting {
            text.drain(..said);
        }
        self.waiting = self.waiting.take().filter(|(text, _)| !text.is_empty());
    }

    /// No keeper carries any more: what leads to a line of our own, and what was not said yet.
    pub(super) fn rest(&mut self) -> (String, String) {
        let lead = match &mut self.place {
            Place::Terminal(screen) => screen.lead(),
            Place::Line(line) => line.lead().to_owned(),
        };
        let waiting = self.waiting.take();
        (lead, waiting.map(|(text, _)| text).unwrap_or_default())
    }
}

/// What ends the last line of a file that the job writes, too, before one of ours; empty where it is ended. A
/// line that has just begun is given a moment.
pub(super) fn lead_in_file(path: &Path) -> &'static str {
    let mut line = end_of(path);
    for _ in 0..FILE_LOOKS {
        if line != Line::Begun {
            break;
        }
        std::thread::sleep(FILE_LOOK);
        line = end_of(path);
    }
    line.lead()
}

/// A file that cannot be read is taken for one whose lines are ended.
fn end_of(path: &Path) -> Line {
    let mut line = Line::default();
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = regular::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(FILE_END)))?;
        let mut end = Vec::new();
        file.take(FILE_END).read_to_end(&mut end)?;
        Ok(end)
    };
    line.feed(&read().unwrap_or_default());
    line
}
