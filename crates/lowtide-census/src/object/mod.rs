//! Python's objects as bytes: types, attributes, dictionaries, numbers, texts. [`Layout`] says where a version has
//! what; [`Heap`] reads.
//!
//! Nothing is believed for being where it is expected: an object has a type, a type has a type that is one, a
//! number is short, a text is plain. What is not so is `None`.

mod attributes;
mod dict;
mod items;
mod layout;
mod number;
mod sequence;
mod text;
mod types;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

pub(crate) use layout::{Kept as KeptBy, Layout, SIZE, TYPE, TYPE_NAME, flag};
pub(crate) use types::Class;

use crate::source::Source;

/// Names and types that are remembered at most: a process that makes more of them makes them without end.
const REMEMBERED: usize = 100_000;

/// More holders than this nobody has. What was freed has the address of the next free block in that place.
const MOST_HOLDERS: u64 = 1 << 36;

/// What was learnt of types and names, kept between reads of one process.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    /// Types by address; none for what is no type.
    types: RefCell<HashMap<u64, Option<Rc<Class>>>>,
    /// Attribute names by address.
    names: RefCell<HashMap<u64, Rc<str>>>,
}

impl Memo {
    /// The process may have freed types and names since: forget them.
    pub(crate) fn forget(&self) {
        self.types.borrow_mut().clear();
        self.names.borrow_mut().clear();
    }
}

/// Whether the first word of an object can be a number of references.
pub(crate) fn is_held(word: u64, minor: u32) -> bool {
    match minor {
        ..=13 => (1..MOST_HOLDERS).contains(&word),
        // Half of it: then what overflowed, which is nothing, and flags.
        14.. => word as u32 != 0 && (word >> 32) as u16 == 0,
    }
}

enum Kept<'a> {
    Own(Memo),
    Lent(&'a Memo),
}

/// Reads objects.
pub(crate) struct Heap<'a, S> {
    pub(crate) source: &'a S,
    pub(crate) layout: Layout,
    memo: Kept<'a>,
}

impl<'a, S: Source> Heap<'a, S> {
    pub(crate) fn new(source: &'a S, layout: Layout) -> Heap<'a, S> {
        Heap {
            source,
            layout,
            memo: Kept::Own(Memo::default()),
        }
    }

    /// With what was learnt before.
    pub(crate) fn knowing(source: &'a S, layout: Layout, memo: &'a Memo) -> Heap<'a, S> {
        Heap {
            source,
            layout,
            memo: Kept::Lent(memo),
        }
    }

    fn memo(&self) -> &Memo {
        match &self.memo {
            Kept::Own(memo) => memo,
            Kept::Lent(memo) => memo,
        }
    }

    /// The type of an object.
    pub(crate) fn type_of(&self, object: u64) -> Option<Rc<Class>> {
        self.class(self.source.pointer(object.checked_add(TYPE)?)?)
    }

    /// An attribute of an attribute of an attribute.
    pub(crate) fn path(&self, object: u64, names: &[&str]) -> Option<u64> {
        let mut names = names.iter();
        names.try_fold(object, |object, name| self.attribute(object, name))
    }

    pub(crate) fn is_none(&self, object: u64) -> bool {
        self.type_of(object)
            .is_some_and(|class| class.name == "NoneType")
    }
}
