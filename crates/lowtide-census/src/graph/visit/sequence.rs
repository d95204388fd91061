//! Lists, tuples and deques: items in a row, or in blocks.

use super::super::plan::Plan;
use super::{Found, Visitor};
use crate::object::{SIZE, flag};
use crate::source::{Source, is_pointer};
use crate::walk::Circle;

/// A list's table of items, and its room.
const LIST_ITEMS: u64 = 24;
const LIST_ROOM: u64 = 32;

/// A deque: its first block and where in that its first item is.
const LEFT_BLOCK: u64 = 24;
const LEFT_INDEX: u64 = 40;
/// A block: the one before it, items, the next one.
const BLOCK_ITEMS: u64 = 64;
const BLOCK: u64 = 8 * (BLOCK_ITEMS + 2);
const NEXT_BLOCK: u64 = 8 * (BLOCK_ITEMS + 1);

/// In a simple queue: where the next item is taken from, the items, room for them, and how many there are.
const RING: u64 = 32;
const RINGS: u32 = 13;

impl<S: Source> Visitor<'_, S> {
    pub(super) fn list(&self, object: u64, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let fields = source.words(object + SIZE, 3)?;
        let [length, items, room] = fields[..] else {
            return None;
        };
        debug_assert_eq!((LIST_ITEMS, LIST_ROOM), (SIZE + 8, SIZE + 16));
        if length == 0 && items == 0 {
            return Some(());
        }
        if length > room || room > super::MOST_ITEMS || !is_pointer(items) {
            return None;
        }
        found.tells(items, room * 8);
        self.words(items, length, found)
    }

    pub(super) fn tuple(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let length = self.count(object)?;
        found.told += length * plan.item.min(8);
        if plan.rest < plan.basic || plan.has(flag::HEAP) {
            // Objects of a program's own class have room for one more.
            found.beside += plan.item.min(8);
        }
        self.words(object + self.heap.layout.items, length, found)
    }

    /// What a thread hands to another: a ring of items from 3.13 on, before that a list.
    pub(super) fn simple_queue(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        if self.heap.layout.minor < RINGS {
            return self.scanned(object, plan, found);
        }
        let fields = self.heap.source.words(object + RING, 4)?;
        let [first, items, room, length] = fields[..] else {
            return None;
        };
        if room > super::MOST_ITEMS || length > room || first > room || !is_pointer(items) {
            return None;
        }
        found.leaves_out(items, room * 8);
        let until_end = length.min(room - first);
        self.words(items.checked_add(first * 8)?, until_end, found)?;
        self.words(items, length - until_end, found)
    }

    pub(super) fn deque(&self, object: u64, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let length = self.count(object)?;
        let mut block = source.pointer(object + LEFT_BLOCK)?;
        let mut index = source.word(object + LEFT_INDEX)?;
        if index >= BLOCK_ITEMS {
            return None;
        }
        let blocks = (index + length).div_ceil(BLOCK_ITEMS);
        found.tells_each(blocks, BLOCK);
        let mut left = length;
        let mut circle = Circle::from(block);
        while left > 0 {
            let count = left.min(BLOCK_ITEMS - index);
            self.words(block + 8 * (1 + index), count, found)?;
            left -= count;
            index = 0;
            if left > 0 {
                block = source.pointer(block + NEXT_BLOCK)?;
                (!circle.closes(block)).then_some(())?;
            }
        }
        Some(())
    }
}
