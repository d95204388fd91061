//! The fold that a report is made from: one pass over entries, memory bounded by [`Detail`].

use std::collections::BTreeMap;

use crate::entry::{Attempt, Entry};
use crate::process::ProcId;
use crate::run::{Run, own_share};
use crate::sample::{Reading, Sample};
use crate::verdict::Meter;

use super::grid::{Grid, Range, Shares};
use super::told::Told;

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
    room: usize,
    peak: u64,
    gone: bool,
}

impl Meters {
    fn new(room: usize) -> Meters {
        Meters {
            lines: Vec::new(),
            room,
            peak: 0,
            gone: false,
        }
    }

    fn push(&mut self, x: f64, reading: &Reading) {
        self.peak = self.peak.max(reading.held().0);
        let known = [
            (Meter::Held, reading.held()),
            (Meter::Anon, reading.anon),
            (Meter::File, reading.file),
            (Meter::Shmem, reading.shmem),
            (Meter::Swap, reading.swap),
            (Meter::Rss, reading.rss()),
        ];
        let read = reading
            .pss
            .map(|pss| [(Meter::Pss, pss.total()), (Meter::Uss, pss.uss)]);
        let gpu = reading.gpu.map(|bytes| (Meter::Gpu, bytes));
        for (meter, bytes) in known
            .into_iter()
            .chain(read.into_iter().flatten())
            .chain(gpu)
        {
            self.at(meter, x, bytes.0);
        }
    }

    fn at(&mut self, meter: Meter, x: f64, bytes: u64) {
        let found = self.lines.iter().position(|(there, _)| *there == meter);
        let index = match found {
            Some(index) => index,
            // What was never used needs no line.
            None if bytes == 0 => return,
            None => {
                self.lines.push((meter, Grid::new(self.room)));
                self.lines.len() - 1
            }
        };
        self.lines[index].1.push(Range {
            x,
            low: bytes,
            high: bytes,
        });
    }

    fn set_room(&mut self, room: usize) {
        self.room = room;
        for (_, grid) in &mut self.lines {
            grid.set_room(room);
        }
    }

    pub fn lines(&self) -> &[(Meter, Grid<Range>)] {
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
    /// The order of a stack's parts.
    pub(super) stacked: Vec<&'static str>,
    pub(super) processes: BTreeMap<ProcId, Meters>,
    pub(super) told: Told,
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
            processes: BTreeMap::new(),
            told: Told::default(),
            attempts: Vec::new(),
        }
    }

    pub fn apply(&mut self, entry: &Entry) {
        self.run.apply(entry);
        self.told.see(entry, &self.run);
        match entry {
            Entry::Sample(sample) => self.sample(sample),
            Entry::Watch { id, .. } => {
                let room = self.detail.main;
                if self.processes.contains_key(id) || self.make_place() {
                    let meters = self.processes.entry(*id);
                    meters.or_insert_with(|| Meters::new(room)).set_room(room);
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
        let mut own: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut gpu = None;
        for reading in sample.readings.iter().filter(|reading| reading.is_alive()) {
            let Some(role) = self.run.process(reading.id).map(|track| track.member.role) else {
                continue;
            };
            *own.entry(role.name()).or_default() += own_share(reading).0;
            if let Some(bytes) = reading.gpu {
                *gpu.get_or_insert(0) += bytes.0;
            }
            if self.processes.contains_key(&reading.id) || self.make_place() {
                let room = self.detail.other;
                let meters = self.processes.entry(reading.id);
                meters.or_insert_with(|| Meters::new(room)).push(x, reading);
            }
        }
        if own.is_empty() {
            return;
        }
        self.tree.push(at(sample.tree.held.0));
        if let Some(bytes) = gpu {
            self.gpu.push(at(bytes));
        }
        for (role, bytes) in &own {
            let room = self.detail.main;
            let line = self.roles.entry(role).or_insert_with(|| Grid::new(room));
            line.push(at(*bytes));
            if !self.stacked.contains(role) {
                self.stacked.push(role);
            }
        }
        let parts = self
            .stacked
            .iter()
            .map(|role| own.get(role).copied().unwrap_or(0));
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
