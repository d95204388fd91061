//! The attributes of a plain object, wherever its version keeps them.

use super::dict::Entry;
use super::layout::{Kept, flag};
use super::{Class, Heap};
use crate::source::{Source, is_pointer};

/// Words before an object, behind which its collector's links stand.
const DICT_BEFORE: u64 = 24;
const VALUES_BEFORE: u64 = 32;
/// In a table of values that stands behind an object: whether it is still the one that counts.
const IS_VALID: u64 = 3;

/// The attributes of one object, as they were at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    entries: Vec<Entry>,
}

impl Attributes {
    pub(crate) fn get<S: Source>(&self, heap: &Heap<'_, S>, name: &str) -> Option<u64> {
        let mut entries = self.entries.iter();
        let found = entries.find(|(key, _)| heap.is_named(*key, name))?;
        // An address that once held this name may hold another text by now.
        heap.text(found.0).filter(|text| text == name)?;
        Some(found.1)
    }

    /// Names and values.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl<S: Source> Heap<'_, S> {
    pub(crate) fn attributes(&self, object: u64) -> Option<Attributes> {
        let class = self.type_of(object)?;
        let entries = self.kept(object, &class)?;
        Some(Attributes { entries })
    }

    /// One attribute.
    pub(crate) fn attribute(&self, object: u64, name: &str) -> Option<u64> {
        self.attributes(object)?.get(self, name)
    }

    /// The dictionary in which an object has its attributes, if it has one.
    pub(crate) fn attribute_dict(&self, object: u64) -> Option<u64> {
        let class = self.type_of(object)?;
        let managed = class.has(flag::MANAGED_DICT) && self.layout.kept != Kept::Dict;
        let at = match managed {
            true => object.checked_sub(DICT_BEFORE)?,
            false => {
                let offset = u64::try_from(class.dict_offset).ok()?;
                object.checked_add(Some(offset).filter(|offset| *offset != 0)?)?
            }
        };
        self.source.pointer(at)
    }

    fn kept(&self, object: u64, class: &Class) -> Option<Vec<Entry>> {
        let managed = class.has(flag::MANAGED_DICT);
        match self.layout.kept {
            Kept::TwoWords if managed => {
                let values = self.source.word(object.checked_sub(VALUES_BEFORE)?)?;
                match is_pointer(values) {
                    true => self.shared(class, values),
                    false => self.dict(self.source.pointer(object - DICT_BEFORE)?),
                }
            }
            Kept::Tagged if managed => {
                let word = self.source.word(object.checked_sub(DICT_BEFORE)?)?;
                // The lowest bit marks values, one byte before their table.
                match word & 1 {
                    1 => self.shared(class, word.wrapping_add(1)),
                    _ => self.dict(word),
                }
            }
            Kept::Inline if managed => {
                let dict = self.source.word(object.checked_sub(DICT_BEFORE)?)?;
                if dict != 0 {
                    return self.dict(dict);
                }
                let values = object.checked_add(class.basic_size)?;
                let [valid] = self.source.array(values.checked_add(IS_VALID)?)?;
                let here = class.has(flag::INLINE_VALUES) && valid == 1;
                here.then(|| self.shared(class, values))?
            }
            _ => {
                let offset = u64::try_from(class.dict_offset).ok()?;
                if offset == 0 {
                    return None;
                }
                self.dict(self.source.pointer(object.checked_add(offset)?)?)
            }
        }
    }

    /// Values whose keys all objects of the class share.
    fn shared(&self, class: &Class, values: u64) -> Option<Vec<Entry>> {
        let keys = self
            .source
            .pointer(class.address + self.layout.shared_keys)?;
        self.keys(keys, Some(values.checked_add(self.layout.first_value)?))
    }
}
