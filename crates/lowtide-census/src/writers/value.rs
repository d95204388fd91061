//! Where a value on the stack came from, as far as it can be told from the instructions alone.

use std::rc::Rc;

use super::opcodes::Sign;

/// `a.b.c[0].d`: further than this nothing is followed.
const DEEPEST: u8 = 8;
/// Sums and lists remember so many of what they were made from.
const MOST_PARTS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Unknown,
    /// It lies below what is known of the stack.
    Beneath,
    /// Room for whom a call is made for.
    Null,
    Constant(usize),
    /// `None`, or another that all code has.
    Common {
        is_none: bool,
    },
    /// `y:z`; whether it may leave out something.
    Slice {
        cuts: bool,
    },
    /// The function's own value of a variable that a comprehension uses meanwhile.
    Saved(usize),
    Fast(usize),
    Deref(usize),
    Global(usize),
    /// A name of a module or of a class, by its body.
    Name(usize),
    /// A variable of which it is known what was put into it.
    Alias(usize, Rc<Deep>),
    Attribute(Rc<Deep>, usize),
    Item(Rc<Deep>),
    /// `x + y`, `[*x, y]`: made anew from these, and from nothing that was not written there if there are none.
    From(Rc<[Value]>),
    /// `[x, y]`: has these in it.
    Of(Rc<[Value]>),
    /// `x[y:z]`: not all of it.
    Cut(Rc<Deep>),
    /// `x += y`, before it is put back.
    Inplace(Rc<Deep>, Sign),
}

/// A value within another one, and how far it goes from there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Deep {
    pub value: Value,
    depth: u8,
}

impl Value {
    fn depth(&self) -> u8 {
        match self {
            Value::Alias(_, deep)
            | Value::Attribute(deep, _)
            | Value::Item(deep)
            | Value::Cut(deep)
            | Value::Inplace(deep, _) => deep.depth,
            _ => 0,
        }
    }

    fn deep(self) -> Option<Rc<Deep>> {
        let depth = self.depth() + 1;
        (depth <= DEEPEST).then(|| Rc::new(Deep { value: self, depth }))
    }

    /// Something that may be added to: it has a name.
    pub(super) fn is_place(&self) -> bool {
        matches!(
            self,
            Value::Fast(_)
                | Value::Deref(_)
                | Value::Global(_)
                | Value::Name(_)
                | Value::Alias(..)
                | Value::Attribute(..)
                | Value::Item(_)
        )
    }

    pub(super) fn attribute(self, name: usize) -> Value {
        match self.deep() {
            Some(deep) => Value::Attribute(deep, name),
            None => Value::Unknown,
        }
    }

    pub(super) fn item(self) -> Value {
        match self.is_place() {
            true => self.deep().map_or(Value::Unknown, Value::Item),
            false => Value::Unknown,
        }
    }

    pub(super) fn inplace(self, sign: Sign) -> Value {
        match self.is_place() {
            true => self
                .deep()
                .map_or(Value::Unknown, |deep| Value::Inplace(deep, sign)),
            false => Value::Unknown,
        }
    }

    /// A variable that this was put into.
    pub(super) fn known_as(self, variable: usize) -> Value {
        match self.deep() {
            Some(deep) => Value::Alias(variable, deep),
            None => Value::Fast(variable),
        }
    }

    /// What is kept of it when it is put into a variable; nothing where it came from nowhere.
    pub(super) fn kept(self) -> Option<Value> {
        match self {
            // The variable may get another value; what it had stays.
            Value::Alias(_, deep) => Some(deep.value.clone()),
            Value::Inplace(deep, _) => deep.value.clone().kept(),
            place if place.is_place() => Some(place),
            _ => None,
        }
    }

    /// Nothing that was there before is in it.
    pub(super) fn is_new(&self) -> bool {
        match self {
            Value::Constant(_) | Value::Common { .. } => true,
            Value::From(parts) => parts.is_empty(),
            _ => false,
        }
    }

    /// What it is made from, as far as that is known.
    pub(super) fn parts(&self) -> &[Value] {
        const UNKNOWN: &[Value] = &[Value::Unknown];
        match self {
            Value::From(parts) => parts,
            new if new.is_new() => &[],
            place if place.is_place() => std::slice::from_ref(place),
            _ => UNKNOWN,
        }
    }

    /// Made from two others.
    pub(super) fn from_two(one: &Value, other: &Value) -> Value {
        Value::from_all(one.parts().iter().chain(other.parts()))
    }

    /// Made from all of these. Where there are too many, the rest is one that is not known.
    pub(super) fn from_all<'a>(all: impl Iterator<Item = &'a Value>) -> Value {
        let mut parts = Vec::new();
        for part in all {
            if parts.len() == MOST_PARTS {
                parts.push(Value::Unknown);
                break;
            }
            if !parts.contains(part) {
                parts.push(part.clone());
            }
        }
        Value::From(parts.into())
    }

    /// A display, which may hold what was there before.
    pub(super) fn of_items(items: &[Value]) -> Value {
        if items.iter().all(Value::is_new) {
            return Value::From([].into());
        }
        let known = items.iter().take(MOST_PARTS).map(|item| match item {
            // Others would make it as deep as the code is long.
            item if item.is_place() => item.clone(),
            _ => Value::Unknown,
        });
        Value::Of(known.collect())
    }

    /// A slice of it.
    pub(super) fn cut(self) -> Value {
        match self.is_place() || matches!(self, Value::From(_)) {
            true => self.deep().map_or(Value::Unknown, Value::Cut),
            false => Value::Unknown,
        }
    }

    /// The same on both ways that lead here, or not known.
    pub(super) fn met(&self, other: &Value) -> Value {
        if self == other {
            self.clone()
        } else if self.is_new() && other.is_new() {
            Value::From([].into())
        } else {
            Value::Unknown
        }
    }
}
