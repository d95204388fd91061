//! For a pass over the whole heap: every chunk is read once and kept, so that an object is what it was at one moment,
//! however often it is asked for, and whoever names holders afterwards sees what the pass saw.
//!
//! Only addresses in mappings that can hold objects are read: a word that looks like an address costs no system call
//! when it leads elsewhere.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use lowtide_sys::memory::{Mappings, Memory};

use super::{CHUNK, Near, Source};

/// A map by addresses, which need no better mixing than a multiplication.
pub(crate) type ByAddress<T> = HashMap<u64, T, BuildHasherDefault<Mixed>>;

/// Multiplies by an odd number near 2^64 divided by the golden ratio, and takes the upper half: the lowest bits of an
/// address are alike.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Where objects can lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    /// By address; neighbours of one kind are one.
    list: Vec<Region>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    start: u64,
    end: u64,
    /// Pages that were never written are those of a file, and may be read there.
    of_file: bool,
}

impl Regions {
    /// Private memory that is or was writable: heaps, and the data of programs. Data that the loader has closed
    /// again after it was filled in holds types too.
    pub(crate) fn of(mappings: &Mappings) -> Regions {
        let mut list: Vec<Region> = Vec::new();
        for mapping in &mappings.list {
            let of_file = mapping.inode != 0;
            let holds =
                mapping.read && !mapping.shared && (mapping.write || of_file && !mapping.execute);
            if !holds {
                continue;
            }
            let (start, end) = (mapping.start, mapping.end);
            match list.last_mut() {
                Some(last) if last.end == start && last.of_file == of_file => last.end = end,
                _ => list.push(Region {
                    start,
                    end,
                    of_file,
                }),
            }
        }
        Regions { list }
    }

    fn at(&self, address: u64) -> Option<&Region> {
        let above = self.list.partition_point(|region| region.start <= address);
        let region = self.list.get(above.checked_sub(1)?)?;
        (address < region.end).then_some(region)
    }

    pub(crate) fn hold(&self, address: u64) -> bool {
        self.at(address).is_some()
    }
}

/// Reads by chunks and keeps all of them.
pub(crate) struct Whole<'a, M> {
    memory: &'a M,
    pub(crate) regions: Regions,
    /// Of a chunk.
    size: u64,
    kept: RefCell<Kept<'a>>,
}

#[derive(Default)]
struct Kept<'a> {
    places: ByAddress<u32>,
    chunks: Vec<Chunk<'a>>,
    /// The chunk that was asked for last: the next word lies in it, as a rule.
    last: Option<(u64, u32)>,
}

struct Chunk<'a> {
    /// A memory that is a copy already is not copied again.
    bytes: Cow<'a, [u8]>,
    /// Which of its pages were there, one bit each.
    pages: u64,
}

impl<'a, M: Memory> Whole<'a, M> {
    pub(crate) fn new(memory: &'a M, mappings: &Mappings) -> Whole<'a, M> {
        Whole {
            memory,
            regions: Regions::of(mappings),
            size: CHUNK.max(memory.page()),
            kept: RefCell::default(),
        }
    }

    /// The same process, without what was kept of it.
    pub(crate) fn now(&self) -> Near<'a, M> {
        Near::new(self.memory)
    }

    /// Bytes that are kept now.
    pub(crate) fn kept(&self) -> u64 {
        self.kept.borrow().chunks.len() as u64 * self.size
    }

    fn read(&self, start: u64) -> Chunk<'a> {
        let page = self.memory.page();
        let resident = self.memory.resident(start, start + self.size).ok();
        let may_be_read = |at: u64| match self.regions.at(at) {
            Some(region) if region.of_file => true,
            Some(_) => (resident.as_ref()).is_some_and(|pages| pages.has(at)),
            None => false,
        };
        let all = (start..start + self.size).step_by(page as usize);
        if all.clone().all(&may_be_read)
            && let Some(bytes) = self.memory.borrow(start, self.size as usize)
        {
            let pages = all.fold(0, |pages, at| pages | 1 << ((at - start) / page));
            let bytes = Cow::Borrowed(bytes);
            return Chunk { bytes, pages };
        }
        let mut bytes = vec![0; self.size as usize];
        let mut pages = 0;
        let mut at = start;
        while at < start + self.size {
            let mut end = at;
            while end < start + self.size && may_be_read(end) {
                end += page;
            }
            if end == at {
                at += page;
                continue;
            }
            let room = &mut bytes[(at - start) as usize..(end - start) as usize];
            let came = self.memory.read(at, room) as u64;
            for nth in (at - start) / page..(at - start + came) / page {
                pages |= 1 << nth;
            }
            at = end;
        }
        let bytes = Cow::Owned(bytes);
        Chunk { bytes, pages }
    }

    /// The place of a chunk among those that are kept.
    fn chunk(&self, kept: &mut Kept<'a>, start: u64) -> u32 {
        if let Some((last, place)) = kept.last
            && last == start
        {
            return place;
        }
        let place = match kept.places.get(&start) {
            Some(place) => *place,
            None => {
                let place = kept.chunks.len() as u32;
                kept.chunks.push(self.read(start));
                kept.places.insert(start, place);
                place
            }
        };
        kept.last = Some((start, place));
        place
    }
}

impl<M: Memory> Source for Whole<'_, M> {
    fn fill(&self, at: u64, out: &mut [u8]) -> bool {
        if at.checked_add(out.len() as u64 + self.size).is_none() || !self.regions.hold(at) {
            return false;
        }
        let page = self.memory.page();
        let kept = &mut *self.kept.borrow_mut();
        let mut done = 0;
        while done < out.len() {
            let from = at + done as u64;
            let within = from % self.size;
            let place = self.chunk(kept, from - within);
            let chunk = &kept.chunks[place as usize];
            let count = (self.size - within).min((out.len() - done) as u64);
            let mut pages = within / page..=(within + count - 1) / page;
            if !pages.all(|nth| chunk.pages >> nth & 1 == 1) {
                return false;
            }
            let bytes = &chunk.bytes[within as usize..(within + count) as usize];
            out[done..done + count as usize].copy_from_slice(bytes);
            done += count as usize;
        }
        true
    }

    fn anew(&self) {
        let kept = &mut *self.kept.borrow_mut();
        kept.places.clear();
        kept.chunks.clear();
        kept.last = None;
    }

    /// Names of types lie in files that are mapped without a right to write.
    fn fill_constant(&self, at: u64, out: &mut [u8]) -> bool {
        self.fill(at, out) || super::Direct(self.memory).fill(at, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_sys::memory::{Image, mappings};
    use proptest::prelude::*;

    fn mapped(text: &str) -> Mappings {
        let mut parser = mappings::Parser::default();
        parser.feed(text.as_bytes());
        parser.finish()
    }

    #[test]
    fn only_what_can_hold_objects_is_read() {
        let mappings = mapped(
            "10000-14000 rw-p 00000000 00:00 0\n\
             20000-24000 r-xp 00000000 08:01 7 /bin/python\n\
             30000-34000 r--p 00000000 08:01 7 /bin/python\n\
             40000-44000 rw-s 00000000 00:01 9 /dev/shm/x\n\
             50000-54000 r--p 00000000 00:00 0\n",
        );
        let image = (1..6).fold(Image::default(), |image, nth| {
            image.with(nth * 0x1_0000, &[nth as u8; 0x4000])
        });
        let whole = Whole::new(&image, &mappings);
        let first = |at: u64| whole.array::<1>(at).map(|[byte]| byte);
        assert_eq!(first(0x1_0000), Some(1));
        assert_eq!(first(0x2_0000), None, "code");
        assert_eq!(first(0x3_0000), Some(3), "data that was closed again");
        assert_eq!(first(0x4_0000), None, "shared");
        assert_eq!(first(0x5_0000), None, "never written");
        assert_eq!(first(0x1_4000), None);
    }

    proptest! {
        #[test]
        fn it_reads_what_is_there(
            asked in proptest::collection::vec((0xf000u64..0x1_a000, 1usize..0x5000), 1..20),
        ) {
            let bytes: Vec<u8> = (0..0x8000u32).map(|n| (n * 7 % 251) as u8).collect();
            let image = Image::default().with(0x1_0000, &bytes[..0x3000]).with(0x1_4000, &bytes[..0x4000]);
            let whole = Whole::new(&image, &mapped("10000-18000 rw-p 00000000 00:00 0\n"));
            for (at, length) in asked {
                let (mut one, mut other) = (vec![0; length], vec![0; length]);
                let came = super::super::Direct(&image).fill(at, &mut one);
                prop_assert_eq!(came, whole.fill(at, &mut other));
                if came {
                    prop_assert_eq!(one, other);
                }
            }
        }
    }
}
