//! The fold that a report is made from: one pass over entries, memory bounded by [`Detail`].

use std::collections::BTreeMap;

use crate::entry::{Attempt, Entry};
use crate::meter::Meter;
use crate::process::Role;
use crate::run::{Run, own_share};
use crate::sample::{Reading, Sample};
use crate::table::Table;

use super::grid::{Grid, Range, Shares};
use super::timeline::Timeline;

/// How many columns a picture keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Of the tree, of roles and of the process that is watched.
    pub main: usize,
    /// Of every other process.
    pub other: usize,
}

impl Detail {
    /// For one file: more columns than a page is wide, and a day of 25 processes stays under 2 MB.
    pub const FILE: Detail = Detail {
        main: 1600,
        other: 240,
    };
    /// For a server that is zoomed into: a day of seconds keeps columns of 8 s at worst.
    pub const ZOOM: Detail = Detail {
        main: 16_384,
        other: 2048,
    };
    /// For a terminal.
    pub const SMALL: Detail = Detail {
        main: 512,
        other: 128,
    };
}

/// Processes with a picture of their own. Roles and the tree cover the rest.
const PROCESSES: usize = 64;

/// Restarts that are shown; a guard gives up long before.
const ATTEMPTS: usize = 100;

/// All meters of one process.
#[derive(Clone, Debug)]
pub(super) struct Meters {
    lines: Vec<(Meter, Grid<Range>)>,
    /// Where in `lines` each meter is, once it has a line.
    places: [Option<usize>; Meter::COUNT],
    room: usize,
    peak: u64,
    gone: bool,
}

impl Meters {
    fn new(room: usize) -> Meters {
        Meters {
            lines: Vec::new(),
            places: [None; Meter::COUNT],
            room,
            peak: 0,
            gone: false,
        }
    }

    fn push(&mut self, x: f64, reading: &Reading) {
        self.peak = self.peak.max(reading.held().0);
        for info in Meter::drawn() {
            if let Some(value) = (info.get)(reading) {
                self.at(info.meter, x, value);
            }
        }
    }

    fn at(&mut self, meter: Meter, x: f64, value: u64) {
        let place = &mut self.places[meter as usize];
        let index = match *place {
            Some(index) => index,
            // What was never used needs no line.
            None if value == 0 => return,
            None => {
                self.lines.push((meter, Grid::new(self.room)));
                *place.insert(self.lines.len() - 1)
            }
        };
        self.lines[index].1.push(Range {
            x,
            low: value,
            high: value,
        });
    }

    fn set_room(&mut self, room: usize) {
        self.room = room;
        for (_, grid) in &mut self.lines {
            grid.set_room(room);
        }
    }

    pub(super) fn lines(&self) -> &[(Meter, Grid<Range>)] {
        &self.lines
    }
}

/// A run with its pictures.
#[derive(Clone, Debug)]
pub struct Picture {
    pub run: Run,
    pub(super) detail: Detail,
    pub(super) tree: Grid<Range>,
    pub(super) gpu: Grid<Range>,
    pub(super) roles: BTreeMap<&'static str, Grid<Range>>,
    pub(super) stack: Grid<Shares>,
    /// The order of a stack's parts, as places in [`Role::NAMES`].
    pub(super) stacked: Vec<usize>,
    pub(super) processes: Table<Meters>,
    pub(super) timeline: Timeline,
    pub(super) attempts: Vec<Attempt>,
}

impl Picture {
    pub fn new(detail: Detail) -> Picture {
        Picture::of(Run::new(), detail)
    }

    /// With a run that was told something before its first entry.
    pub fn of(run: Run, detail: Detail) -> Picture {
        Picture {
            run,
            detail,
            tree: Grid::new(detail.main),
            gpu: Grid::new(detail.main),
            roles: BTreeMap::new(),
            stack: Grid::new(detail.main),
            stacked: Vec::new(),
            processes: Table::default(),
            timeline: Timeline::default(),
            attempts: Vec::new(),
        }
    }

    pub fn apply(&mut self, entry: &Entry) {
        self.run.apply(entry);
        self.timeline.see(entry, &self.run);
        match entry {
            Entry::Sample(sample) => self.sample(sample),
            Entry::Watch { id, .. } => {
                let room = self.detail.main;
                if let Some(meters) = self.processes.get_mut(id) {
                    meters.set_room(room);
                } else if self.make_place() {
                    self.processes.insert(*id, Meters::new(room));
                }
            }
            Entry::Attempt(attempt) if self.attempts.len() < ATTEMPTS => {
                self.attempts.push(attempt.clone());
            }
            Entry::Gone { id, .. } => {
                if let Some(meters) = self.processes.get_mut(id) {
                    meters.gone = true;
                }
            }
            _ => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        let x = sample.at.seconds();
        let at = |bytes: u64| Range {
            x,
            low: bytes,
            high: bytes,
        };
        let mut own = [None; Role::NAMES.len()];
        let mut gpu = None;
        // Where the next process is, in the run's table and in ours.
        let (mut track, mut picture) = (0, 0);
        // Whoever has no place now gets none in this sample: looking for one takes all of them.
        let mut full = false;
        for reading in sample.readings.iter().filter(|reading| reading.is_alive()) {
            let Some(known) = self.run.table().find(reading.id, track) else {
                continue;
            };
            track = known + 1;
            let role = self.run.table().at(known).member.role;
            // A recording may say anything: sums stay at their end.
            let own = own[role.index()].get_or_insert(0_u64);
            *own = own.saturating_add(own_share(reading).0);
            if let Some(bytes) = reading.gpu {
                let gpu = gpu.get_or_insert(0_u64);
                *gpu = gpu.saturating_add(bytes.0);
            }
            let mut place = self.processes.find(reading.id, picture);
            if place.is_none() && !full {
                full = !self.make_place();
                let meters = || Meters::new(self.detail.other);
                place = (!full).then(|| self.processes.insert(reading.id, meters()));
            }
            if let Some(place) = place {
                picture = place + 1;
                self.processes.at_mut(place).push(x, reading);
            }
        }
        if own.iter().all(Option::is_none) {
            return;
        }
        self.tree.push(at(sample.tree.held.0));
        if let Some(bytes) = gpu {
            self.gpu.push(at(bytes));
        }
        for (index, bytes) in own.iter().enumerate() {
            let Some(bytes) = bytes else { continue };
            let (role, room) = (Role::NAMES[index], self.detail.main);
            let line = self.roles.entry(role).or_insert_with(|| Grid::new(room));
            line.push(at(*bytes));
            if !self.stacked.contains(&index) {
                self.stacked.push(index);
            }
        }
        let parts = self.stacked.iter().map(|role| own[*role].unwrap_or(0));
        self.stack.push(Shares {
            x,
            total: sample.tree.held.0,
            parts: parts.collect(),
        });
    }

    /// Whether one more process may have a picture; one that ended and held little makes way.
    fn make_place(&mut self) -> bool {
        if self.processes.len() < PROCESSES {
            return true;
        }
        let watched = self.run.watched().map(|(track, _)| track.member.id);
        let smallest = self
            .processes
            .iter()
            .filter(|(id, meters)| meters.gone && Some(**id) != watched)
            .min_by_key(|(_, meters)| meters.peak)
            .map(|(id, _)| *id);
        smallest.and_then(|id| self.processes.remove(&id)).is_some()
    }
}
