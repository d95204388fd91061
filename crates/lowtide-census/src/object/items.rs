//! What is in containers of any size, a block at a time: for whoever looks for one thing in them.

use super::Heap;
use super::dict::{Table, USED};
use super::layout::SIZE;
use crate::source::{Source, is_pointer};

/// Words that are read at once.
const BLOCK: u64 = 4096;
/// Items beyond this are not looked at: 512 MB of addresses.
const MOST: u64 = 1 << 26;
const LIST_ITEMS: u64 = 24;
/// In a deque: its first block of items and where they begin in it. A block is a link, 64 items, and the next link.
const DEQUE_FIRST: u64 = 24;
const DEQUE_BEGIN: u64 = 40;
const DEQUE_BLOCK: u64 = 64;
const DEQUE_NEXT: u64 = 8 + 8 * DEQUE_BLOCK;
/// In an `lru_cache`: a dictionary of all that it remembers.
const CACHE: u64 = 72;
/// In a set: how many it has.
const SET_USED: u64 = 24;

impl<S: Source> Heap<'_, S> {
    /// The first answer for an entry of a dictionary: its key and its value.
    pub(crate) fn find_entry<T>(
        &self,
        dict: u64,
        mut see: impl FnMut(u64, u64) -> Option<T>,
    ) -> Option<T> {
        self.find_placed(dict, MOST, |_, key, value| see(key, value))
    }

    /// The same with the place of each among the entries, in a dictionary of at most so many.
    pub(crate) fn find_placed<T>(
        &self,
        dict: u64,
        most: u64,
        mut see: impl FnMut(u64, u64, u64) -> Option<T>,
    ) -> Option<T> {
        let (table, values) = self.entries_of(dict, most)?;
        let entry = table.size / 8;
        let key = (table.key / 8) as usize;
        let at_once = BLOCK / entry;
        let mut done = 0;
        while done < table.count {
            let count = at_once.min(table.count - done);
            let from = table.entries.checked_add(done.checked_mul(table.size)?)?;
            let words = self.source.words(from, (count * entry) as usize)?;
            let apart = match values {
                None => None,
                Some(first) => {
                    let from = first.checked_add(done.checked_mul(8)?)?;
                    Some(self.source.words(from, count as usize)?)
                }
            };
            for (nth, words) in words.chunks_exact(entry as usize).enumerate() {
                let value = match &apart {
                    None => words[key + 1],
                    Some(values) => *values.get(nth)?,
                };
                if is_pointer(words[key])
                    && is_pointer(value)
                    && let Some(answer) = see(done + nth as u64, words[key], value)
                {
                    return Some(answer);
                }
            }
            done += count;
        }
        None
    }

    /// The entry at one place, if there is one.
    pub(crate) fn entry_at(&self, dict: u64, place: u64) -> Option<(u64, u64)> {
        let (table, values) = self.entries_of(dict, MOST)?;
        if place >= table.count {
            return None;
        }
        let at = table.entries.checked_add(place.checked_mul(table.size)?)?;
        let pair = self.source.words(at.checked_add(table.key)?, 2)?;
        let value = match values {
            None => pair[1],
            Some(first) => self
                .source
                .word(first.checked_add(place.checked_mul(8)?)?)?,
        };
        (is_pointer(pair[0]) && is_pointer(value)).then_some((pair[0], value))
    }

    /// The table of a dictionary of at most so many, and where its values are if they are apart.
    fn entries_of(&self, dict: u64, most: u64) -> Option<(Table, Option<u64>)> {
        if !self.type_of(dict)?.is_dict() {
            return None;
        }
        let fields = self.source.words(dict.checked_add(USED)?, 4)?;
        let [_, _, keys, values] = fields[..] else {
            return None;
        };
        let table = self.table(Some(keys).filter(|keys| is_pointer(*keys))?, most)?;
        let values = match values {
            0 => None,
            values => Some(values.checked_add(self.layout.first_value)?),
        };
        Some((table, values))
    }

    /// How many places of its table a dictionary has used, with those that it does not use any more.
    pub(crate) fn places_of(&self, dict: u64) -> Option<u64> {
        Some(self.entries_of(dict, MOST)?.0.count)
    }

    /// How many entries a dictionary's table has room for before it is made anew.
    pub(crate) fn room_of(&self, dict: u64) -> Option<u64> {
        let keys = self.source.pointer(dict.checked_add(USED + 16)?)?;
        let (usable, used) = match self.layout.minor {
            ..=10 => (24, 32),
            11.. => (16, 24),
        };
        let word = |at: u64| self.source.word(keys.checked_add(at)?);
        let room = word(usable)?.checked_add(word(used)?)?;
        (room <= MOST).then_some(room)
    }

    /// Where the items of a list or tuple begin, and how many there are.
    pub(crate) fn row(&self, sequence: u64) -> Option<(u64, u64)> {
        let class = self.type_of(sequence)?;
        let length = self.source.word(sequence.checked_add(SIZE)?)?.min(MOST);
        let first = match class.is_list() {
            // An empty one may have no room yet.
            true if length == 0 => 0,
            true => self.source.pointer(sequence.checked_add(LIST_ITEMS)?)?,
            false if class.is_tuple() => sequence.checked_add(self.layout.items)?,
            false => return None,
        };
        Some((first, length))
    }

    /// The item at one place of a list or tuple.
    pub(crate) fn item_at(&self, sequence: u64, place: u64) -> Option<u64> {
        let (first, length) = self.row(sequence)?;
        let at = first.checked_add(place.checked_mul(8)?)?;
        (place < length).then(|| self.source.pointer(at))?
    }

    /// Items of a deque from its beginning, at most so many.
    pub(crate) fn deque_items(&self, deque: u64, most: u64) -> Option<Vec<u64>> {
        let length = self.source.word(deque.checked_add(SIZE)?)?.min(most);
        let mut found = Vec::new();
        self.deque_blocks(deque, length, |_, words| {
            found.extend_from_slice(words);
            None::<()>
        });
        (found.len() as u64 == length).then_some(found)
    }

    /// The first item of a deque and its last; none of an empty one.
    pub(crate) fn deque_ends(&self, deque: u64) -> Option<Vec<u64>> {
        let words = self.source.words(deque.checked_add(SIZE)?, 5)?;
        let [length, first, last, begin, end] = words[..] else {
            return None;
        };
        if length == 0 {
            return Some(Vec::new());
        }
        let item = |block: u64, nth: u64| {
            let inside = is_pointer(block) && nth < DEQUE_BLOCK;
            inside.then(|| self.source.pointer(block.checked_add(8 + nth * 8)?))?
        };
        Some(vec![item(first, begin)?, item(last, end)?])
    }

    /// Where an item stands in a list or tuple.
    pub(crate) fn index_of(&self, sequence: u64, item: u64) -> Option<u64> {
        let (first, length) = self.row(sequence)?;
        let mut done = 0;
        while done < length {
            let count = BLOCK.min(length - done);
            let words = self
                .source
                .words(first.checked_add(done * 8)?, count as usize)?;
            if let Some(nth) = words.iter().position(|word| *word == item) {
                return Some(done + nth as u64);
            }
            done += count;
        }
        None
    }

    /// Where an item stands in a deque.
    pub(crate) fn index_in_deque(&self, deque: u64, item: u64) -> Option<u64> {
        let length = self.source.word(deque.checked_add(SIZE)?)?.min(MOST);
        self.deque_blocks(deque, length, |done, words| {
            let nth = words.iter().position(|word| *word == item)?;
            Some(done + nth as u64)
        })
    }

    /// The first answer for a block of a deque's items, with how many come before it.
    fn deque_blocks<T>(
        &self,
        deque: u64,
        length: u64,
        mut see: impl FnMut(u64, &[u64]) -> Option<T>,
    ) -> Option<T> {
        let mut block = self.source.pointer(deque.checked_add(DEQUE_FIRST)?)?;
        let mut begin = self.source.word(deque.checked_add(DEQUE_BEGIN)?)?;
        let mut done = 0;
        while done < length && begin < DEQUE_BLOCK {
            let count = (DEQUE_BLOCK - begin).min(length - done);
            let words = (self.source).words(block.checked_add(8 + begin * 8)?, count as usize)?;
            if let Some(answer) = see(done, &words) {
                return Some(answer);
            }
            done += count;
            begin = 0;
            if done < length {
                block = self.source.pointer(block.checked_add(DEQUE_NEXT)?)?;
            }
        }
        None
    }

    /// How many items a list, tuple, dictionary, set or deque has, or an object of a class made from one.
    pub(crate) fn items(&self, object: u64) -> Option<u64> {
        let class = self.type_of(object)?;
        let base = |name: &str| self.bases(&class).iter().any(|base| base.name == name);
        let at = if class.is_list() || class.is_tuple() || class.is_dict() {
            SIZE
        } else if base("set") || base("frozenset") {
            SET_USED
        } else if base("collections.deque") || base("deque") {
            SIZE
        } else if base("functools._lru_cache_wrapper") {
            let cache = self.source.pointer(object.checked_add(CACHE)?)?;
            return self.type_of(cache)?.is_dict().then(|| self.items(cache))?;
        } else {
            return None;
        };
        let count = self.source.word(object.checked_add(at)?)?;
        (count <= 1 << 40).then_some(count)
    }
}
