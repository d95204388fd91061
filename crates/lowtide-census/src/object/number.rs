//! Whole numbers and floats.

use super::Heap;
use super::layout::{SIZE, flag};
use crate::source::Source;

/// A number's digits follow its size, 30 bits each.
const DIGITS: u64 = 24;
const DIGIT_BITS: u32 = 30;
/// A float's value.
const VALUE: u64 = 16;
/// The last version whose numbers have their sign in their size.
const SIGNED_SIZE: u32 = 11;

impl<S: Source> Heap<'_, S> {
    /// A whole number of at most two digits, which is below 2^60; `True` is 1.
    pub(crate) fn int(&self, object: u64) -> Option<i64> {
        if !self.type_of(object)?.has(flag::INT) {
            return None;
        }
        let bytes: [u8; 16] = self.source.array(object.checked_add(SIZE)?)?;
        let tag = i64::from_le_bytes(*bytes.first_chunk()?);
        debug_assert_eq!(DIGITS, SIZE + 8);
        let (negative, digits) = match self.layout.minor {
            ..=SIGNED_SIZE => (tag < 0, tag.unsigned_abs()),
            // Two bits for the sign (0 above, 1 nothing, 2 below), one for a note.
            _ => (tag & 3 == 2, tag as u64 >> 3),
        };
        let digit = |at: usize| {
            let digit = u32::from_le_bytes(*bytes[at..].first_chunk().expect("a digit"));
            (digit >> DIGIT_BITS == 0).then_some(i64::from(digit))
        };
        let value = match digits {
            // 3.12 writes a nothing with a digit of 0, and small ones with one.
            0 => 0,
            1 => digit(8)?,
            2 => digit(8)? | digit(12)? << DIGIT_BITS,
            _ => return None,
        };
        Some(if negative { -value } else { value })
    }

    /// A number that counts something.
    pub(crate) fn count(&self, object: u64) -> Option<u64> {
        u64::try_from(self.int(object)?).ok()
    }

    pub(crate) fn truth(&self, object: u64) -> Option<bool> {
        let class = self.type_of(object)?;
        (class.name == "bool").then(|| self.int(object) == Some(1))
    }

    pub(crate) fn float(&self, object: u64) -> Option<f64> {
        if self.type_of(object)?.name != "float" {
            return None;
        }
        let bytes = self.source.array(object.checked_add(VALUE)?)?;
        Some(f64::from_le_bytes(bytes)).filter(|value| value.is_finite())
    }

    /// A float, or a whole number as one.
    pub(crate) fn real(&self, object: u64) -> Option<f64> {
        let whole = || self.int(object).map(|value| value as f64);
        self.float(object).or_else(whole)
    }
}
