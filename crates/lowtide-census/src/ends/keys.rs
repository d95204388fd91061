//! A dictionary whose keys come from a container that is there already: indices below its length, or its very items
//! (paths, names). It ends where every one of them was met.

use lowtide_core::look::End;

use super::Subject;
use crate::source::Source;

/// Keys that are looked at.
const SAMPLE: u64 = 256;
/// Fewer tell nothing.
const LEAST: usize = 8;
/// Items of another container among which keys are looked for.
const LOOKED_THROUGH: u64 = 1 << 20;
/// What is kept of those that grow is told by their names: no container is a bound for itself.
const MOST_SIBLINGS: usize = 64;

enum Keys {
    /// The highest of them.
    Indices(u64),
    /// Their addresses.
    Items(Vec<u64>),
}

impl<S: Source> Subject<'_, S> {
    pub(super) fn keys(&self) -> Option<End> {
        let length = self.length?;
        self.heap.type_of(self.address)?.is_dict().then_some(())?;
        let keys = self.sampled(length)?;
        let others = self.siblings().into_iter().take(MOST_SIBLINGS);
        let fits = others.filter_map(|(name, other)| {
            let class = self.heap.type_of(other)?;
            // What may hold examples: nothing that a loop adds to by keys of its own.
            (class.is_list() || class.is_tuple() || class.name == "range").then_some(())?;
            let at = self.heap.items(other).or_else(|| self.heap.length(other))?;
            (at >= length).then_some(())?;
            let fits = match &keys {
                Keys::Indices(highest) => *highest < at,
                Keys::Items(keys) => keys
                    .iter()
                    .all(|key| at <= LOOKED_THROUGH && self.heap.index_of(other, *key).is_some()),
            };
            fits.then_some((at, name))
        });
        let (at, of) = fits.min()?;
        Some(End::Keys { of, at })
    }

    /// Some of its keys, from all over it; none if they are of no one kind.
    fn sampled(&self, length: u64) -> Option<Keys> {
        let every = (length / SAMPLE).max(1);
        let (mut nth, mut indices, mut items, mut others) = (0, Vec::new(), Vec::new(), 0);
        let _ = self.heap.find_entry(self.address, |key, _| {
            nth += 1;
            if nth % every != 0 {
                return None::<()>;
            }
            match (self.heap.count(key), self.heap.type_of(key)) {
                (Some(index), _) => indices.push(index),
                (None, Some(_)) => items.push(key),
                (None, None) => others += 1,
            }
            None
        });
        match (indices.len(), items.len()) {
            (LEAST.., 0) if others == 0 => indices.into_iter().max().map(Keys::Indices),
            (0, LEAST..) if others == 0 => Some(Keys::Items(items)),
            _ => None,
        }
    }
}
