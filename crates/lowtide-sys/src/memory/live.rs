//! The memory of a process that runs, read without stopping it: `process_vm_readv`, and `pagemap` to know
//! beforehand which pages are there. Short reads and pages that vanish are normal.
//!
//! Only resident pages may be asked for. Reading one that is not there would make the kernel bring it
//! in (from swap, or as a page of zeros). Between the two calls a page can go; then one page of zeros
//! is mapped, which counts in no size that lowtide shows.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::{Deadline, Memory, Pages, Piece};
use crate::proc::Proc;

/// `Documentation/admin-guide/mm/pagemap.rst`: present, in swap, backed by a file or shared memory, and
/// mapped by nobody else.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// Entries of `pagemap` that are asked for at once: 64 KiB of them speak for 32 MiB of 4 KiB pages.
const ENTRIES: u64 = 8192;
/// Size of an entry.
const ENTRY: usize = 8;
/// The kernel's limit on pieces per call (UIO_MAXIOV).
const PIECES: usize = 1024;

/// A process that runs.
#[derive(Debug)]
pub struct Live {
    pid: u32,
    pagemap: OwnedFd,
    page: u64,
    deadline: Deadline,
    refused: OnceLock<Errno>,
    gone: AtomicU64,
}

impl Live {
    /// It takes the same user and no ptrace_scope, or CAP_SYS_PTRACE.
    pub fn open(proc: &Proc, pid: u32, deadline: Deadline) -> Result<Live, Errno> {
        Ok(Live {
            pid,
            pagemap: proc.open(pid, "pagemap")?,
            page: rustix::param::page_size() as u64,
            deadline,
            refused: OnceLock::new(),
            gone: AtomicU64::new(0),
        })
    }

    fn count(&self, start: u64, end: u64, which: impl Fn(u64) -> bool) -> Result<u64, Errno> {
        let mut pages = 0;
        self.entries(start, end, |_, entry| pages += u64::from(which(entry)))?;
        Ok(pages * self.page)
    }

    /// Hands over what `pagemap` says of every page, by its index.
    fn entries(&self, start: u64, end: u64, mut each: impl FnMut(u64, u64)) -> Result<(), Errno> {
        let count = end.saturating_sub(start) / self.page;
        let mut buffer = vec![0; count.min(ENTRIES) as usize * ENTRY];
        let mut index = 0;
        while index < count && !self.is_late() {
            let wanted = (count - index).min(ENTRIES) as usize * ENTRY;
            let offset = (start / self.page + index) * ENTRY as u64;
            let got = rustix::io::pread(&self.pagemap, &mut buffer[..wanted], offset)?;
            if got < ENTRY {
                break;
            }
            let (entries, _) = buffer[..got].as_chunks::<ENTRY>();
            for entry in entries {
                each(index, u64::from_ne_bytes(*entry));
                index += 1;
            }
        }
        Ok(())
    }

    /// One call: the pieces, one behind the other, as far as they came.
    fn copy(&self, remotes: &[libc::iovec], out: &mut [u8]) -> usize {
        let local = libc::iovec {
            iov_base: out.as_mut_ptr().cast(),
            iov_len: out.len(),
        };
        // SAFETY: `local` is the whole of `out`, which is borrowed mutably for the call; the remote
        // pieces are addresses of another process, which the kernel checks and never writes to. Both
        // counts are those of the slices, at most PIECES.
        let got = unsafe {
            libc::process_vm_readv(
                self.pid as libc::pid_t,
                &raw const local,
                1,
                remotes.as_ptr(),
                remotes.len() as libc::c_ulong,
                0,
            )
        };
        usize::try_from(got).unwrap_or_else(|_| {
            let errno = Errno::from_io_error(&std::io::Error::last_os_error());
            if let Some(errno @ (Errno::PERM | Errno::SRCH | Errno::NOSYS)) = errno {
                self.refused.get_or_init(|| errno);
            }
            0
        })
    }

    fn is_gone(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }
}

impl Memory for Live {
    fn page(&self) -> u64 {
        self.page
    }

    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno> {
        let mut pages = Pages::none(start, end, self.page);
        self.entries(start, end, |index, entry| {
            if entry & PRESENT != 0 && entry & OF_FILE == 0 {
                pages.set(index);
            }
        })?;
        Ok(pages)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let length = out.len();
        let got = self.copy(&[remote(&Piece { address, length })], out);
        if got < length {
            self.is_gone();
        }
        got
    }

    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
        came.clear();
        let mut room = out;
        for (index, group) in pieces.chunks(PIECES).enumerate() {
            if index > 0 && self.is_late() {
                break;
            }
            let remotes: Vec<libc::iovec> = group.iter().map(remote).collect();
            let mut length: usize = group.iter().map(|piece| piece.length).sum();
            let mut done = 0;
            while done < group.len() && self.refused().is_none() {
                let mut got = self.copy(&remotes[done..], &mut room[..length]);
                // The kernel stops at the first page that is gone: leave that piece out and go on behind it.
                for piece in &group[done..] {
                    let count = got.min(piece.length);
                    came.push(count);
                    done += 1;
                    got -= count;
                    length -= piece.length;
                    room = &mut room[piece.length..];
                    if count < piece.length {
                        self.is_gone();
                        break;
                    }
                }
            }
        }
        came.resize(pieces.len(), 0);
    }

    fn swapped(&self, start: u64, end: u64) -> Result<u64, Errno> {
        self.count(start, end, |entry| entry & SWAPPED != 0)
    }

    fn in_common(&self, start: u64, end: u64) -> Result<u64, Errno> {
        let flags = PRESENT | OF_FILE | EXCLUSIVE;
        self.count(start, end, |entry| entry & flags == PRESENT)
    }

    fn gone(&self) -> u64 {
        self.gone.load(Ordering::Relaxed)
    }

    fn refused(&self) -> Option<Errno> {
        self.refused.get().copied()
    }

    fn is_late(&self) -> bool {
        self.deadline.is_over()
    }
}

fn remote(piece: &Piece) -> libc::iovec {
    libc::iovec {
        iov_base: piece.address as *mut libc::c_void,
        iov_len: piece.length,
    }
}
