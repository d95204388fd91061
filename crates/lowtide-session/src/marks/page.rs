//! The shared page: what the watcher asks of the training loop. The loop maps it read-only and
//! looks at it once a step without a system call; we write it with plain writes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};

const SIZE: usize = 4096;
const MAGIC: &[u8; 8] = b"LOWTIDE1";
const ATTEMPT: u64 = 8;
const REQUEST: u64 = 12;
const STOP_AT: u64 = 16;
const HEARTBEAT: u64 = 24;
const TRIMS: u64 = 32;
/// The name of the folder that the page was made in, so that a reader knows it for the one it looks for.
const NAME: usize = 64;

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
}

impl Page {
    pub fn create(path: &Path, name: &str) -> Result<Page> {
        let mut bytes = [0; SIZE];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[NAME..NAME + name.len()].copy_from_slice(name.as_bytes());
        let files = vec![file_of(path, &bytes)?];
        Ok(Page { files })
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
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), SIZE);
        assert_eq!(&bytes[..8], MAGIC);
        assert_eq!(bytes[8..12], 3_u32.to_le_bytes());
        assert_eq!(bytes[12], 1);
        assert_eq!(bytes[16..24], 90_u64.to_le_bytes());
        assert_eq!(bytes[24..32], 7_u64.to_le_bytes());
        assert_eq!(bytes[32..36], 2_u32.to_le_bytes());
        assert_eq!(&bytes[64..75], b"watcher-ab\0");
        page.ask(Request::Nothing).unwrap();
        assert_eq!(std::fs::read(&path).unwrap()[12], 0);
    }
}
