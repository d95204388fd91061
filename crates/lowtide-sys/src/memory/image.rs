//! Memory made of bytes at given addresses: what readers are tried on, without a process. Whoever reads
//! memory can use it in tests, in this crate and in others.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::{Memory, Pages, Piece};

/// Stretches of bytes. Pages that hold none of them are not resident, and reading them counts as
/// [`gone`](Memory::gone), so a test can hold that nobody does.
#[derive(Debug)]
pub struct Image {
    page: u64,
    /// By address; none reaches into the next.
    stretches: Vec<(u64, Vec<u8>)>,
    /// Resident when asked for, and gone when read.
    vanished: Vec<(u64, u64)>,
    gone: AtomicU64,
}

impl Default for Image {
    fn default() -> Image {
        Image {
            page: 4096,
            stretches: Vec::new(),
            vanished: Vec::new(),
            gone: AtomicU64::new(0),
        }
    }
}

impl Image {
    /// With these bytes at an address. Where there are some already, these come on top.
    pub fn with(mut self, address: u64, bytes: &[u8]) -> Image {
        self.write(address, bytes);
        self
    }

    /// With the pages between two addresses vanishing after they were asked for, as those of a process
    /// that runs do.
    pub fn vanishing(mut self, start: u64, end: u64) -> Image {
        self.vanished.push((start, end));
        self
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let mut at = address;
        let mut rest = bytes;
        while !rest.is_empty() {
            let above = self.stretches.partition_point(|(start, _)| *start <= at);
            let next = self.stretches.get(above).map(|(start, _)| *start);
            if let Some((start, known)) = self.stretches[..above].last_mut()
                && let Some(room) = known.get_mut((at - *start) as usize..)
                && !room.is_empty()
            {
                let count = room.len().min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                rest = &rest[count..];
                at += count as u64;
                continue;
            }
            let free = next.map_or(u64::MAX, |next| next - at);
            let count = rest.len().min(usize::try_from(free).unwrap_or(usize::MAX));
            self.stretches.insert(above, (at, rest[..count].to_vec()));
            rest = &rest[count..];
            at += count as u64;
        }
    }

    /// The bytes from an address to the end of what lies there in one piece.
    fn at(&self, address: u64) -> Option<&[u8]> {
        let above = (self.stretches).partition_point(|(start, _)| *start <= address);
        let (start, bytes) = self.stretches[..above].last()?;
        let bytes = bytes.get((address - start) as usize..)?;
        (!bytes.is_empty()).then_some(bytes)
    }

    fn copy(&self, address: u64, out: &mut [u8]) -> usize {
        let mut done = 0;
        let vanished = self.vanished.iter();
        let stop = vanished
            .filter(|(_, end)| *end > address)
            .map(|(start, _)| start.saturating_sub(address))
            .min();
        let most = stop.map_or(out.len() as u64, |stop| stop.min(out.len() as u64)) as usize;
        while done < most
            && let Some(at) = address.checked_add(done as u64)
            && let Some(bytes) = self.at(at)
        {
            let count = bytes.len().min(most - done);
            out[done..done + count].copy_from_slice(&bytes[..count]);
            done += count;
        }
        let whole = done == out.len();
        self.gone.fetch_add(u64::from(!whole), Ordering::Relaxed);
        done
    }
}

impl Memory for Image {
    fn page(&self) -> u64 {
        self.page
    }

    fn resident(&self, start: u64, end: u64) -> Result<Pages, Errno> {
        let mut pages = Pages::none(start, end, self.page);
        for (from, bytes) in &self.stretches {
            let to = from + bytes.len() as u64;
            let mut at = (*from).max(start) / self.page * self.page;
            while at < to.min(end) {
                pages.set((at - start) / self.page);
                at += self.page;
            }
        }
        Ok(pages)
    }

    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        self.copy(address, out)
    }

    fn borrow(&self, address: u64, length: usize) -> Option<&[u8]> {
        let stays = self.vanished.is_empty();
        self.at(address)?.get(..length).filter(|_| stays)
    }

    fn read_pieces(&self, pieces: &[Piece], out: &mut [u8], came: &mut Vec<usize>) {
        came.clear();
        let mut rest = out;
        for piece in pieces {
            let (room, behind) = std::mem::take(&mut rest).split_at_mut(piece.length);
            came.push(self.copy(piece.address, room));
            rest = behind;
        }
    }

    fn swapped(&self, _start: u64, _end: u64) -> Result<u64, Errno> {
        Ok(0)
    }

    fn in_common(&self, _start: u64, _end: u64) -> Result<u64, Errno> {
        Ok(0)
    }

    fn gone(&self) -> u64 {
        self.gone.load(Ordering::Relaxed)
    }

    fn refused(&self) -> Option<Errno> {
        None
    }

    fn is_late(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_where_they_were_put() {
        let image = Image::default()
            .with(0x5000, b"behind")
            .with(0x1ffe, b"over two pages")
            .with(0x2002, b"top")
            .with(0x4ffc, b"up to it");
        let read = |address: u64, length: usize| {
            let mut out = vec![0; length];
            let got = image.read(address, &mut out);
            String::from_utf8(out[..got].to_vec()).unwrap()
        };
        assert_eq!(read(0x1ffe, 14), "overtopo pages");
        assert_eq!(read(0x4ffc, 10), "up to itnd");
        assert_eq!(image.gone(), 0);
        // What is not there does not come, and is counted.
        assert_eq!(read(0x2008, 99), "ages");
        assert_eq!(read(0x0, 1), "");
        assert_eq!(image.gone(), 2);
        let pages = image.resident(0x1000, 0x7000).unwrap();
        let resident: Vec<u64> = (0x1000..0x7000).step_by(0x1000).collect();
        let resident = resident.into_iter().filter(|at| pages.has(*at));
        assert_eq!(
            resident.collect::<Vec<_>>(),
            [0x1000, 0x2000, 0x4000, 0x5000]
        );
    }

    #[test]
    fn what_vanishes_is_resident_and_cannot_be_read() {
        let image = Image::default()
            .with(0x1000, &[1; 0x3000])
            .vanishing(0x2000, 0x3000);
        assert!(image.resident(0x1000, 0x4000).unwrap().has(0x2000));
        let mut out = vec![0; 0x3000];
        assert_eq!(image.read(0x1000, &mut out), 0x1000);
        assert_eq!(image.read(0x2800, &mut out), 0);
        assert_eq!(image.read(0x3000, &mut out), 0x1000);
    }
}
