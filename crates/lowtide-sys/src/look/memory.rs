//! The memory of another process, read without stopping it: `process_vm_readv`, and `pagemap` to know
//! beforehand which pages are there. Short reads and pages that vanish are normal: the target runs on.
//!
//! Only resident pages may be asked for. Reading one that is not there would make the kernel bring it
//! in (from swap, or as a page of zeros). Between the two calls a page can go; then one page of zeros
//! is mapped, which counts in no size that lowtide shows.

use std::cell::Cell;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::Deadline;
use super::pages::Pages;
use crate::proc::Proc;

/// `Documentation/admin-guide/mm/pagemap.rst`: present, in swap, backed by a file or shared memory, and
/// mapped by nobody else.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// Entries of `pagemap` that are asked for at once: 64 KiB of them speak for 32 MiB of 4 KiB pages.
const ENTRIES: usize = 8192;
/// The kernel's limit on pieces per call (UIO_MAXIOV).
const PIECES: usize = 1024;

#[derive(Debug)]
pub struct Memory {
    pid: u32,
    pagemap: OwnedFd,
    page: u64,
    deadline: Deadline,
    buffer: Vec<u8>,
    refused: Cell<Option<Errno>>,
    gone: Cell<u64>,
}

impl Memory {
    pub(super) fn open(proc: &Proc, pid: u32, deadline: Deadline) -> Result<Memory, Errno> {
        Ok(Memory {
            pid,
            pagemap: proc.open(pid, "pagemap")?,
            page: rustix::param::page_size() as u64,
            deadline,
            buffer: Vec::new(),
            refused: Cell::new(None),
            gone: Cell::new(0),
        })
    }

    /// No time is left: what was not read stays unread.
    pub fn is_late(&self) -> bool {
        self.deadline.is_over()
    }

    /// Why reading was refused altogether, if it was.
    pub fn refused(&self) -> Option<Errno> {
        self.refused.get()
    }

    /// How many pieces were not there any more when they were read.
    pub fn gone(&self) -> u64 {
        self.gone.get()
    }

    /// The resident private pages between two addresses.
    pub fn pages(&mut self, start: u64, end: u64) -> Result<Pages, Errno> {
        let mut pages = Pages::none(start, end, self.page);
        self.entries(start, end, |index, entry| {
            if entry & PRESENT != 0 && entry & OF_FILE == 0 {
                pages.set(index);
            }
        })?;
        Ok(pages)
    }

    /// How many bytes between two addresses were swapped out.
    pub fn swapped(&mut self, start: u64, end: u64) -> Result<u64, Errno> {
        self.count(start, end, |entry| entry & SWAPPED != 0)
    }

    /// How many resident private bytes between two addresses others have too: those of a fork, and
    /// the kernel's page of zeros, which stands in for what was read and never written.
    pub fn in_common(&mut self, start: u64, end: u64) -> Result<u64, Errno> {
        let flags = PRESENT | OF_FILE | EXCLUSIVE;
        self.count(start, end, |entry| entry & flags == PRESENT)
    }

    fn count(&mut self, start: u64, end: u64, which: impl Fn(u64) -> bool) -> Result<u64, Errno> {
        let mut pages = 0;
        self.entries(start, end, |_, entry| pages += u64::from(which(entry)))?;
        Ok(pages * self.page)
    }

    /// Hands over what `pagemap` says of every page, by its index.
    fn entries(
        &mut self,
        start: u64,
        end: u64,
        mut each: impl FnMut(u64, u64),
    ) -> Result<(), Errno> {
        let count = (end - start) / self.page;
        self.buffer.resize(ENTRIES * 8, 0);
        let mut index = 0;
        while index < count && !self.is_late() {
            let wanted = ((count - index) as usize).min(ENTRIES) * 8;
            let offset = (start / self.page + index) * 8;
            let got = rustix::io::pread(&self.pagemap, &mut self.buffer[..wanted], offset)?;
            if got < 8 {
                break;
            }
            for entry in self.buffer[..got].chunks_exact(8) {
                let entry = u64::from_ne_bytes(entry.try_into().expect("chunks of eight"));
                each(index, entry);
                index += 1;
            }
        }
        Ok(())
    }

    /// Copies bytes at `address` into `out`; returns how many were there.
    pub fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let length = out.len();
        let got = self.copy(&[remote(address, length)], out);
        self.gone.set(self.gone.get() + u64::from(got < length));
        got
    }

    /// The first `N` bytes at each address; `None` where they could not be read.
    pub fn heads<const N: usize>(&self, addresses: &[u64], out: &mut Vec<Option<[u8; N]>>) {
        out.clear();
        let mut bytes = vec![0; N * addresses.len().min(PIECES)];
        for group in addresses.chunks(PIECES) {
            let remotes: Vec<libc::iovec> = group.iter().map(|at| remote(*at, N)).collect();
            let mut done = 0;
            while done < group.len() {
                let room = &mut bytes[..(group.len() - done) * N];
                let got = self.copy(&remotes[done..], room) / N;
                for head in bytes[..got * N].chunks_exact(N) {
                    out.push(head.try_into().ok());
                }
                done += got;
                // The kernel stops at the first page that is gone: leave it out and go on.
                if done < group.len() {
                    out.push(None);
                    done += 1;
                    self.gone.set(self.gone.get() + 1);
                }
                if self.refused.get().is_some() {
                    out.resize(out.len() + group.len() - done, None);
                    break;
                }
            }
        }
    }

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
                self.refused.set(Some(errno));
            }
            0
        })
    }
}

fn remote(address: u64, length: usize) -> libc::iovec {
    libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: length,
    }
}
