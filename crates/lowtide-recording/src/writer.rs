//! Writes a recording while the job runs. The sampler hands over entries and never waits: they are
//! encoded at once (microseconds, some hundred bytes a tick) and a thread of our own takes them to
//! the disk. A disk that hangs or is full delays the recording, not the sampling; what does not fit
//! in memory meanwhile is dropped by whole ticks and becomes a gap.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use lowtide_core::entry::{Entry, EventKind, Header};
use lowtide_core::run::Glance;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::Micros;

use crate::codec::Encoder;
use crate::disk::Disk;
use crate::frame::Frames;
use crate::reader::RecordingError;
use crate::{FILE_NAME, summary};

/// What waits goes to the disk when it is this much, whatever it is: a tick is smaller, and a disk that
/// answers takes it in a moment.
const FLUSH_AT: usize = 64 << 10;

/// Whose room in memory an entry takes while it waits for the disk. Each has its own: a job that tells
/// much, or a tree of many processes, never takes that of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Sample,
    /// What the job tells: it may tell without end.
    Told,
    /// Everything else: members, events, the end.
    Other,
}

const SHARES: usize = 3;

/// What `Gap::what` says when nothing of ours is missing, only some of what the job told.
const TOLD: &str = "told";

impl Share {
    fn of(entry: &Entry) -> Share {
        match entry {
            Entry::Sample(_) => Share::Sample,
            Entry::Mark(_)
            | Entry::Look(_)
            | Entry::Followed(_)
            | Entry::Lengths(_)
            | Entry::Cleanup(_)
            | Entry::Log { .. }
            | Entry::Record { .. }
            | Entry::Event {
                kind: EventKind::Info,
                ..
            } => Share::Told,
            _ => Share::Other,
        }
    }

    /// Samples: an hour of 25 processes at 1 Hz. The others as much again together.
    fn room(self) -> usize {
        match self {
            Share::Sample => 1 << 20,
            Share::Told | Share::Other => 512 << 10,
        }
    }
}

/// What the user should hear about the recording. Each is told once until the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Writing failed; it is tried again until it works.
    Failing { path: PathBuf, error: String },
    /// No room in memory any more: ticks are dropped from now on.
    Dropping { path: PathBuf },
    /// The job tells more than the disk takes: some of that is left out from now on, no tick is.
    Crowded { path: PathBuf },
    /// Writing works again; so many ticks were dropped so far, and so many other entries.
    Recovered {
        path: PathBuf,
        ticks: u64,
        entries: u64,
    },
}

impl Notice {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Notice::Failing { .. } => Some(
                "make room there or let it be written again: an hour of readings waits in memory",
            ),
            Notice::Dropping { .. } => {
                Some("make room there: what comes after that is recorded again")
            }
            Notice::Crowded { .. } | Notice::Recovered { .. } => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Failing { path, error } => write!(
                f,
                "cannot write {}: {error}; the job is not touched, and writing is tried again",
                path.display()
            ),
            Notice::Dropping { path } => write!(
                f,
                "{} takes nothing and the memory for it is used up: readings are dropped from the recording",
                path.display()
            ),
            Notice::Crowded { path } => write!(
                f,
                "{} is told more than it takes: some of what the job records is left out, its readings are not",
                path.display()
            ),
            Notice::Recovered {
                path,
                ticks,
                entries,
            } => {
                let missing = match (ticks, entries) {
                    (0, 0) => "nothing is missing".to_owned(),
                    (0, entries) => format!("{entries} entries that are no readings are missing"),
                    (ticks, 0) => format!("{ticks} ticks are missing"),
                    (ticks, entries) => {
                        format!("{ticks} ticks and {entries} other entries are missing")
                    }
                };
                write!(f, "{} is written again; {missing}", path.display())
            }
        }
    }
}

/// The disk did not take the end of the recording in time.
#[derive(Debug, thiserror::Error)]
#[error("the end of {path} could not be written in {} s; it is readable up to there", .waited.as_secs())]
pub struct Unfinished {
    pub path: PathBuf,
    pub waited: Duration,
}

type Tell = dyn Fn(Notice) + Send + Sync;

/// The sampler's end. Shared by reference: marks may come from another thread.
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) tell: Box<Tell>,
    pub(super) queue: Mutex<Queue>,
    pub(super) wake: Condvar,
    pub(super) done: Condvar,
}

pub(super) struct Queue {
    pub(super) frames: Frames,
    pub(super) encoder: Encoder,
    /// What lists are to show, until it lies beside the recording.
    pub(super) glance: Option<Box<Glance>>,
    /// What waits is to be written now: a whole tick, or much else.
    pub(super) due: bool,
    pub(super) closing: bool,
    /// The thread has ended, and wrote everything.
    pub(super) ended: Option<bool>,
    /// Bytes that wait, by [`Share`].
    waiting: [usize; SHARES],
    /// When the last sample was taken.
    last: Micros,
    dropped: Option<Dropped>,
    pub(super) dropped_total: Lost,
    /// The user knows that ticks are dropped.
    pub(super) told_ticks: bool,
    /// The user knows that other entries are left out: once is enough, a job may tell too much all day.
    told_entries: bool,
}

/// What the recording lacks.
#[derive(Clone, Copy, Default)]
pub(super) struct Lost {
    pub(super) ticks: u64,
    pub(super) entries: u64,
}

/// What no gap has told yet.
struct Dropped {
    since: Micros,
    what: &'static str,
    ticks: u64,
}

impl Recorder {
    /// Creates `recording.lowtide` in `dir` and starts the thread that writes it. `tell` is called
    /// when the user should know something; it must not block.
    pub fn start(
        dir: &Path,
        header: Header,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Recorder, RecordingError> {
        let path = dir.join(FILE_NAME);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => RecordingError::Taken { path: path.clone() },
                _ => RecordingError::Open {
                    path: path.clone(),
                    source,
                },
            })?;
        let mut frames = Frames::default();
        let encoder = Encoder::begin(&mut frames, &summary::this_process());
        let recorder = Recorder::over(path, file, frames, encoder, Box::new(tell));
        recorder.send(&Entry::Header(header));
        Ok(recorder)
    }

    fn over(
        path: PathBuf,
        file: File,
        frames: Frames,
        encoder: Encoder,
        tell: Box<Tell>,
    ) -> Recorder {
        let shared = Arc::new(Shared {
            path,
            tell,
            queue: Mutex::new(Queue {
                frames,
                encoder,
                glance: None,
                due: true,
                closing: false,
                ended: None,
                waiting: [0; SHARES],
                last: Micros::default(),
                dropped: None,
                dropped_total: Lost::default(),
                told_ticks: false,
                told_entries: false,
            }),
            wake: Condvar::new(),
            done: Condvar::new(),
        });
        let disk = Disk::new(Arc::clone(&shared), file);
        let thread = std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || disk.run())
            .expect("a thread can be started");
        Recorder {
            shared,
            thread: Some(thread),
        }
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Ticks that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shared.lock().dropped_total.ticks
    }

    /// Hands an entry over. Never waits for the disk.
    pub fn send(&self, entry: &Entry) {
        let mut queue = self.shared.lock();
        let first = queue.frames.is_empty();
        let news = queue.add(entry);
        // The first one wakes the thread too: it may sleep for as long as nothing waits.
        if queue.due || first {
            self.shared.wake.notify_one();
        }
        drop(queue);
        let path = || self.shared.path.clone();
        match news {
            News::Dropping => (self.shared.tell)(Notice::Dropping { path: path() }),
            News::Crowded => (self.shared.tell)(Notice::Crowded { path: path() }),
            News::None => {}
        }
    }

    /// What lists show of this run; it is written with the next tick. Never waits for the disk either.
    pub fn keep(&self, glance: Glance) {
        self.shared.lock().glance = Some(Box::new(glance));
    }

    /// Writes what is left. A disk that does not answer within the time given is left alone.
    pub fn finish(mut self, within: Duration) -> Result<(), Unfinished> {
        let mut queue = self.shared.lock();
        queue.closing = true;
        self.shared.wake.notify_one();
        let (queue, _) = self
            .shared
            .done
            .wait_timeout_while(queue, within, |queue| queue.ended.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        let ended = queue.ended;
        drop(queue);
        if ended.is_some() {
            // It has nothing left to do: joining does not wait.
            let thread = self.thread.take();
            let _ = thread.map(JoinHandle::join);
        }
        match ended {
            Some(true) => Ok(()),
            _ => Err(Unfinished {
                path: self.shared.path.clone(),
                waited: within,
            }),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.wake.notify_one();
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic elsewhere is no reason to lose the recording.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum News {
    Dropping,
    Crowded,
    None,
}

impl Queue {
    fn add(&mut self, entry: &Entry) -> News {
        let share = Share::of(entry);
        if let Entry::Sample(sample) = entry {
            self.last = sample.at;
        }
        if self.waiting[share as usize] < share.room() {
            // Nothing comes after the end.
            if share == Share::Sample || matches!(entry, Entry::End { .. }) {
                self.tell_dropped();
            }
            let before = self.frames.len();
            if self.encoder.put(&mut self.frames, entry).is_ok() {
                self.waiting[share as usize] += self.frames.len() - before;
                self.due |= self.frames.len() >= FLUSH_AT
                    || matches!(
                        entry,
                        Entry::Sample(_)
                            | Entry::Header(_)
                            | Entry::Event { .. }
                            | Entry::End { .. }
                    );
                return News::None;
            }
        }
        self.drop_one(share)
    }

    fn drop_one(&mut self, share: Share) -> News {
        let dropped = self.dropped.get_or_insert(Dropped {
            since: self.last,
            what: TOLD,
            ticks: 0,
        });
        if share != Share::Told {
            dropped.what = Gap::RECORDING;
        }
        if share != Share::Sample {
            self.dropped_total.entries += 1;
            let told = std::mem::replace(&mut self.told_entries, true);
            return if told { News::None } else { News::Crowded };
        }
        if dropped.ticks == 0 {
            dropped.since = self.last;
        }
        dropped.ticks += 1;
        self.dropped_total.ticks += 1;
        let told = std::mem::replace(&mut self.told_ticks, true);
        if told { News::None } else { News::Dropping }
    }

    /// Everything that waits, for the disk.
    pub(super) fn take(&mut self, batch: &mut Vec<u8>) {
        self.due = false;
        self.waiting = [0; SHARES];
        self.frames.swap_into(batch);
    }

    /// The gap goes in when there is room for samples again.
    pub(super) fn tell_dropped(&mut self) {
        let Some(dropped) = self.dropped.take() else {
            return;
        };
        let gap = Entry::Gap {
            at: dropped.since,
            gap: Gap {
                who: None,
                what: dropped.what.to_owned(),
                why: GapWhy::Dropped,
            },
            ticks: dropped.ticks,
        };
        self.encoder
            .put(&mut self.frames, &gap)
            .expect("a gap fits in a frame");
    }
}
