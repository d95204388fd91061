//! Which tables a recording can be written as, and their rows. Sizes are bytes, times seconds.

use std::collections::BTreeMap;

use anyhow::Result;
use lowtide_core::entry::Entry;
use lowtide_core::followed::Followed;
use lowtide_core::mark::{LoopObject, Mark, MarkSource, Phase};
use lowtide_core::meter::{METERS, Meter, MeterInfo, Unit};
use lowtide_core::process::{Member, ProcId, Role};
use lowtide_core::sample::{Basis, Cgroup, Pressure, Reading, Sample};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::RecordingError;

use super::table::ColumnType::{Bool, Float, Int, Text, Time};
use super::table::{Cell, Column, Table};
use super::{holders, looks};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    /// One row per process per sample
    Samples,
    /// One row per mark: steps, epochs, phases
    Marks,
    /// One row per process: role, command, peak
    Processes,
    /// One row per sample: the machine, the limit, what the tree holds
    Node,
    /// One row per cgroup per sample
    Cgroups,
    /// One row per part of a look: where the bytes of a process are, by every breakdown
    Looks,
    /// One row per holder per tick: how many items it has, since a census named it
    Holders,
    /// One row per part of a clean-up: what it gave back
    Cleanups,
    /// One row per number that the training loop logged
    Logs,
    /// One row per record that was put in by `lowtide.record`, as JSON
    Records,
}

/// Who it was, before the meters.
const READING: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("seq", Int),
    ("pid", Int),
    ("start", Int),
    ("role", Text),
    ("rank", Int),
    ("watched", Bool),
];

/// All meters that a reading may have, and how old the careful one is.
fn samples() -> Vec<Column> {
    let kind = |unit: Unit| match unit {
        Unit::Bytes | Unit::Count(_) => Int,
        Unit::Seconds => Float,
    };
    let meters = metered().map(|info| (info.name, kind(info.unit)));
    let age = ("pss_age", Float);
    READING.iter().copied().chain(meters).chain([age]).collect()
}

fn metered() -> impl Iterator<Item = &'static MeterInfo> {
    // A reading has no meter of an unknown kind.
    METERS.iter().filter(|info| info.meter != Meter::Memory)
}

const MARKS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("source", Text),
    ("pid", Int),
    ("rank", Int),
    ("total_steps", Int),
    ("epoch", Float),
    ("seen_examples", Int),
    ("examples", Int),
    ("batch", Int),
    ("accumulate", Int),
    ("world", Int),
    ("epoch_steps", Float),
    ("object", Text),
];

const PROCESSES: &[Column] = &[
    ("pid", Int),
    ("start", Int),
    ("parent", Int),
    ("role", Text),
    ("rank", Int),
    ("world", Int),
    ("why", Text),
    ("comm", Text),
    ("exe", Text),
    ("command", Text),
    ("first_t", Float),
    ("last_t", Float),
    ("samples", Int),
    ("peak_held", Int),
];

const NODE: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("seq", Int),
    ("late", Float),
    ("tree_held", Int),
    ("tree_basis", Text),
    ("limit", Int),
    ("limit_from", Text),
    ("limit_used", Int),
    ("total", Int),
    ("available", Int),
    ("page_cache", Int),
    ("shmem", Int),
    ("swap_total", Int),
    ("swap_free", Int),
    ("dev_shm_used", Int),
    ("dev_shm_size", Int),
    ("pressure_some_avg10", Float),
    ("pressure_full_avg10", Float),
    ("pressure_some_total", Float),
    ("pressure_full_total", Float),
];

const CGROUPS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("seq", Int),
    ("path", Text),
    ("only_ours", Bool),
    ("current", Int),
    ("max", Int),
    ("high", Int),
    ("anon", Int),
    ("file", Int),
    ("shmem", Int),
    ("kernel", Int),
    ("swap", Int),
    ("swap_max", Int),
    ("limit_hits", Int),
    ("oom_kills", Int),
    ("pressure_some_avg10", Float),
    ("pressure_full_avg10", Float),
    ("pressure_some_total", Float),
    ("pressure_full_total", Float),
];

impl What {
    pub fn columns(self) -> Vec<Column> {
        match self {
            What::Samples => samples(),
            What::Marks => MARKS.to_vec(),
            What::Processes => PROCESSES.to_vec(),
            What::Node => NODE.to_vec(),
            What::Cgroups => CGROUPS.to_vec(),
            What::Looks => looks::LOOKS.to_vec(),
            What::Holders => holders::HOLDERS.to_vec(),
            What::Cleanups => looks::CLEANUPS.to_vec(),
            What::Logs => looks::LOGS.to_vec(),
            What::Records => looks::RECORDS.to_vec(),
        }
    }
}

/// Reads the recording to its end and adds the rows.
pub fn fill(
    entries: impl Iterator<Item = Result<Entry, RecordingError>>,
    what: What,
    table: &mut dyn Table,
) -> Result<()> {
    let mut now = Now::default();
    for entry in entries {
        let entry = entry?;
        now.see(&entry);
        match (&entry, what) {
            (Entry::Sample(sample), What::Samples) => now.samples(sample, table)?,
            (Entry::Sample(sample), What::Node) => now.node(sample, table)?,
            (Entry::Sample(sample), What::Cgroups) => {
                for cgroup in &sample.cgroups {
                    now.cgroup(sample, cgroup, table)?;
                }
            }
            (Entry::Mark(mark), What::Marks) => now.mark(mark, table)?,
            (Entry::Look(look), What::Looks) => looks::look(now.when(look.at), look, table)?,
            (Entry::Lengths(lengths), What::Holders) => {
                let named = now.followed.get(&lengths.id);
                holders::lengths(now.when(lengths.at), named, lengths, table)?;
            }
            (Entry::Cleanup(cleanup), What::Cleanups) => {
                looks::cleanup(now.when(cleanup.at), cleanup, table)?;
            }
            (Entry::Log { at, .. }, What::Logs) | (Entry::Record { at, .. }, What::Records) => {
                looks::sent(now.when(*at), &entry, table)?;
            }
            _ => {}
        }
    }
    if what == What::Processes {
        now.processes(table)?;
    }
    Ok(())
}

/// What the rows need to know of the entries before.
#[derive(Default)]
struct Now {
    /// Wall clock at the start, microseconds since the Unix epoch.
    started: u64,
    step: Option<u64>,
    phase: Option<Phase>,
    watched: Option<ProcId>,
    processes: BTreeMap<ProcId, Seen>,
    followed: BTreeMap<ProcId, Followed>,
}

#[derive(Default)]
struct Seen {
    member: Option<Member>,
    first: Option<Micros>,
    last: Option<Micros>,
    samples: u64,
    peak: Bytes,
}

impl Now {
    fn see(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.started = header.started.0,
            Entry::Member(member) => {
                self.processes.entry(member.id).or_default().member = Some(member.clone());
            }
            Entry::Watch { id, .. } => self.watched = Some(*id),
            Entry::Followed(followed) => {
                self.followed.insert(followed.id, followed.clone());
            }
            Entry::Mark(mark) => {
                self.step = mark.step.or(self.step);
                self.phase = mark.phase.or(self.phase);
            }
            Entry::Sample(sample) => {
                for reading in &sample.readings {
                    let seen = self.processes.entry(reading.id).or_default();
                    seen.first.get_or_insert(sample.at);
                    seen.last = Some(sample.at);
                    seen.samples += 1;
                    seen.peak = seen.peak.max(reading.held());
                }
            }
            _ => {}
        }
    }

    /// The columns that every table over time begins with.
    fn when(&self, at: Micros) -> [Cell<'static>; 4] {
        let wall = self.started.saturating_add(at.0);
        [
            at.seconds().into(),
            i64::try_from(wall).map_or(Cell::Missing, Cell::Time),
            self.step.into(),
            self.phase.map(phase_name).into(),
        ]
    }

    fn samples(&self, sample: &Sample, table: &mut dyn Table) -> Result<()> {
        let when = self.when(sample.at);
        let mut row = Vec::new();
        for reading in &sample.readings {
            row.clear();
            row.extend(when);
            row.extend(self.who(sample, reading));
            row.extend(metered().map(|info| measured(info, reading)));
            let age = reading.pss.map(|pss| sample.at.since(pss.at).seconds());
            row.push(age.into());
            table.row(&row)?;
        }
        Ok(())
    }

    fn who(&self, sample: &Sample, r: &Reading) -> [Cell<'static>; 6] {
        let seen = self.processes.get(&r.id);
        let role = seen.and_then(|p| p.member.as_ref()).map(|m| m.role);
        [
            sample.seq.into(),
            r.id.pid.into(),
            r.id.start.into(),
            role.map(Role::name).into(),
            role.and_then(rank).map(|(rank, _)| rank).into(),
            (self.watched == Some(r.id)).into(),
        ]
    }

    fn node(&self, sample: &Sample, table: &mut dyn Table) -> Result<()> {
        let node = &sample.node;
        let from = sample.limit.as_ref().map(|limit| limit.from.to_string());
        let basis = match sample.tree.basis {
            Basis::Cgroup => "cgroup",
            Basis::Pss { .. } => "pss",
            Basis::Counters => "counters",
            Basis::Other => "other",
        };
        let mut row = self.when(sample.at).to_vec();
        row.extend([
            Cell::from(sample.seq),
            sample.late.seconds().into(),
            sample.tree.held.into(),
            basis.into(),
            sample.limit.as_ref().map(|limit| limit.bytes).into(),
            from.as_ref().into(),
            sample.limit.as_ref().map(|limit| limit.used).into(),
            node.total.into(),
            node.available.into(),
            node.page_cache.into(),
            node.shmem.into(),
            node.swap_total.into(),
            node.swap_free.into(),
            node.dev_shm.map(|(used, _)| used).into(),
            node.dev_shm.map(|(_, size)| size).into(),
        ]);
        row.extend(pressure(node.pressure));
        table.row(&row)
    }

    fn cgroup(&self, sample: &Sample, cgroup: &Cgroup, table: &mut dyn Table) -> Result<()> {
        let mut row: Vec<Cell> = self.when(sample.at).to_vec();
        row.extend([
            Cell::from(sample.seq),
            (&cgroup.path).into(),
            cgroup.only_ours.into(),
            cgroup.current.into(),
            cgroup.max.into(),
            cgroup.high.into(),
            cgroup.anon.into(),
            cgroup.file.into(),
            cgroup.shmem.into(),
            cgroup.kernel.into(),
            cgroup.swap.into(),
            cgroup.swap_max.into(),
            cgroup.limit_hits.into(),
            cgroup.oom_kills.into(),
        ]);
        row.extend(pressure(cgroup.pressure));
        table.row(&row)
    }

    fn mark(&self, mark: &Mark, table: &mut dyn Table) -> Result<()> {
        let source = match mark.source {
            MarkSource::Callback => "callback",
            MarkSource::Output => "output",
            MarkSource::TrainerState => "trainer-state",
            MarkSource::Memory => "memory",
            MarkSource::Other => "other",
        };
        let [t, time, ..] = self.when(mark.at);
        let g = mark.geometry.unwrap_or_default();
        table.row(&[
            t,
            time,
            mark.step.into(),
            mark.phase.map(phase_name).into(),
            source.into(),
            mark.pid.into(),
            mark.rank.into(),
            mark.total_steps.into(),
            mark.epoch.into(),
            mark.examples.into(),
            g.examples.into(),
            g.batch.into(),
            g.accumulate.into(),
            g.world.into(),
            g.epoch_steps.into(),
            mark.object.map(LoopObject::name).into(),
        ])
    }

    fn processes(&self, table: &mut dyn Table) -> Result<()> {
        for (id, seen) in &self.processes {
            let member = seen.member.as_ref();
            let facts = member.map(|m| &m.facts);
            let rank = member.and_then(|m| rank(m.role));
            let command = facts.map(|f| f.argv.join(" "));
            table.row(&[
                id.pid.into(),
                id.start.into(),
                member.and_then(|m| m.parent).map(|p| p.pid).into(),
                member.map(|m| m.role.name()).into(),
                rank.map(|(rank, _)| rank).into(),
                rank.map(|(_, world)| world).into(),
                member.map(|m| &m.why).into(),
                facts.map(|f| &f.comm).into(),
                facts.and_then(|f| f.exe.as_ref()).into(),
                command.as_ref().into(),
                seen.first.map(Micros::seconds).into(),
                seen.last.map(Micros::seconds).into(),
                seen.samples.into(),
                seen.peak.into(),
            ])?;
        }
        Ok(())
    }
}

fn measured(info: &MeterInfo, reading: &Reading) -> Cell<'static> {
    let value = (info.get)(reading);
    match info.unit {
        Unit::Bytes | Unit::Count(_) => value.into(),
        Unit::Seconds => value.map(|micros| Micros(micros).seconds()).into(),
    }
}

fn rank(role: Role) -> Option<(u32, u32)> {
    match role {
        Role::Rank { rank, world } => Some((rank, world)),
        _ => None,
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Start => "start",
        Phase::Train => "train",
        Phase::Eval => "eval",
        Phase::Save => "save",
        Phase::End => "end",
    }
}

fn pressure(pressure: Option<Pressure>) -> [Cell<'static>; 4] {
    [
        pressure.map(|p| f64::from(p.some_avg10)).into(),
        pressure.map(|p| f64::from(p.full_avg10)).into(),
        pressure.map(|p| p.some_total.seconds()).into(),
        pressure.map(|p| p.full_total.seconds()).into(),
    ]
}
