//! What is in containers of any size, a block at a time: for whoever looks for one thing in them.

use super::Heap;
use super::dict::USED;
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
        if !self.type_of(dict)?.is_dict() {
            return None;
        }
        let fields = self.source.words(dict.checked_add(USED)?, 4)?;
        let [_, _, keys, values] = fields[..] else {
            return None;
        };
        let table = self.table(Some(keys).filter(|keys| is_pointer(*keys))?, MOST)?;
        let entry = table.size / 8;
        let key = (table.key / 8) as usize;
        let at_once = BLOCK / entry;
        let mut done = 0;
        while done < table.count {
            let count = at_once.min(table.count - done);
            let from = table.entries.checked_add(done.checked_mul(table.size)?)?;
            let words = self.source.words(from, (count * entry) as usize)?;
            let apart = match values {
                0 => None,
                values => {
                    let first = values.checked_add(self.layout.first_value)?;
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
                    && let Some(answer) = see(words[key], value)
                {
                    return Some(answer);
                }
            }
            done += count;
        }
        None
    }

    /// Where an item stands in a list or tuple.
    pub(crate) fn index_of(&self, sequence: u64, item: u64) -> Option<u64> {
        let class = self.type_of(sequence)?;
        let length = self.source.word(sequence.checked_add(SIZE)?)?.min(MOST);
        let first = match class.is_list() {
            true => self.source.pointer(sequence.checked_add(LIST_ITEMS)?)?,
            false if class.is_tuple() => sequence.checked_add(self.layout.items)?,
            false => return None,
        };
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
        let mut block = self.source.pointer(deque.checked_add(DEQUE_FIRST)?)?;
        let mut begin = self.source.word(deque.checked_add(DEQUE_BEGIN)?)?;
        let mut done = 0;
        while done < length && begin < DEQUE_BLOCK {
            let count = (DEQUE_BLOCK - begin).min(length - done);
            let words = (self.source).words(block.checked_add(8 + begin * 8)?, count as usize)?;
            if let Some(nth) = words.iter().position(|word| *word == item) {
                return Some(done + nth as u64);
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
