//! The recorder's thread: takes frames to the disk, however long the disk takes. [`super::writer`]
//! fills the queue it empties.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::frame::{file_head, whole_frames};
use crate::glance;
use crate::writer::{Notice, Shared};

/// After a power cut at most this much is lost (the number of issue 2: more often would keep the
/// disks of a cluster busy for a run of days).
pub(crate) const SYNC_EVERY: Duration = Duration::from_secs(30);
/// Marks between ticks ride with the next tick, but not longer than this.
const LINGER: Duration = Duration::from_secs(1);
/// A write that failed is tried again after this.
const RETRY: Duration = Duration::from_secs(1);
/// Room that one large batch took and that the next ones will not need.
const SPARE_ROOM: usize = 256 << 10;

pub(super) struct Disk {
    shared: Arc<Shared>,
    file: File,
    /// Where the next batch goes. The offset is ours to know: there is no other writer.
    written: u64,
    synced: Instant,
    dirty: bool,
    failing: bool,
    /// The folder was synced: the file's name survives a power cut.
    named: bool,
}

impl Disk {
    pub(super) fn new(shared: Arc<Shared>, file: File) -> Disk {
        Disk {
            shared,
            file,
            written: 0,
            synced: Instant::now(),
            dirty: false,
            failing: false,
            named: false,
        }
    }

    /// Until the recorder is finished.
    pub(super) fn run(mut self) {
        let mut batch = file_head().to_vec();
        let mut complete = self.write(&batch);
        while complete {
            let closing = self.collect(&mut batch);
            complete = batch.is_empty() || self.write(&batch);
            if complete {
                self.keep_glance();
            }
            if batch.capacity() > SPARE_ROOM {
                batch = Vec::new();
            }
            if self.dirty && (closing || self.synced.elapsed() >= SYNC_EVERY) {
                self.sync();
            }
            if closing {
                break;
            }
        }
        self.shared.lock().ended = Some(complete);
        self.shared.done.notify_all();
    }

    /// Without it lists judge the recording themselves: what cannot be written is no trouble worth telling.
    fn keep_glance(&self) {
        let glance = self.shared.lock().glance.take();
        if let Some(glance) = glance {
            let _ = glance::keep(&self.shared.path, &glance);
        }
    }

    /// Waits for something to do and takes it all. True when nothing will follow.
    fn collect(&self, batch: &mut Vec<u8>) -> bool {
        let mut queue = self.shared.lock();
        let begun = Instant::now();
        while !queue.closing && !queue.due {
            let wait = if !queue.frames.is_empty() {
                LINGER.saturating_sub(begun.elapsed())
            } else if self.dirty {
                SYNC_EVERY.saturating_sub(self.synced.elapsed())
            } else {
                Duration::MAX
            };
            if wait.is_zero() {
                break;
            }
            queue = self
                .shared
                .wake
                .wait_timeout(queue, wait)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if queue.closing {
            queue.tell_dropped();
        }
        queue.take(batch);
        queue.closing
    }

    /// Writes the batch, however long it takes. False when the run is over and it cannot be written.
    fn write(&mut self, mut batch: &[u8]) -> bool {
        let mut last_try = false;
        while let Err(error) = self.try_write(&mut batch) {
            self.fails(&error);
            if last_try {
                return false;
            }
            let queue = self.shared.lock();
            let (queue, _) = self
                .shared
                .wake
                .wait_timeout_while(queue, RETRY, |queue| !queue.closing)
                .unwrap_or_else(PoisonError::into_inner);
            // The user waits now.
            last_try = queue.closing;
        }
        self.dirty = true;
        self.recovered();
        true
    }

    /// Writes what it can; of a batch that cannot be written whole, the frames that can be.
    fn try_write(&mut self, batch: &mut &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < batch.len() {
            match self
                .file
                .write_at(&batch[done..], self.written + done as u64)
            {
                Ok(0) => return self.cut_back(batch, done, io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.cut_back(batch, done, error),
            }
        }
        self.written += done as u64;
        Ok(())
    }

    /// Half a frame would only look like damage. If it cannot be cut off, the next attempt
    /// overwrites it with the same bytes.
    fn cut_back(&mut self, batch: &mut &[u8], done: usize, error: io::Error) -> io::Result<()> {
        let whole = whole_frames(&batch[..done]);
        *batch = &batch[whole..];
        self.written += whole as u64;
        let _ = self.file.set_len(self.written);
        Err(error)
    }

    /// Tells that trouble is over, once all that waited is written: before, more may be dropped.
    fn recovered(&mut self) {
        let mut queue = self.shared.lock();
        if !queue.frames.is_empty() {
            return;
        }
        let (told, lost) = (std::mem::take(&mut queue.told_ticks), queue.dropped_total);
        drop(queue);
        if std::mem::take(&mut self.failing) || told {
            (self.shared.tell)(Notice::Recovered {
                path: self.shared.path.clone(),
                ticks: lost.ticks,
                entries: lost.entries,
            });
        }
    }

    fn sync(&mut self) {
        if !std::mem::replace(&mut self.named, true) {
            // The folder must know the file too. Some network disks refuse this; they need no help.
            let dir = self.shared.path.parent().map(File::open);
            let _ = dir.map(|dir| dir.and_then(|dir| dir.sync_all()));
        }
        if let Err(error) = self.file.sync_data() {
            // The kernel forgets pages it could not write: what follows must stand on its own.
            self.shared.lock().encoder.want_key();
            self.fails(&error);
        }
        self.synced = Instant::now();
        self.dirty = false;
    }

    fn fails(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.failing, true) {
            (self.shared.tell)(Notice::Failing {
                path: self.shared.path.clone(),
                error: error.to_string(),
            });
        }
    }
}
