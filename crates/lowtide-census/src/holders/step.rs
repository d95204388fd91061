//! How one object refers to another, in the words of whoever wrote the program.

use super::sort::Sort;
use crate::graph::Kind;

/// From an object to one that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Attribute(String),
    /// A dictionary's value, by its key as it would be written.
    Key(String),
    /// A dictionary's key.
    IsKey,
    Index(u64),
    /// Of a set.
    Member,
    /// The dictionary in which an object has its attributes, a module its names, a class what it defines.
    Names,
    /// A function's closure, or the defaults of its arguments; the step after that says which of them.
    Closure,
    Defaults,
    /// A variable that a function closes over, a default of one of its arguments.
    Closed(String),
    Default(String),
    /// What is in a cell.
    Content,
    /// A local of a function that runs or waits.
    Local(String),
    /// What an `lru_cache` remembers.
    Cache,
    /// The class of an object.
    Class,
    /// Something else.
    Referent,
}

/// Tells of objects what their type's name does not.
pub(crate) trait Labels {
    /// How the one before the last of these addresses refers to the last. Those before say how it is reached, as far
    /// as they are known.
    fn step(&self, way: &[u64]) -> Step;

    /// How many items a container has.
    fn length(&self, address: u64) -> Option<u64>;

    /// What a kind is to us.
    fn sort(&self, kind: &Kind) -> Sort {
        Sort::named(&kind.name)
    }
}
