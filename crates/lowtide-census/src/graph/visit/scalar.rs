//! Numbers, texts, bytes: no references, but sizes of their own.

use super::super::plan::{Plan, Shape};
use super::{Found, Visitor};
use crate::object::SIZE;
use crate::source::Source;

/// A number's digits follow its head, four bytes each.
const INT_HEAD: u64 = 24;
/// The last version whose zero has no digit, and the last whose numbers have their sign in their size.
const BARE_ZERO: u32 = 10;
const SIGNED_SIZE: u32 = 11;
/// No number has more digits.
const MOST_DIGITS: u64 = 1 << 32;

/// Bits of a text's state: width of its letters, whether they follow its head, whether all are ASCII.
const WIDTH: u8 = 0b1_1100;
const FOLLOWS: u8 = 1 << 5;
const ASCII: u8 = 1 << 6;
const PLAIN: u8 = FOLLOWS | ASCII;
const STATE: u64 = 32;
/// Nobody holds bytes so often that are longer than this; those that are never freed have a number from here on.
const SHORT: u64 = 512;
const MANY: u64 = 1 << 16;
const IMMORTAL: u64 = 1 << 30;

/// In a bytearray: room. In an array: items, room for them, and what an item is.
const ROOM: u64 = 24;
const ARRAY_ITEMS: u64 = 24;
const ARRAY_ROOM: u64 = 32;
const ARRAY_ITEM: u64 = 40;
/// In a file with a buffer: the buffer, its size, and that less one where it is a power of two.
const BUFFER: u64 = 56;
const BUFFER_SIZE: u64 = 120;
const BUFFER_MASK: u64 = 128;

impl<S: Source> Visitor<'_, S> {
    pub(super) fn int(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let tag = self.heap.source.word(object + SIZE)?;
        let minor = self.heap.layout.minor;
        let digits = match minor <= SIGNED_SIZE {
            true => (tag as i64).unsigned_abs(),
            false => tag >> 3,
        };
        let digits = digits.max(u64::from(minor > BARE_ZERO));
        if digits > MOST_DIGITS {
            return None;
        }
        found.told = plan.before + INT_HEAD + digits * 4;
        Some(())
    }

    pub(super) fn text(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let head: [u8; 17] = source.array(object + SIZE)?;
        let length = u64::from_le_bytes(*head.first_chunk()?);
        let state = head[16];
        let width = u64::from((state & WIDTH) >> 2);
        let letters = self.heap.layout.letters;
        // Behind the head of plain ones: the same text in UTF-8, and its length.
        let wide = match self.heap.layout.minor {
            ..=11 => letters + 24,
            12.. => letters + 16,
        };
        if length > super::MOST_ITEMS || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        let own = (length + 1) * width;
        let told = match (state & FOLLOWS != 0, state & ASCII != 0) {
            (true, true) => letters + own,
            (true, false) => wide + own,
            // A class of its own: its letters stand apart.
            (false, _) => plan.rest + own,
        };
        found.told = plan.before + told;
        if state & FOLLOWS == 0 {
            // A class has further fields, which Python does not count.
            found.beside += plan.basic - plan.rest;
            found.stands_at(source.word(object + wide)?, own);
        }
        if state & ASCII == 0 {
            let [bytes, at] = self.two_words(object + letters)?;
            let apart = at != 0 && state & FOLLOWS != 0;
            if apart && bytes < super::MOST_ITEMS {
                found.tells(at, bytes + 1);
            }
        }
        Some(())
    }

    /// Texts and bytes end with a zero. A block of theirs that was freed and used again by C still has their type where
    /// they had it, and what looks like a length.
    pub(in crate::graph) fn ends(&self, object: u64, plan: &Plan, held: u64) -> bool {
        let end = || {
            let at = match plan.shape {
                Shape::Bytes => {
                    let length = self.count(object)?;
                    // Three letters of a text of C are millions of holders.
                    let many = (MANY..IMMORTAL).contains(&held);
                    if length > SHORT && many {
                        return Some(false);
                    }
                    plan.rest - 1 + length
                }
                Shape::Text => {
                    let [state] = self.heap.source.array(object + STATE)?;
                    match state & (FOLLOWS | ASCII) {
                        PLAIN => self.heap.layout.letters + self.count(object)?,
                        // Others are rare, and have more that has to fit.
                        _ => return Some(true),
                    }
                }
                _ => return Some(true),
            };
            let [last] = self.heap.source.array(object.checked_add(at)?)?;
            Some(last == 0)
        };
        end().unwrap_or(false)
    }

    pub(super) fn byte_array(&self, object: u64, found: &mut Found) -> Option<()> {
        let fields = self.heap.source.words(object + ROOM, 2)?;
        let [room, at] = fields[..] else {
            return None;
        };
        if room > super::MOST_ITEMS {
            return None;
        }
        found.tells(at, room);
        Some(())
    }

    pub(super) fn array(&self, object: u64, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let room = source.word(object + ARRAY_ROOM)?;
        let item = source.pointer(object + ARRAY_ITEM)?;
        // A letter, and the size of an item.
        let [_, size] = two_numbers(source.array(item)?);
        if room > super::MOST_ITEMS || !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        found.tells(source.word(object + ARRAY_ITEMS)?, room * u64::from(size));
        Some(())
    }

    pub(super) fn buffered(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let buffer = source.pointer(object + BUFFER);
        let (size, mask) = (
            source.word(object + BUFFER_SIZE)?,
            source.word(object + BUFFER_MASK)?,
        );
        let fits = size.is_power_of_two() && mask == size - 1 && size < super::MOST_ITEMS;
        if let Some(buffer) = buffer.filter(|_| fits) {
            found.tells(buffer, size);
        }
        self.scan(object, super::HEAD, plan.rest, plan, found)
    }

    fn two_words(&self, at: u64) -> Option<[u64; 2]> {
        let bytes: [u8; 16] = self.heap.source.array(at)?;
        let (words, _) = bytes.as_chunks::<8>();
        Some([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }
}

fn two_numbers(bytes: [u8; 8]) -> [u32; 2] {
    let (numbers, _) = bytes.as_chunks::<4>();
    [
        u32::from_le_bytes(numbers[0]),
        u32::from_le_bytes(numbers[1]),
    ]
}
