//! Lists, tuples, ranges, sets: how long they are, and what is in them.

use super::Heap;
use super::layout::{SIZE, flag};
use crate::source::{Source, is_pointer};

/// A list's items stand in a table of their own.
const LIST_ITEMS: u64 = 24;
/// A range keeps its length as a number.
const RANGE_LENGTH: u64 = 40;
/// In a set: the size of its table less one, and where the table is; an entry is a key and its hash.
const SET_MASK: u64 = 32;
const SET_TABLE: u64 = 40;
/// Larger sets are none of those that we look for.
const LARGEST_SET: u64 = 4096;
/// What a weak reference leads to.
const REFERENT: u64 = 16;
/// Lengths beyond this are no lengths.
const LONGEST: u64 = 1 << 40;

impl<S: Source> Heap<'_, S> {
    /// The length of a list, tuple, text, range or dictionary. That of anything else is code.
    pub(crate) fn length(&self, object: u64) -> Option<u64> {
        let class = self.type_of(object)?;
        let sized = [flag::LIST, flag::TUPLE, flag::DICT];
        // A class of its own may have a length of its own.
        let length = if sized.iter().any(|flag| class.has(*flag)) && !class.is_heap() {
            self.source.word(object.checked_add(SIZE)?)?
        } else if class.name == "range" {
            self.count(self.source.pointer(object.checked_add(RANGE_LENGTH)?)?)?
        } else {
            return None;
        };
        (length <= LONGEST).then_some(length)
    }

    /// The items of a tuple that is not longer than `most`.
    pub(crate) fn tuple(&self, tuple: u64, most: usize) -> Option<Vec<u64>> {
        let length = self.source.word(tuple.checked_add(SIZE)?)?;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| *length <= most)?;
        let items = self
            .source
            .words(tuple.checked_add(self.layout.items)?, length)?;
        items.iter().all(|item| is_pointer(*item)).then_some(items)
    }

    /// The last item of a list.
    pub(crate) fn last_item(&self, list: u64) -> Option<u64> {
        let class = self.type_of(list)?;
        if !class.has(flag::LIST) {
            return None;
        }
        let length = self.source.word(list.checked_add(SIZE)?)?;
        let items = self.source.pointer(list.checked_add(LIST_ITEMS)?)?;
        let last = length.checked_sub(1)?.checked_mul(8)?;
        self.source.pointer(items.checked_add(last)?)
    }

    /// What the weak references in a set lead to.
    pub(crate) fn weakly_held(&self, set: u64) -> Option<Vec<u64>> {
        if self.type_of(set)?.name != "set" {
            return None;
        }
        let size = self
            .source
            .word(set.checked_add(SET_MASK)?)?
            .checked_add(1)?;
        let table = self.source.pointer(set.checked_add(SET_TABLE)?)?;
        if size > LARGEST_SET {
            return None;
        }
        let words = self.source.words(table, size as usize * 2)?;
        let keys = words.chunks_exact(2).map(|entry| entry[0]);
        let references = keys.filter(|key| is_pointer(*key)).filter(|key| {
            let class = self.type_of(*key);
            class.is_some_and(|class| {
                class.name.ends_with("ReferenceType") || class.name.contains("weakref")
            })
        });
        let referents = references.filter_map(|key| self.source.pointer(key + REFERENT));
        Some(referents.filter(|one| !self.is_none(*one)).collect())
    }
}
