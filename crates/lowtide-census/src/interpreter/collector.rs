//! CPython's cyclic collector: the circular lists of the objects that it tracks, and what it counts.
//!
//! The struct moved with nearly every version, and within patch releases too (3.13.18 lowered the alignment
//! of its lists to 4, 3.14.5 has three generations again where 3.14.4 has two). So its place is found by what
//! it is: three heads of circular lists in a row. Which of the known shapes follows them is decided by words
//! that must be what they are: the address of the youngest list, and two Python lists side by side (`gc.garbage`,
//! `gc.callbacks`).

use std::ops::Add;

use crate::source::{Source, is_pointer};

/// Bytes of an interpreter's state that are searched: the farthest collector known begins at 7424.
const SEARCHED: usize = 16 << 10;
/// One generation: next, previous, threshold and count.
const GENERATION: u64 = 24;
const THRESHOLD: u64 = 16;
const COUNT: u64 = 20;
/// The lowest bits of both links carry flags.
const FLAGS: u64 = 3;
/// What lies behind the lists is read with them.
const READ: usize = 264;

/// What is behind the three lists, as offsets from the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    permanent: u64,
    /// Counts per generation, or the address of them.
    stats: Stats,
    /// `gc.garbage` and, right behind it, `gc.callbacks`.
    garbage: u64,
    /// Objects that survived collections of all generations; none with the incremental collector, which counts
    /// all it has.
    long_lived: Option<u64>,
    heap_size: Option<u64>,
    /// The address of the youngest list.
    youngest: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stats {
    Here(u64),
    /// 3.15: the address of rings, one for each generation, that keep the newest collections.
    Rings(u64),
}

/// As found: what they are checked by differs, so the order does not matter, but for the last, which has
/// least to be checked by.
const SHAPES: [Shape; 5] = [
    // 3.9 to 3.13.
    Shape {
        permanent: 80,
        stats: Stats::Here(104),
        garbage: 184,
        long_lived: Some(200),
        heap_size: None,
        youngest: Some(72),
    },
    // 3.13, from a patch release on: lists are aligned to 4 bytes, and what follows to 8.
    Shape {
        permanent: 84,
        stats: Stats::Here(108),
        garbage: 188,
        long_lived: Some(204),
        heap_size: None,
        youngest: Some(76),
    },
    // 3.14.5 and later.
    Shape {
        permanent: 72,
        stats: Stats::Here(96),
        garbage: 176,
        long_lived: Some(216),
        heap_size: Some(192),
        youngest: Some(232),
    },
    // 3.15.
    Shape {
        permanent: 72,
        stats: Stats::Rings(96),
        garbage: 120,
        long_lived: Some(144),
        heap_size: Some(136),
        youngest: Some(160),
    },
    // 3.14.0 to 3.14.4: incremental.
    Shape {
        permanent: 72,
        stats: Stats::Here(96),
        garbage: 176,
        long_lived: None,
        heap_size: Some(192),
        youngest: None,
    },
];

/// 3.15's rings: where each generation's begins, how many collections it keeps and where its newest is told.
const RINGS: [(u64, u64, u64); 3] = [(0, 11, 704), (712, 3, 712 + 192), (912, 3, 912 + 192)];
const RING_ITEM: u64 = 64;
const RING_COLLECTIONS: u64 = 16;

/// What the collector counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Objects that it tracks; before 3.14 within some per cent: those of the middle generation are not counted.
    pub objects: u64,
    /// Collections done, youngest generation first. None where the rings could not be read.
    pub collections: Option<[u64; 3]>,
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        let both = self.collections.zip(other.collections);
        Counts {
            objects: self.objects.saturating_add(other.objects),
            collections: both
                .map(|(one, other)| std::array::from_fn(|nth| one[nth].saturating_add(other[nth]))),
        }
    }
}

/// Where the collector lies in an interpreter, and its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collector {
    offset: u64,
    shape: Shape,
}

impl Collector {
    /// The only one that fits; none when several do.
    pub(super) fn find(source: &impl Source, interpreter: u64) -> Option<Collector> {
        let bytes = read(source, interpreter);
        // Not in steps of 8: see above.
        let offsets = (0..bytes.len().saturating_sub(READ)).step_by(4);
        let mut found = offsets
            .filter(|at| are_lists(source, interpreter + *at as u64, &bytes[*at..]))
            .filter_map(|at| {
                let shape = shape(source, interpreter + at as u64, &bytes[at..])?;
                let offset = at as u64;
                Some(Collector { offset, shape })
            });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// The heads of its lists, youngest first, then that of `gc.freeze()`.
    pub(crate) fn lists(&self, interpreter: u64) -> [u64; 4] {
        let first = interpreter.wrapping_add(self.offset);
        let list = |nth: u64| first.wrapping_add(nth * GENERATION);
        let permanent = first.wrapping_add(self.shape.permanent);
        [list(0), list(1), list(2), permanent]
    }

    /// A collection is under way: its lists are taken apart meanwhile. The word stands before `gc.garbage`.
    pub(super) fn is_collecting(&self, source: &impl Source, interpreter: u64) -> Option<bool> {
        let at = self.offset.checked_add(self.shape.garbage - 8)?;
        let flag = source.array::<4>(interpreter.checked_add(at)?)?;
        Some(u32::from_le_bytes(flag) != 0)
    }

    pub(super) fn counts(&self, source: &impl Source, interpreter: u64) -> Option<Counts> {
        let bytes: [u8; READ] = source.array(interpreter.checked_add(self.offset)?)?;
        // A count below nothing, or of more objects than fit into memory, is none.
        let sane = |count: u64| (count < 1 << 40).then_some(count);
        let objects = match (self.shape.heap_size, self.shape.long_lived) {
            // Newer ones count all they have.
            (Some(at), _) => sane(word(&bytes, at)?)?,
            (None, Some(at)) => {
                let young = u64::from(number(&bytes, COUNT)?);
                // It may be garbage while it is written.
                let young = if young < 1 << 31 { young } else { 0 };
                let old = sane(word(&bytes, at)?)?.checked_add(sane(word(&bytes, at + 8)?)?)?;
                old.checked_add(young)?
            }
            (None, None) => return None,
        };
        let collections = match self.shape.stats {
            Stats::Here(at) => per_generation(|nth| word(&bytes, at + nth * GENERATION)),
            Stats::Rings(at) => {
                let rings = word(&bytes, at)?;
                per_generation(|nth| newest_in_ring(source, rings, nth))
            }
        };
        Some(Counts {
            objects,
            collections,
        })
    }
}

fn per_generation(count: impl Fn(u64) -> Option<u64>) -> Option<[u64; 3]> {
    Some([count(0)?, count(1)?, count(2)?])
}

fn newest_in_ring(source: &impl Source, rings: u64, nth: u64) -> Option<u64> {
    let (begin, length, newest) = RINGS[nth as usize];
    let [index] = source.array(rings.checked_add(newest)?)?;
    if u64::from(index) >= length {
        return None;
    }
    let item = rings.checked_add(begin + u64::from(index) * RING_ITEM)?;
    source.word(item.checked_add(RING_COLLECTIONS)?)
}

/// As much of it as can be read.
fn read(source: &impl Source, interpreter: u64) -> Vec<u8> {
    let mut bytes = vec![0; SEARCHED];
    let mut length = SEARCHED;
    while length > READ {
        if source.fill(interpreter, &mut bytes[..length]) {
            bytes.truncate(length);
            return bytes;
        }
        length /= 2;
    }
    Vec::new()
}

fn are_lists(source: &impl Source, first: u64, bytes: &[u8]) -> bool {
    // What needs no reading first: it rules out nearly all places.
    let links = |nth: u64| {
        let at = nth * GENERATION;
        let link = |at| word(bytes, at).map(|link| link & !FLAGS);
        let ours = first + at;
        let (next, previous) = (link(at)?, link(at + 8)?);
        let closed = (next == ours) == (previous == ours);
        // Heads may lie at multiples of four; objects do not.
        let leads = |link: u64| link == ours || is_pointer(link);
        let sane = number(bytes, at + THRESHOLD)? < 1 << 30;
        (leads(next) && leads(previous) && closed && sane).then_some((ours, next, previous))
    };
    let Some(lists) = (0..3).map(links).collect::<Option<Vec<_>>>() else {
        return false;
    };
    lists.into_iter().all(|(ours, next, previous)| {
        let leads_back = |at: u64| source.word(at).map(|link| link & !FLAGS) == Some(ours);
        next == ours || leads_back(next + 8) && leads_back(previous)
    })
}

fn shape(source: &impl Source, first: u64, bytes: &[u8]) -> Option<Shape> {
    SHAPES.into_iter().find(|shape| {
        let youngest = shape.youngest;
        let is_youngest = youngest.is_none_or(|at| word(bytes, at) == Some(first));
        is_youngest && are_python_lists(source, bytes, shape.garbage)
    })
}

/// `gc.garbage` is a list from the start; `gc.callbacks` when somebody imported `gc`, and nothing before.
fn are_python_lists(source: &impl Source, bytes: &[u8], at: u64) -> bool {
    let kind = |object: u64| {
        let object = Some(object).filter(|object| is_pointer(*object))?;
        source.pointer(object + crate::object::TYPE)
    };
    let (Some(garbage), Some(callbacks)) = (word(bytes, at), word(bytes, at + 8)) else {
        return false;
    };
    let Some(list) = kind(garbage) else {
        return false;
    };
    let name = || source.array::<5>(source.word(list + crate::object::TYPE_NAME)?);
    (callbacks == 0 || kind(callbacks) == Some(list)) && name().as_ref() == Some(b"list\0")
}

fn word(bytes: &[u8], at: u64) -> Option<u64> {
    let bytes = bytes.get(usize::try_from(at).ok()?..)?;
    Some(u64::from_le_bytes(*bytes.first_chunk()?))
}

fn number(bytes: &[u8], at: u64) -> Option<u32> {
    let bytes = bytes.get(usize::try_from(at).ok()?..)?;
    Some(u32::from_le_bytes(*bytes.first_chunk()?))
}
