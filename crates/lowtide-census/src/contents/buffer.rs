//! Plain bytes behind objects of the standard library and of Arrow.

use super::cpp::{Classes, Role};
use super::kinds::Behind;
use crate::object::Heap;
use crate::source::Source;

/// In a `bytearray`: bytes that were allocated, and where they are.
const BYTEARRAY_ROOM: u64 = 24;
const BYTEARRAY_DATA: u64 = 32;
/// In an `array.array`: its numbers, how many there is room for, and what they are (a letter, then their length).
const NUMBERS_DATA: u64 = 24;
const NUMBERS_ROOM: u64 = 32;
const NUMBERS_KIND: u64 = 40;
const NUMBERS_LENGTH: u64 = 4;
/// In an `mmap.mmap`: where and how long.
const MAPPED_DATA: u64 = 16;
const MAPPED_LENGTH: u64 = 24;
/// An Arrow buffer is among the first words of its Python object: a table of Cython's and weak references stand before.
const ARROW: std::ops::Range<u64> = 2..8;
/// In an Arrow buffer: its data and how long it is.
const ARROW_DATA: u64 = 16;
const ARROW_LENGTH: u64 = 24;
const MOST: u64 = 1 << 47;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub object: u64,
    pub data: u64,
    pub bytes: u64,
}

pub(super) fn read<S: Source>(
    heap: &Heap<'_, S>,
    classes: &Classes<'_, S>,
    object: u64,
    behind: Behind,
) -> Option<Buffer> {
    let source = heap.source;
    let word = |at: u64| source.word(object.checked_add(at)?);
    let (data, bytes) = match behind {
        Behind::Bytearray => (word(BYTEARRAY_DATA)?, word(BYTEARRAY_ROOM)?),
        Behind::Numbers => {
            let kind = source.pointer(object.checked_add(NUMBERS_KIND)?)?;
            let mut length = [0; 4];
            // A constant of the module.
            if !source.fill_constant(kind.checked_add(NUMBERS_LENGTH)?, &mut length) {
                return None;
            }
            let length = u64::from(u32::from_le_bytes(length));
            let right = matches!(length, 1 | 2 | 4 | 8 | 16);
            let room = word(NUMBERS_ROOM)?;
            (
                word(NUMBERS_DATA)?,
                right.then(|| room.checked_mul(length))??,
            )
        }
        Behind::Mapped => (word(MAPPED_DATA)?, word(MAPPED_LENGTH)?),
        Behind::ArrowBuffer => {
            let mut fields = ARROW.filter_map(|nth| source.pointer(object.checked_add(nth * 8)?));
            let buffer = fields.find(|at| classes.role(*at) == Some(Role::Buffer))?;
            (
                source.word(buffer + ARROW_DATA)?,
                source.word(buffer + ARROW_LENGTH)?,
            )
        }
        _ => return None,
    };
    (bytes < MOST).then_some(Buffer {
        object,
        data,
        bytes,
    })
}
