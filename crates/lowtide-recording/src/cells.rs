//! Integers and rows of integers as bytes. [`super::rows`] and [`super::sample`] say what they mean.
//!
//! A row is a fixed list of cells, each a number or nothing. It is stored as a mask of the cells
//! that changed and, for each of them, the difference from the row before.

/// A number, or nothing where there was nothing to read.
pub(crate) type Cell = Option<u64>;

/// How a choice is stored that was read from the recording of a later lowtide: its own number is not
/// known any more.
pub(crate) const OTHER: u64 = 127;

/// The bytes do not have the shape that the format asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Seven bits a byte, low ones first, the top bit says that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u64) {
    put_wide(out, value.into());
}

fn put_wide(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Small magnitudes of either sign become small numbers: 0, -1, 1, -2, …
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Bytes that are being read.
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        match self.0 {
            // One byte, most of the time.
            [byte, rest @ ..] if *byte < 0x80 => {
                self.0 = rest;
                Ok((*byte).into())
            }
            _ => u64::try_from(self.wide()?).map_err(|_| Malformed),
        }
    }

    fn wide(&mut self) -> Result<u128, Malformed> {
        // Most codes are short: up to eight groups of seven bits need no wide sums.
        let mut small = 0u64;
        for (nth, byte) in self.0.iter().take(8).enumerate() {
            small |= u64::from(byte & 0x7f) << (7 * nth);
            if *byte < 0x80 {
                self.0 = &self.0[nth + 1..];
                return Ok(small.into());
            }
        }
        let mut value = 0u128;
        // 65 bits are the most that a cell needs: ten groups of seven.
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    pub(crate) fn length(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.varint()?).map_err(|_| Malformed)
    }

    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let length = self.length()?;
        let bytes = self.bytes(length)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Malformed)
    }
}

/// Stores what changed from `old` to `new`, and makes `new` the old one.
///
/// A cell with a unit above 1 (pages, clock ticks) usually moves by whole units: the lowest bit of
/// its code says whether it did. Code 0 is no difference, so it is free to mean "from nothing to 0"
/// or "from something to nothing".
pub(crate) fn put_row<const N: usize>(
    out: &mut Vec<u8>,
    units: &[u64; N],
    old: &mut [Cell; N],
    new: [Cell; N],
) {
    put_varint(out, mask(old, &new));
    for ((unit, old), new) in units.iter().zip(old.iter()).zip(&new) {
        if old == new {
            continue;
        }
        let code = match new {
            None => 0,
            Some(new) => difference(new.wrapping_sub(old.unwrap_or(0)) as i64, *unit),
        };
        put_wide(out, code);
    }
    *old = new;
}

fn mask<const N: usize>(old: &[Cell; N], new: &[Cell; N]) -> u64 {
    const { assert!(N <= 63) };
    (0..N)
        .filter(|&i| old[i] != new[i])
        .fold(0, |mask, i| mask | 1 << i)
}

fn difference(delta: i64, unit: u64) -> u128 {
    let unit = unit as i64;
    if unit == 1 {
        zigzag(delta).into()
    } else if delta % unit == 0 {
        u128::from(zigzag(delta / unit)) << 1
    } else {
        u128::from(zigzag(delta)) << 1 | 1
    }
}

/// Applies stored changes to `row`. Bits of the mask beyond the row are columns of a later
/// lowtide: their codes are skipped.
pub(crate) fn take_row<const N: usize>(
    input: &mut Input,
    units: &[u64; N],
    row: &mut [Cell; N],
) -> Result<(), Malformed> {
    let mask = input.varint()?;
    take_changes(input, mask, units, row)
}

/// As [`take_row`], when the mask was read already.
pub(crate) fn take_changes<const N: usize>(
    input: &mut Input,
    mask: u64,
    units: &[u64; N],
    row: &mut [Cell; N],
) -> Result<(), Malformed> {
    let mut left = mask;
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        let code = input.wide()?;
        let Some(cell) = row.get_mut(bit) else {
            continue;
        };
        *cell = match (*cell, code) {
            (Some(_), 0) => None,
            (None, 0) => Some(0),
            (old, code) => {
                let delta = match units[bit] {
                    1 => unzigzag(u64::try_from(code).map_err(|_| Malformed)?),
                    unit if code & 1 == 0 => unzigzag((code >> 1) as u64).wrapping_mul(unit as i64),
                    _ => unzigzag((code >> 1) as u64),
                };
                Some(old.unwrap_or(0).wrapping_add(delta as u64))
            }
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: [u64; 3] = [1, 4096, 10_000];

    proptest! {
        #[test]
        fn any_row_after_any_row_comes_back(
            old in any::<[Cell; 3]>(),
            new in any::<[Cell; 3]>(),
        ) {
            let mut bytes = Vec::new();
            put_row(&mut bytes, &UNITS, &mut old.clone(), new);
            let mut row = old;
            let mut input = Input(&bytes);
            take_row(&mut input, &UNITS, &mut row).unwrap();
            prop_assert_eq!(row, new);
            prop_assert!(input.0.is_empty());
        }
    }

    #[test]
    fn a_move_by_a_few_pages_costs_a_byte_and_no_move_only_the_mask() {
        let mut row = [Some(7), Some(5 << 30), Some(70_000)];
        let mut bytes = Vec::new();
        put_row(&mut bytes, &UNITS, &mut row.clone(), row);
        assert_eq!(bytes, [0]);
        bytes.clear();
        let moved = [Some(7), Some((5 << 30) + 4096 * 31), Some(80_000)];
        put_row(&mut bytes, &UNITS, &mut row, moved);
        assert_eq!(bytes.len(), 3);
    }

    #[test]
    fn columns_of_a_later_lowtide_are_skipped() {
        let mut bytes = Vec::new();
        put_row(
            &mut bytes,
            &UNITS,
            &mut [None; 3],
            [Some(1), Some(2), Some(3)],
        );
        let mut row = [None; 2];
        let mut input = Input(&bytes);
        take_row(&mut input, &[1, 4096], &mut row).unwrap();
        assert_eq!(row, [Some(1), Some(2)]);
        assert!(input.0.is_empty());
    }
}
