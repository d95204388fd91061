//! What holders had at one moment, as bytes, given the moment before. Writer and reader hold the same [`State`] and move
//! it the same way; a keyframe starts both from an empty one.
//!
//! ```text
//! lengths = head count reading*
//! ```
//! `head` is a row (time, pid, start, list), each reading a row of its own, against what the same place of the same process had
//! before. One that did not change is an empty mask, followed by how many further ones did not change either.

use std::collections::BTreeMap;

use lowtide_core::followed::{HolderReading, Lengths};
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;

use crate::cells::{Cell, Input, Malformed, put_row, put_varint, take_changes, take_row};

/// No process has more holders that are followed.
const MOST: usize = 256;
/// Processes whose readings are remembered; the next one begins anew, and so do all.
const PROCESSES: usize = 16;

const HEAD: usize = 4;
const HEAD_UNITS: [u64; HEAD] = [1; HEAD];
const ROW: usize = 4;
const ROW_UNITS: [u64; ROW] = [1; ROW];
type Row = [Cell; ROW];

#[derive(Default)]
pub(crate) struct State {
    head: [Cell; HEAD],
    rows: BTreeMap<ProcId, Vec<Row>>,
}

fn row(reading: Option<&HolderReading>) -> Row {
    reading.map_or([None; ROW], |reading| {
        [
            Some(reading.length),
            reading.capacity,
            reading.filled,
            reading.renewed.then_some(1),
        ]
    })
}

fn reading(row: &Row) -> Option<HolderReading> {
    Some(HolderReading {
        length: row[0]?,
        capacity: row[1],
        filled: row[2],
        renewed: row[3].is_some(),
    })
}

impl State {
    /// The rows of a process, as many as it has now.
    fn rows(&mut self, id: ProcId, count: usize) -> &mut Vec<Row> {
        if self.rows.len() >= PROCESSES && !self.rows.contains_key(&id) {
            self.rows.clear();
        }
        let rows = self.rows.entry(id).or_default();
        if rows.len() != count {
            rows.clear();
            rows.resize(count, [None; ROW]);
        }
        rows
    }

    pub(crate) fn put(&mut self, out: &mut Vec<u8>, lengths: &Lengths) -> Result<(), Malformed> {
        let count = lengths.readings.len();
        if count > MOST {
            return Err(Malformed);
        }
        let Lengths {
            at,
            id,
            list,
            readings,
        } = lengths;
        let head = [Some(at.0), Some(id.pid.into()), Some(id.start), Some(*list)];
        put_row(out, &HEAD_UNITS, &mut self.head, head);
        put_varint(out, count as u64);
        let rows = self.rows(*id, count);
        let mut nth = 0;
        while nth < count {
            let new = row(readings[nth].as_ref());
            let is_same = new == rows[nth];
            put_row(out, &ROW_UNITS, &mut rows[nth], new);
            nth += 1;
            if is_same {
                let further =
                    (nth..count).take_while(|at| row(readings[*at].as_ref()) == rows[*at]);
                let further = further.count();
                put_varint(out, further as u64);
                nth += further;
            }
        }
        Ok(())
    }

    /// Moves on, and says of how many readings [`State::lengths`] will tell.
    pub(crate) fn take(&mut self, input: &mut Input) -> Result<(ProcId, usize), Malformed> {
        take_row(input, &HEAD_UNITS, &mut self.head)?;
        let count = input.length()?;
        let [Some(_), Some(pid), Some(start), Some(_)] = self.head else {
            return Err(Malformed);
        };
        let pid = u32::try_from(pid).map_err(|_| Malformed)?;
        if count > MOST {
            return Err(Malformed);
        }
        let id = ProcId { pid, start };
        let rows = self.rows(id, count);
        let mut nth = 0;
        while nth < count {
            let mask = input.varint()?;
            take_changes(input, mask, &ROW_UNITS, &mut rows[nth])?;
            nth += 1;
            if mask == 0 {
                let further = input.length()?;
                if further > count - nth {
                    return Err(Malformed);
                }
                nth += further;
            }
        }
        Ok((id, count))
    }

    /// What was taken last, of this process.
    pub(crate) fn lengths(&self, id: ProcId) -> Option<Lengths> {
        Some(Lengths {
            at: Micros(self.head[0]?),
            id,
            list: self.head[3]?,
            readings: self.rows.get(&id)?.iter().map(reading).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn any_reading() -> impl Strategy<Value = HolderReading> {
        let numbers = (0..u64::MAX, option::of(0..u64::MAX), option::of(0..9u64));
        (numbers, any::<bool>()).prop_map(|((length, capacity, filled), renewed)| HolderReading {
            length,
            capacity,
            filled,
            renewed,
        })
    }

    /// A few processes, whose holders change in number.
    fn any_lengths() -> impl Strategy<Value = Lengths> {
        let readings = vec(option::of(any_reading()), 0..6);
        (0..u64::MAX, 0..20u32, 0..3u64, readings).prop_map(|(at, pid, start, readings)| Lengths {
            at: Micros(at),
            id: ProcId { pid, start },
            list: at % 5,
            readings,
        })
    }

    proptest! {
        #[test]
        fn any_moments_come_back(moments in vec(any_lengths(), 0..60)) {
            let (mut writer, mut reader) = (State::default(), State::default());
            for moment in moments {
                let mut bytes = Vec::new();
                writer.put(&mut bytes, &moment).unwrap();
                let mut input = Input(&bytes);
                let (id, count) = reader.take(&mut input).unwrap();
                prop_assert_eq!(count, moment.readings.len());
                prop_assert!(input.0.is_empty());
                prop_assert_eq!(reader.lengths(id), Some(moment));
            }
        }

        #[test]
        fn any_bytes_are_a_moment_or_malformed(bytes in vec(any::<u8>(), 0..200)) {
            let mut reader = State::default();
            if let Ok((id, count)) = reader.take(&mut Input(&bytes)) {
                prop_assert_eq!(reader.lengths(id).unwrap().readings.len(), count);
                prop_assert!(count <= MOST);
            }
        }
    }

    #[test]
    fn a_tick_of_32_holders_of_which_one_grows_takes_a_dozen_bytes() {
        let mut writer = State::default();
        let mut bytes = Vec::new();
        for second in 0..100 {
            bytes.clear();
            let reading = |nth: u64| HolderReading {
                length: 1000 + if nth == 7 { 5 * second } else { 0 },
                capacity: Some(4000),
                filled: None,
                renewed: false,
            };
            let lengths = Lengths {
                at: Micros(1_000_000 * second),
                id: ProcId { pid: 7, start: 9 },
                list: 3,
                readings: (0..32).map(|nth| Some(reading(nth))).collect(),
            };
            writer.put(&mut bytes, &lengths).unwrap();
        }
        assert!(bytes.len() <= 12, "{bytes:?}");
    }
}
