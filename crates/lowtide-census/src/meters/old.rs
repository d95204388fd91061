//! Whether what was in a container is still in it. Between two ticks one may have been emptied and filled again, or another
//! may have taken its place: by its length alone that would be a container that never shrank. Items are known by their
//! addresses, which are used again: that all are gone is shown by this, that they stayed is not.

use super::size::Form;
use crate::object::Heap;
use crate::source::{Source, is_pointer};

/// Items of a list that are looked through for the old ones, where these are not in their places.
const SEARCHED: u64 = 65_536;
/// Of a dictionary, set or deque, which take more reading.
const ENTRIES: u64 = 4096;
/// In a set: its table, of keys and their hashes.
const SET_MASK: u64 = 32;
const SET_TABLE: u64 = 40;

/// Some items, each with its place.
pub(super) type Items = Vec<(u64, u64)>;

/// A few: the first, the last, and some between them.
pub(super) fn sample<S: Source>(heap: &Heap<'_, S>, form: Form, object: u64) -> Items {
    let read = || {
        let (form, object) = form.items(heap, object)?;
        let spread = |count: u64| {
            let last = count.saturating_sub(1);
            let mut places = vec![0, last / 3, last / 3 * 2, last];
            places.dedup();
            places.truncate(usize::try_from(count).unwrap_or(usize::MAX));
            places
        };
        Some(match form {
            Form::List | Form::Tuple => {
                let (_, count) = heap.row(object)?;
                let each = spread(count).into_iter();
                each.filter_map(|place| Some((place, heap.item_at(object, place)?)))
                    .collect()
            }
            Form::Dict => {
                let count = heap.places_of(object)?;
                let each = spread(count).into_iter();
                each.filter_map(|place| Some((place, heap.entry_at(object, place)?.0)))
                    .collect()
            }
            Form::Deque => heap
                .deque_ends(object)?
                .into_iter()
                .map(|item| (0, item))
                .collect(),
            Form::Set => {
                let keys = keys_of_set(heap, object)?;
                let chosen = spread(keys.len() as u64).into_iter();
                chosen
                    .filter_map(|nth| keys.get(nth as usize).copied())
                    .collect()
            }
            Form::Cache => return None,
        })
    };
    read().unwrap_or_default()
}

/// Whether any of them is left. None where that cannot be told.
pub(super) fn is_any_left<S: Source>(
    heap: &Heap<'_, S>,
    form: Form,
    object: u64,
    old: &Items,
) -> Option<bool> {
    if old.is_empty() {
        return None;
    }
    let (form, object) = form.items(heap, object)?;
    let is_old = |item: u64| old.iter().any(|(_, one)| *one == item);
    let stands = |(place, item): &(u64, u64)| {
        let now = match form {
            Form::List | Form::Tuple => heap.item_at(object, *place),
            Form::Dict => heap.entry_at(object, *place).map(|(key, _)| key),
            _ => None,
        };
        now == Some(*item)
    };
    if old.iter().any(stands) {
        return Some(true);
    }
    match form {
        Form::List | Form::Tuple => {
            let (_, length) = heap.row(object)?;
            let mut each = old.iter();
            (length <= SEARCHED)
                .then(|| each.any(|(_, item)| heap.index_of(object, *item).is_some()))
        }
        Form::Dict => {
            let count = heap.places_of(object)?;
            let found = || heap.find_placed(object, ENTRIES, |_, key, _| is_old(key).then_some(()));
            (count <= ENTRIES).then(|| found().is_some())
        }
        Form::Deque => {
            // The first is the one that is there longest: who only adds keeps it.
            if heap.deque_items(object, 1)?.first() == old.first().map(|(_, item)| item) {
                return Some(true);
            }
            let items = heap.deque_items(object, ENTRIES)?;
            let is_all = (items.len() as u64) < ENTRIES;
            let found = items.into_iter().any(is_old);
            (found || is_all).then_some(found)
        }
        Form::Set => Some(
            keys_of_set(heap, object)?
                .into_iter()
                .any(|(_, key)| is_old(key)),
        ),
        Form::Cache => None,
    }
}

/// None for a large one: its table would have to be read on every tick.
fn keys_of_set<S: Source>(heap: &Heap<'_, S>, set: u64) -> Option<Items> {
    let size = heap
        .source
        .word(set.checked_add(SET_MASK)?)?
        .checked_add(1)?;
    if size > ENTRIES {
        return None;
    }
    let table = heap.source.pointer(set.checked_add(SET_TABLE)?)?;
    let words = heap
        .source
        .words(table, usize::try_from(size).ok()?.checked_mul(2)?)?;
    let entries = words.chunks_exact(2).enumerate();
    // What was taken out leaves an entry that has no hash.
    let used = entries.filter(|(_, entry)| is_pointer(entry[0]) && entry[1] != u64::MAX);
    Some(used.map(|(nth, entry)| (nth as u64, entry[0])).collect())
}
