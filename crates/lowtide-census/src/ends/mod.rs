//! What may end the growth of a holder, as facts that stand in the process: a size that it was given, keys that come from
//! a container that is there already, slots that are filled one after the other. One file a kind of fact.
//!
//! The census tells them with each holder, and as no verdict: a program may put another container in its place, and a
//! number that an attribute declares may mean something else.

mod declared;
mod keys;
mod sized;
mod slots;

use lowtide_core::look::End;

use crate::object::Heap;
use crate::source::Source;

pub(crate) use slots::Pictures;

/// A holder, and what stands beside it.
pub(crate) struct Subject<'a, S> {
    pub heap: &'a Heap<'a, S>,
    /// The container.
    pub address: u64,
    pub length: Option<u64>,
    /// The object that has it as an attribute, or the module that has it as a name.
    pub owner: Option<u64>,
}

impl<S: Source> Subject<'_, S> {
    /// All that is known, the surest first.
    pub(crate) fn ends(&self, pictures: &impl Pictures) -> Vec<End> {
        let mut ends: Vec<End> = self.sized().into_iter().collect();
        ends.extend(self.slots(pictures));
        ends.extend(self.keys());
        // What somebody declares says nothing beside a size that Python holds to.
        if ends.is_empty() {
            ends.extend(self.declared());
        }
        ends
    }

    /// What the owner has beside it, by name.
    fn siblings(&self) -> Vec<(String, u64)> {
        let heap = self.heap;
        let Some(owner) = self.owner else {
            return Vec::new();
        };
        let names = || heap.attribute_dict(owner).and_then(|dict| heap.dict(dict));
        let entries = match heap.attributes(owner) {
            Some(attributes) => attributes.entries().to_vec(),
            None => heap.dict(owner).or_else(names).unwrap_or_default(),
        };
        let named = entries
            .into_iter()
            .filter(|(_, value)| *value != self.address);
        named
            .filter_map(|(key, value)| Some((heap.text(key)?, value)))
            .collect()
    }

    /// Whether the container's class, or one that it is made from, bears this name of C.
    fn is(&self, object: u64, names: &[&str]) -> bool {
        let Some(class) = self.heap.type_of(object) else {
            return false;
        };
        let bases = self.heap.bases(&class);
        bases.iter().any(|base| names.contains(&base.name.as_str()))
    }
}
