//! Dictionaries: a table of keys and, where objects of a class share their keys, a table of values apart.

use super::Heap;
use super::layout::flag;
use crate::source::{Source, is_pointer};

/// In a dictionary: how many entries are used, a tag, its keys and, apart, its values.
pub(super) const USED: u64 = 16;
/// More entries than this are not read: what we look for has dozens.
const MOST: u64 = 4096;

/// A key and its value.
pub(crate) type Entry = (u64, u64);

/// A table of keys, as its head describes it.
pub(super) struct Table {
    pub entries: u64,
    pub count: u64,
    /// Bytes of an entry, and the place of the key in it; its value follows.
    pub size: u64,
    pub key: u64,
}

impl<S: Source> Heap<'_, S> {
    /// All entries. None if it is no dictionary, or too large.
    pub(crate) fn dict(&self, dict: u64) -> Option<Vec<Entry>> {
        if !self.type_of(dict)?.has(flag::DICT) {
            return None;
        }
        let fields = self.source.words(dict + USED, 4)?;
        let [used, _, keys, values] = fields[..] else {
            return None;
        };
        if used > MOST || !is_pointer(keys) {
            return None;
        }
        match values {
            0 => self.keys(keys, None),
            values => self.keys(keys, Some(values.checked_add(self.layout.first_value)?)),
        }
    }

    /// It has more entries than are read.
    pub(super) fn is_large(&self, dict: u64) -> bool {
        let is_dict = self
            .type_of(dict)
            .is_some_and(|class| class.has(flag::DICT));
        is_dict && (self.source.word(dict + USED)).is_some_and(|used| used > MOST)
    }

    pub(crate) fn dict_get(&self, dict: u64, name: &str) -> Option<u64> {
        let entries = self.dict(dict)?;
        let found = entries
            .into_iter()
            .find(|(key, _)| self.is_named(*key, name));
        found.map(|(_, value)| value)
    }

    /// The entries of a table of keys, with values from a table apart where there is one.
    pub(super) fn keys(&self, keys: u64, values: Option<u64>) -> Option<Vec<Entry>> {
        let table = self.table(keys, MOST)?;
        let words = self
            .source
            .words(table.entries, (table.count * table.size / 8) as usize)?;
        let each = words.chunks_exact((table.size / 8) as usize);
        let key = (table.key / 8) as usize;
        let own = |entry: &[u64]| (entry[key], entry[key + 1]);
        let found = match values {
            None => each.map(own).collect(),
            Some(at) => {
                let apart = self.source.words(at, table.count as usize)?;
                each.zip(apart)
                    .map(|(entry, value)| (entry[key], value))
                    .collect()
            }
        };
        let set = |(key, value): &Entry| is_pointer(*key) && is_pointer(*value);
        let found: Vec<Entry> = found;
        Some(found.into_iter().filter(set).collect())
    }

    /// Of at most so many entries.
    pub(super) fn table(&self, keys: u64, most: u64) -> Option<Table> {
        let table = match self.layout.minor {
            ..=10 => {
                let words = self.source.words(keys, 5)?;
                let (size, count) = (words[1], words[4]);
                if !size.is_power_of_two() || size > 4 * most {
                    return None;
                }
                let index = match size {
                    ..=0xff => 1,
                    0x100..=0xffff => 2,
                    0x1_0000.. => 4,
                };
                Table {
                    entries: keys.checked_add(40 + size * index)?,
                    count,
                    size: 24,
                    key: 8,
                }
            }
            11.. => {
                let words = self.source.words(keys, 4)?;
                let [_, index, kind, ..] = words[1].to_le_bytes();
                if index > 32 || kind > 2 {
                    return None;
                }
                // Keys that are all texts carry no hash of their own.
                let (size, key) = if kind == 0 { (24, 8) } else { (16, 0) };
                Table {
                    entries: keys.checked_add(32 + (1u64 << index))?,
                    count: words[3],
                    size,
                    key,
                }
            }
        };
        (table.count <= 2 * most).then_some(table)
    }
}
