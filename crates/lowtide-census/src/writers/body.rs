//! A piece of code as it is gone through: its instructions, and the names that they mean by numbers.

use std::rc::Rc;

use super::value::Value;

/// What a piece of code is the body of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Function,
    Module,
    Class,
}

#[derive(Clone, Debug)]
pub(super) struct Body {
    pub minor: u32,
    pub of: Of,
    pub name: String,
    pub instructions: Vec<u8>,
    /// Of globals and attributes. One that could not be read is empty.
    pub names: Vec<Rc<str>>,
    /// Of variables; those that functions within it share are apart up to 3.10.
    pub fast: Vec<Rc<str>>,
    pub deref: Vec<Rc<str>>,
    /// Variables (of `deref`) that are those of a function around it.
    pub free: Vec<bool>,
    /// How many of `fast` are arguments.
    pub arguments: usize,
    /// Where exceptions lead to, and one behind the last instruction that may raise one (from 3.11 on).
    pub caught: Vec<(usize, usize)>,
    /// Constants that are slices, those of them that leave out something, and those that are `None`.
    pub slices: Vec<usize>,
    pub cutting: Vec<usize>,
    pub nones: Vec<usize>,
}

impl Body {
    /// One number for every variable, whether functions share it or not.
    pub(super) fn of_deref(&self, deref: usize) -> usize {
        match self.minor {
            ..=10 => self.fast.len() + deref,
            _ => deref,
        }
    }

    pub(super) fn is_free(&self, deref: usize) -> bool {
        self.free.get(deref).copied().unwrap_or(true)
    }

    /// An argument that functions within it share.
    pub(super) fn is_shared_argument(&self, deref: usize) -> bool {
        let arguments = self.fast.get(..self.arguments).unwrap_or_default();
        let name = self.deref.get(deref);
        !self.is_free(deref) && name.is_some_and(|name| arguments.contains(name))
    }

    /// What the first argument of a method is called: `self`.
    pub(super) fn is_first(&self, deref: usize) -> bool {
        let first = self.fast.first().filter(|_| self.arguments > 0);
        !self.is_free(deref) && first.is_some() && first == self.deref.get(deref)
    }

    /// A slice, made here or written down.
    pub(super) fn is_slice(&self, value: &Value) -> bool {
        match value {
            Value::Slice { .. } => true,
            Value::Constant(number) => self.slices.contains(number),
            _ => false,
        }
    }

    /// A slice that may leave out something: not `[:]`, and not one with steps, by which `[::-1]` leaves out nothing.
    pub(super) fn cuts(&self, slice: &Value) -> bool {
        match slice {
            Value::Slice { cuts } => *cuts,
            Value::Constant(number) => self.cutting.contains(number),
            _ => false,
        }
    }

    pub(super) fn is_none(&self, value: &Value) -> bool {
        match value {
            Value::Constant(number) => self.nones.contains(number),
            Value::Common { is_none } => *is_none,
            _ => false,
        }
    }

    /// It makes what it gives names to, as `__init__` and a module do.
    pub(super) fn makes_attributes(&self) -> bool {
        ["__init__", "__new__", "__post_init__"].contains(&self.name.as_str())
    }
}
