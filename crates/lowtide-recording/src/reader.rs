//! Reads a recording from its file, complete or still growing, whole or damaged.
//!
//! A [`Recording`] is an iterator of entries. `None` means "nothing more now": for a run that still
//! goes on, ask again later. Damage is no error: it is a [`Entry::Gap`], and reading goes on.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use lowtide_core::entry::Entry;
use lowtide_core::units::Micros;
use lowtide_sys::regular;

use crate::budget::Budget;
use crate::codec::{Decoder, Tally, WriterId, told_in};
use crate::frame::{FRAME_HEAD, HEAD_LEN, MAGIC, MAX_PAYLOAD, Seen, VERSION, look};

/// How much is read at a time.
const CHUNK: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("cannot open {path}: {source}")]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not a lowtide recording")]
    NotARecording { path: PathBuf },
    #[error("{path} ends before its first entry")]
    Empty { path: PathBuf },
    #[error("{path} has version {found} of the format; this lowtide reads version {VERSION}")]
    Version { path: PathBuf, found: u32 },
    #[error("there is no run `{name}` in {store}")]
    NoSuchRun { name: String, store: PathBuf },
    #[error("`{prefix}` could be {}", .names.join(" or "))]
    Ambiguous { prefix: String, names: Vec<String> },
    #[error("there are no runs in {store}")]
    NoRuns { store: PathBuf },
    #[error("{path} already holds a recording")]
    Taken { path: PathBuf },
    #[error("there is no place for recordings: neither LOWTIDE_HOME nor HOME is set")]
    NoHome,
}

impl RecordingError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Open { .. } | Self::Read { .. } => "check that the file exists and is yours",
            Self::NotARecording { .. } => {
                "recordings are called recording.lowtide; `lowtide runs` lists them"
            }
            Self::Empty { .. } => "the run ended, or the disk was full, before anything was stored",
            Self::Version { found, .. } if *found > VERSION => "update lowtide",
            Self::Version { .. } => "read it with the lowtide that made it",
            Self::NoSuchRun { .. } => "`lowtide runs` lists the runs; a path works too",
            Self::Ambiguous { .. } => "write more of the name, or `last` for the newest",
            Self::NoRuns { .. } => "`lowtide run -- CMD` makes one",
            Self::Taken { .. } => "choose another folder with -o",
            Self::NoHome => "set LOWTIDE_HOME to a folder of yours",
        }
    }
}

/// What a recording lacks, as far as its frames tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    pub damaged: bool,
    /// Ticks that were not recorded.
    pub ticks: u64,
}

pub struct Recording {
    path: PathBuf,
    file: File,
    /// Where the next frame begins.
    at: u64,
    window: Window,
    decoder: Decoder,
    ready: VecDeque<Entry>,
    /// No frame begins before this: it was looked for.
    barren: u64,
}

impl Recording {
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        let path = path.to_owned();
        let file = match regular::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(RecordingError::Open { path, source }),
        };
        let mut head = [0; HEAD_LEN];
        let got = match read_up_to(&file, &mut head, 0) {
            Ok(got) => got,
            Err(source) => return Err(RecordingError::Read { path, source }),
        };
        let magic = got.min(MAGIC.len());
        if head[..magic] != MAGIC[..magic] {
            return Err(RecordingError::NotARecording { path });
        }
        if got < HEAD_LEN {
            return Err(RecordingError::Empty { path });
        }
        let (_, version) = head
            .split_last_chunk::<4>()
            .expect("the head has a version");
        match u32::from_le_bytes(*version) {
            0 => return Err(RecordingError::NotARecording { path }),
            VERSION => {}
            found => return Err(RecordingError::Version { path, found }),
        }
        Ok(Recording {
            path,
            file,
            at: HEAD_LEN as u64,
            window: Window::default(),
            decoder: Decoder::default(),
            ready: VecDeque::new(),
            barren: 0,
        })
    }

    /// With another number of readings that are told in any case: tests do with fewer.
    pub fn allowing(mut self, readings: u64) -> Recording {
        self.decoder.budget = Budget::of(readings);
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file that were understood so far.
    pub fn done(&self) -> u64 {
        self.at
    }

    /// Samples and peak up to here.
    pub fn tally(&self) -> Option<Tally> {
        self.decoder.tally()
    }

    /// Entries so far that only a later lowtide understands: they were left out.
    pub fn skipped(&self) -> u64 {
        self.decoder.skipped()
    }

    /// Who writes it, once its first frame was read.
    pub fn writer(&self) -> Option<&WriterId> {
        self.decoder.writer()
    }

    /// Follows samples without telling them from now on: that takes no longer than the file has bytes.
    pub(super) fn only_glance(&mut self) {
        self.decoder.glance = true;
    }

    /// When the last sample so far was made.
    pub(super) fn last_sample(&self) -> Option<Micros> {
        self.decoder.last_at()
    }

    /// Goes to the first frame at or after an offset. What came before is not missed: it was not
    /// asked for. Samples follow from the next keyframe on.
    pub(super) fn skip_to(&mut self, offset: u64) -> Result<(), RecordingError> {
        self.ready.clear();
        self.barren = 0;
        self.decoder = self.decoder.afresh();
        let size = self.size().map_err(|e| self.read_error(e))?;
        let found = self.find_frame(offset, size);
        self.at = found.map_err(|e| self.read_error(e))?.unwrap_or(size);
        Ok(())
    }

    /// What stands behind the last whole frame, if nobody writes there any more. A write that was cut short
    /// leaves the beginning of a frame: that costs the last tick and is no damage. Anything else is.
    pub fn broken_end(&mut self) -> Result<Option<Entry>, RecordingError> {
        let seen = self.look_at(self.at).map_err(|e| self.read_error(e))?;
        let damaged = matches!(seen, Seen::Broken(_) | Seen::Nothing);
        Ok(damaged.then(|| self.decoder.gap(0)))
    }

    /// Goes through the frames from here to the end without decoding samples: what is broken, and what the
    /// writer says was not recorded.
    pub(super) fn losses(&mut self) -> Result<Losses, RecordingError> {
        let mut losses = Losses::default();
        let mut headed = false;
        let mut go = || -> io::Result<()> {
            loop {
                let length = match self.look_at(self.at)? {
                    Seen::Frame(length) => length,
                    Seen::Broken(_) | Seen::Nothing => {
                        losses.damaged = true;
                        return Ok(());
                    }
                    Seen::Short(_) => {
                        // A length that was broken looks like a frame that was cut short.
                        let size = self.size()?;
                        losses.damaged = self.find_frame(self.at + 1, size)?.is_some();
                        return Ok(());
                    }
                };
                let bytes = self.window.get(&self.file, self.at, FRAME_HEAD + length)?;
                let told = told_in(&bytes[FRAME_HEAD..FRAME_HEAD + length]);
                if told.header && headed {
                    // Another recording was joined to this one.
                    losses.damaged = true;
                    return Ok(());
                }
                headed |= told.header;
                losses.ticks += told.dropped;
                self.at += (FRAME_HEAD + length) as u64;
            }
        };
        go().map_err(|e| self.read_error(e))?;
        Ok(losses)
    }

    fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            if !self.next_frame()? {
                self.decoder.flush(&mut self.ready);
                return Ok(self.ready.pop_front());
            }
        }
    }

    /// Decodes one frame, or steps over damage. False when there is no complete frame left.
    fn next_frame(&mut self) -> io::Result<bool> {
        if let Seen::Frame(length) = self.look_at(self.at)? {
            return self.take_frame(length);
        }
        // What was added since that look is no damage: look again, at nothing newer than the size.
        let size = self.size()?;
        self.window.forget();
        match self.look_at(self.at)? {
            Seen::Frame(length) => return self.take_frame(length),
            Seen::Broken(length) => {
                // The length may be right: then only this frame is lost.
                let next = self.at + (FRAME_HEAD + length) as u64;
                if let Seen::Frame(_) = self.look_at(next)? {
                    self.decoder.damaged();
                    self.at = next;
                    return Ok(true);
                }
            }
            Seen::Short(_) | Seen::Nothing => {}
        }
        // An end that is being written, or was never completed, looks like damage: it is damage
        // only if a frame follows.
        match self.find_frame(self.at + 1, size)? {
            Some(next) => {
                self.decoder.damaged();
                self.at = next;
                Ok(true)
            }
            None => {
                self.window.forget();
                Ok(false)
            }
        }
    }

    fn take_frame(&mut self, length: usize) -> io::Result<bool> {
        let bytes = self.window.get(&self.file, self.at, FRAME_HEAD + length)?;
        let payload = &bytes[FRAME_HEAD..FRAME_HEAD + length];
        self.decoder.frame(payload, &mut self.ready);
        self.at += (FRAME_HEAD + length) as u64;
        Ok(true)
    }

    fn look_at(&mut self, offset: u64) -> io::Result<Seen> {
        let seen = look(self.window.get(&self.file, offset, FRAME_HEAD)?);
        match seen {
            Seen::Short(length) if length > 0 => {
                let bytes = self.window.get(&self.file, offset, FRAME_HEAD + length)?;
                Ok(look(bytes))
            }
            seen => Ok(seen),
        }
    }

    /// The first offset from `from` on at which a whole frame stands. Trying every offset is cheap: few of
    /// them look like a length that fits. Where more do, as many are tried as [`Search`] allows.
    fn find_frame(&mut self, from: u64, size: u64) -> io::Result<Option<u64>> {
        let mut scan = Window::default();
        let mut search = Search::default();
        let mut offset = from.max(self.barren);
        let end = size.saturating_sub(FRAME_HEAD as u64);
        while offset < end {
            let bytes = scan.get(&self.file, offset, FRAME_HEAD)?;
            let zeros = zeros(bytes);
            if zeros > LENGTH_ZEROS {
                // No length is 0; and where nothing was ever written there is nothing to read.
                offset += (zeros - LENGTH_ZEROS) as u64;
                search.earn(zeros);
                if zeros == bytes.len() {
                    offset = data_from(&self.file, offset, end)?;
                }
                continue;
            }
            let Seen::Short(length) = look(&bytes[..FRAME_HEAD.min(bytes.len())]) else {
                search.earn(1);
                offset += 1;
                continue;
            };
            let fits = offset + (FRAME_HEAD + length) as u64 <= size;
            if fits && search.pays(length) && matches!(self.look_at(offset)?, Seen::Frame(_)) {
                return Ok(Some(offset));
            }
            search.earn(1);
            offset += 1;
        }
        // All bytes of a frame that began before this are there: it will not become one.
        self.barren = size.saturating_sub((FRAME_HEAD + MAX_PAYLOAD) as u64);
        Ok(None)
    }

    /// Bytes of the file now.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_error(&self, source: io::Error) -> RecordingError {
        RecordingError::Read {
            path: self.path.clone(),
            source,
        }
    }
}

impl Iterator for Recording {
    type Item = Result<Entry, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_entry() {
            Ok(entry) => entry.map(Ok),
            Err(source) => Some(Err(self.read_error(source))),
        }
    }
}

/// How much may be read to find a frame again. Bytes that were made to look like lengths at every offset would
/// else be summed up over and over.
struct Search(u64);

/// Free in every search: ten of the longest frames.
const SEARCHED: u64 = 10 * MAX_PAYLOAD as u64;
/// And for every byte that was stepped over: a hundredth of ours looks like a length, of some kilobytes.
const SEARCHED_PER_BYTE: u64 = 64;

impl Default for Search {
    fn default() -> Search {
        Search(SEARCHED)
    }
}

impl Search {
    fn earn(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(SEARCHED_PER_BYTE * bytes as u64);
        // What zeros earn is not for what comes behind them.
        self.0 = self.0.min(SEARCHED);
    }

    fn pays(&mut self, length: usize) -> bool {
        let left = self.0.checked_sub(length as u64);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// The bytes of a length that may be zero before one that is not.
const LENGTH_ZEROS: usize = 3;

fn zeros(bytes: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let strides = bytes.chunks_exact(STRIDE);
    let whole = strides.take_while(|stride| **stride == [0; STRIDE]).count() * STRIDE;
    let rest = bytes[whole..].iter().take_while(|byte| **byte == 0);
    whole + rest.count()
}

/// The next offset that holds data; `end` when none does. A disk that does not tell has data everywhere.
fn data_from(file: &File, offset: u64, end: u64) -> io::Result<u64> {
    use rustix::fs::{SeekFrom, seek};
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Ok(data.saturating_sub(LENGTH_ZEROS as u64).max(offset)),
        Err(rustix::io::Errno::NXIO) => Ok(end),
        Err(_) => Ok(offset),
    }
}

/// A part of the file in memory.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    begins: u64,
}

impl Window {
    /// Bytes from `offset` on: as many as asked for, or more, or all there are.
    fn get(&mut self, file: &File, offset: u64, want: usize) -> io::Result<&[u8]> {
        let have = offset
            .checked_sub(self.begins)
            .and_then(|skip| self.bytes.get(usize::try_from(skip).ok()?..))
            .map_or(0, <[u8]>::len);
        if have < want {
            self.bytes.resize(want.max(CHUNK), 0);
            let got = read_up_to(file, &mut self.bytes, offset)?;
            self.bytes.truncate(got);
            self.begins = offset;
        }
        Ok(&self.bytes[(offset - self.begins) as usize..])
    }

    /// The file may say something else the next time.
    fn forget(&mut self) {
        self.bytes.clear();
    }
}

fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match file.read_at(&mut bytes[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}
