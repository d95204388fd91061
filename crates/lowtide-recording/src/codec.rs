//! Entries to records and back. The encoder fills [`Frames`]; the decoder gets the payload of one
//! frame at a time and keeps count of what damage cost, and of what only a later lowtide understands.

use std::collections::VecDeque;

use lowtide_core::entry::{Entry, EventKind};
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros};
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::cells::{Cell, Input, Malformed, put_row, take_row};
use crate::frame::{Frames, MAX_PAYLOAD, Start};
use crate::lengths;
use crate::rows::{self, MARK};
use crate::sample::State;

/// Samples between keyframes. At 1 Hz a broken byte costs ten minutes at most, and keyframes of 25
/// processes add 1 % to the file.
pub(crate) const KEY_EVERY: u64 = 600;

/// Kinds of record. Readers skip those they do not know, and entries in JSON that they cannot read.
const JSON: u8 = 1;
const SAMPLE: u8 = 2;
const MARK_ROW: u8 = 3;
const TALLY: u8 = 4;
const WRITER: u8 = 5;
const LENGTHS: u8 = 6;

/// Stands at the beginning of every keyframe, so that a run can be listed from its last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Samples so far.
    pub samples: u64,
    /// The most that the tree has held so far.
    pub peak: Bytes,
}

/// Which process writes: how others tell whether a recording without an end still grows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterId {
    pub pid: u32,
    /// Clock ticks after boot.
    pub start: u64,
    /// The kernel's id of this boot: another one is another machine, or this one restarted.
    pub boot: String,
    /// The pid namespace in which `pid` means something.
    pub namespace: String,
}

#[derive(Default)]
pub struct Encoder {
    state: State,
    mark: [Cell; MARK],
    lengths: lengths::State,
    tally: Tally,
    since_key: u64,
    key_wanted: bool,
    body: Vec<u8>,
}

impl Encoder {
    /// Begins the recording with a keyframe.
    pub fn begin(frames: &mut Frames, writer: &WriterId) -> Encoder {
        let mut encoder = Encoder::default();
        encoder.key(frames);
        let json = serde_json::to_vec(writer).expect("a writer's id is plain data");
        frames.record(WRITER, &json);
        encoder
    }

    /// What was handed over may be lost: the next sample must not depend on it.
    pub fn want_key(&mut self) {
        self.key_wanted = true;
    }

    /// Adds an entry. One that no frame can hold is refused and leaves nothing behind.
    pub fn put(&mut self, frames: &mut Frames, entry: &Entry) -> Result<(), Malformed> {
        match entry {
            Entry::Sample(sample) => {
                if self.key_wanted || self.since_key >= KEY_EVERY {
                    self.key(frames);
                }
                self.body.clear();
                let fits = self.state.put(&mut self.body, sample);
                if fits.is_err() || self.body.len() > MAX_PAYLOAD / 2 {
                    self.key_wanted = true;
                    return Err(Malformed);
                }
                frames.record(SAMPLE, &self.body);
                frames.close();
                self.since_key += 1;
                self.tally.samples += 1;
                self.tally.peak = self.tally.peak.max(sample.tree.held);
            }
            Entry::Mark(mark) => {
                self.body.clear();
                put_row(
                    &mut self.body,
                    &rows::MARK_UNITS,
                    &mut self.mark,
                    rows::mark_row(mark),
                );
                frames.record(MARK_ROW, &self.body);
            }
            Entry::Lengths(lengths) => {
                self.body.clear();
                self.lengths.put(&mut self.body, lengths)?;
                frames.record(LENGTHS, &self.body);
            }
            other => {
                let json = serde_json::to_vec(other).map_err(|_| Malformed)?;
                if json.len() > MAX_PAYLOAD / 2 {
                    return Err(Malformed);
                }
                frames.record(JSON, &json);
            }
        }
        Ok(())
    }

    fn key(&mut self, frames: &mut Frames) {
        frames.begin_key();
        self.state = State::default();
        self.mark = [None; MARK];
        self.lengths = lengths::State::default();
        (self.since_key, self.key_wanted) = (0, false);
        let json = serde_json::to_vec(&self.tally).expect("a tally is plain data");
        frames.record(TALLY, &json);
    }
}

/// How it is told that a later lowtide wrote more than this one understands.
pub fn newer_text(skipped: u64) -> String {
    match skipped {
        1 => "1 entry of a newer lowtide was skipped".to_owned(),
        skipped => format!("{skipped} entries of a newer lowtide were skipped"),
    }
}

/// What the records of one frame tell of the whole recording.
#[derive(Default)]
pub(crate) struct Told {
    /// Ticks that the writer could not record.
    pub dropped: u64,
    /// A recording begins here.
    pub header: bool,
}

pub(crate) fn told_in(payload: &[u8]) -> Told {
    let mut input = Input(payload);
    let mut told = Told::default();
    let mut records = || -> Result<(), Malformed> {
        input.byte()?;
        while !input.0.is_empty() {
            let kind = input.byte()?;
            let length = input.length()?;
            let body = input.bytes(length)?;
            told.header |= kind == JSON && body.starts_with(b"{\"header\"");
            // Most entries are no gaps, and need not be understood.
            if kind == JSON
                && body.starts_with(b"{\"gap\"")
                && let Ok(Entry::Gap { ticks: lost, .. }) = serde_json::from_slice(body)
            {
                told.dropped = told.dropped.saturating_add(lost);
            }
        }
        Ok(())
    };
    // What is broken inside a frame was counted up to there.
    let _ = records();
    told
}

#[derive(Default)]
pub struct Decoder {
    state: State,
    mark: [Cell; MARK],
    lengths: lengths::State,
    /// Samples and marks can be decoded: nothing is missing since the last keyframe.
    synced: bool,
    damage: Option<Damage>,
    last: Option<(u64, Micros)>,
    tally: Option<Tally>,
    writer: Option<WriterId>,
    newer: Newer,
    /// The recording's own header was read.
    headed: bool,
    /// Another recording began: whatever follows is not of this one.
    foreign: bool,
    pub(crate) budget: Budget,
    /// Samples that were understood and are beyond the budget, since the last one that was told.
    untold: u64,
    /// Samples are followed, and not told at all.
    pub(crate) glance: bool,
}

/// What only a later lowtide understands.
#[derive(Default)]
struct Newer {
    /// Entries that were left out.
    skipped: u64,
    told: bool,
}

/// Damage that was met and not made up for yet.
#[derive(Default)]
struct Damage {
    /// Samples that were there but could not be decoded.
    unread: u64,
    /// Ticks that a gap told already.
    told: u64,
    reported: bool,
}

impl Decoder {
    /// One that begins elsewhere in the same recording.
    pub(crate) fn afresh(&self) -> Decoder {
        Decoder {
            glance: self.glance,
            ..Decoder::default()
        }
    }

    /// Samples and peak, as the last keyframe or the samples since then say.
    pub fn tally(&self) -> Option<Tally> {
        self.tally
    }

    pub fn writer(&self) -> Option<&WriterId> {
        self.writer.as_ref()
    }

    /// Entries so far that only a later lowtide understands.
    pub fn skipped(&self) -> u64 {
        self.newer.skipped
    }

    /// Frames are missing before the next one.
    pub(crate) fn damaged(&mut self) {
        self.synced = false;
        self.damage.get_or_insert_default();
    }

    /// Decodes the payload of a frame. Entries that depend on missing frames are left out.
    pub fn frame(&mut self, payload: &[u8], entries: &mut VecDeque<Entry>) {
        self.budget.earn(payload.len());
        let mut input = Input(payload);
        let mut records = || -> Result<(), Malformed> {
            // The other bits are free.
            if input.byte()? & Start::Key as u8 != 0 {
                self.state = State::default();
                self.mark = [None; MARK];
                self.lengths = lengths::State::default();
                self.synced = true;
            }
            while !input.0.is_empty() {
                let kind = input.byte()?;
                let length = input.length()?;
                self.record(kind, input.bytes(length)?, entries)?;
            }
            Ok(())
        };
        if records().is_err() {
            self.damaged();
        }
    }

    fn record(
        &mut self,
        kind: u8,
        body: &[u8],
        entries: &mut VecDeque<Entry>,
    ) -> Result<(), Malformed> {
        match kind {
            _ if self.foreign => {
                if kind == SAMPLE {
                    self.damage.get_or_insert_default().unread += 1;
                }
            }
            SAMPLE if self.synced => {
                self.state.take(&mut Input(body), &mut self.budget)?;
                // The clock of a run does not go back, not even when its job is started again.
                if self.last.is_some_and(|(_, last)| self.state.at() < last) {
                    self.damage.get_or_insert_default().unread += 1;
                    return Ok(());
                }
                let held = self.state.held().ok_or(Malformed)?;
                self.resynced(self.state.seq(), entries);
                self.last = Some((self.state.seq(), self.state.at()));
                let tally = self.tally.get_or_insert_default();
                tally.samples += 1;
                tally.peak = tally.peak.max(held);
                if self.glance {
                    return Ok(());
                }
                if !self.budget.pays(self.state.weight()) {
                    self.untold += 1;
                    return Ok(());
                }
                let sample = self.state.sample().ok_or(Malformed)?;
                self.tell_untold(entries);
                entries.push_back(Entry::Sample(sample));
            }
            SAMPLE => self.damage.get_or_insert_default().unread += 1,
            MARK_ROW if self.synced => {
                take_row(&mut Input(body), &rows::MARK_UNITS, &mut self.mark)?;
                let mark = rows::mark(&self.mark).ok_or(Malformed)?;
                entries.push_back(Entry::Mark(mark));
            }
            LENGTHS if self.synced => {
                let (id, count) = self.lengths.take(&mut Input(body))?;
                // Beyond the budget there is one moment less to tell of; the next one has the same holders.
                if !self.glance && self.budget.pays(count) {
                    let lengths = self.lengths.lengths(id).ok_or(Malformed)?;
                    entries.push_back(Entry::Lengths(lengths));
                }
            }
            JSON => match serde_json::from_slice(body) {
                Ok(Entry::Header(_)) if self.headed => self.another_begins(entries),
                Ok(entry) => {
                    self.headed |= matches!(entry, Entry::Header(_));
                    if let Entry::End { .. } = entry {
                        self.tell_newer(entries);
                    }
                    entries.push_back(entry);
                }
                // The checksum is right and nothing else depends on it.
                Err(_) => self.newer.skipped += 1,
            },
            TALLY => self.tally = serde_json::from_slice(body).ok(),
            WRITER => self.writer = serde_json::from_slice(body).ok(),
            // Lost with a keyframe, not unknown.
            MARK_ROW | LENGTHS => {}
            _ => self.newer.skipped += 1,
        }
        Ok(())
    }

    /// A second header: somebody joined two files. Their times and processes have nothing in common.
    fn another_begins(&mut self, entries: &mut VecDeque<Entry>) {
        self.foreign = true;
        self.damage.get_or_insert_default();
        entries.push_back(Entry::Event {
            at: self.last.map_or(Micros(0), |(_, at)| at),
            kind: EventKind::Info,
            text: "another recording begins in this file: it is left out".to_owned(),
        });
    }

    /// Says once how much of the recording this reader is too old for.
    fn tell_newer(&mut self, entries: &mut VecDeque<Entry>) {
        if self.newer.skipped == 0 || self.newer.told {
            return;
        }
        self.newer.told = true;
        entries.push_back(Entry::Event {
            at: self.last.map_or(Micros(0), |(_, at)| at),
            kind: EventKind::Info,
            text: newer_text(self.newer.skipped),
        });
    }

    /// Says how many samples were too much to tell.
    fn tell_untold(&mut self, entries: &mut VecDeque<Entry>) {
        let ticks = std::mem::take(&mut self.untold);
        if ticks > 0 {
            let why = GapWhy::TooLarge;
            entries.push_back(self.lacking(ticks, Gap::of_recording(why)));
        }
    }

    /// When the last sample was made.
    pub(crate) fn last_at(&self) -> Option<Micros> {
        self.last.map(|(_, at)| at)
    }

    /// A sample could be decoded: tells what was lost before it.
    fn resynced(&mut self, seq: u64, entries: &mut VecDeque<Entry>) {
        let Some(damage) = self.damage.take() else {
            return;
        };
        let hole = match self.last {
            Some((last, _)) => seq.saturating_sub(last.saturating_add(1)),
            None => seq,
        };
        let ticks = hole.saturating_sub(damage.told);
        if ticks > 0 || !damage.reported {
            entries.push_back(self.gap(ticks));
        }
    }

    /// There is nothing more to decode, for now: tells what could not be.
    pub fn flush(&mut self, entries: &mut VecDeque<Entry>) {
        self.tell_newer(entries);
        self.tell_untold(entries);
        let Some(damage) = &mut self.damage else {
            return;
        };
        let ticks = damage.unread - damage.told;
        if ticks == 0 && damage.reported {
            return;
        }
        damage.told = damage.unread;
        damage.reported = true;
        let gap = self.gap(ticks);
        entries.push_back(gap);
    }

    pub(crate) fn gap(&self, ticks: u64) -> Entry {
        self.lacking(ticks, Gap::of_recording(GapWhy::Malformed))
    }

    fn lacking(&self, ticks: u64, gap: Gap) -> Entry {
        Entry::Gap {
            at: self.last.map_or(Micros(0), |(_, at)| at),
            gap,
            ticks,
        }
    }
}
