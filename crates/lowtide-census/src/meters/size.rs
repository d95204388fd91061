//! How much is in a container, by a few words of it.

use lowtide_core::followed::HolderReading;

use crate::object::{Class, Heap, SIZE};
use crate::source::Source;

/// What a container is at heart, whatever class a program made from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    List,
    Tuple,
    Dict,
    Set,
    Deque,
    /// A `functools.lru_cache`, which has a dictionary.
    Cache,
}

/// In a list: the room that it has, which is below nothing while it is sorted (its items are elsewhere then).
const LIST_ROOM: u64 = 32;
/// In a set: how many it has, and the size of its table less one.
const SET_USED: u64 = 24;
const SET_MASK: u64 = 32;
/// In a deque: its `maxlen`, below nothing where it has none.
const DEQUE_LONGEST: u64 = 64;
/// In an `lru_cache`: what it remembers.
const CACHE: u64 = 72;
/// Lengths beyond this are none.
const LONGEST: u64 = 1 << 40;
/// Slots that are looked through on a tick, to see which are filled.
const SLOTS: u64 = 4096;

impl Form {
    pub(super) fn of<S: Source>(heap: &Heap<'_, S>, class: &Class) -> Option<Form> {
        let is = |name: &str| heap.bases(class).iter().any(|base| base.name == name);
        Some(match () {
            () if class.is_list() => Form::List,
            () if class.is_tuple() => Form::Tuple,
            () if class.is_dict() => Form::Dict,
            () if is("set") || is("frozenset") => Form::Set,
            () if is("collections.deque") => Form::Deque,
            () if is("functools._lru_cache_wrapper") => Form::Cache,
            () => return None,
        })
    }

    /// Where its items are: a cache has them in another object.
    pub(super) fn items<S: Source>(self, heap: &Heap<'_, S>, object: u64) -> Option<(Form, u64)> {
        if self != Form::Cache {
            return Some((self, object));
        }
        let dict = heap.source.pointer(object.checked_add(CACHE)?)?;
        heap.type_of(dict)?.is_dict().then_some((Form::Dict, dict))
    }

    /// None while it cannot be told.
    pub(super) fn read<S: Source>(
        self,
        heap: &Heap<'_, S>,
        object: u64,
        none: Option<u64>,
    ) -> Option<HolderReading> {
        let (form, object) = self.items(heap, object)?;
        let word = |at: u64| heap.source.word(object.checked_add(at)?);
        let length = word(match form {
            Form::Set => SET_USED,
            _ => SIZE,
        })?;
        let capacity = match form {
            Form::List => Some(word(LIST_ROOM)?),
            Form::Dict => heap.room_of(object),
            Form::Set => word(SET_MASK)?.checked_add(1),
            Form::Deque => word(DEQUE_LONGEST).filter(|longest| (*longest as i64) >= 0),
            Form::Tuple | Form::Cache => None,
        };
        let is_sorted = form == Form::List && capacity.is_some_and(|room| (room as i64) < 0);
        if is_sorted || length > LONGEST {
            return None;
        }
        Some(HolderReading {
            length,
            capacity: capacity.filter(|room| *room <= LONGEST),
            filled: none.and_then(|none| filled(heap, form, object, length, none)),
            renewed: false,
        })
    }
}

/// How many slots have something, where that changes one by one: a list that was made with its last length.
fn filled<S: Source>(
    heap: &Heap<'_, S>,
    form: Form,
    object: u64,
    length: u64,
    none: u64,
) -> Option<u64> {
    if length > SLOTS {
        return None;
    }
    let empty = match form {
        Form::List | Form::Tuple => {
            let (first, now) = heap.row(object)?;
            (now == length).then_some(())?;
            let items = heap.source.words(first, usize::try_from(length).ok()?)?;
            items.iter().filter(|item| **item == none).count() as u64
        }
        Form::Dict => {
            let (mut empty, mut seen) = (0, 0);
            heap.find_placed(object, SLOTS, |_, _, value| {
                empty += u64::from(value == none);
                seen += 1;
                None::<()>
            });
            // It ends early where memory cannot be read, or where too many places are used.
            (seen == length).then_some(empty)?
        }
        Form::Set | Form::Deque | Form::Cache => return None,
    };
    length.checked_sub(empty)
}

/// Python's one `None`, if the first slots of a container have it: then they are filled one by one.
pub(super) fn none_in<S: Source>(heap: &Heap<'_, S>, form: Form, object: u64) -> Option<u64> {
    let is_none = |item: &u64| heap.is_none(*item);
    match form {
        Form::List | Form::Tuple => {
            let (first, length) = heap.row(object)?;
            let count = usize::try_from(length.min(SLOTS)).ok()?;
            let mut items = heap.source.words(first, count)?;
            items.reverse();
            // Slots are filled from the beginning or at random: the last one is empty for longest.
            items.iter().take(64).find(|item| is_none(item)).copied()
        }
        Form::Dict => heap.find_placed(object, SLOTS, |_, _, value| {
            Some(value).filter(|value| is_none(value))
        }),
        Form::Set | Form::Deque | Form::Cache => None,
    }
}
