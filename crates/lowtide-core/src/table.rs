//! Values by process, in the order of pids. A sample's readings come in that order too, and from one to
//! the next hardly anything changes: who walks along a sample finds the next process where it expects it.
//! The folds over samples keep their processes here; a day of 25 processes asks eight million times.

use crate::process::ProcId;

#[derive(Clone, Debug)]
pub(crate) struct Table<V> {
    ids: Vec<ProcId>,
    /// Boxed: they are large, and making room among thousands would move them all.
    values: Vec<Box<V>>,
}

impl<V> Default for Table<V> {
    fn default() -> Table<V> {
        Table {
            ids: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl<V> Table<V> {
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Where a process is; `near` is where it may be.
    pub(crate) fn find(&self, id: ProcId, near: usize) -> Option<usize> {
        if self.ids.get(near) == Some(&id) {
            return Some(near);
        }
        self.ids.binary_search(&id).ok()
    }

    /// The value at a place that [`Table::find`] gave.
    pub(crate) fn at(&self, place: usize) -> &V {
        &self.values[place]
    }

    pub(crate) fn at_mut(&mut self, place: usize) -> &mut V {
        &mut self.values[place]
    }

    pub(crate) fn get(&self, id: &ProcId) -> Option<&V> {
        self.find(*id, usize::MAX).map(|place| self.at(place))
    }

    pub(crate) fn get_mut(&mut self, id: &ProcId) -> Option<&mut V> {
        let place = self.find(*id, usize::MAX)?;
        Some(self.at_mut(place))
    }

    /// Puts a value in, or in the place of the one that was there; returns where.
    pub(crate) fn insert(&mut self, id: ProcId, value: V) -> usize {
        match self.ids.binary_search(&id) {
            Ok(place) => {
                *self.values[place] = value;
                place
            }
            Err(place) => {
                self.ids.insert(place, id);
                self.values.insert(place, Box::new(value));
                place
            }
        }
    }

    pub(crate) fn remove(&mut self, id: &ProcId) -> Option<V> {
        let place = self.find(*id, usize::MAX)?;
        self.ids.remove(place);
        Some(*self.values.remove(place))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ProcId, &V)> {
        self.ids.iter().zip(self.values())
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter().map(|value| &**value)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut().map(|value| &mut **value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map_in_order(
            doings in prop::collection::vec((0u32..12, 0u64..2, any::<bool>(), 0usize..14), 0..200)
        ) {
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            for (n, (pid, start, put, near)) in doings.into_iter().enumerate() {
                let id = ProcId { pid, start };
                if put {
                    let place = table.insert(id, n);
                    prop_assert_eq!(*table.at(place), n);
                    map.insert(id, n);
                } else {
                    prop_assert_eq!(table.remove(&id), map.remove(&id));
                }
                let found = table.find(id, near).map(|place| *table.at(place));
                prop_assert_eq!(found, map.get(&id).copied());
                prop_assert!(table.iter().eq(map.iter()));
            }
        }
    }
}
