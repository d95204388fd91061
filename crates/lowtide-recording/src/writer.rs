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

use lowtide_core::entry::{Entry, Header};
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::Micros;

use crate::codec::Encoder;
use crate::disk::Disk;
use crate::frame::Frames;
use crate::reader::RecordingError;
use crate::{FILE_NAME, summary};

/// Samples may wait in this much memory: an hour of 25 processes at 1 Hz. Everything else (marks,
/// members) may use as much again, because a process without its name is worth less.
const ROOM: usize = 1 << 20;

/// What the user should hear about the recording. Each is told once until the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Writing failed; it is tried again until it works.
    Failing { path: PathBuf, error: String },
    /// No room in memory any more: ticks are dropped from now on.
    Dropping { path: PathBuf },
    /// Writing works again; so many ticks were dropped.
    Recovered { path: PathBuf, ticks: u64 },
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
            Notice::Recovered { path, ticks: 0 } => {
                write!(f, "{} is written again; nothing is missing", path.display())
            }
            Notice::Recovered { path, ticks } => {
                write!(
                    f,
                    "{} is written again; {ticks} ticks are missing",
                    path.display()
                )
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
    /// There is a whole tick to write.
    pub(super) tick: bool,
    pub(super) closing: bool,
    /// The thread has ended, and wrote everything.
    pub(super) ended: Option<bool>,
    dropped: Option<Dropped>,
    pub(super) dropped_total: u64,
    /// The user knows that ticks are dropped.
    pub(super) told: bool,
}

/// Ticks that no gap has told yet.
struct Dropped {
    since: Micros,
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
                tick: true,
                closing: false,
                ended: None,
                dropped: None,
                dropped_total: 0,
                told: false,
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
        self.shared.lock().dropped_total
    }

    /// Hands an entry over. Never waits for the disk.
    pub fn send(&self, entry: &Entry) {
        let mut queue = self.shared.lock();
        let news = queue.add(entry);
        if queue.tick {
            self.shared.wake.notify_one();
        }
        drop(queue);
        if news == News::Dropping {
            (self.shared.tell)(Notice::Dropping {
                path: self.shared.path.clone(),
            });
        }
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

#[derive(PartialEq)]
enum News {
    Dropping,
    None,
}

impl Queue {
    fn add(&mut self, entry: &Entry) -> News {
        let sample = match entry {
            Entry::Sample(sample) => Some(sample),
            _ => None,
        };
        let room = if sample.is_some() { ROOM } else { 2 * ROOM };
        if self.frames.len() < room {
            self.tell_dropped(sample.is_some());
            if self.encoder.put(&mut self.frames, entry).is_ok() {
                self.tick |= matches!(
                    entry,
                    Entry::Sample(_) | Entry::Header(_) | Entry::Event { .. } | Entry::End { .. }
                );
                return News::None;
            }
        }
        let dropped = self.dropped.get_or_insert(Dropped {
            since: sample.map_or(Micros(0), |s| s.at),
            ticks: 0,
        });
        if let Some(sample) = sample {
            if dropped.ticks == 0 {
                dropped.since = sample.at;
            }
            dropped.ticks += 1;
            self.dropped_total += 1;
        }
        if std::mem::replace(&mut self.told, true) {
            News::None
        } else {
            News::Dropping
        }
    }

    /// The gap goes in when there is room for samples again.
    pub(super) fn tell_dropped(&mut self, room_for_samples: bool) {
        let room_for_samples = room_for_samples || self.frames.len() < ROOM;
        let Some(dropped) = self.dropped.take_if(|_| room_for_samples) else {
            return;
        };
        let gap = Entry::Gap {
            at: dropped.since,
            gap: Gap::of_recording(GapWhy::Dropped),
            ticks: dropped.ticks,
        };
        self.encoder
            .put(&mut self.frames, &gap)
            .expect("a gap fits in a frame");
    }
}
