//! `/proc`, below a root that tests can replace. One parser per kernel file, each on bytes; the
//! files that are read on every tick stay open, and all reads go into reused buffers.

pub mod cmdline;
pub mod environ;
pub mod limits;
pub mod maps;
pub mod mask;
pub mod meminfo;
pub mod pressure;
pub mod smaps_rollup;
pub mod stat;
pub mod status;
mod text;

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use lowtide_core::sample::GapWhy;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};
use rustix::io::Errno;

use crate::Error;

pub use text::{number, words};

/// A directory laid out like `/proc`.
#[derive(Debug)]
pub struct Proc {
    root: PathBuf,
    dir: OwnedFd,
}

impl Proc {
    pub fn at(root: impl Into<PathBuf>) -> Result<Proc, Error> {
        let root = root.into();
        let dir = rustix::fs::open(
            &root,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|errno| Error::read(&root, errno))?;
        Ok(Proc { root, dir })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, pid: u32, file: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(file)
    }

    /// Opens `PID/file` for reading.
    pub fn open(&self, pid: u32, file: &str) -> Result<OwnedFd, Errno> {
        let mut name = NameBuffer::new();
        self.open_name(name.pid_file(pid, file))
    }

    /// Opens a file that belongs to no process, such as `meminfo`.
    pub(crate) fn open_global(&self, file: &str) -> Result<OwnedFd, Errno> {
        self.open_name(file)
    }

    fn open_name(&self, name: &str) -> Result<OwnedFd, Errno> {
        rustix::fs::openat(
            &self.dir,
            name,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }

    /// Reads all of `PID/file` into `buffer`, replacing what was there.
    pub fn read(&self, pid: u32, file: &str, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        read_all(&self.open(pid, file)?, buffer)
    }

    pub(crate) fn read_global(&self, file: &str, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        read_all(&self.open_global(file)?, buffer)
    }

    /// Where a link such as `PID/exe` points to.
    pub fn link(&self, pid: u32, file: &str) -> Option<String> {
        let mut name = NameBuffer::new();
        let target =
            rustix::fs::readlinkat(&self.dir, name.pid_file(pid, file), Vec::new()).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    /// All pids, ascending.
    pub fn pids(&self, out: &mut Vec<u32>) -> Result<(), Error> {
        out.clear();
        each_name(&self.dir, |name| {
            if let Some(pid) = number(name).and_then(|n| u32::try_from(n).ok()) {
                out.push(pid);
            }
        })
        .map_err(|errno| Error::read(&self.root, errno))?;
        // The kernel lists them so; the file system of a fixture may not.
        if !out.is_sorted() {
            out.sort_unstable();
        }
        Ok(())
    }

    /// Whether the kernel lists the children of a process (CONFIG_PROC_CHILDREN).
    pub(crate) fn tells_children(&self) -> bool {
        self.open_global("thread-self/children").is_ok()
    }

    /// The children of a process: each thread has those that it made. While some of them end, others
    /// may be left out.
    pub(crate) fn children(&self, pid: u32, out: &mut Vec<u32>) -> Result<(), Errno> {
        out.clear();
        let mut buffer = Vec::new();
        let mut name = NameBuffer::new();
        let mut failed = None;
        each_name(&self.open(pid, "task")?, |thread| {
            let Some(thread) = number(thread) else {
                return;
            };
            let read = (self.open_name(name.thread_file(pid, thread, "children")))
                .and_then(|file| read_all(&file, &mut buffer));
            match read {
                Ok(()) => {
                    let pids = words(&buffer).filter_map(number);
                    out.extend(pids.filter_map(|pid| u32::try_from(pid).ok()));
                }
                // A thread that ended has handed its children to another.
                Err(errno) => failed = Some(errno),
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// The process's group and session. By system calls, which wait for nobody: to read `stat` of a
    /// process that hangs may take as long as it hangs.
    pub(crate) fn founders(&self, pid: u32) -> Option<(u32, u32)> {
        #[cfg(test)]
        if self.root != Path::new("/proc") {
            return fixture::founders(self, pid);
        }
        let pid = i32::try_from(pid).ok()?;
        // Not by rustix: it takes the answer for a pid, and that is 0 for a leader outside of our pid
        // namespace.
        // SAFETY: plain numbers.
        let (group, session) = unsafe { (libc::getpgid(pid), libc::getsid(pid)) };
        Some((u32::try_from(group).ok()?, u32::try_from(session).ok()?))
    }

    /// How many entries a directory such as `PID/fd` has.
    pub fn count(&self, pid: u32, directory: &str) -> Result<u32, Errno> {
        let mut entries = 0;
        each_name(&self.open(pid, directory)?, |_| entries += 1)?;
        Ok(entries)
    }

    /// The names of a process's threads, at most `most` of them.
    pub(crate) fn thread_names(&self, pid: u32, most: usize) -> Vec<Vec<u8>> {
        let mut threads = Vec::new();
        if let Ok(directory) = self.open(pid, "task") {
            let _ = each_name(&directory, |name| {
                if threads.len() < most
                    && let Some(tid) = number(name)
                {
                    threads.push(tid);
                }
            });
        }
        let mut names = Vec::new();
        let mut buffer = Vec::new();
        for tid in threads {
            if self
                .read(pid, &format!("task/{tid}/comm"), &mut buffer)
                .is_ok()
            {
                let end = buffer.strip_suffix(b"\n").unwrap_or(&buffer).len();
                names.push(buffer[..end].to_vec());
            }
        }
        names
    }
}

/// Calls `each` with every name in an open directory but `.` and `..`.
/// Allocates nothing.
pub(crate) fn each_name(directory: &impl AsFd, mut each: impl FnMut(&[u8])) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::<u8>::uninit(); 8192];
    rustix::fs::seek(directory, SeekFrom::Start(0))?;
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            each(name);
        }
    }
    Ok(())
}

/// Reads a file from its start into `buffer`, replacing what was there. The buffer keeps its
/// capacity, so that a second read of the same file allocates nothing.
pub(crate) fn read_all(file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<(), Errno> {
    /// Most of what we read every tick is shorter than this.
    const FIRST: usize = 4096;
    buffer.clear();
    let mut offset = 0;
    loop {
        if buffer.capacity() - buffer.len() < FIRST / 2 {
            buffer.reserve(FIRST);
        }
        let spare = rustix::buffer::spare_capacity(buffer);
        let count = rustix::io::pread(file, spare, offset)?;
        if count == 0 {
            return Ok(());
        }
        offset += count as u64;
    }
}

/// Reads a file that the kernel hands over in one piece (`stat`, `status`: one record, and the
/// kernel's buffer grows until the record fits). It saves the second call that finds the end.
pub(crate) fn read_record(file: &OwnedFd, buffer: &mut Vec<u8>) -> Result<(), Errno> {
    /// `status` is about 1.5 kB; a user in thousands of groups makes it longer.
    const ROOM: usize = 16 * 1024;
    buffer.clear();
    buffer.reserve(ROOM);
    let count = rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), 0)?;
    if count >= ROOM {
        return read_all(file, buffer);
    }
    Ok(())
}

/// Why a reading is missing, from what the kernel said.
pub fn why(errno: Errno) -> GapWhy {
    match errno {
        Errno::ACCESS | Errno::PERM => GapWhy::Denied,
        Errno::NOENT | Errno::SRCH => GapWhy::Vanished,
        Errno::AGAIN | Errno::INTR => GapWhy::Late,
        _ => GapWhy::Unsupported,
    }
}

/// `1234/stat` on the stack: names are made on every tick.
struct NameBuffer {
    bytes: [u8; 64],
}

impl NameBuffer {
    fn new() -> NameBuffer {
        NameBuffer { bytes: [0; 64] }
    }

    fn pid_file(&mut self, pid: u32, file: &str) -> &str {
        self.name(format_args!("{pid}/{file}"))
    }

    fn thread_file(&mut self, pid: u32, thread: u64, file: &str) -> &str {
        self.name(format_args!("{pid}/task/{thread}/{file}"))
    }

    fn name(&mut self, words: std::fmt::Arguments<'_>) -> &str {
        use std::io::Write;
        let room = self.bytes.len();
        let mut rest = &mut self.bytes[..];
        // All our names fit; one that does not would be cut and then not found.
        let _ = rest.write_fmt(words);
        let used = room - rest.len();
        std::str::from_utf8(&self.bytes[..used]).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod fixture;
