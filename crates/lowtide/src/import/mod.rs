//! Reads a series from whatever file somebody has: a table, an mprof or psrecord file, JSON lines,
//! or any log in which a person would find steps and sizes. Fed by the commands with the bytes of a
//! file or of stdin; read by the judge. Every import says how it was read, so that it can be checked,
//! and what is ambiguous is refused with a hint instead of guessed.

mod choose;
mod csv;
mod feed;
mod gather;
mod header;
mod jsonl;
mod kept;
mod log;
mod marks;
mod meaning;
mod mprof;
mod order;
mod psrecord;
mod size;
mod table;
mod tables;
mod time;
mod tools;

pub(crate) use feed::Feed;

use lowtide_core::mark::Geometry;
use lowtide_core::point::Track;
use lowtide_core::units::unit_factor;
use lowtide_core::verdict::Axis;

/// What the user said about the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub axis: Option<Axis>,
    /// The name of the column (or, in a log, a part of the label) that holds the memory.
    pub column: Option<String>,
    /// The unit of sizes that carry none.
    pub unit: Option<String>,
    /// Flags about steps and epochs were given: an axis that does not say what it counts is steps.
    pub steps_expected: bool,
    /// Steps in an epoch, when flags say so: parts of an epoch become steps.
    pub epoch_steps: Option<f64>,
    /// What 100 % of a share is, in bytes.
    pub limit: Option<f64>,
    /// Which of several processes, ...
    pub pid: Option<u32>,
    /// ... or which process, container, pod or metric, by (a part of) its name.
    pub name: Option<String>,
    /// Every series is asked for.
    pub all: bool,
}

impl Options {
    /// More columns than the best one are read: all are listed, or one is chosen by its name.
    fn wants_all(&self) -> bool {
        self.all || self.name.is_some()
    }

    fn unit_factor(&self) -> Result<Option<f64>, ImportError> {
        match &self.unit {
            None => Ok(None),
            Some(unit) => match unit_factor(unit) {
                Some(factor) => Ok(Some(factor)),
                None => Err(ImportError::new(format!("`{unit}` is not a unit of size"))
                    .hint("write --unit B, kB, MB, GB, KiB, MiB or GiB")),
            },
        }
    }
}

/// Whose series it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    /// A process's command, a container, a pod, a metric, a column; empty for a file of one series.
    pub name: String,
    pub pid: Option<u32>,
    /// The command line, where it is known beside the name.
    pub command: Option<String>,
    /// What kind of size, in words: "resident memory".
    pub kind: String,
}

impl Who {
    /// The one of a file that has no other.
    fn of(name: &str) -> Who {
        Who {
            name: name.to_owned(),
            kind: "memory".to_owned(),
            ..Who::default()
        }
    }

    /// Whether `--name` may mean it.
    fn speaks_of(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let said = |words: &str| words.to_lowercase().contains(&text);
        said(&self.name) || self.command.as_deref().is_some_and(said)
    }

    /// "`python train.py` (pid 4242)"
    pub(crate) fn shown(&self) -> String {
        match self.pid {
            Some(pid) => format!("`{}` (pid {pid})", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

/// A series, how it was read, and what the file says about the data.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    pub who: Who,
    pub track: Track,
    /// "24 points: steps from column `step`, sizes from column `rss` in MB, 2 lines skipped"
    pub how: String,
    pub geometry: Option<Geometry>,
    /// Steps of the whole run, where the file says so.
    pub total_steps: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ImportError {
    pub message: String,
    pub hint: Option<String>,
}

impl ImportError {
    fn new(message: impl Into<String>) -> ImportError {
        ImportError {
            message: message.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> ImportError {
        self.hint = Some(hint.into());
        self
    }
}

/// Reads the one series of a file called `name`, or of what stands for one, that is asked for or that grows.
pub(crate) fn read(
    feed: &mut Feed<'_>,
    name: &str,
    options: &Options,
) -> Result<Imported, ImportError> {
    choose::one(read_all(feed, name, options)?)
}

/// Reads every series of a file that the flags do not leave out.
pub(crate) fn read_all(
    feed: &mut Feed<'_>,
    name: &str,
    options: &Options,
) -> Result<Vec<Imported>, ImportError> {
    let start = feed.start();
    if start.iter().all(u8::is_ascii_whitespace) {
        return Err(ImportError::new("it is empty"));
    }
    if let Some(tool) = tools::of(start) {
        return choose::asked_for(tool.series(feed, name, options)?, options);
    }
    refuse_binary(start)?;
    refuse_wide(start)?;
    csv::refuse_several(start)?;
    let series = if mprof::is(start) {
        vec![mprof::read(feed, name, options)?]
    } else if psrecord::is(start) {
        vec![psrecord::read(feed, name)?]
    } else if jsonl::is(start) {
        jsonl::read(feed, name, options)?
    } else if let Some(shape) = csv::shape(start) {
        csv::read(feed, name, &shape, options)?
    } else {
        log::read(feed, name, options)?
    };
    choose::asked_for(series, options)
}

/// Text has no zero bytes; recordings, archives and columnar files do.
fn refuse_binary(start: &[u8]) -> Result<(), ImportError> {
    let hint = match start {
        [0x1f, 0x8b, ..] => "it is compressed: gunzip it first",
        [b'P', b'A', b'R', b'1', ..] => "it is Parquet: export it as CSV first",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is UTF-16: save it as UTF-8 first",
        _ if start.contains(&0) => "give a CSV, an mprof .dat, JSON lines or a log",
        _ => return Ok(()),
    };
    Err(ImportError::new("it is binary, not a table or a log").hint(hint))
}

/// Wider tables are matrices: nobody named their columns, and each row would be megabytes.
const WIDEST: usize = 100_000;

fn refuse_wide(start: &[u8]) -> Result<(), ImportError> {
    let first = start.split(|b| *b == b'\n').next().unwrap_or_default();
    let columns = |mark: u8| first.iter().filter(|b| **b == mark).count() + 1;
    let widest = b",;\t|"
        .iter()
        .map(|mark| columns(*mark))
        .max()
        .unwrap_or(0);
    if widest <= WIDEST {
        return Ok(());
    }
    Err(ImportError::new(format!(
        "it has {widest} columns: no table of memory has so many"
    ))
    .hint("keep those of the steps and of the memory: cut -d, -f1,2 FILE | lowtide judge -"))
}

/// Names that are told where one is to be chosen: of thousands nobody reads all.
const LISTED: usize = 20;

/// "a, b, c and 7 more"
fn listed(names: &[String]) -> String {
    listed_by(names, ", ")
}

fn listed_by(names: &[String], between: &str) -> String {
    match names.len().checked_sub(LISTED) {
        None | Some(0) => names.join(between),
        Some(more) => format!("{} and {more} more", names[..LISTED].join(between)),
    }
}

/// "1 line skipped", "2 lines skipped", or nothing.
fn skipped(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", 1 line skipped".to_owned(),
        n => format!(", {n} lines skipped"),
    }
}

#[cfg(test)]
mod tests;
