//! How objects of a type are read: which of the built-in structures they are, and which of their words may be
//! references. Made once for each type.

use crate::object::{Class, Heap, flag};
use crate::source::Source;

/// What the collector keeps before an object.
const LINKS: u64 = 16;
/// What stands before those: where attributes and weak references are.
const MANAGED: u64 = 16;

/// The structure that an object is, or begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Without references.
    Leaf,
    Int,
    Text,
    Bytes,
    ByteArray,
    Array,
    /// A file with a buffer.
    Buffered,
    List,
    Tuple,
    Dict,
    OrderedDict,
    Set,
    Deque,
    SimpleQueue,
    Type,
    Module,
    WeakReference,
    /// `functools.lru_cache`, and what it keeps for each call.
    Cache,
    CacheEntry,
    /// A generator or coroutine: it has a frame in it.
    Generator,
    Frame,
    Code,
    /// An element of XML, and what writes and reads pickles: their tables stand apart.
    Element,
    Pickler,
    Unpickler,
    /// Every word of it may be a reference.
    Scanned,
}

/// The names that C gives to its types, and their structure.
const SHAPES: &[(&str, Shape)] = &[
    ("int", Shape::Int),
    ("float", Shape::Leaf),
    ("complex", Shape::Leaf),
    ("NoneType", Shape::Leaf),
    ("ellipsis", Shape::Leaf),
    ("bytes", Shape::Bytes),
    ("bytearray", Shape::ByteArray),
    ("array.array", Shape::Array),
    ("_io.BufferedReader", Shape::Buffered),
    ("_io.BufferedWriter", Shape::Buffered),
    ("_io.BufferedRandom", Shape::Buffered),
    ("str", Shape::Text),
    ("list", Shape::List),
    ("tuple", Shape::Tuple),
    ("collections.OrderedDict", Shape::OrderedDict),
    ("dict", Shape::Dict),
    ("frozendict", Shape::Dict),
    ("set", Shape::Set),
    ("frozenset", Shape::Set),
    ("collections.deque", Shape::Deque),
    ("_queue.SimpleQueue", Shape::SimpleQueue),
    ("type", Shape::Type),
    ("module", Shape::Module),
    ("weakref", Shape::WeakReference),
    ("weakref.ReferenceType", Shape::WeakReference),
    ("weakproxy", Shape::WeakReference),
    ("weakref.ProxyType", Shape::WeakReference),
    ("weakcallableproxy", Shape::WeakReference),
    ("weakref.CallableProxyType", Shape::WeakReference),
    ("functools._lru_cache_wrapper", Shape::Cache),
    ("functools._lru_list_elem", Shape::CacheEntry),
    ("generator", Shape::Generator),
    ("coroutine", Shape::Generator),
    ("async_generator", Shape::Generator),
    ("frame", Shape::Frame),
    ("code", Shape::Code),
    ("xml.etree.ElementTree.Element", Shape::Element),
    ("_pickle.Pickler", Shape::Pickler),
    ("_pickle.Unpickler", Shape::Unpickler),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub shape: Shape,
    /// The type itself, for the names of attributes that its objects share.
    pub class: u64,
    pub basic: u64,
    pub item: u64,
    pub flags: u64,
    /// Where words begin that the structure does not know: those of a class that was made from it.
    pub rest: u64,
    /// No reference: whoever is weakly referred to does not hold that reference.
    pub weak_list: u64,
    /// A dictionary that is counted from the end of an object.
    pub dict_from_end: Option<u64>,
    /// What `sys.getsizeof` adds for what stands before an object.
    pub before: u64,
}

impl Plan {
    pub(super) fn of<S: Source>(heap: &Heap<'_, S>, class: &Class) -> Plan {
        let bases = heap.bases(class);
        let known = bases.iter().map(|base| &**base).chain([class]);
        let found = known.filter_map(|base| Some((base, shape(base)?))).next();
        let (shape, rest) = match found {
            Some((base, shape)) => (shape, base.basic_size),
            None => (Shape::Scanned, class.basic_size),
        };
        let managed = class.has(flag::MANAGED_DICT);
        let from_end = class.dict_offset < -1 && !managed;
        Plan {
            shape,
            class: class.address,
            basic: class.basic_size,
            item: class.item_size,
            flags: class.flags,
            rest,
            weak_list: u64::try_from(class.weak_list).unwrap_or(0),
            dict_from_end: from_end.then(|| class.dict_offset.unsigned_abs()),
            before: before(class, heap.layout.minor),
        }
    }

    pub(super) fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

/// Only C names types like this: a class of a program is marked as one, and has no module in its name.
fn shape(class: &Class) -> Option<Shape> {
    if class.is_heap() && !class.name.contains('.') {
        return None;
    }
    let found = SHAPES.iter().find(|(name, _)| *name == class.name);
    found.map(|(_, shape)| *shape)
}

fn before(class: &Class, minor: u32) -> u64 {
    let links = if class.has(flag::COLLECTED) { LINKS } else { 0 };
    let words = match minor {
        ..=10 => 0,
        11 => flag::MANAGED_DICT,
        12.. => flag::MANAGED_DICT | flag::MANAGED_WEAK_LIST,
    };
    links + if class.has(words) { MANAGED } else { 0 }
}
