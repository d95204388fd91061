//! A run at a glance, for lists: from the first frame and the last keyframe, without reading the
//! days between them.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lowtide_core::entry::{Entry, Exit, Header};
use lowtide_core::units::{Bytes, Micros};

use crate::codec::WriterId;
use crate::reader::{Losses, Recording, RecordingError};

/// How far before the end the search for the last keyframe begins: 600 samples of 25 processes
/// take about 140 kB. It goes back further when it must.
const TAIL: u64 = 256 << 10;

/// Up to this size every frame's checksum is looked at, which takes ten milliseconds: three days of 25
/// processes. Whoever opens a longer one is told.
const LOOKED_THROUGH: u64 = 64 << 20;

/// A recording from another machine or pid namespace counts as running while it was written this
/// recently: nobody here can look at its writer, and deleting a live one would be worse than
/// keeping a dead one for an hour.
const FRESH: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub header: Header,
    pub state: RunState,
    /// When the last entry was made.
    pub last: Micros,
    /// The most that the tree held.
    pub peak: Bytes,
    pub samples: u64,
    /// Size of the file.
    pub size: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// The exit of the job, if it was seen.
    Ended(Option<Exit>),
    /// The writer is gone and left no end.
    CutOff,
}

impl Summary {
    /// What is missing in a recording that is complete; none for one that goes on, or is too long to be
    /// looked through for a list.
    pub fn losses(&self, path: &Path) -> Result<Option<Losses>, RecordingError> {
        if self.state == RunState::Running || self.size.0 > LOOKED_THROUGH {
            return Ok(None);
        }
        Recording::open(path)?.losses().map(Some)
    }

    pub fn read(path: &Path) -> Result<Summary, RecordingError> {
        let mut recording = Recording::open(path)?;
        let header = match recording.next().transpose()? {
            Some(Entry::Header(header)) => header,
            Some(_) => Header::default(),
            None => {
                return Err(RecordingError::Empty {
                    path: path.to_owned(),
                });
            }
        };
        let writer = recording.writer().cloned();
        recording.only_glance();
        let size = recording.size().map_err(|source| RecordingError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut summary = Summary {
            header,
            state: RunState::CutOff,
            last: Micros(0),
            peak: Bytes::ZERO,
            samples: 0,
            size: Bytes(size),
        };
        summary.read_tail(&mut recording, size)?;
        if summary.state == RunState::CutOff && alive(writer.as_ref(), path) {
            summary.state = RunState::Running;
        }
        Ok(summary)
    }

    fn read_tail(&mut self, recording: &mut Recording, size: u64) -> Result<(), RecordingError> {
        let mut back = TAIL;
        loop {
            let from = size.saturating_sub(back);
            recording.skip_to(from)?;
            for entry in recording.by_ref() {
                self.see(&entry?);
            }
            self.last = self.last.max(recording.last_sample().unwrap_or_default());
            if let Some(tally) = recording.tally() {
                (self.peak, self.samples) = (tally.peak, tally.samples);
                return Ok(());
            }
            if from == 0 {
                return Ok(());
            }
            back *= 4;
        }
    }

    fn see(&mut self, entry: &Entry) {
        let at = match entry {
            Entry::Sample(sample) => sample.at,
            Entry::Mark(mark) => mark.at,
            Entry::Look(look) => look.at,
            Entry::Followed(followed) => followed.at,
            Entry::Lengths(lengths) => lengths.at,
            Entry::Cleanup(cleanup) => cleanup.at,
            Entry::Attempt(attempt) => attempt.at,
            Entry::PostMortem(found) => found.at,
            Entry::End { at, exit } => {
                self.state = RunState::Ended(*exit);
                *at
            }
            Entry::Gone { at, .. }
            | Entry::Watch { at, .. }
            | Entry::Gap { at, .. }
            | Entry::Log { at, .. }
            | Entry::Record { at, .. }
            | Entry::Event { at, .. } => *at,
            Entry::Header(_) | Entry::Member(_) => return,
        };
        self.last = self.last.max(at);
    }
}

/// Whether the writer of a recording may still be at work.
fn alive(writer: Option<&WriterId>, path: &Path) -> bool {
    let here = this_process();
    match writer {
        Some(w) if w.boot == here.boot && w.namespace == here.namespace => {
            start_of(w.pid) == Some(w.start)
        }
        _ => recently_written(path),
    }
}

/// Whether a writer that cannot be looked at may still be at work.
pub fn recently_written(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|meta| meta.modified());
    // A time in the future is another machine's clock: recent.
    written.is_ok_and(|at| {
        SystemTime::now()
            .duration_since(at)
            .map_or(true, |age| age < FRESH)
    })
}

/// How others can tell later whether this process still writes.
pub fn this_process() -> WriterId {
    let pid = std::process::id();
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    WriterId {
        pid,
        start: start_of(pid).unwrap_or(0),
        boot: text("/proc/sys/kernel/random/boot_id").trim().to_owned(),
        namespace: fs::read_link("/proc/self/ns/pid")
            .map(|link| link.to_string_lossy().into_owned())
            .unwrap_or_default(),
    }
}

/// Field 22 of `/proc/PID/stat`, counted after the last parenthesis: a name may hold anything.
/// A zombie does not write any more.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|&b| b == b')')?;
    let rest = String::from_utf8_lossy(&stat[end + 1..]).into_owned();
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}
