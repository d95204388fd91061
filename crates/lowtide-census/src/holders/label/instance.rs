//! Attributes: in an object's dictionary or beside it, in its slots, and fields of objects that C defines.

use super::Reader;
use crate::holders::step::Step;
use crate::object::{Class, TYPE};
use crate::source::Source;

/// In the descriptor of a slot: its name, and the table of C that says where in an object it is.
const SLOT_NAME: u64 = 24;
const SLOT_MEMBER: u64 = 40;
const MEMBER_OFFSET: u64 = 16;
/// Bytes of an object in which a slot may be.
const LARGEST: u64 = 1 << 16;

/// Fields of objects that C defines and programs hold much by: the type, where, and what it is called.
const FIELDS: [(&str, u64, &str); 6] = [
    ("method", 16, "__func__"),
    ("method", 24, "__self__"),
    ("builtin_function_or_method", 24, "__self__"),
    ("functools.partial", 16, "func"),
    ("functools.partial", 24, "args"),
    ("functools.partial", 32, "keywords"),
];

impl<S: Source> Reader<'_, '_, S> {
    pub(super) fn of_instance(&self, class: &Class, from: u64, to: u64) -> Option<Step> {
        let heap = self.heap;
        if heap.attribute_dict(from) == Some(to) {
            return Some(Step::Names);
        }
        if let Some(attributes) = heap.attributes(from) {
            let mut entries = attributes.entries().iter();
            if let Some((key, _)) = entries.find(|(_, value)| *value == to) {
                let name = heap.text(*key).unwrap_or_else(|| "?".to_owned());
                return Some(Step::Attribute(name));
            }
        }
        if heap.source.pointer(from.checked_add(TYPE)?) == Some(to) {
            return Some(Step::Class);
        }
        self.in_slot(class, from, to)
            .or_else(|| self.in_field(class, from, to))
    }

    /// `__slots__`: each is a descriptor in a class, which says where the object has it.
    fn in_slot(&self, class: &Class, from: u64, to: u64) -> Option<Step> {
        let heap = self.heap;
        let word = |at: u64, offset: u64| heap.source.word(at.checked_add(offset)?);
        let bases = heap.bases(class);
        bases.iter().filter(|base| base.is_heap()).find_map(|base| {
            heap.find_entry(base.dict()?, |_, descriptor| {
                if heap.type_of(descriptor)?.name != "member_descriptor" {
                    return None;
                }
                let member = word(descriptor, SLOT_MEMBER)?;
                let offset = word(member, MEMBER_OFFSET).filter(|offset| *offset < LARGEST)?;
                (word(from, offset)? == to).then_some(())?;
                Some(Step::Attribute(heap.text(word(descriptor, SLOT_NAME)?)?))
            })
        })
    }

    fn in_field(&self, class: &Class, from: u64, to: u64) -> Option<Step> {
        let heap = self.heap;
        if class.name.ends_with("_lru_cache_wrapper") && heap.type_of(to)?.is_dict() {
            return Some(Step::Cache);
        }
        let field = FIELDS.iter().find(|(name, offset, _)| {
            let at = from.checked_add(*offset);
            *name == class.name && at.and_then(|at| heap.source.word(at)) == Some(to)
        });
        field.map(|(_, _, name)| Step::Attribute((*name).to_owned()))
    }
}
