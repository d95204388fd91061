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
    /// `append`, `+=`, `[...].append`; `append, passed on` where somebody else may call it.
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

/// Functions that put what they are given into one: `pandas.concat`, `torch.cat`, `numpy.append`.
#[rustfmt::skip]
const JOINING: &[&str] = &["concat", "concatenate", "cat", "vstack", "hstack", "append"];
/// What makes new containers: such as have no module before them, and such as may have one.
const BUILTIN: &[&str] = &["list", "dict", "set", "tuple", "frozenset", "bytearray"];
const MAKING: &[&str] = &["deque", "OrderedDict", "Counter", "DataFrame", GROUPING];
/// What it is given first makes its values, and is not in it.
pub(super) const GROUPING: &str = "defaultdict";

/// The name is given something that what it had is not in, or not all of it.
pub(super) const GIVEN: &str = "=";
/// It is given something of which that is not known: it may be what it had and more. So it says under which condition
/// it empties; if it were left out, nothing would seem to.
pub(super) const GIVEN_UNKNOWN: &str = "= (unless the new one keeps it)";

/// What is given to a name, and not done to what it stands for.
pub(super) fn is_of_name(how: &str) -> bool {
    how == "del" || how.starts_with(GIVEN)
}

/// It gives all that it is given, in one.
pub(super) fn joins(function: &str) -> bool {
    JOINING.contains(&function)
}

/// It makes a new container; `is_attribute` is what has something before it.
pub(super) fn makes(function: &str, is_attribute: bool) -> bool {
    MAKING.contains(&function) || (!is_attribute && BUILTIN.contains(&function))
}

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
