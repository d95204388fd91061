//! A sample as bytes, given the one before it. Writer and reader hold the same [`State`] and move
//! it the same way; a keyframe starts both from an empty one.
//!
//! ```text
//! sample = seq planned late changed [processes] [places] [gaps]
//!          node tree [limit] cgroup* gpu* reading*
//! ```
//! `seq` and `planned` are differences from what was expected; `changed` has a bit for each of the
//! three lists that is stored again because it is not the one of the sample before. What a later lowtide
//! adds comes after the last reading, where this one stops reading.

use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy, Limit, LimitFrom, Reading, Sample};
use lowtide_core::units::{Bytes, Micros};

use crate::budget::Budget;
use crate::cells::{
    Cell, Input, Malformed, OTHER, put_row, put_text, put_varint, take_changes, take_row, unzigzag,
    zigzag,
};
use crate::rows::{self, CGROUP, GPU, LIMIT, NODE, READING, TREE};

/// More entries in a list than any machine has processes in one tree: damage, not data.
const MAX_LIST: usize = 1 << 17;

/// Moving a process to another list takes as long as telling so many readings.
const FOR_A_MOVE: usize = 3;
/// And copying so many bytes of text takes as long as one.
const TEXT_FOR_ONE: usize = 256;

const PROCESSES: u64 = 1;
const PLACES: u64 = 2;
const GAPS: u64 = 4;

/// Instead of the code of where a limit is from.
const NO_LIMIT: u64 = 0;

/// What the next sample is compared with.
#[derive(Default)]
pub(crate) struct State {
    seq: u64,
    /// When the tick was to begin, and how long after the one before.
    planned: u64,
    step: u64,
    late: u64,
    ids: Vec<ProcId>,
    readings: Vec<[Cell; READING]>,
    /// The reader's: what the rows say, none before the first row of a process. Most columns stay as they
    /// were, so that only what changed is taken over.
    decoded: Vec<Option<Reading>>,
    /// The reader's: the room of the list before the last, for the next one. Seventy megabytes of a hundred
    /// thousand processes, asked of the kernel anew for each that came or went, took three times as long as
    /// all the rest.
    room: Room,
    places: Places,
    node: [Cell; NODE],
    tree: [Cell; TREE],
    limit: [Cell; LIMIT],
    cgroups: Vec<[Cell; CGROUP]>,
    gpus: Vec<[Cell; GPU]>,
    gaps: Vec<Gap>,
    /// The reader's: their part of [`State::weight`].
    gaps_weight: usize,
    /// The reader's: some of `decoded` are missing.
    joined: bool,
}

/// Lists that are empty, and keep what they took.
#[derive(Default)]
struct Room {
    ids: Vec<ProcId>,
    readings: Vec<[Cell; READING]>,
    decoded: Vec<Option<Reading>>,
}

/// The names in a sample that hardly ever change.
#[derive(Default, PartialEq)]
struct Places {
    cgroups: Vec<String>,
    gpus: Vec<(u32, String)>,
    limit: Option<LimitFrom>,
}

/// Samples tell processes by pid, so a search by halves finds one: a storm of forks would take the square of its
/// size. One that is out of order is missed, and written anew.
fn is_among(old: &[ProcId], id: ProcId) -> bool {
    let at = old.partition_point(|old| old.pid < id.pid);
    old.get(at) == Some(&id)
}

impl State {
    pub(crate) fn put(&mut self, out: &mut Vec<u8>, sample: &Sample) -> Result<(), Malformed> {
        if sample.readings.len().max(sample.gaps.len()) > MAX_LIST {
            return Err(Malformed);
        }
        self.put_time(out, sample);
        let same_ids = sample.readings.iter().map(|r| &r.id).eq(&self.ids);
        let same_places = self.places.are_those_of(sample);
        let same_gaps = self.gaps == sample.gaps;
        let changed = [
            (same_ids, PROCESSES),
            (same_places, PLACES),
            (same_gaps, GAPS),
        ]
        .into_iter()
        .filter(|(same, _)| !same)
        .fold(0, |bits, (_, bit)| bits | bit);
        put_varint(out, changed);
        if !same_ids {
            self.put_processes(out, sample);
        }
        if !same_places {
            self.take_over(Places::of(sample));
            self.places.put(out);
        }
        if !same_gaps {
            self.gaps.clone_from(&sample.gaps);
            put_gaps(out, &self.gaps);
        }
        self.put_rows(out, sample);
        Ok(())
    }

    /// Moves on to the next sample, by as much work as it has bytes; `budget` pays for a list of processes,
    /// which a few bytes can turn over. [`State::sample`] then tells all of it.
    pub(crate) fn take(&mut self, input: &mut Input, budget: &mut Budget) -> Result<(), Malformed> {
        self.take_time(input)?;
        let changed = input.varint()?;
        if changed & PROCESSES != 0 {
            if !budget.pays(self.ids.len() * FOR_A_MOVE) {
                return Err(Malformed);
            }
            self.take_processes(input)?;
        }
        if changed & PLACES != 0 {
            let places = Places::take(input)?;
            self.take_over(places);
        }
        if changed & GAPS != 0 {
            self.gaps = take_gaps(input)?;
            let weight = |gap: &Gap| 1 + gap.what.len() / TEXT_FOR_ONE;
            self.gaps_weight = self.gaps.iter().map(weight).sum();
        }
        self.take_rows(input)
    }

    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn at(&self) -> Micros {
        Micros(self.planned.wrapping_add(self.late))
    }

    /// What the tree held.
    pub(crate) fn held(&self) -> Option<Bytes> {
        Some(rows::tree(&self.tree, self.at())?.held)
    }

    /// What it takes to tell all of the sample, in readings.
    pub(crate) fn weight(&self) -> usize {
        let text = |text: &String| 1 + text.len() / TEXT_FOR_ONE;
        let places = &self.places;
        let cgroups: usize = places.cgroups.iter().map(text).sum();
        let gpus: usize = places.gpus.iter().map(|(_, name)| text(name)).sum();
        let limit = match &places.limit {
            Some(LimitFrom::Cgroup(path)) => text(path),
            _ => 0,
        };
        self.ids.len() + cgroups + gpus + limit + self.gaps_weight
    }

    fn put_time(&mut self, out: &mut Vec<u8>, sample: &Sample) {
        let planned = sample.at.0.wrapping_sub(sample.late.0);
        let step = planned.wrapping_sub(self.planned);
        let expected = self.seq.wrapping_add(1);
        put_varint(out, zigzag(sample.seq.wrapping_sub(expected) as i64));
        put_varint(out, zigzag(step.wrapping_sub(self.step) as i64));
        put_varint(out, zigzag(sample.late.0.wrapping_sub(self.late) as i64));
        (self.seq, self.planned, self.step, self.late) = (sample.seq, planned, step, sample.late.0);
    }

    fn take_time(&mut self, input: &mut Input) -> Result<(), Malformed> {
        let moved = |old: u64, code: u64| old.wrapping_add(unzigzag(code) as u64);
        self.seq = moved(self.seq.wrapping_add(1), input.varint()?);
        self.step = moved(self.step, input.varint()?);
        self.planned = self.planned.wrapping_add(self.step);
        self.late = moved(self.late, input.varint()?);
        Ok(())
    }

    /// The new list as runs of the old one: skip some, keep some, add some, until it is complete.
    /// Ids are ordered, so one pass finds the runs; any other order only costs more bytes.
    fn put_processes(&mut self, out: &mut Vec<u8>, sample: &Sample) {
        let (old_ids, old_rows) = (
            std::mem::take(&mut self.ids),
            std::mem::take(&mut self.readings),
        );
        put_varint(out, sample.readings.len() as u64);
        let mut cursor = 0;
        let mut new = sample.readings.iter().map(|r| r.id).peekable();
        while new.peek().is_some() {
            let skip = new
                .peek()
                .and_then(|id| old_ids[cursor..].iter().position(|old| old == id))
                .unwrap_or(0);
            cursor += skip;
            put_varint(out, skip as u64);
            let first = cursor;
            while let Some(id) = new.next_if(|id| old_ids.get(cursor) == Some(id)) {
                self.ids.push(id);
                self.readings.push(old_rows[cursor]);
                cursor += 1;
            }
            put_varint(out, (cursor - first) as u64);
            let added = self.ids.len();
            while let Some(id) = new.next_if(|id| !is_among(&old_ids[cursor..], *id)) {
                self.ids.push(id);
                self.readings.push([None; READING]);
            }
            put_varint(out, (self.ids.len() - added) as u64);
            for id in &self.ids[added..] {
                put_varint(out, id.pid.into());
                put_varint(out, id.start);
            }
        }
    }

    fn take_processes(&mut self, input: &mut Input) -> Result<(), Malformed> {
        std::mem::swap(&mut self.ids, &mut self.room.ids);
        std::mem::swap(&mut self.readings, &mut self.room.readings);
        std::mem::swap(&mut self.decoded, &mut self.room.decoded);
        let taken = self.take_list(input);
        self.room.ids.clear();
        self.room.readings.clear();
        self.room.decoded.clear();
        taken
    }

    /// The list, of what stands in the room for it and what is new.
    fn take_list(&mut self, input: &mut Input) -> Result<(), Malformed> {
        let Room {
            ids: old_ids,
            readings: old_rows,
            decoded: old_decoded,
        } = &self.room;
        let count = list_length(input)?;
        let mut cursor = 0usize;
        while self.ids.len() < count {
            let (skip, keep) = (input.length()?, input.length()?);
            let first = cursor.checked_add(skip).ok_or(Malformed)?;
            cursor = first.checked_add(keep).ok_or(Malformed)?;
            let kept = old_ids.get(first..cursor).ok_or(Malformed)?;
            self.ids.extend_from_slice(kept);
            self.readings.extend_from_slice(&old_rows[first..cursor]);
            self.decoded.extend_from_slice(&old_decoded[first..cursor]);
            for _ in 0..list_length(input)? {
                let pid = u32::try_from(input.varint()?).map_err(|_| Malformed)?;
                let start = input.varint()?;
                self.ids.push(ProcId { pid, start });
                self.readings.push([None; READING]);
                self.decoded.push(None);
                self.joined = true;
            }
        }
        if self.ids.len() > count {
            return Err(Malformed);
        }
        Ok(())
    }

    /// Other places: their rows start from nothing.
    fn take_over(&mut self, places: Places) {
        self.cgroups = vec![[None; CGROUP]; places.cgroups.len()];
        self.gpus = vec![[None; GPU]; places.gpus.len()];
        self.limit = [None; LIMIT];
        self.places = places;
    }

    fn put_rows(&mut self, out: &mut Vec<u8>, sample: &Sample) {
        put_row(
            out,
            &rows::NODE_UNITS,
            &mut self.node,
            rows::node_row(&sample.node),
        );
        let tree = rows::tree_row(&sample.tree, sample.at);
        put_row(out, &rows::TREE_UNITS, &mut self.tree, tree);
        if let Some(limit) = &sample.limit {
            let row = [Some(limit.bytes.0), Some(limit.used.0)];
            put_row(out, &rows::LIMIT_UNITS, &mut self.limit, row);
        }
        for (old, cgroup) in self.cgroups.iter_mut().zip(&sample.cgroups) {
            put_row(out, &rows::CGROUP_UNITS, old, rows::cgroup_row(cgroup));
        }
        for (old, gpu) in self.gpus.iter_mut().zip(&sample.gpus) {
            put_row(out, &rows::GPU_UNITS, old, rows::gpu_row(gpu));
        }
        // A row that did not change is an empty mask and the number of such rows that follow it.
        let mut index = 0;
        let new_row = |index: usize| rows::reading_row(&sample.readings[index]);
        while index < self.readings.len() {
            let row = new_row(index);
            let same = row == self.readings[index];
            put_row(out, &rows::READING_UNITS, &mut self.readings[index], row);
            index += 1;
            if same {
                let run = (index..self.readings.len())
                    .take_while(|&next| new_row(next) == self.readings[next])
                    .count();
                put_varint(out, run as u64);
                index += run;
            }
        }
    }

    fn take_rows(&mut self, input: &mut Input) -> Result<(), Malformed> {
        take_row(input, &rows::NODE_UNITS, &mut self.node)?;
        take_row(input, &rows::TREE_UNITS, &mut self.tree)?;
        if self.places.limit.is_some() {
            take_row(input, &rows::LIMIT_UNITS, &mut self.limit)?;
        }
        for row in &mut self.cgroups {
            take_row(input, &rows::CGROUP_UNITS, row)?;
        }
        for row in &mut self.gpus {
            take_row(input, &rows::GPU_UNITS, row)?;
        }
        let mut nth = 0;
        while nth < self.readings.len() {
            match input.varint()? {
                0 => {
                    let run = input.length()?;
                    if run >= self.readings.len() - nth {
                        return Err(Malformed);
                    }
                    nth += run;
                }
                mask => {
                    let row = &mut self.readings[nth];
                    take_changes(input, mask, &rows::READING_UNITS, row)?;
                    if let Some(reading) = &mut self.decoded[nth] {
                        rows::update(reading, mask, row).ok_or(Malformed)?;
                    }
                }
            }
            nth += 1;
        }
        if !std::mem::take(&mut self.joined) {
            return Ok(());
        }
        for ((decoded, id), row) in self.decoded.iter_mut().zip(&self.ids).zip(&self.readings) {
            if decoded.is_none() {
                *decoded = Some(rows::reading(*id, row).ok_or(Malformed)?);
            }
        }
        Ok(())
    }

    /// All of the sample that was taken last.
    pub(crate) fn sample(&self) -> Option<Sample> {
        let at = self.at();
        let cgroups = self.places.cgroups.iter().zip(&self.cgroups);
        let gpus = self.places.gpus.iter().zip(&self.gpus);
        let limit = match &self.places.limit {
            None => None,
            Some(from) => Some(Limit {
                bytes: Bytes(self.limit[0]?),
                used: Bytes(self.limit[1]?),
                from: from.clone(),
            }),
        };
        Some(Sample {
            seq: self.seq,
            at,
            late: Micros(self.late),
            readings: self.decoded.iter().copied().collect::<Option<_>>()?,
            node: rows::node(&self.node)?,
            cgroups: cgroups
                .map(|(path, row)| rows::cgroup(path.clone(), row))
                .collect::<Option<_>>()?,
            limit,
            tree: rows::tree(&self.tree, at)?,
            gpus: gpus
                .map(|((index, name), row)| rows::gpu(*index, name.clone(), row))
                .collect::<Option<_>>()?,
            gaps: self.gaps.clone(),
        })
    }
}

impl Places {
    fn of(sample: &Sample) -> Places {
        Places {
            cgroups: sample.cgroups.iter().map(|c| c.path.clone()).collect(),
            gpus: sample
                .gpus
                .iter()
                .map(|g| (g.index, g.name.clone()))
                .collect(),
            limit: sample.limit.as_ref().map(|l| l.from.clone()),
        }
    }

    fn are_those_of(&self, sample: &Sample) -> bool {
        let gpus = self.gpus.iter().map(|(index, name)| (*index, name));
        self.cgroups
            .iter()
            .eq(sample.cgroups.iter().map(|c| &c.path))
            && gpus.eq(sample.gpus.iter().map(|g| (g.index, &g.name)))
            && self.limit.as_ref() == sample.limit.as_ref().map(|l| &l.from)
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.cgroups.len() as u64);
        self.cgroups.iter().for_each(|path| put_text(out, path));
        put_varint(out, self.gpus.len() as u64);
        for (index, name) in &self.gpus {
            put_varint(out, (*index).into());
            put_text(out, name);
        }
        let (code, path) = match &self.limit {
            None => (NO_LIMIT, ""),
            Some(LimitFrom::Cgroup(path)) => (1, path.as_str()),
            Some(LimitFrom::Node) => (2, ""),
            Some(LimitFrom::Slurm) => (3, ""),
            Some(LimitFrom::Rlimit) => (4, ""),
            Some(LimitFrom::User) => (5, ""),
            Some(LimitFrom::Other) => (OTHER, ""),
        };
        put_varint(out, code);
        if code != NO_LIMIT {
            // Whatever the code is, so that those of a later lowtide can be stepped over.
            put_text(out, path);
        }
    }

    fn take(input: &mut Input) -> Result<Places, Malformed> {
        let cgroups = (0..list_length(input)?)
            .map(|_| input.text())
            .collect::<Result<_, _>>()?;
        let gpus = (0..list_length(input)?)
            .map(|_| {
                let index = u32::try_from(input.varint()?).map_err(|_| Malformed)?;
                Ok((index, input.text()?))
            })
            .collect::<Result<_, _>>()?;
        let limit = match input.varint()? {
            NO_LIMIT => None,
            code => {
                let path = input.text()?;
                Some(match code {
                    1 => LimitFrom::Cgroup(path),
                    2 => LimitFrom::Node,
                    3 => LimitFrom::Slurm,
                    4 => LimitFrom::Rlimit,
                    5 => LimitFrom::User,
                    _ => LimitFrom::Other,
                })
            }
        };
        Ok(Places {
            cgroups,
            gpus,
            limit,
        })
    }
}

/// Reasons by their number.
const WHYS: [GapWhy; 7] = [
    GapWhy::Vanished,
    GapWhy::Denied,
    GapWhy::TooLarge,
    GapWhy::Late,
    GapWhy::Dropped,
    GapWhy::Unsupported,
    GapWhy::Malformed,
];

fn put_gaps(out: &mut Vec<u8>, gaps: &[Gap]) {
    put_varint(out, gaps.len() as u64);
    for gap in gaps {
        let why = WHYS.iter().position(|why| *why == gap.why);
        let why = why.map_or(OTHER, |why| why as u64);
        // Twice the reason, plus one when a process is named.
        put_varint(out, why << 1 | u64::from(gap.who.is_some()));
        if let Some(id) = gap.who {
            put_varint(out, id.pid.into());
            put_varint(out, id.start);
        }
        put_text(out, &gap.what);
    }
}

fn take_gaps(input: &mut Input) -> Result<Vec<Gap>, Malformed> {
    (0..list_length(input)?)
        .map(|_| {
            let code = input.length()?;
            let why = WHYS.get(code >> 1).copied().unwrap_or(GapWhy::Other);
            let who = if code & 1 == 1 {
                let pid = u32::try_from(input.varint()?).map_err(|_| Malformed)?;
                let start = input.varint()?;
                Some(ProcId { pid, start })
            } else {
                None
            };
            let what = input.text()?;
            Ok(Gap { who, what, why })
        })
        .collect()
}

fn list_length(input: &mut Input) -> Result<usize, Malformed> {
    let length = input.length()?;
    if length > MAX_LIST {
        return Err(Malformed);
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_changes_takes_the_room_of_an_earlier_one() {
        let (mut writer, mut reader) = (State::default(), State::default());
        for (seq, processes) in [100, 99, 1, 2].into_iter().enumerate() {
            let id = |pid| ProcId { pid, start: 1 };
            let sample = Sample {
                seq: seq as u64,
                readings: (1..=processes).map(|pid| Reading::of(id(pid))).collect(),
                ..Sample::default()
            };
            let mut bytes = Vec::new();
            writer.put(&mut bytes, &sample).unwrap();
            let taken = reader.take(&mut Input(&bytes), &mut Budget::default());
            assert!(taken.is_ok() && reader.sample() == Some(sample));
        }
        let rooms = [
            reader.ids.capacity(),
            reader.readings.capacity(),
            reader.decoded.capacity(),
        ];
        assert!(rooms.iter().all(|room| *room >= 99), "{rooms:?}");
    }
}
