//! One member of the tree between two ticks: its open files, what was read last, and when which
//! rarer reading is due.

use std::os::fd::OwnedFd;

use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{GapWhy, Pss, Reading};
use lowtide_core::units::{Bytes, Micros};
use rustix::io::Errno;

use super::careful::History;
use crate::facts;
use crate::proc::stat::Stat;
use crate::proc::{self, Proc, limits, stat, status};

/// `status` is read when `stat` shows a change, and at this distance all the same: the page count in
/// `stat` lags by some dozens of pages per core.
const STATUS_AT_LEAST_EVERY: Micros = Micros(30_000_000);

/// Listing a directory of thousands of files takes milliseconds: once a minute, and more often only
/// while a process is young, because a short run has no second minute to be compared with.
const FDS_EVERY: Micros = Micros(60_000_000);
const FDS_SOONEST: Micros = Micros(5_000_000);

/// Ages at which facts are gathered again: imports of a training script take seconds, its first
/// compile a minute. Reading the memory map of a torch process takes about a millisecond.
const FACTS_AT_AGES: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 300];

/// Growth and processor use are taken over one to two of these.
const LATELY: Micros = Micros(30_000_000);

/// What one read of a member came to.
pub(super) enum Outcome {
    Read,
    /// It is another program now, or another age: gather its facts.
    FactsDue,
    Left,
    Missing(&'static str, GapWhy),
}

/// The machine's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub page: u64,
    pub ticks_per_second: u64,
}

/// What `stat` said last, to see whether anything has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Footprint {
    rss_pages: u64,
    vsize: u64,
    minor_faults: u64,
    major_faults: u64,
    cpu_ticks: u64,
    threads: u32,
}

#[derive(Debug)]
pub(super) struct Tracked {
    pub member: Member,
    pub reading: Reading,
    pub careful: History,
    /// What RLIMIT_DATA counts.
    pub data: Bytes,
    /// Code and stack addresses: the same for all processes forked from one another.
    pub family: (u64, u64),
    pub joined: Micros,
    /// Something about the member is to be told.
    pub news: bool,
    /// RssAnon when it was first read: for a fork, what it shares with its parent.
    pub anon_at_join: Option<Bytes>,
    comm: Vec<u8>,
    stat_file: Option<OwnedFd>,
    status_file: Option<OwnedFd>,
    footprint: Option<Footprint>,
    status_at: Micros,
    fds_at: Option<Micros>,
    facts_gathered: usize,
    vsize_at_facts: u64,
    older: Past,
    newer: Past,
}

#[derive(Clone, Copy, Debug, Default)]
struct Past {
    at: Micros,
    held: Bytes,
    cpu: Micros,
}

impl Tracked {
    pub(super) fn new(id: ProcId, parent: Option<ProcId>, now: Micros) -> Tracked {
        Tracked {
            member: Member {
                id,
                parent,
                facts: Facts::default(),
                role: Role::Other,
                why: String::new(),
            },
            reading: Reading::of(id),
            careful: History::default(),
            data: Bytes::ZERO,
            family: (0, 0),
            joined: now,
            news: true,
            anon_at_join: None,
            comm: Vec::new(),
            stat_file: None,
            status_file: None,
            footprint: None,
            status_at: Micros(0),
            fds_at: None,
            facts_gathered: 0,
            vsize_at_facts: 0,
            older: Past::default(),
            newer: Past::default(),
        }
    }

    pub(super) fn id(&self) -> ProcId {
        self.member.id
    }

    /// Reads the cheap counters. `keep` says whether files may stay open.
    pub(super) fn read(
        &mut self,
        proc: &Proc,
        units: Units,
        now: Micros,
        keep: bool,
        buffer: &mut Vec<u8>,
    ) -> Outcome {
        let pid = self.member.id.pid;
        if let Err(errno) = read_kept(proc, pid, "stat", &mut self.stat_file, keep, buffer) {
            return match proc::why(errno) {
                GapWhy::Vanished => Outcome::Left,
                why => Outcome::Missing("stat", why),
            };
        }
        let Some(stat) = stat::parse(buffer) else {
            return Outcome::Missing("stat", GapWhy::Malformed);
        };
        if stat.start != self.member.id.start || stat.has_ended() {
            return Outcome::Left;
        }
        let first = self.footprint.is_none();
        let footprint = Footprint {
            rss_pages: stat.rss_pages,
            vsize: stat.vsize,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
            cpu_ticks: stat.cpu_ticks,
            threads: stat.threads,
        };
        let changed = self.footprint != Some(footprint);
        let another_program = self.note_stat(&stat, units);
        if changed || now.since(self.status_at) >= STATUS_AT_LEAST_EVERY {
            match self.read_status(proc, keep, buffer) {
                Ok(true) => self.status_at = now,
                // No memory lines: it is on its way out.
                Ok(false) => return Outcome::Missing("status", GapWhy::Vanished),
                Err(errno) => match proc::why(errno) {
                    GapWhy::Vanished => return Outcome::Left,
                    why => return Outcome::Missing("status", why),
                },
            }
            // Only after a good read, so that a failed one is tried again.
            self.footprint = Some(footprint);
        }
        self.count_fds(proc, now);
        self.remember(now);
        if first || another_program || self.facts_due(now) {
            return Outcome::FactsDue;
        }
        Outcome::Read
    }

    /// Takes over what `stat` says; tells whether the process has run another program.
    fn note_stat(&mut self, stat: &Stat<'_>, units: Units) -> bool {
        let reading = &mut self.reading;
        reading.minor_faults = stat.minor_faults;
        reading.major_faults = stat.major_faults;
        reading.cpu =
            Micros(stat.cpu_ticks.saturating_mul(1_000_000) / units.ticks_per_second.max(1));
        reading.threads = stat.threads;
        // Without permission both are made up: then all such processes form one family, which the
        // sum treats with care.
        let family = match stat.start_stack {
            0 => (0, 0),
            stack => (stat.start_code, stack),
        };
        let another = self.comm != stat.comm || self.family != family;
        if another {
            self.comm.clear();
            self.comm.extend_from_slice(stat.comm);
            if self.family != family {
                // The old program's memory is gone, and with it what was read of it.
                self.family = family;
                self.careful = History::default();
                self.reading.pss = None;
                self.anon_at_join = None;
            }
        }
        another
    }

    fn read_status(
        &mut self,
        proc: &Proc,
        keep: bool,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, Errno> {
        let pid = self.member.id.pid;
        read_kept(proc, pid, "status", &mut self.status_file, keep, buffer)?;
        let Some(status) = status::parse(buffer) else {
            return Ok(false);
        };
        status.fill(&mut self.reading);
        self.data = status.data;
        self.anon_at_join.get_or_insert(status.anon);
        Ok(true)
    }

    fn count_fds(&mut self, proc: &Proc, now: Micros) {
        let pause = now.since(self.joined).clamp(FDS_SOONEST, FDS_EVERY);
        if self.fds_at.is_none_or(|at| now.since(at) >= pause) {
            self.fds_at = Some(now);
            // Another user's directory is closed to us: `None` says that it was not counted.
            self.reading.fds = proc.count(self.member.id.pid, "fd").ok();
        }
    }

    fn remember(&mut self, now: Micros) {
        let past = Past {
            at: now,
            held: self.reading.held(),
            cpu: self.reading.cpu,
        };
        if self.older.at == Micros(0) && self.newer.at == Micros(0) {
            self.older = past;
            self.newer = past;
        } else if now.since(self.newer.at) >= LATELY {
            self.older = self.newer;
            self.newer = past;
        }
    }

    /// How much the held memory has risen lately.
    pub(super) fn growth(&self) -> Bytes {
        self.reading.held().saturating_sub(self.older.held)
    }

    /// Cores used lately.
    pub(super) fn cores(&self, now: Micros) -> f64 {
        let wall = now.since(self.older.at).seconds();
        if wall <= 0.0 {
            return 0.0;
        }
        self.reading.cpu.since(self.older.cpu).seconds() / wall
    }

    fn facts_due(&self, now: Micros) -> bool {
        FACTS_AT_AGES
            .get(self.facts_gathered)
            .is_some_and(|age| now.since(self.joined).0 >= age * 1_000_000)
    }

    /// Gathers facts anew; tells whether anything is different.
    pub(super) fn gather(
        &mut self,
        proc: &Proc,
        now: Micros,
        parent: Option<&Kinfolk>,
        buffer: &mut Vec<u8>,
    ) -> bool {
        let pid = self.member.id.pid;
        while self.facts_due(now) {
            self.facts_gathered += 1;
        }
        let mut fresh = facts::gather(proc, pid, &self.comm, buffer);
        let old = &self.member.facts;
        let same_program = old.exe == fresh.exe && old.argv == fresh.argv;
        if same_program {
            fresh.libtorch = old.libtorch;
            fresh.libcuda = old.libcuda;
            fresh.libpython = old.libpython;
        }
        // A library cannot be mapped without the address space growing.
        let vsize = self.reading.vsize.0;
        if !same_program || vsize != self.vsize_at_facts {
            self.vsize_at_facts = vsize;
            if let Some(mapped) = facts::mapped(proc, pid, buffer) {
                facts::note(&mut fresh, mapped);
            }
        }
        fresh.forked = match parent {
            // Without permission the addresses are zero; then the command line must do.
            Some(parent) if self.family.1 != 0 => {
                parent.family == self.family && parent.exe == fresh.exe
            }
            Some(parent) => parent.exe == fresh.exe && parent.argv == fresh.argv,
            // Its parent is gone: what was known of it stays.
            None => same_program && old.forked,
        };
        let different = fresh != self.member.facts;
        self.member.facts = fresh;
        self.news |= different;
        different
    }

    pub(crate) fn kinfolk(&self) -> Kinfolk {
        Kinfolk {
            family: self.family,
            exe: self.member.facts.exe.clone(),
            argv: self.member.facts.argv.clone(),
        }
    }

    pub(crate) fn rlimits(&self, proc: &Proc, buffer: &mut Vec<u8>) -> limits::Limits {
        match proc.read(self.member.id.pid, "limits", buffer) {
            Ok(()) => limits::parse(buffer),
            Err(_) => limits::Limits::default(),
        }
    }

    pub(crate) fn note_pss(&mut self, pss: Pss) {
        self.reading.pss = Some(pss);
    }

    pub(super) fn open_files(&self) -> usize {
        usize::from(self.stat_file.is_some()) + usize::from(self.status_file.is_some())
    }
}

/// What a child is compared with, to see whether it is a mere fork.
pub(super) struct Kinfolk {
    family: (u64, u64),
    exe: Option<String>,
    argv: Vec<String>,
}

/// Reads `PID/name` from a kept file, opening it first if need be.
fn read_kept(
    proc: &Proc,
    pid: u32,
    name: &str,
    kept: &mut Option<OwnedFd>,
    keep: bool,
    buffer: &mut Vec<u8>,
) -> Result<(), Errno> {
    if let Some(file) = kept {
        return proc::read_record(file, buffer);
    }
    let file = proc.open(pid, name)?;
    proc::read_record(&file, buffer)?;
    if keep {
        *kept = Some(file);
    }
    Ok(())
}
