//! The attributes of plain objects, where they are kept neither in a word of the object nor in one of its items.

use super::super::plan::Plan;
use super::table::Keys;
use super::{Found, Visitor};
use crate::object::{KeptBy, flag};
use crate::source::{Source, is_pointer};

/// Words before an object, behind which its collector's links stand.
const DICT_BEFORE: u64 = 24;
const VALUES_BEFORE: u64 = 32;
/// In a table of values that stands behind an object: whether it is still the one that counts.
const IS_VALID: u64 = 3;

/// Bytes of a table with room for so many values (3.13 and later): their number, themselves, and a byte for each of them.
fn with_order(room: u64) -> u64 {
    room.next_multiple_of(8) + (room + 1) * 8
}

/// Attributes that objects of one class share the names of, at most.
const MOST_SHARED: u64 = 254;

impl<S: Source> Visitor<'_, S> {
    pub(super) fn managed(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let dict = source.word(object.checked_sub(DICT_BEFORE)?)?;
        match self.heap.layout.kept {
            KeptBy::Dict => Some(()),
            KeptBy::TwoWords => {
                found.refers(dict);
                let values = source.word(object.checked_sub(VALUES_BEFORE)?)?;
                match values {
                    0 => Some(()),
                    values => self.values(plan, values, found),
                }
            }
            KeptBy::Tagged if dict & 1 == 1 => self.values(plan, dict.wrapping_add(1), found),
            KeptBy::Tagged => {
                found.refers(dict);
                Some(())
            }
            KeptBy::Inline => {
                found.refers(dict);
                if !plan.has(flag::INLINE_VALUES) {
                    return Some(());
                }
                let values = object.checked_add(plan.basic)?;
                let [valid] = source.array(values.checked_add(IS_VALID)?)?;
                match valid {
                    1 => self.inline(plan, values, found),
                    _ => Some(()),
                }
            }
        }
    }

    /// A table of its own (3.11, 3.12), with some bytes before it, the last of which tells how many those are.
    fn values(&self, plan: &Plan, values: u64, found: &mut Found) -> Option<()> {
        let keys = self.shared(plan)?;
        let before = self.before_values(values)?;
        // A class gives each new object a little less room, down to the names that are known; older objects have
        // as much as their bytes tell.
        let room = keys.shared_room.max(before.saturating_sub(9));
        found.leaves_out(values - before, before + room * 8);
        self.words(values, keys.count.min(room), found)
    }

    /// What stands before a table of values, in the same block.
    fn before_values(&self, values: u64) -> Option<u64> {
        is_pointer(values).then_some(())?;
        let [before] = self.heap.source.array(values - 1)?;
        Some(u64::from(before))
    }

    /// The block that a dictionary has its values in, which take so many bytes; none where they stand in an object.
    pub(super) fn block_of(&self, values: u64, bytes: u64) -> Option<Option<(u64, u64)>> {
        is_pointer(values).then_some(())?;
        match self.heap.layout.kept {
            KeptBy::Dict => Some(Some((values, bytes))),
            KeptBy::TwoWords | KeptBy::Tagged => {
                let before = self.before_values(values)?;
                Some(Some((values - before, before + bytes)))
            }
            KeptBy::Inline => {
                let [room, _, is_inline] = self.heap.source.array(values)?;
                Some((is_inline == 0).then_some((values, with_order(room.into()))))
            }
        }
    }

    /// Behind the object: their number, the values, and a byte for each of them.
    fn inline(&self, plan: &Plan, values: u64, found: &mut Found) -> Option<()> {
        let keys = self.shared(plan)?;
        let [room] = self.heap.source.array(values)?;
        let room = u64::from(room);
        found.beside += with_order(room);
        let first = values + self.heap.layout.first_value;
        self.words(first, keys.count.min(room), found)
    }

    /// The names of attributes that the objects of a class share.
    fn shared(&self, plan: &Plan) -> Option<Keys> {
        let at = plan.class.checked_add(self.heap.layout.shared_keys)?;
        let keys = self.keys(self.heap.source.pointer(at)?)?;
        (keys.shared_room <= MOST_SHARED).then_some(keys)
    }

    /// The dictionary of an object of changing length stands behind its items (up to 3.11).
    pub(super) fn dict_at_end(
        &self,
        object: u64,
        plan: &Plan,
        from_end: u64,
        found: &mut Found,
    ) -> Option<()> {
        let items = self.count(object)?.checked_mul(plan.item)?;
        let end = plan.basic.checked_add(items)?.next_multiple_of(8);
        let at = object.checked_add(end.checked_sub(from_end)?)?;
        found.refers(self.heap.source.word(at)?);
        Some(())
    }
}
