//! Output that goes to a file is the job's own: it is inherited, and read from the file as it grows.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::keeper::{Handle, Route};

/// What one read takes.
const TAKEN: usize = 256 * 1024;
/// Reads in one look at most: a job that floods its log must not hold up a tick.
const READS: usize = 16;

/// The files that stdout and stderr of the job go to.
#[derive(Default)]
pub struct Follow {
    files: Vec<Growing>,
    buffer: Vec<u8>,
}

struct Growing {
    file: File,
    offset: u64,
}

impl Follow {
    /// What a job of ours prints to files that we were started with, where stdout and stderr are `ours`.
    pub fn follow_ours(&mut self, handle: &Handle, ours: [bool; 2]) {
        let (stdout, stderr) = handle.routes();
        for (route, fd, ours) in [
            (stdout, "/proc/self/fd/1", ours[0]),
            (stderr, "/proc/self/fd/2", ours[1]),
        ] {
            if ours && route == Route::File {
                self.add(Path::new(fd));
            }
        }
    }

    /// From its present end on. A file that cannot be read is left out.
    pub fn add(&mut self, path: &Path) {
        // `> log 2>&1`: one file, read once.
        if let Some(growing) = Growing::open(path)
            && !self.files.iter().any(|known| known.is(&growing))
        {
            self.files.push(growing);
        }
    }

    /// Hands over what was written since the last call.
    pub fn read(&mut self, mut hand_over: impl FnMut(&[u8])) {
        self.buffer.resize(TAKEN, 0);
        for growing in &mut self.files {
            growing.mind_truncation();
            for _ in 0..READS {
                // A file that cannot be read any more ends its steps, not the watching.
                let Ok(length) = growing.file.read_at(&mut self.buffer, growing.offset) else {
                    break;
                };
                if length == 0 {
                    break;
                }
                growing.offset += length as u64;
                hand_over(&self.buffer[..length]);
            }
        }
    }
}

impl Growing {
    /// From its present end on: what an earlier job wrote is not this one's.
    fn open(path: &Path) -> Option<Growing> {
        let file = File::open(path).ok()?;
        let offset = file.metadata().ok()?.len();
        Some(Growing { file, offset })
    }

    /// A log that was cut (`copytruncate`) begins again.
    fn mind_truncation(&mut self) {
        let length = self.file.metadata().map(|found| found.len());
        if length.is_ok_and(|length| length < self.offset) {
            self.offset = 0;
        }
    }

    fn is(&self, other: &Growing) -> bool {
        let of = |file: &File| file.metadata().ok().map(|found| (found.dev(), found.ino()));
        of(&self.file) == of(&other.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "an earlier job\n").unwrap();
        let mut follow = Follow::default();
        follow.add(&path);
        follow.add(&path);
        let mut seen = Vec::new();
        follow.read(|bytes| seen.extend_from_slice(bytes));
        assert!(seen.is_empty());
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"step 1/3\n"))
            .unwrap();
        follow.read(|bytes| seen.extend_from_slice(bytes));
        follow.read(|bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, b"step 1/3\n");
    }
}
