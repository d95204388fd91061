//! Objects of the standard library whose references stand in tables of C, apart from them.

use super::super::plan::Plan;
use super::{Found, HEAD, Visitor};
use crate::source::Source;

/// In an element: what it has beside its name and text: attributes, then how many children, room for them, and where
/// they are. Four of them have room right behind that.
const EXTRA: u64 = 40;
const EXTRA_SIZE: u64 = 64;
const INLINE: u64 = 4;
/// In what reads pickles: what it has read so far, and how many of that.
const MEMO: u64 = 24;

/// In what writes them: a table of what it has written so far: its mask, how many, room, and entries of an object and a number.
const TABLE: u64 = 16;
const TABLE_SIZE: u64 = 32;
const ENTRY: u64 = 16;
const ENTRIES_AT_ONCE: u64 = 1024;

impl<S: Source> Visitor<'_, S> {
    pub(super) fn pickler(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        self.scan(object, TABLE + 8, plan.rest, plan, found)?;
        let source = self.heap.source;
        let memo = source.pointer(object + TABLE)?;
        let fields = source.words(memo, 4)?;
        let [mask, used, room, entries] = fields[..] else {
            return None;
        };
        if !room.is_power_of_two() || mask != room - 1 || used > room || room > super::MOST_ITEMS {
            return None;
        }
        found.tells(memo, TABLE_SIZE);
        found.tells(entries, room * ENTRY);
        for first in (0..room).step_by(ENTRIES_AT_ONCE as usize) {
            let count = (room - first).min(ENTRIES_AT_ONCE);
            let at = entries.checked_add(first * ENTRY)?;
            let words = source.words(at, count as usize * 2)?;
            words
                .chunks_exact(2)
                .for_each(|entry| found.refers(entry[0]));
        }
        Some(())
    }

    pub(super) fn element(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        self.scan(object, HEAD, EXTRA, plan, found)?;
        let source = self.heap.source;
        let extra = source.word(object + EXTRA)?;
        if extra == 0 {
            return Some(());
        }
        let fields = source.words(extra, 4)?;
        let [attributes, length, room, children] = fields[..] else {
            return None;
        };
        if length > room || room > super::MOST_ITEMS {
            return None;
        }
        found.refers(attributes);
        found.tells(extra, EXTRA_SIZE);
        if room > INLINE {
            found.tells(children, room * 8);
        }
        self.words(children, length, found)
    }

    pub(super) fn unpickler(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        self.scan(object, HEAD, MEMO, plan, found)?;
        self.scan(object, MEMO + 16, plan.rest, plan, found)?;
        let fields = self.heap.source.words(object + MEMO, 2)?;
        let [memo, size] = fields[..] else {
            return None;
        };
        if memo == 0 || size > super::MOST_ITEMS {
            return Some(());
        }
        found.tells(memo, size * 8);
        self.words(memo, size, found)
    }
}
