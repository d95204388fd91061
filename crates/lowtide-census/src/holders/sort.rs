//! What a kind of objects is to whoever looks for holders.

/// Few sorts of the many kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Lists, deques, sets: things are put into them.
    Container,
    /// A container, or only where an object has its attributes.
    Dict,
    /// A container that nothing is put into.
    Tuple,
    /// A function that remembers its results.
    Cache,
    Module,
    Class,
    /// Functions, methods and whatever else is made of code and closes over something.
    Function,
    Code,
    Cell,
    /// A running function, or one that waits.
    Frame,
    /// What C holds.
    Native,
    Weak,
    /// The object of C++ and the memory behind a tensor.
    Behind,
    /// A step of autograd's graph.
    Step,
    /// Any other object: one of the program's classes, a text, a tensor.
    Object,
}

/// It leads to all that it remembers.
pub(super) const LRU_CACHE: &str = "functools._lru_cache_wrapper";
/// The kinds of nodes that we add ourselves.
/// How kinds begin that are steps of autograd's graph.
const STEP: &str = "autograd ";
pub(super) const FRAME: &str = "running function";
pub(super) const NATIVE: &str = "C or C++ code";
pub(super) const CYCLES: &str = "cycles";

/// The kind of an object of C++ by the name of its class: all but a tensor and its memory are steps of a graph.
pub(crate) fn native_kind(class: &str) -> String {
    match Sort::named(class) {
        Sort::Behind => class.to_owned(),
        _ => format!("{STEP}{class}"),
    }
}

/// The class of a step, or the name of any other kind.
pub(super) fn class_of(kind: &str) -> &str {
    kind.strip_prefix(STEP).unwrap_or(kind)
}

impl Sort {
    /// By the name of a kind, for types that C defines.
    pub(crate) fn named(name: &str) -> Sort {
        match name {
            "list" | "set" | "frozenset" | "collections.deque" => Sort::Container,
            LRU_CACHE => Sort::Cache,
            "dict"
            | "collections.OrderedDict"
            | "collections.defaultdict"
            | "collections.Counter" => Sort::Dict,
            "tuple" => Sort::Tuple,
            "module" => Sort::Module,
            "type" | "abc.ABCMeta" | "enum.EnumMeta" | "enum.EnumType" => Sort::Class,
            "function"
            | "method"
            | "builtin_function_or_method"
            | "functools.partial"
            | "staticmethod"
            | "classmethod"
            | "property" => Sort::Function,
            "code" => Sort::Code,
            "cell" => Sort::Cell,
            "frame" | "generator" | "coroutine" | "async_generator" | FRAME => Sort::Frame,
            NATIVE | CYCLES => Sort::Native,
            "weakref" | "weakref.ReferenceType" | "weakproxy" | "weakref.ProxyType" => Sort::Weak,
            "TensorImpl" => Sort::Behind,
            name if name.starts_with("storage") => Sort::Behind,
            name if name.starts_with(STEP) => Sort::Step,
            _ => Sort::Object,
        }
    }

    /// Many things may be in it.
    pub(super) fn may_hold_many(self) -> bool {
        matches!(
            self,
            Sort::Container | Sort::Dict | Sort::Tuple | Sort::Cache
        )
    }

    /// Nobody would call it a holder: what it has is named one by one.
    pub(super) fn is_seen_through(self) -> bool {
        matches!(
            self,
            Sort::Module | Sort::Class | Sort::Frame | Sort::Native
        )
    }

    /// A part of the program itself.
    pub(super) fn is_program(self) -> bool {
        matches!(
            self,
            Sort::Module | Sort::Class | Sort::Function | Sort::Cache | Sort::Code
        )
    }

    /// How much worse a name gets that leads through such an object. A plain step costs least; classes know their bases
    /// and functions all names of their module, and who looks for a list would not look there.
    pub(super) fn cost(self) -> u8 {
        match self {
            Sort::Container
            | Sort::Dict
            | Sort::Tuple
            | Sort::Cache
            | Sort::Object
            | Sort::Behind
            | Sort::Step
            | Sort::Cell => 2,
            Sort::Function => 6,
            Sort::Class => 8,
            Sort::Frame => 20,
            Sort::Code => 40,
            Sort::Module | Sort::Weak | Sort::Native => 60,
        }
    }
}
