//! The memory of another process, as something that can be read: at an address, at many addresses at
//! once, and which of its pages are there at all. [`crate::look`] reads it; so can whatever else wants to
//! know what is in a process.
//!
//! [`Memory`] is the one way in. [`Live`] is a process that runs, [`Image`] bytes at given addresses, so
//! that every reader can be tried without a process; a core file would be a third. Beside it, as plain
//! data: which mappings there are ([`mappings`]), which pages are resident ([`Pages`]), what the mapped
//! files say of themselves ([`files`], [`elf`]).
//!
//! Nothing here stops a process or changes it, and nothing that is read can be trusted: the process runs
//! on, so bytes are torn, pages vanish, and what looks like a size or an address can be anything.

mod batch;
mod copied;
mod deadline;
pub mod elf;
pub mod files;
mod image;
mod live;
pub mod mappings;
mod pages;

use rustix::io::Errno;

pub use batch::Batch;
pub use copied::{Copied, CopyError, Late, Learned, Recopy};
pub use deadline::Deadline;
pub use image::Image;
pub use live::Live;
pub use mappings::{Mapping, Mappings};
pub use pages::Pages;

/// Where some bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub address: u64,
    pub length: usize,
}

/// What can be read like the memory of a process.
///
/// Readers are generic over it and ask for many bytes or many pieces with each call, so it costs nothing
/// beside the system calls behind it. All methods take `&self`: several readers may share one.
pub trait Memory {
    /// Size of a page, a power of two.
    fn page(&self) -> u64;

    /// The resident private pages between two addresses, both multiples of the page size. To be asked
    /// before anything is read: reading a page that is not there would bring it in.
    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno>;

    /// Copies bytes at `address` into `out`; returns how many came, from the first one on.
    fn read(&self, address: u64, out: &mut [u8]) -> usize;

    /// The same bytes where they are, if they are a copy that stays.
    fn borrow(&self, _address: u64, _length: usize) -> Option<&[u8]> {
        None
    }

    /// Copies many pieces, one behind the other, into `out`, which is as long as all of them. `came` gets
    /// one number a piece: how many bytes of it came, from the first one on. A piece that is not there
    /// leaves its room in `out` as it was, and keeps none of the others from being read.
    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>);

    /// How many bytes between two addresses were swapped out.
    fn swapped(&self, start: u64, end: u64) -> Result<u64, Errno>;

    /// How many resident private bytes between two addresses others have too: those of a fork, and
    /// the kernel's page of zeros, which stands in for what was read and never written.
    fn in_common(&self, start: u64, end: u64) -> Result<u64, Errno>;

    /// How many pieces were not there any more, or not as a whole, when they were read.
    fn gone(&self) -> u64;

    /// Why reading was refused altogether, if it was.
    fn refused(&self) -> Option<Errno>;

    /// No time is left: what was not read stays unread.
    fn is_late(&self) -> bool;

    /// Nothing more will come. Loops that read ask this.
    fn is_over(&self) -> bool {
        self.is_late() || self.refused().is_some()
    }
}
