//! numpy's arrays: type, shape, and whose memory it is. One that has a base counts nothing of its own.

use crate::object::Heap;
use crate::source::Source;

/// In an array (`PyArrayObject_fields`, numpy 1 and 2): its data, the number of dimensions, its shape, what it is a view
/// of, its type, its flags.
const DATA: usize = 0;
const DIMENSIONS: usize = 1;
const SHAPE: usize = 2;
const BASE: usize = 4;
const TYPE: usize = 5;
const FLAGS: usize = 6;
const FIELDS: u64 = 16;
/// It frees its data itself.
const OWNS_DATA: u64 = 4;
/// numpy's own limit.
const MOST_DIMENSIONS: u64 = 64;
const MOST_BYTES: u64 = 1 << 47;
/// In a type: its kind, its number, then how long an element is, which numpy 2 has moved behind wider flags.
const KIND: usize = 24;
const NUMBER: usize = 28;
const LENGTH_1: usize = 32;
const LENGTH_2: usize = 40;
const READ: usize = 48;

/// Numbers of types that are of one length, with it.
const NUMBERS: [(&str, u64); 17] = [
    ("bool", 1),
    ("int8", 1),
    ("uint8", 1),
    ("int16", 2),
    ("uint16", 2),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("int64", 8),
    ("uint64", 8),
    ("float32", 4),
    ("float64", 8),
    ("float128", 16),
    ("complex64", 8),
    ("complex128", 16),
    ("complex256", 32),
];
const OBJECT: i32 = 17;
const HALF: i32 = 23;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub object: u64,
    /// As numpy writes it: `float64`, `<U7`; times without their unit, and records without their fields.
    pub element: String,
    pub shape: Box<[u64]>,
    pub data: u64,
    /// All of its elements.
    pub bytes: u64,
    /// What keeps its data, if it does not itself: another object, or 0 where that is not known.
    pub base: u64,
    pub owns_data: bool,
}

impl Array {
    /// What it adds to this process's memory.
    pub(crate) fn own_bytes(&self) -> u64 {
        if self.owns_data { self.bytes } else { 0 }
    }
}

pub(super) fn read<S: Source>(heap: &Heap<'_, S>, object: u64) -> Option<Array> {
    let words = heap.source.words(object.checked_add(FIELDS)?, 7)?;
    // Counts are of 32 bits.
    let dimensions = words[DIMENSIONS] & 0xffff_ffff;
    if dimensions > MOST_DIMENSIONS {
        return None;
    }
    let shape = match dimensions {
        0 => Vec::new(),
        count => heap.source.words(words[SHAPE], count as usize)?,
    };
    let (element, length) = element(heap, words[TYPE])?;
    let bytes = super::calibrate::product(&shape)?
        .checked_mul(length)
        .filter(|bytes| *bytes < MOST_BYTES)?;
    Some(Array {
        object,
        element,
        shape: shape.into_boxed_slice(),
        data: words[DATA],
        bytes,
        base: words[BASE],
        owns_data: words[FLAGS] & OWNS_DATA != 0,
    })
}

/// The name of a type and how long its elements are.
fn element<S: Source>(heap: &Heap<'_, S>, at: u64) -> Option<(String, u64)> {
    let class = heap.type_of(at)?;
    class.name.starts_with("numpy.dtype").then_some(())?;
    let bytes: [u8; READ] = heap.source.array(at)?;
    let number = |at: usize| Some(i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let kind = number(NUMBER)?;
    if let Some((name, length)) = usize::try_from(kind)
        .ok()
        .and_then(|kind| NUMBERS.get(kind))
    {
        return Some(((*name).to_owned(), *length));
    }
    match kind {
        OBJECT => return Some(("object".to_owned(), 8)),
        HALF => return Some(("float16".to_owned(), 2)),
        _ => {}
    }
    // Before numpy 2 the length stands where flags are now, with the alignment behind it: a small number that is not
    // 0, with another one; flags of 64 bits have 0 there.
    let (old, align) = (number(LENGTH_1)?, number(LENGTH_1 + 4)?);
    let length = match align {
        1..=64 => u64::try_from(old).ok()?,
        _ => u64::from_le_bytes(*bytes.get(LENGTH_2..)?.first_chunk()?),
    };
    let name = match bytes[KIND] {
        b'S' => format!("|S{length}"),
        b'U' => format!("<U{}", length / 4),
        b'M' => "datetime64".to_owned(),
        b'm' => "timedelta64".to_owned(),
        _ => format!("|V{length}"),
    };
    Some((name, length))
}
