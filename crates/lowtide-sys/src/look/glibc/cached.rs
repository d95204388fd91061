//! Small chunks that are free and look as if in use: those in an arena's fast lists (`fastbinsY`, up to
//! 128 bytes). They can be many: nothing joins them until a large block is asked for. What `tcache` holds
//! is not looked for: at most 7 per size and thread.
//!
//! The state of a thread's arena lies in its first heap. That of the main arena lies in libc's data and
//! is found without symbols: a word that points to the heap, followed by 127 lists whose empty ones
//! point to themselves.

use std::collections::HashSet;

use crate::memory::{Memory, Pages};

/// `malloc_state` since glibc 2.27: where the lists begin, how many, and the end of the heap after them.
const LISTS: u64 = 16;
const COUNT: usize = 10;
const TOP: u64 = LISTS + COUNT as u64 * 8;
/// The lists of larger free chunks, two words each, behind `top` and `last_remainder`.
const BINS: usize = 127;
const STATE: usize = 2 * 8 + BINS * 16;
/// Links from the beginning of a chunk.
const LINK: u64 = 16;
/// More are not followed: 100 bytes each, they are what a large page holds.
const MOST: usize = 500_000;
/// libc's writable data is some 20 KiB.
const DATA: u64 = 256 << 10;

/// Where the main arena's state lies. `data` are the resident pages of libc's writable data.
pub(crate) fn main_state(memory: &impl Memory, data: &Pages, heap: &Pages) -> Option<u64> {
    let begin = data.next(data.start())?;
    let length = data.row_end(begin, DATA) - begin;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    let got = memory.read(begin, &mut bytes);
    let words: Vec<u64> = bytes[..got].chunks_exact(8).map(word).collect();
    let at = (0..words.len()).find(|at| is_state(&words[*at..], begin + *at as u64 * 8, heap))?;
    (begin + at as u64 * 8).checked_sub(TOP)
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Whether `top` of a state stands at the beginning of these words, which lie at `address`.
fn is_state(words: &[u64], address: u64, heap: &Pages) -> bool {
    let inside =
        |pointer: u64| pointer.is_multiple_of(16) && (heap.start()..heap.end()).contains(&pointer);
    if words.len() < STATE / 8 || !inside(words[0]) {
        return false;
    }
    // An empty list points to where its links would be if it were a chunk.
    let empty = |bin: usize| words[2 + 2 * bin] == address + 16 * bin as u64;
    let right = |bin: usize| empty(bin) || inside(words[2 + 2 * bin]);
    (0..BINS).all(right) && (0..BINS).any(empty)
}

/// The chunks in the fast lists of the arena whose state lies here.
pub(crate) fn chunks(memory: &impl Memory, state: u64, heap: &Pages) -> HashSet<u64> {
    let mut found = HashSet::new();
    let mut lists = [0; COUNT * 8];
    // A heap names the place of its arena's state, which lies in another mapping, or nowhere.
    let there = is_there(memory, state + LISTS, lists.len() as u64);
    if !there || memory.read(state + LISTS, &mut lists) != lists.len() {
        return found;
    }
    let mut near = Near::default();
    for list in lists.chunks_exact(8).map(word) {
        let mut at = list;
        while at != 0 && at.is_multiple_of(16) && heap.has(at) && found.len() < MOST {
            // A list in motion can lead in a circle.
            if !found.insert(at) {
                break;
            }
            let Some(link) = near.word(memory, heap, at + LINK) else {
                break;
            };
            at = follow(link, at + LINK, heap);
        }
    }
    found
}

/// Whether all pages between an address and so many bytes on are resident.
fn is_there(memory: &impl Memory, address: u64, length: u64) -> bool {
    let page = memory.page();
    let from = address / page * page;
    let Some(to) = (address.checked_add(length)).and_then(|end| end.checked_next_multiple_of(page))
    else {
        return false;
    };
    let pages = memory.resident(from, to);
    pages.is_ok_and(|pages| pages.bytes(from, to) == to - from)
}

/// Since glibc 2.32 a link is mixed with its own address; before, it is plain.
fn follow(link: u64, place: u64, heap: &Pages) -> u64 {
    let mixed = link ^ (place >> 12);
    let can_be = |next: u64| next == 0 || (next.is_multiple_of(16) && heap.has(next));
    if can_be(mixed) {
        mixed
    } else if can_be(link) {
        link
    } else {
        0
    }
}

/// The page that was read last: lists run through neighbours mostly.
#[derive(Default)]
struct Near {
    start: u64,
    bytes: Vec<u8>,
}

impl Near {
    fn word(&mut self, memory: &impl Memory, pages: &Pages, address: u64) -> Option<u64> {
        let start = address - address % pages.page();
        if self.start != start || self.bytes.is_empty() {
            if !pages.has(address) {
                return None;
            }
            self.start = start;
            self.bytes.resize(pages.page() as usize, 0);
            let got = memory.read(start, &mut self.bytes);
            self.bytes.truncate(got);
        }
        let at = (address - start) as usize;
        self.bytes.get(at..at + 8).map(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Image;

    fn heap() -> Pages {
        let mut heap = Pages::none(0x5555_5556_0000, 0x5555_5558_0000, 4096);
        (0..32).for_each(|page| heap.set(page));
        heap
    }

    #[test]
    fn links_are_followed_plain_and_mixed() {
        let heap = heap();
        let place = 0x5555_5557_0010;
        assert_eq!(follow(0x5555_5557_8000, place, &heap), 0x5555_5557_8000);
        assert_eq!(
            follow(0x5555_5557_8000 ^ (place >> 12), place, &heap),
            0x5555_5557_8000
        );
        assert_eq!(follow(place >> 12, place, &heap), 0);
        assert_eq!(follow(0xdead_beef_0001, place, &heap), 0);
    }

    /// Lists as glibc has them, one that leads in a circle, and one that leads out of the heap.
    #[test]
    fn lists_are_followed_to_their_end_or_until_they_repeat() {
        let start = heap().start();
        let state = 0x7000_0000;
        let mut image = Image::default().with(start, &[0; 0x20000]);
        let mut link = |from: u64, to: u64| image.write(from + LINK, &to.to_le_bytes());
        let chunk = |index: u64| start + index * 0x3010;
        let mixed = |from: u64, to: u64| to ^ (from + LINK) >> 12;
        link(chunk(1), mixed(chunk(1), chunk(2)));
        link(chunk(2), mixed(chunk(2), 0));
        link(chunk(3), mixed(chunk(3), chunk(4)));
        link(chunk(4), mixed(chunk(4), chunk(3)));
        link(chunk(5), 0xdead_beef_0000);
        let mut lists = [0; COUNT];
        (lists[0], lists[3], lists[7], lists[9]) = (chunk(1), chunk(3), chunk(5), u64::MAX);
        for (index, list) in lists.iter().enumerate() {
            image.write(state + LISTS + index as u64 * 8, &list.to_le_bytes());
        }
        assert_eq!(
            chunks(&image, state, &heap()),
            (1..=5).map(chunk).collect::<HashSet<u64>>()
        );
        // A heap can name any place: it is asked first whether something is there.
        assert!(chunks(&image, 0x6000_0000, &heap()).is_empty());
        assert!(chunks(&image, u64::MAX - LISTS - 8, &heap()).is_empty());
        assert_eq!(image.gone(), 0);
    }

    #[test]
    fn a_state_is_known_by_its_empty_lists() {
        let address = 0x7000_0000;
        let mut words = vec![0x5555_5557_f000, 0];
        for bin in 0..BINS as u64 {
            words.extend([address + 16 * bin; 2]);
        }
        assert!(is_state(&words, address, &heap()));
        words[8] = 0x5555_5557_1000;
        assert!(is_state(&words, address, &heap()));
        words[8] = 5;
        assert!(!is_state(&words, address, &heap()));
        assert!(!is_state(&words[..9], address, &heap()));
    }
}
