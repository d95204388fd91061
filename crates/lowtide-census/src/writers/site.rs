//! A place in code that adds to something or empties it, and which names do which.

/// What is added to or emptied, as the code names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Attribute {
        owner: Owner,
        name: usize,
    },
    Global(usize),
    /// A local, by its place in the code's variables.
    Fast(usize),
    /// A cell.
    Deref(usize),
}

/// Whose attribute it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The first argument: `self` in a method.
    First,
    Fast(usize),
    Deref(usize),
    Global(usize),
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Adds,
    Empties,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub target: Target,
    pub does: Does,
    /// `append`, `+=`, `[...].append`.
    pub how: String,
    /// The instruction, in words.
    pub at: usize,
}

/// Methods of lists, sets, dictionaries, deques and queues. `get` takes from a queue, but only looks into a dictionary.
#[rustfmt::skip]
const ADDING: &[&str] = &[
    "append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "put", "put_nowait",
];
#[rustfmt::skip]
const EMPTYING: &[&str] = &[
    "clear", "pop", "popleft", "popitem", "remove", "discard", "difference_update", "intersection_update",
];
/// Functions that do it to their first argument.
const ADDING_TO: &[&str] = &["heappush", "insort", "insort_left", "insort_right"];
const EMPTYING_OF: &[&str] = &["heappop"];

/// What a method does to its object.
pub(super) fn method(name: &str) -> Option<Does> {
    known(name, ADDING, EMPTYING)
}

/// What a function does to its first argument.
pub(super) fn function(name: &str) -> Option<Does> {
    known(name, ADDING_TO, EMPTYING_OF)
}

fn known(name: &str, adding: &[&str], emptying: &[&str]) -> Option<Does> {
    if adding.contains(&name) {
        Some(Does::Adds)
    } else {
        emptying.contains(&name).then_some(Does::Empties)
    }
}
