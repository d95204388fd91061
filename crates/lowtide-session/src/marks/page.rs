//! The shared page: what the watcher asks of the training loop. The loop maps it read-only and
//! looks at it once a step without a system call; we write it with plain writes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};
use lowtide_core::process::ProcId;

const SIZE: usize = 4096;
const MAGIC: &[u8; 8] = b"LOWTIDE1";
const ATTEMPT: u64 = 8;
const REQUEST: u64 = 12;
const STOP_AT: u64 = 16;
const HEARTBEAT: u64 = 24;
const TRIMS: u64 = 32;
const WATCHER: usize = 36;
const NAMESPACE: usize = 40;
const INSIDE: u64 = 48;
/// The name of the folder that the page was made in, so that a reader knows it for the one it looks for.
const NAME: usize = 64;
/// Processes whose objects the watcher counts from outside: pid and start, one after the other.
const COUNTED: u64 = 128;
const COUNTED_EACH: usize = 16;
/// Those that are watched and those that grow beside them are fewer; the oldest goes.
const MOST_COUNTED: usize = 16;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Nothing,
    /// Save a checkpoint and stop at this step (0: the next step boundary).
    StopAt(u64),
}

/// What a loop has mapped it keeps, also when somebody removed the file and it was made again: all of them are
/// written, the newest last.
pub struct Page {
    files: Vec<File>,
    counted: Vec<ProcId>,
}

impl Page {
    pub fn create(path: &Path, name: &str) -> Result<Page> {
        let mut bytes = [0; SIZE];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[NAME..NAME + name.len()].copy_from_slice(name.as_bytes());
        // A process can let us read it where the kernel allows only ancestors to (Yama); it has to know us.
        bytes[WATCHER..NAMESPACE].copy_from_slice(&std::process::id().to_le_bytes());
        let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino());
        bytes[NAMESPACE..NAMESPACE + 8].copy_from_slice(&namespace.to_le_bytes());
        let files = vec![file_of(path, &bytes)?];
        let counted = Vec::new();
        Ok(Page { files, counted })
    }

    /// The file was removed: the same page under that name.
    pub(super) fn make_again(&mut self, path: &Path) -> Result<()> {
        let mut bytes = [0; SIZE];
        if let Some(newest) = self.files.last() {
            newest.read_exact_at(&mut bytes, 0)?;
        }
        self.files.push(file_of(path, &bytes)?);
        Ok(())
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        for file in &self.files {
            file.write_all_at(bytes, at)?;
        }
        Ok(())
    }

    /// The loop ignores a request of a watcher that has not been heard of for a minute.
    pub fn beat(&mut self, monotonic_ns: u64) -> Result<()> {
        self.write(&monotonic_ns.to_le_bytes(), HEARTBEAT)
    }

    pub fn ask(&mut self, request: Request) -> Result<()> {
        let (byte, step) = match request {
            Request::Nothing => (0_u8, 0),
            Request::StopAt(step) => (1, step),
        };
        // The step first: a loop that sees the request must see its step too.
        self.write(&step.to_le_bytes(), STOP_AT)?;
        self.write(&[byte], REQUEST)
    }

    /// How many trims the loop has been asked for so far (`--probe trim`); it does one when this grows.
    pub(crate) fn ask_trims(&mut self, trims: u32) -> Result<()> {
        self.write(&trims.to_le_bytes(), TRIMS)
    }

    /// The package need not count the objects of this process: a census from outside does.
    pub(crate) fn counts_objects_of(&mut self, id: ProcId) -> Result<()> {
        if self.counted.contains(&id) {
            return Ok(());
        }
        if self.counted.len() == MOST_COUNTED {
            self.counted.remove(0);
        }
        self.counted.push(id);
        let mut bytes = [0; COUNTED_EACH * MOST_COUNTED];
        for (slot, id) in bytes.chunks_exact_mut(COUNTED_EACH).zip(&self.counted) {
            slot[..8].copy_from_slice(&u64::from(id.pid).to_le_bytes());
            slot[8..].copy_from_slice(&id.start.to_le_bytes());
        }
        self.write(&bytes, COUNTED)
    }

    /// Whether the package is to look at its own process, because we may not read it.
    pub(crate) fn ask_inside(&mut self, wanted: bool) -> Result<()> {
        self.write(&[u8::from(wanted)], INSIDE)
    }

    pub(crate) fn set_attempt(&mut self, attempt: u32) -> Result<()> {
        self.write(&attempt.to_le_bytes(), ATTEMPT)
    }
}

fn file_of(path: &Path, bytes: &[u8; SIZE]) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot make {}", path.display()))?;
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_laid_out_as_documented() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        let mut page = Page::create(&path, "watcher-ab").unwrap();
        page.set_attempt(3).unwrap();
        page.ask(Request::StopAt(90)).unwrap();
        page.beat(7).unwrap();
        page.ask_trims(2).unwrap();
        page.ask_inside(true).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), SIZE);
        assert_eq!(&bytes[..8], MAGIC);
        assert_eq!(bytes[8..12], 3_u32.to_le_bytes());
        assert_eq!(bytes[12], 1);
        assert_eq!(bytes[16..24], 90_u64.to_le_bytes());
        assert_eq!(bytes[24..32], 7_u64.to_le_bytes());
        assert_eq!(bytes[32..36], 2_u32.to_le_bytes());
        assert_eq!(bytes[36..40], std::process::id().to_le_bytes());
        assert_ne!(bytes[40..48], [0; 8]);
        assert_eq!(bytes[48], 1);
        assert_eq!(&bytes[64..75], b"watcher-ab\0");
        let counted = |pid| ProcId { pid, start: 9 };
        page.counts_objects_of(counted(7)).unwrap();
        page.counts_objects_of(counted(7)).unwrap();
        page.counts_objects_of(counted(8)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let words = [7_u64, 9, 8, 9, 0, 0].map(u64::to_le_bytes).concat();
        assert_eq!(bytes[128..128 + words.len()], words);
        for pid in 100..100 + MOST_COUNTED as u32 {
            page.counts_objects_of(counted(pid)).unwrap();
        }
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[128..136], 100_u64.to_le_bytes());
        assert_eq!(bytes[128 + 256..], [0; SIZE - 128 - 256]);
        page.ask(Request::Nothing).unwrap();
        assert_eq!(std::fs::read(&path).unwrap()[12], 0);
    }
}
