//! Output that goes to a file is the job's own, and is read from the file as it grows: that of a job of
//! ours, which inherits the file, and that of a job that was found running.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;
use lowtide_sys::regular;
use rustix::fs::OFlags;

use crate::keeper::{Handle, Route};

/// What one read takes.
const TAKEN: usize = 256 * 1024;
/// Reads in one turn at most: a job that floods its log must not hold up a tick.
const READS: usize = 16;
/// How much of what was printed before is read to know where a loop stands: the last lines of a plain log,
/// or the last few hundred states of a bar.
const BEFORE: u64 = 16 * 1024;

/// The files that stdout and stderr of the job go to.
#[derive(Default)]
pub(crate) struct LogFiles {
    files: Vec<Growing>,
    /// Processes whose streams were asked for.
    asked: Vec<ProcId>,
    buffer: Vec<u8>,
}

struct Growing {
    file: File,
    offset: u64,
}

impl LogFiles {
    /// What a job of ours prints to files that we were started with, where stdout and stderr are `ours`.
    pub(crate) fn follow_ours(&mut self, handle: &Handle, ours: [bool; 2]) {
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

    /// What a process that was found running prints to files, asked once. `before` gets the end of what this
    /// job has printed already.
    pub(crate) fn follow_found(&mut self, id: ProcId, mut before: impl FnMut(&[u8])) {
        if self.asked.contains(&id) {
            return;
        }
        self.asked.push(id);
        let Ok(proc) = Proc::at("/proc") else { return };
        for number in [1, 2] {
            let path = proc.path(id.pid, &format!("fd/{number}"));
            // What we print there ourselves is none of the job's.
            if is_our_own(&path) || !self.add(&path) {
                continue;
            }
            if let Some(growing) = self.files.last()
                && !appends(&proc, id.pid, number)
            {
                growing.read_before(&mut before);
            }
        }
    }

    /// From its present end on; false for a file that is known already or cannot be read.
    fn add(&mut self, path: &Path) -> bool {
        // `> log 2>&1`: one file, read once.
        let growing = Growing::open(path)
            .filter(|growing| !self.files.iter().any(|known| known.is(&growing.file)));
        let new = growing.is_some();
        self.files.extend(growing);
        new
    }

    /// Hands over what was written since the last call.
    pub(crate) fn read(&mut self, mut hand_over: impl FnMut(&[u8])) {
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
    /// From its present end on: what an earlier job wrote is not this one's. Only files: opening a pipe or a
    /// terminal would take part in it.
    fn open(path: &Path) -> Option<Growing> {
        let file = regular::open(path).ok()?;
        let offset = file.metadata().ok()?.len();
        Some(Growing { file, offset })
    }

    /// Whole lines of the last that was written before.
    fn read_before(&self, mut hand_over: impl FnMut(&[u8])) {
        let from = self.offset.saturating_sub(BEFORE);
        let mut bytes = vec![0; (self.offset - from) as usize];
        if self.file.read_exact_at(&mut bytes, from).is_err() {
            return;
        }
        let begins = match from {
            0 => Some(0),
            _ => bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')),
        };
        if let Some(begins) = begins {
            hand_over(&bytes[begins..]);
        }
    }

    /// A log that was cut (`copytruncate`) begins again.
    fn mind_truncation(&mut self) {
        let length = self.file.metadata().map(|found| found.len());
        if length.is_ok_and(|length| length < self.offset) {
            self.offset = 0;
        }
    }

    fn is(&self, other: &File) -> bool {
        let of = |file: &File| file.metadata().ok().map(|found| (found.dev(), found.ino()));
        of(&self.file) == of(other)
    }
}

fn is_our_own(path: &Path) -> bool {
    let Ok(found) = path.metadata() else {
        return false;
    };
    let is = |fd: std::os::fd::BorrowedFd| {
        rustix::fs::fstat(fd)
            .is_ok_and(|own| (own.st_dev, own.st_ino) == (found.dev(), found.ino()))
    };
    is(std::io::stdout().as_fd()) || is(std::io::stderr().as_fd())
}

/// Whether a stream was opened to append (`>> log`): then what stands there may be an earlier job's. A
/// plain `> log` emptied the file.
fn appends(proc: &Proc, pid: u32, number: u32) -> bool {
    let text = std::fs::read_to_string(proc.path(pid, &format!("fdinfo/{number}")));
    let text = text.unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
    flags.is_none_or(|flags| flags & OFlags::APPEND.bits() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "an earlier job\n").unwrap();
        let mut follow = LogFiles::default();
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

    /// A process that prints what it is told to a file of ours, and ends with its input.
    fn printer(log: File) -> (std::process::Child, ProcId) {
        let child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(log)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let proc = Proc::at("/proc").unwrap();
        let start = lowtide_sys::signal::start_time(&proc, child.id()).unwrap();
        let id = ProcId {
            pid: child.id(),
            start,
        };
        (child, id)
    }

    #[test]
    fn a_found_process_shows_where_it_stands_unless_the_file_was_there_before() {
        let folder = tempfile::tempdir().unwrap();
        for (append, expected) in [(false, "\nstep 2000/3000\n"), (true, "")] {
            let path = folder.path().join(format!("log-{append}"));
            let mut options = std::fs::OpenOptions::new();
            options.create(true).write(true).append(append);
            let (mut child, id) = printer(options.open(&path).unwrap());
            let printed: String = (1..=2000).map(|n| format!("step {n}/3000\n")).collect();
            std::fs::write(&path, &printed).unwrap();
            let (mut files, mut before) = (LogFiles::default(), Vec::new());
            for _ in 0..2 {
                files.follow_found(id, |bytes| before.extend_from_slice(bytes));
            }
            drop(child.stdin.take());
            child.wait().unwrap();
            let before = String::from_utf8(before).unwrap();
            assert!(before.ends_with(expected), "{before}");
            assert!(before.len() as u64 <= BEFORE && before.is_empty() == append);
            assert!(
                !before.starts_with(|c: char| c.is_ascii_digit()),
                "half a line"
            );
            let mut new = Vec::new();
            files.read(|bytes| new.extend_from_slice(bytes));
            assert_eq!(new, b"", "what was there is not new");
        }
    }

    #[test]
    fn pipes_are_left_alone() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let proc = Proc::at("/proc").unwrap();
        assert!(Growing::open(&proc.path(child.id(), "fd/1")).is_none());
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
