//! What an ELF file says of itself: which parts of it are loaded where, and, by name, the symbols that it
//! defines ([`symbols`]). Every number comes from the file and may be a lie.

mod sections;
pub mod symbols;

use self::symbols::Symbols;

/// A file's bytes by offset; parsers are fed from files and, in tests, from memory.
pub trait ReadAt {
    /// Copies what stands at `at`; returns how many bytes came, from the first one on.
    fn read_at(&self, at: u64, out: &mut [u8]) -> usize;
}

impl ReadAt for [u8] {
    fn read_at(&self, at: u64, out: &mut [u8]) -> usize {
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let rest = self.get(from..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        count
    }
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PF_W: u32 = 2;
/// Sizes of the file header and of one row of the table of segments, 64-bit.
const HEADER: usize = 64;
const ROW: usize = 56;
/// What is read of a file at once: the header and the table, which linkers put right behind it.
const HEAD: usize = 4096;
/// Real files have a dozen segments: more than this is a file that wants to keep us busy.
const MOST_SEGMENTS: u64 = 128;
/// Segments are loaded by pages: the first one begins at the start of one, its bytes perhaps later.
const PAGE: u64 = 4096;

/// One row of the table of segments.
#[derive(Clone, Copy, Debug)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    /// How many bytes come from the file, and how many there are in memory.
    in_file: u64,
    in_memory: u64,
}

impl Segment {
    fn parse(row: &[u8]) -> Option<Segment> {
        Some(Segment {
            kind: number(row, 0)?,
            flags: number(row, 4)?,
            offset: word(row, 8)?,
            address: word(row, 16)?,
            in_file: word(row, 32)?,
            in_memory: word(row, 40)?,
        })
    }
}

/// An ELF file of 64 bits, little-endian, as both x86-64 and aarch64 have it.
pub struct Elf<'a, R: ?Sized> {
    file: &'a R,
    segments: Vec<Segment>,
    /// The address of the page that the file's first mapping begins with, as its own tables count.
    first: u64,
}

impl<'a, R: ReadAt + ?Sized> Elf<'a, R> {
    /// `None` for anything else.
    pub fn open(file: &'a R) -> Option<Elf<'a, R>> {
        let mut head = [0; HEAD];
        let got = file.read_at(0, &mut head);
        let head = &head[..got];
        if head.len() < HEADER || !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let half = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
        let (table, length, count) = (word(head, 32)?, half(54), half(56));
        if length < ROW as u64 {
            return None;
        }
        let mut segments = Vec::new();
        for index in 0..count.min(MOST_SEGMENTS) {
            let at = table.checked_add(index * length)?;
            let known = usize::try_from(at).ok().and_then(|at| head.get(at..));
            let segment = match known.and_then(|rest| rest.get(..ROW)) {
                Some(row) => Segment::parse(row),
                None => Segment::parse(&bytes::<ROW>(file, at)?),
            };
            segments.extend(segment.filter(|one| [PT_LOAD, PT_DYNAMIC].contains(&one.kind)));
        }
        let loaded = segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let lowest = loaded.map(|segment| segment.address).min()?;
        Some(Elf {
            file,
            segments,
            first: lowest & !(PAGE - 1),
        })
    }

    /// Stretches of addresses that hold the file's writable data, when its first mapping begins at
    /// `start`. The kernel and the loader map the file's data and zero-filled memory behind it; only the
    /// file's own table says how far that goes. (A rule "what follows a library is its data" once
    /// swallowed 120 MB of somebody else's memory.)
    pub fn data(&self, start: u64) -> impl Iterator<Item = (u64, u64)> {
        let writable = self.loaded().filter(|segment| segment.flags & PF_W != 0);
        writable.filter_map(move |segment| {
            let from = self.in_memory(segment.address, start)?;
            Some((from, from.checked_add(segment.in_memory)?))
        })
    }

    /// Where an address of the file's own tables lies when its first mapping begins at `start`.
    pub fn in_memory(&self, address: u64, start: u64) -> Option<u64> {
        start.checked_add(address.checked_sub(self.first)?)
    }

    /// The symbols that the loader knows; `None` for a file that is linked with nothing.
    pub fn symbols(&self) -> Option<Symbols<'_, R>> {
        Symbols::open(self)
    }

    /// What stands at an address before the program runs.
    pub fn initial<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        bytes(self.file, self.offset(address)?)
    }

    fn loaded(&self) -> impl Iterator<Item = &Segment> {
        let segments = self.segments.iter();
        segments.filter(|segment| segment.kind == PT_LOAD)
    }

    /// Where in the file an address is loaded from.
    fn offset(&self, address: u64) -> Option<u64> {
        self.loaded().find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            (within < segment.in_file).then(|| segment.offset.checked_add(within))?
        })
    }
}

fn bytes<const N: usize>(file: &(impl ReadAt + ?Sized), at: u64) -> Option<[u8; N]> {
    let mut out = [0; N];
    (file.read_at(at, &mut out) == N).then_some(out)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_program_has_writable_data() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let elf = Elf::open(&file[..]).unwrap();
        // A static of this program lies in it.
        static mut HERE: u64 = 0;
        let here = (&raw const HERE) as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let start = u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap();
        assert!(elf.data(start).any(|(from, to)| (from..to).contains(&here)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
            for file in [tail.clone(), [&b"\x7fELF\x02\x01"[..], &tail].concat()] {
                if let Some(elf) = Elf::open(&file[..]) {
                    elf.data(u64::MAX / 2).count();
                }
            }
        }
    }
}
