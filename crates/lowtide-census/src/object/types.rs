//! Types: their name, their bases, the module that they come from.

use std::rc::Rc;

use super::layout::{
    TYPE, TYPE_BASIC_SIZE, TYPE_DICT, TYPE_DICT_OFFSET, TYPE_FLAGS, TYPE_ITEM_SIZE, TYPE_NAME,
    TYPE_NEXT, TYPE_ORDER, TYPE_READ, TYPE_WEAK_LIST, flag,
};
use super::{Heap, REMEMBERED, is_held};
use crate::source::{Source, is_pointer};

/// The longest name that is read, and the most bases. What is longer is cut, and shows it.
const LONGEST: usize = 256;
const CUT: char = '…';
/// What every text has before its letters.
const TEXT_HEAD: usize = 40;
const DEEPEST: usize = 32;
/// Objects are this large at most before their items.
const LARGEST: u64 = 1 << 20;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub address: u64,
    /// Without its module, for classes that programs make.
    pub name: String,
    pub(crate) basic_size: u64,
    /// Of each item behind it, for types whose objects are of different lengths.
    pub(crate) item_size: u64,
    pub(crate) flags: u64,
    dict: u64,
    /// A tuple: the class itself and all that it is made from.
    order: u64,
    pub(crate) dict_offset: i64,
    /// Where its objects have the list of weak references to them.
    pub(crate) weak_list: i64,
    /// What hands out the next item.
    next: u64,
}

impl Class {
    /// Made by a `class` statement, not by a table of C.
    pub(crate) fn is_heap(&self) -> bool {
        self.flags & flag::HEAP != 0
    }

    pub(crate) fn is_type(&self) -> bool {
        self.flags & flag::TYPE != 0
    }

    pub(crate) fn has_dict(&self) -> bool {
        is_pointer(self.dict)
    }

    /// What it defines.
    pub(crate) fn dict(&self) -> Option<u64> {
        Some(self.dict).filter(|dict| is_pointer(*dict))
    }

    pub(crate) fn is_list(&self) -> bool {
        self.has(flag::LIST)
    }

    pub(crate) fn is_tuple(&self) -> bool {
        self.has(flag::TUPLE)
    }

    pub(crate) fn is_dict(&self) -> bool {
        self.has(flag::DICT)
    }

    /// Its objects hand out one item after the other.
    pub(crate) fn is_iterator(&self) -> bool {
        self.next != 0
    }

    pub(crate) fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// The same class, seen at another moment. Its flags may change: one says that a cache knows it.
    pub(crate) fn is_still(&self, before: &Class) -> bool {
        let flags = before.flags;
        Class {
            flags,
            ..self.clone()
        } == *before
    }
}

impl<S: Source> Heap<'_, S> {
    /// The type at an address, if it is one.
    pub(crate) fn class(&self, address: u64) -> Option<Rc<Class>> {
        if let Some(known) = self.memo().types.borrow().get(&address) {
            return known.clone();
        }
        let class = self.read_class(address).map(Rc::new);
        let mut types = self.memo().types.borrow_mut();
        if types.len() < REMEMBERED {
            types.insert(address, class.clone());
        }
        class
    }

    fn read_class(&self, address: u64) -> Option<Class> {
        let bytes: [u8; TYPE_READ] = self.source.array(address)?;
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("a word"));
        let flags = word(TYPE_FLAGS);
        if flags & flag::READY == 0
            || word(TYPE_BASIC_SIZE) > LARGEST
            || word(TYPE_ITEM_SIZE) > LARGEST
        {
            return None;
        }
        // Its own type is one whose objects are types.
        let meta = word(TYPE as usize);
        if !is_pointer(meta) || !self.is_metaclass(address, meta, flags)? {
            return None;
        }
        Some(Class {
            address,
            name: self.name_at(word(TYPE_NAME as usize))?,
            basic_size: word(TYPE_BASIC_SIZE),
            item_size: word(TYPE_ITEM_SIZE),
            flags,
            dict: word(TYPE_DICT),
            order: word(TYPE_ORDER),
            dict_offset: word(TYPE_DICT_OFFSET) as i64,
            weak_list: word(TYPE_WEAK_LIST) as i64,
            next: word(TYPE_NEXT),
        })
    }

    fn is_metaclass(&self, address: u64, meta: u64, flags: u64) -> Option<bool> {
        let flags = match meta == address {
            true => flags,
            false => self.source.word(meta + TYPE_FLAGS as u64)?,
        };
        Some(flags & flag::TYPE != 0)
    }

    /// Text of C: bytes up to a zero.
    fn name_at(&self, at: u64) -> Option<String> {
        // A name may end right before a page that is not there.
        let room = 4096 - (at % 4096) as usize;
        let mut bytes = vec![0; room.min(LONGEST)];
        if !self.source.fill_constant(at, &mut bytes) {
            return None;
        }
        if !bytes.contains(&0) && room < LONGEST {
            let mut more = vec![0; LONGEST - room];
            if self.source.fill_constant(at + room as u64, &mut more) {
                bytes.extend(more);
            }
        }
        let is_cut = !bytes.contains(&0);
        let name = bytes.split(|byte| *byte == 0).next()?;
        let plain = name
            .iter()
            .all(|byte| (b' '..=b'~').contains(byte) || *byte >= 128);
        // A class may well be named in another script: it is none that we look for.
        (!name.is_empty() && plain).then(|| {
            let mut name = String::from_utf8_lossy(name).into_owned();
            name.extend(is_cut.then_some(CUT));
            name
        })
    }

    /// The class and all that it is made from, nearest first.
    pub(crate) fn bases(&self, class: &Class) -> Vec<Rc<Class>> {
        let bases = self.tuple(class.order, DEEPEST).unwrap_or_default();
        bases
            .into_iter()
            .filter_map(|base| self.class(base))
            .collect()
    }

    /// With the classes and functions that it was made in.
    pub(crate) fn qualified_name(&self, class: &Class) -> Option<String> {
        // It stands before the names of attributes that its objects share.
        let at = class.address.checked_add(self.layout.shared_keys - 8)?;
        self.text(self.source.pointer(at)?)
    }

    /// Whether it lives, and all that its name is made of can be read. One that was freed stays as it was for a while, but
    /// nobody holds it: what stands before it for the collector is written over first. And the collector takes classes
    /// apart before it frees them: then they have no bases or no attributes, and every class that lives has some of both.
    pub(crate) fn is_whole(&self, class: &Class) -> bool {
        let held = self.source.word(class.address);
        if !held.is_some_and(|held| is_held(held, self.layout.minor)) {
            return false;
        }
        if !class.is_heap() || class.name.contains('.') {
            return true;
        }
        let there = |object: u64| self.source.array::<TEXT_HEAD>(object).is_some();
        let attributes = class.dict().and_then(|dict| self.dict(dict));
        let Some(attributes) = attributes.filter(|_| is_pointer(class.order)) else {
            return class.dict().is_some_and(|dict| self.is_large(dict));
        };
        // One of C may have no module; then we have to know that.
        let keys = attributes.iter().all(|(key, _)| there(*key));
        let module = || self.class_attribute(class, "__module__");
        !attributes.is_empty() && keys && module().is_none_or(there)
    }

    /// The name of the module that a class was made in.
    pub(crate) fn module(&self, class: &Class) -> Option<String> {
        let value = self.class_attribute(class, "__module__")?;
        self.text(value)
    }

    /// What a class itself holds under a name.
    pub(crate) fn class_attribute(&self, class: &Class, name: &str) -> Option<u64> {
        if !class.is_heap() || !is_pointer(class.dict) {
            return None;
        }
        self.dict_get(class.dict, name)
    }
}
