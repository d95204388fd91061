//! Which line an instruction stands in. There were three kinds of tables: pairs of steps (3.9), pairs with their ends
//! (3.10), and rows of their own length (from 3.11 on).

/// Rows of a table that are read: code is not longer than 65536 instructions.
const MOST: usize = 1 << 17;

/// Lines, by the instructions that they begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// First instruction in words of two bytes, and the line if there is one.
    rows: Vec<(usize, Option<u32>)>,
}

impl Lines {
    pub(super) fn read(minor: u32, table: &[u8], first: u32) -> Lines {
        let rows = match minor {
            ..=9 => steps(table, first),
            10 => pairs(table, first),
            11.. => entries(table, first),
        };
        Lines { rows }
    }

    /// The line of an instruction.
    pub(super) fn of(&self, at: usize) -> Option<u32> {
        let after = self.rows.partition_point(|(begin, _)| *begin <= at);
        self.rows.get(after.checked_sub(1)?)?.1
    }
}

fn line(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|line| *line > 0)
}

fn steps(table: &[u8], first: u32) -> Vec<(usize, Option<u32>)> {
    let (mut at, mut number) = (0, i64::from(first));
    let mut rows = vec![(0, line(number))];
    for [bytes, lines] in table.as_chunks::<2>().0.iter().take(MOST) {
        at += usize::from(*bytes);
        number += i64::from(*lines as i8);
        rows.push((at / 2, line(number)));
    }
    rows
}

fn pairs(table: &[u8], first: u32) -> Vec<(usize, Option<u32>)> {
    /// It says that these instructions stand in no line.
    const NONE: i8 = -128;
    let (mut at, mut number) = (0, i64::from(first));
    let mut rows = Vec::new();
    for [bytes, lines] in table.as_chunks::<2>().0.iter().take(MOST) {
        match *lines as i8 {
            NONE => rows.push((at / 2, None)),
            lines => {
                number += i64::from(lines);
                rows.push((at / 2, line(number)));
            }
        }
        at += usize::from(*bytes);
    }
    rows
}

/// Each begins with a byte whose highest bit is set: four bits for its kind, three for its instructions less one.
fn entries(table: &[u8], first: u32) -> Vec<(usize, Option<u32>)> {
    let (mut at, mut number) = (0, i64::from(first));
    let mut rows = Vec::new();
    let mut bytes = table.iter().copied().peekable();
    while let Some(head) = bytes.next()
        && rows.len() < MOST
    {
        if head & 0x80 == 0 {
            continue;
        }
        let kind = head >> 3 & 15;
        let step = match kind {
            15 => None,
            13 | 14 => Some(signed(&mut bytes)),
            10..=12 => Some(i64::from(kind) - 10),
            _ => Some(0),
        };
        number = number.saturating_add(step.unwrap_or(0));
        rows.push((at, step.and_then(|_| line(number))));
        at += usize::from(head & 7) + 1;
    }
    rows
}

/// Six bits a byte, the lowest first, one more that says that it goes on; the lowest bit of all is the sign.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let (mut value, mut shift) = (0i64, 0);
    for byte in bytes {
        if shift < 36 {
            value |= i64::from(byte & 0x3f) << shift;
        }
        shift += 6;
        if byte & 0x40 == 0 {
            break;
        }
    }
    let size = value >> 1;
    if value & 1 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(minor: u32, table: &[u8], first: u32) -> Vec<Option<u32>> {
        let lines = Lines::read(minor, table, first);
        (0..5).map(|at| lines.of(at)).collect()
    }

    #[test]
    fn each_kind_of_table_is_read() {
        // Line 3 for two instructions, then 5, then back to 4.
        let nine = lines(9, &[4, 2, 2, 255], 3);
        assert_eq!(nine, [3, 3, 5, 4, 4].map(Some));
        let ten = lines(10, &[4, 0, 2, 2, 2, 128, 2, 255], 3);
        assert_eq!(ten, [Some(3), Some(3), Some(5), None, Some(4)]);
        // One line with columns, two lines further, none, back by one without columns.
        let eleven = [
            0x80 | 10 << 3 | 1,
            0,
            4,
            0x80 | 12 << 3,
            0,
            4,
            0x80 | 15 << 3,
            0x80 | 13 << 3,
            3,
        ];
        assert_eq!(
            lines(11, &eleven, 3),
            [Some(3), Some(3), Some(5), None, Some(4)]
        );
    }

    proptest! {
        #[test]
        fn garbage_is_read_to_its_end(minor in 9u32..=15, table: Vec<u8>, first: u32, at: usize) {
            Lines::read(minor, &table, first).of(at);
        }
    }
}
