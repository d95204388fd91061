//! Any log in which a person would find steps and sizes. The first reading finds out which counter
//! counts the steps and which of the printed sizes is the memory; the second takes the points. The first ends
//! where enough was seen, so that a log of any length is read once and in bounded memory.
//!
//! `names` says what the sizes of a line are called (`shape` remembers that of lines alike), `label` which
//! of them is the memory, `clock` when a line was printed, `taker` takes the points, `axis` places them.

mod axis;
mod clock;
mod label;
mod names;
mod shape;
mod taker;

use lowtide_core::output::{Lines, StepReader, jobs_own, may_tell};
use lowtide_core::units::Micros;

use super::{Feed, ImportError, Imported, Options};
use label::{Labels, bare_factor};
use taker::Taker;

pub(super) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    options: &Options,
) -> Result<Vec<Imported>, ImportError> {
    let mut lines = Lines::default();
    let mut reading = Reading::First(Box::default());
    let mut failed = None;
    let mut line = |line: &str| {
        if failed.is_none()
            && let Err(error) = reading.line(line, options)
        {
            failed = Some(error);
        }
    };
    feed.each_piece(|piece| lines.feed(piece, &mut line))?;
    lines.finish(&mut line);
    if let Some(error) = failed {
        return Err(error);
    }
    let takers = match reading {
        Reading::First(first) => first.decide(options)?,
        Reading::Second(takers) => takers,
    };
    let several = takers.len() > 1;
    let mut read = Vec::new();
    let mut refused = None;
    for taker in takers {
        match taker.finish(name, options) {
            Ok(mut one) => {
                if several {
                    // What two labels hold is not compared.
                    one.who.kind.clone_from(&one.who.name);
                }
                read.push(one);
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (read.is_empty(), refused) {
        (true, Some(error)) => Err(error),
        _ => Ok(read),
    }
}

/// So much of a log, in lines that matter, decides how it is read, and is read twice: a hundred thousand lines.
const FIRST: usize = 8 << 20;

enum Reading {
    First(Box<First>),
    /// One for each series.
    Second(Vec<Taker>),
}

impl Reading {
    fn line(&mut self, line: &str, options: &Options) -> Result<(), ImportError> {
        match self {
            Reading::Second(takers) => takers.iter_mut().for_each(|taker| taker.line(line)),
            Reading::First(first) => {
                first.line(line);
                if first.kept.len() >= FIRST {
                    let first = std::mem::take(first);
                    *self = first.go_on(options)?;
                }
            }
        }
        Ok(())
    }
}

/// The first reading, which keeps what the second needs.
#[derive(Default)]
struct First {
    steps: StepReader,
    labels: Labels,
    /// Lines that matter.
    kept: String,
    left_out: usize,
}

impl First {
    fn line(&mut self, line: &str) {
        let Some(line) = telling(line) else {
            self.left_out += usize::from(says_something(line));
            return;
        };
        self.steps.line(line, Micros(0), &mut Vec::new());
        self.labels.note(line, || self.steps.printed(line));
        self.kept.push_str(line);
        self.kept.push('\n');
    }

    /// Enough was seen to decide, unless none of it was about memory: then that is forgotten.
    fn go_on(mut self, options: &Options) -> Result<Reading, ImportError> {
        if self.labels.recur() {
            return Ok(Reading::Second(self.decide(options)?));
        }
        self.left_out += self
            .kept
            .lines()
            .filter(|line| says_something(line))
            .count();
        self.kept.clear();
        Ok(Reading::First(Box::new(self)))
    }

    fn decide(self, options: &Options) -> Result<Vec<Taker>, ImportError> {
        let (labels, names) = self.labels.choose(options)?;
        let several = labels.len() > 1;
        let mut names = Some(names);
        let mut takers = Vec::new();
        for label in labels {
            let factor = match bare_factor(&label, options) {
                Ok(factor) => factor,
                Err(_) if several => continue,
                Err(error) => return Err(error),
            };
            let steps = match self.steps.counter() {
                Some(counter) => StepReader::following(counter.clone()),
                None => StepReader::new(),
            };
            let mut taker = Taker::new(steps, label, factor, names.take().unwrap_or_default());
            taker.left_out(self.left_out);
            self.kept.lines().for_each(|line| taker.line(line));
            takers.push(taker);
        }
        if takers.is_empty() {
            return Err(ImportError::new("none of its sizes says its unit")
                .hint("say it: --unit MB (or B, kB, GB, MiB …)"));
        }
        Ok(takers)
    }
}

/// The part of a line that the job wrote, if it can tell anything: a size is a number, so what tells no step
/// for want of one tells no size either.
fn telling(line: &str) -> Option<&str> {
    // What tells nothing as a whole has no part that does.
    let own = may_tell(line).then(|| jobs_own(line))?;
    (own.len() == line.len() || may_tell(own)).then_some(own)
}

/// Whether the job said anything in a line.
fn says_something(line: &str) -> bool {
    jobs_own(line).bytes().any(|b| b.is_ascii_alphanumeric())
}
