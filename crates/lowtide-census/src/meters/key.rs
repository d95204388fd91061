//! A key of a dictionary, known again by what it is worth: its address is used again by the next text or tuple.

use crate::object::{Heap, TYPE};
use crate::source::Source;

/// Parts of a tuple that are compared, and tuples in tuples.
const LONGEST: usize = 8;
const DEEPEST: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Text(String),
    Number(i64),
    Tuple(Vec<Key>),
    /// A class, a function, a member of an enumeration: those are keys for what they are, and stay. Other objects are
    /// freed, and the next one may be where they were.
    Itself {
        address: u64,
        class: u64,
    },
}

impl Key {
    /// None: it could not be told from another one that takes its place.
    pub(super) fn of<S: Source>(heap: &Heap<'_, S>, key: u64) -> Option<Key> {
        Key::within(heap, key, DEEPEST)
    }

    fn within<S: Source>(heap: &Heap<'_, S>, key: u64, deep: u32) -> Option<Key> {
        if let Some(text) = heap.text(key) {
            return Some(Key::Text(text));
        }
        if let Some(number) = heap.int(key) {
            return Some(Key::Number(number));
        }
        let class = heap.type_of(key)?;
        if class.is_tuple() {
            let items = heap.tuple(key, LONGEST)?.into_iter();
            let parts = items.map(|item| Key::within(heap, item, deep.checked_sub(1)?));
            return parts.collect::<Option<Vec<Key>>>().map(Key::Tuple);
        }
        let is_member = || heap.bases(&class).iter().any(|base| base.name == "Enum");
        let stays = class.is_type() || class.name == "function" || heap.is_none(key);
        (stays || is_member()).then_some(Key::Itself {
            address: key,
            class: class.address,
        })
    }

    pub(super) fn is<S: Source>(&self, heap: &Heap<'_, S>, key: u64) -> bool {
        match self {
            Key::Text(text) => heap.text(key).as_ref() == Some(text),
            Key::Number(number) => heap.int(key) == Some(*number),
            Key::Tuple(parts) => {
                let items = heap.tuple(key, LONGEST).unwrap_or_default();
                let is_tuple = heap.type_of(key).is_some_and(|class| class.is_tuple());
                let mut each = parts.iter().zip(&items);
                is_tuple
                    && items.len() == parts.len()
                    && each.all(|(part, item)| part.is(heap, *item))
            }
            Key::Itself { address, class } => {
                *address == key && heap.source.word(key.saturating_add(TYPE)) == Some(*class)
            }
        }
    }
}
