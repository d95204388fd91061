//! The files that a process has mapped, opened as the process sees them: it may live in a container, and
//! its files may be deleted or replaced.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags};

use super::Mapping;
use super::elf::ReadAt;
use crate::proc::Proc;

/// Opens a mapped file, if it is a regular one.
pub fn open(proc: &Proc, pid: u32, mapping: &Mapping, name: &str) -> Option<OwnedFd> {
    let open = |path: PathBuf| {
        // A path can have become a pipe since: opening must not wait.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        let mode = rustix::fs::fstat(&file).ok()?.st_mode;
        (FileType::from_raw_mode(mode) == FileType::RegularFile).then_some(file)
    };
    let in_root = name.strip_prefix('/')?;
    open(proc.path(pid, "root").join(in_root)).or_else(|| open(by_address(proc, pid, mapping)))
}

/// The way to a mapped file that needs no name, but a privilege.
pub fn by_address(proc: &Proc, pid: u32, mapping: &Mapping) -> PathBuf {
    let link = format!("map_files/{:x}-{:x}", mapping.start, mapping.end);
    proc.path(pid, &link)
}

impl ReadAt for OwnedFd {
    fn read_at(&self, at: u64, out: &mut [u8]) -> usize {
        rustix::io::pread(self, &mut *out, at).unwrap_or(0)
    }
}
