//! Dictionaries and sets.

use super::{Found, Visitor};
use crate::source::{Source, is_pointer};

/// In a dictionary: its keys and, apart, its values.
const KEYS: u64 = 32;
/// No table is larger.
const MOST: u64 = 1 << 34;

/// In a set: the size of its table less one, the table, and the table of small ones.
const MASK: u64 = 32;
const TABLE: u64 = 40;
const SMALL_TABLE: u64 = 64;
/// What was taken out leaves an entry with this hash, which no object has.
const TAKEN_OUT: u64 = u64::MAX;
const ENTRIES_AT_ONCE: u64 = 1024;

/// In an ordered dictionary: how many places its index has, and attributes. Each key has a node beside its entry.
const ORDERED_INDEX: u64 = 72;
const ORDERED_ATTRIBUTES: u64 = 96;
const ORDERED_NODE: u64 = 32;

/// A table of keys, as its head describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    /// Dictionaries that use it.
    pub shared_by: u64,
    entries: u64,
    /// Entries in use, those that were deleted among them.
    pub count: u64,
    /// Bytes of an entry, and the place of the key in it; its value follows.
    size: u64,
    key: u64,
    /// Values that each of those has room for.
    pub shared_room: u64,
    pub bytes: u64,
}

impl<S: Source> Visitor<'_, S> {
    pub(super) fn dict(&self, object: u64, found: &mut Found) -> Option<()> {
        let fields = self.heap.source.words(object + KEYS, 2)?;
        let [at, values] = fields[..] else {
            return None;
        };
        let keys = self.keys(Some(at).filter(|at| is_pointer(*at))?)?;
        if keys.shared_by == 1 {
            found.tells(at, keys.bytes);
        }
        if values == 0 {
            return self.entries(&keys, found);
        }
        let told = keys.shared_room.checked_mul(8)?;
        found.told = found.told.saturating_add(told);
        if let Some((at, bytes)) = self.block_of(values, told)? {
            found.beside = found.beside.saturating_add(bytes.saturating_sub(told));
            found.stands_at(at, bytes);
        }
        self.names(&keys, found)?;
        let first = values.checked_add(self.heap.layout.first_value)?;
        is_pointer(first).then_some(())?;
        self.words(first, keys.count, found)
    }

    /// A dictionary whose order can be changed.
    pub(super) fn ordered_dict(&self, object: u64, found: &mut Found) -> Option<()> {
        self.dict(object, found)?;
        let source = self.heap.source;
        let (index, used) = (source.word(object + ORDERED_INDEX)?, self.count(object)?);
        if index > MOST {
            return None;
        }
        found.tells_each(1, index * 8);
        found.tells_each(used, ORDERED_NODE);
        found.refers(source.word(object + ORDERED_ATTRIBUTES)?);
        Some(())
    }

    /// Keys and values that stand side by side.
    fn entries(&self, keys: &Keys, found: &mut Found) -> Option<()> {
        if keys.key == 0 {
            return self.words(keys.entries, keys.count * 2, found);
        }
        self.entry_words(keys, found, |entry, found| {
            found.refers(entry[1]);
            found.refers(entry[2]);
        })
    }

    /// The keys alone: objects of one class share them.
    pub(super) fn names(&self, keys: &Keys, found: &mut Found) -> Option<()> {
        let key = (keys.key / 8) as usize;
        self.entry_words(keys, found, |entry, found| found.refers(entry[key]))
    }

    fn entry_words(
        &self,
        keys: &Keys,
        found: &mut Found,
        each: impl Fn(&[u64], &mut Found),
    ) -> Option<()> {
        let per_entry = keys.size / 8;
        let mut done = 0;
        while done < keys.count {
            let count = (keys.count - done).min(ENTRIES_AT_ONCE);
            let at = keys.entries.checked_add(done * keys.size)?;
            let words = self.heap.source.words(at, (count * per_entry) as usize)?;
            for entry in words.chunks_exact(per_entry as usize) {
                each(entry, found);
            }
            done += count;
        }
        Some(())
    }

    /// The head of a table of keys.
    pub(super) fn keys(&self, at: u64) -> Option<Keys> {
        let words = self.heap.source.words(at, 5)?;
        let (size, index, head, entry, key, count, free) = match self.heap.layout.minor {
            ..=10 => {
                let index = match words[1] {
                    ..=0xff => 1,
                    0x100..=0xffff => 2,
                    0x1_0000..=0xffff_ffff => 4,
                    _ => 8,
                };
                let index = words[1].checked_mul(index)?;
                (words[1], index, 40, 24, 8, words[4], None)
            }
            11.. => {
                let [log2, index, kind, ..] = words[1].to_le_bytes();
                if log2 > 34 || index > 38 || kind > 2 {
                    return None;
                }
                // Keys that are all texts carry no hash of their own.
                let (entry, key) = if kind == 0 { (24, 8) } else { (16, 0) };
                (
                    1 << log2,
                    1 << index,
                    32,
                    entry,
                    key,
                    words[3],
                    Some(words[2]),
                )
            }
        };
        if !size.is_power_of_two() || size > MOST || count > size {
            return None;
        }
        let usable = (size << 1) / 3;
        Some(Keys {
            shared_by: words[0],
            entries: at.checked_add(head + index)?,
            count,
            size: entry,
            key,
            shared_room: free.map_or(usable, |free| free.min(size) + count),
            bytes: head + index + usable * entry,
        })
    }

    pub(super) fn set(&self, object: u64, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let (mask, table) = (source.word(object + MASK)?, source.pointer(object + TABLE)?);
        let size = mask.checked_add(1)?;
        if !size.is_power_of_two() || size > MOST {
            return None;
        }
        if table != object + SMALL_TABLE {
            found.tells(table, size * 16);
        }
        let mut done = 0;
        while done < size {
            let count = (size - done).min(ENTRIES_AT_ONCE);
            let words = source.words(table.checked_add(done * 16)?, count as usize * 2)?;
            for entry in words.chunks_exact(2) {
                if entry[1] != TAKEN_OUT {
                    found.refers(entry[0]);
                }
            }
            done += count;
        }
        Some(())
    }
}
