//! A run as it unfolds: the fold over a recording's entries that live watching and replay share.
//!
//! `run`, `attach` and `judge` feed it entries; it keeps bounded summaries only, so a week of
//! watching costs no more memory than an hour. [`Run::verdict`] and [`Run::summary`] read it.

mod attempts;
mod choose;
pub(crate) mod cleanups;
mod death;
mod decide;
mod followed;
mod glance;
#[cfg(test)]
pub(crate) mod guarded;
pub(crate) mod levels;
mod looks;
#[cfg(test)]
mod loop_levels;
pub(crate) mod occurrences;
mod others;
mod reserve;
mod steps;
mod summary;
pub(crate) mod surroundings;
#[cfg(test)]
mod tests;
pub(crate) mod thin;
mod track;

pub use death::KernelKill;
pub use decide::Subject;
pub use followed::HolderTrack;
pub(crate) use followed::LengthAt;
pub use glance::{Glance, Grows};
pub use summary::{ProcessLine, RoleLine, Spread, Summary};
pub use track::ProcessTrack;

use std::collections::BTreeMap;

use crate::entry::{Entry, EventKind, Exit, Header};
use crate::judge::prior::Prior;
use crate::mark::{Counter, Geometry, Mark, MarkSource, Phase, TrainingLoop};
use crate::postmortem::PostMortem;
use crate::process::{Member, ProcId, Role};
use crate::sample::{Basis, Limit, Reading, Sample};
use crate::table::Table;
use crate::units::{Bytes, Micros};
use crate::verdict::Axis;

use attempts::Attempts;
use cleanups::Cleanups;
use death::LastTicks;
use followed::FollowedHolders;
use looks::Looks;
pub(crate) use looks::breakdowns_of;
pub use looks::{LooksCost, Taken};
use occurrences::{At, Occurrences};
use others::Others;
use steps::{StepMoment, Steps};
use surroundings::SurroundingsSeen;
use track::{BothAxes, RoleTrack, Together};

/// Everything that is remembered of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    header: Header,
    processes: Table<ProcessTrack>,
    roles: BTreeMap<&'static str, RoleTrack>,
    tree: BothAxes,
    gpu: Option<BothAxes>,
    steps: Steps,
    watched: Option<(ProcId, String)>,
    limit: Option<Limit>,
    /// `--limit` of the command that judges, which overrules what was recorded.
    limit_override: Option<Bytes>,
    geometry_override: Geometry,
    total_override: Option<u64>,
    /// `--axis`.
    axis_override: Option<Axis>,
    prior: Prior,
    basis: Basis,
    last_at: Micros,
    pending: Option<(StepMoment, Newest)>,
    samples: u64,
    lost_ticks: u64,
    /// Processes that are remembered and gone, at least.
    dead: usize,
    /// Some of the recording could not be read.
    damaged: bool,
    late: u64,
    events: Vec<(Micros, EventKind, String)>,
    looks: Looks,
    followed: FollowedHolders,
    attempts: Attempts,
    last_ticks: LastTicks,
    post_mortem: Option<PostMortem>,
    pub(crate) occurrences: Occurrences,
    pub(crate) cleanups: Cleanups,
    pub(crate) surroundings: SurroundingsSeen,
    others: Others,
    end: Option<Option<Exit>>,
}

/// What is kept of the newest sample until the next one confirms it.
#[derive(Clone, Debug, Default)]
struct Newest {
    readings: Vec<Reading>,
    tree: Bytes,
    limit: Option<Limit>,
}

impl Newest {
    /// In the room of an older one.
    fn take(mut self, sample: &Sample) -> Newest {
        self.readings.clone_from(&sample.readings);
        self.tree = sample.tree.held;
        self.limit.clone_from(&sample.limit);
        self
    }
}

/// Processes that are followed one by one: several times what the largest tree of a training job has.
const PROCESSES_KEPT: usize = 4096;

/// Events are few by design; a job that makes thousands must not make us grow.
const EVENTS_KEPT: usize = 200;

/// A tick that begins later than this is counted as late: half of the usual interval.
const LATE: Micros = Micros(500_000);

impl Run {
    pub fn new() -> Run {
        Run::default()
    }

    /// What flags say of the job overrules what the recording says.
    pub fn override_with(
        &mut self,
        geometry: Geometry,
        total_steps: Option<u64>,
        limit: Option<Bytes>,
        axis: Option<Axis>,
    ) {
        self.axis_override = axis;
        self.geometry_override = geometry;
        self.total_override = total_steps;
        self.limit_override = limit;
    }

    /// Judges by another prior than the published one, to score it.
    pub fn judge_by(&mut self, prior: Prior) {
        self.prior = prior;
    }

    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.header = header.clone(),
            Entry::Member(member) => {
                self.count_workers(member);
                let full = self.processes.len() >= PROCESSES_KEPT;
                match self.processes.get_mut(&member.id) {
                    Some(track) => track.member = member.clone(),
                    // The tree's own line counts those too.
                    None if full => {}
                    None => {
                        let track = ProcessTrack::new(member.clone(), self.last_at);
                        self.processes.insert(member.id, track);
                        self.forget_the_dead();
                    }
                };
            }
            Entry::Gone { id, at } => {
                if let Some(track) = self.processes.get_mut(id) {
                    self.dead += usize::from(track.gone.is_none());
                    track.gone = Some(*at);
                }
            }
            Entry::Watch { id, why, .. } => self.watched = Some((*id, why.clone())),
            Entry::Sample(sample) => self.sample(sample),
            Entry::Mark(mark) => {
                if self.steps.mark(mark) {
                    self.forget_steps();
                }
                if self.hears(mark) {
                    self.occurrences
                        .mark(mark, self.steps.phase(), self.steps.current());
                }
            }
            Entry::Look(look) => self.looks.push(look, self.steps.at_look(look)),
            Entry::Followed(followed) => self.followed.follow(followed),
            Entry::Lengths(lengths) => {
                let step = self.steps.current().map(|step| step as f64);
                self.followed.push(lengths, step);
            }
            Entry::Cleanup(cleanup) => self.cleanups.push(cleanup),
            Entry::Log { at, .. } => self.occurrences.logs.push(self.place(*at)),
            Entry::Record { .. } => {}
            Entry::Attempt(attempt) => self.next_attempt(attempt.at),
            Entry::PostMortem(found) => self.post_mortem = Some(PostMortem::clone(found)),
            Entry::Gap { gap, ticks, .. } => {
                self.lost_ticks = self.lost_ticks.saturating_add(*ticks);
                self.damaged |= gap.is_damage();
            }
            Entry::Event { at, kind, text } => {
                if self.events.len() < EVENTS_KEPT {
                    self.events.push((*at, *kind, text.clone()));
                }
            }
            Entry::End { at, exit } => {
                self.last_at = self.last_at.max(*at);
                self.end = Some(*exit);
                if let Some((_, look)) = self.pending.take() {
                    let all = look.readings.iter();
                    all.for_each(|reading| self.stood_at(reading));
                    self.tree.stood_at(look.tree.as_f64(), 0.0);
                }
            }
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.last_at = sample.at;
        self.last_ticks.see(sample, self.trains_in(sample));
        self.samples += 1;
        self.late += u64::from(sample.late > LATE);
        // The first one known; from then on as of the look that counts.
        self.limit = self.limit.take().or_else(|| sample.limit.clone());
        self.basis = sample.tree.basis;
        self.surroundings.push(sample, self.place(sample.at));
        self.steps.tick(sample.at);
        let moment = self.steps.moment(sample.at);
        // What is seen now counts only if it is still there at the next look: the last one may
        // show a process that is being taken apart.
        let room = match self.pending.take() {
            Some((before, look)) => {
                self.fold(&before, &look, sample);
                look
            }
            None => Newest::default(),
        };
        self.pending = Some((moment, room.take(sample)));
    }

    /// Takes in the look before the newest one.
    fn fold(&mut self, moment: &StepMoment, look: &Newest, next: &Sample) {
        let lives_on = |id: ProcId, near: usize| {
            let found = match next.readings.get(near) {
                Some(reading) if reading.id == id => Ok(near),
                _ => next
                    .readings
                    .binary_search_by_key(&id.pid, |reading| reading.id.pid),
            };
            found.is_ok_and(|at| next.readings[at].id == id && next.readings[at].is_alive())
        };
        let mut by_role: [Option<Together>; Role::NAMES.len()] = Default::default();
        let mut gpu = None;
        let mut highest_above: f64 = 0.0;
        let mut anybody = false;
        let mut near = 0;
        for (nth, reading) in look.readings.iter().enumerate() {
            if !lives_on(reading.id, nth) {
                self.stood_at(reading);
                continue;
            }
            let Some(place) = self.processes.find(reading.id, near) else {
                continue;
            };
            near = place + 1;
            let track = self.processes.at_mut(place);
            anybody = true;
            let above = track.push(reading, &look.readings, moment);
            highest_above = highest_above.max(above);
            by_role[track.member.role.index()]
                .get_or_insert_default()
                .add(track, reading, above);
            if let Some(bytes) = reading.gpu {
                *gpu.get_or_insert(0.0) += bytes.as_f64();
            }
        }
        for (role, together) in Role::NAMES.into_iter().zip(by_role) {
            if let Some(together) = together {
                self.roles.entry(role).or_default().push(&together, moment);
            }
        }
        if let Some(bytes) = gpu {
            self.gpu.get_or_insert_default().push(bytes, moment);
        }
        if !anybody {
            self.tree.stood_at(look.tree.as_f64(), 0.0);
        } else {
            // What is left when everybody is gone is not what the job had left.
            if let Some(limit) = &look.limit {
                self.others.push(moment.seconds, limit, look.tree);
                self.limit.clone_from(&look.limit);
            }
            let held = look.tree.as_f64();
            self.tree.push_up_to(held, highest_above, moment);
        }
    }

    /// The last reading of a process: some of it may have been free already, so it held that much at least.
    fn stood_at(&mut self, reading: &Reading) {
        if let Some(track) = self.processes.get_mut(&reading.id) {
            track.stood_at(reading);
        }
    }

    /// Another counter is the axis now; points on the old one would mix with its own.
    fn forget_steps(&mut self) {
        let own = self.processes.values_mut().flat_map(|track| {
            let own = std::iter::once(&mut track.lines);
            own.chain(track.gpu.as_mut())
                .chain(track.objects.as_deref_mut())
        });
        let roles =
            (self.roles.values_mut()).flat_map(|role| [&mut role.lines, &mut role.by_itself]);
        let rest = std::iter::once(&mut self.tree).chain(self.gpu.as_mut());
        for lines in own.chain(roles).chain(rest) {
            lines.step = BothAxes::default().step;
        }
        if let Some((moment, _)) = &mut self.pending {
            moment.step = None;
        }
        self.occurrences.forget_steps();
        self.followed.forget_steps();
    }

    fn place(&self, at: Micros) -> At {
        At {
            seconds: at.seconds(),
            step: self.steps.current().map(|step| step as f64),
        }
    }

    /// A process becomes a worker when its role says so, which may be later than its start.
    fn count_workers(&mut self, member: &Member) {
        let known = self.processes.get(&member.id);
        let before = known.map(|track| track.member.role);
        if member.role == Role::LoaderWorker && before != Some(Role::LoaderWorker) {
            let at = self.place(self.last_at);
            self.occurrences.worker_starts.push(at);
        }
    }

    /// Worker pools that are made anew every epoch would make us grow: of the processes that ended,
    /// only those that held most are remembered one by one. The role's own line keeps all of them.
    fn forget_the_dead(&mut self) {
        const DEAD_KEPT: usize = 64;
        // Looking at all of them for every one that joins would take the square of their number.
        if self.dead <= DEAD_KEPT + self.processes.len() / 16 {
            return;
        }
        let mut dead: Vec<(ProcId, u64)> = self
            .processes
            .iter()
            .filter(|(id, track)| {
                track.gone.is_some() && self.watched.as_ref().is_none_or(|(kept, _)| kept != *id)
            })
            .map(|(id, track)| (*id, track.held.max as u64))
            .collect();
        dead.sort_by_key(|(_, held)| *held);
        let kept = dead.len().min(DEAD_KEPT);
        for (id, _) in &dead[..dead.len() - kept] {
            self.processes.remove(id);
        }
        self.dead = kept;
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    pub fn last_at(&self) -> Micros {
        self.last_at
    }

    pub fn step(&self) -> Option<u64> {
        self.steps.current()
    }

    /// What the training loop does now, as far as it says.
    pub fn phase(&self) -> Option<Phase> {
        self.steps.moment(self.last_at).phase
    }

    /// Where steps come from.
    pub fn steps_from(&self) -> Option<MarkSource> {
        self.steps.source()
    }

    /// Whether a mark tells of epochs: what memory says of them beside a better source may be counted otherwise.
    pub(crate) fn hears(&self, mark: &Mark) -> bool {
        mark.source != MarkSource::Memory || self.steps.hears(mark)
    }

    /// The object that counts them, where they are read from memory.
    pub fn counter(&self) -> Option<Counter> {
        self.steps.counter()
    }

    /// The furthest step of all attempts.
    pub fn furthest_step(&self) -> Option<u64> {
        self.steps.furthest_step()
    }

    /// Steps between two that are told.
    pub(crate) fn step_stride(&self) -> f64 {
        self.steps.stride()
    }

    pub fn total_steps(&self) -> Option<u64> {
        self.total_override.or(self.steps.total())
    }

    /// The training processes that live.
    pub fn trainers(&self) -> impl Iterator<Item = ProcId> {
        self.processes
            .values()
            .filter(|track| track.gone.is_none() && track.member.role.trains())
            .map(|track| track.member.id)
    }

    pub fn processes(&self) -> impl Iterator<Item = &ProcessTrack> {
        self.processes.values()
    }

    pub fn process(&self, id: ProcId) -> Option<&ProcessTrack> {
        self.processes.get(&id)
    }

    /// The process of this run that has this pid now.
    pub fn living(&self, pid: u32) -> Option<ProcId> {
        let named = |track: &&ProcessTrack| track.member.id.pid == pid && track.gone.is_none();
        self.processes
            .values()
            .find(named)
            .map(|track| track.member.id)
    }

    pub(crate) fn table(&self) -> &Table<ProcessTrack> {
        &self.processes
    }

    /// The one to watch and why.
    pub fn watched(&self) -> Option<(&ProcessTrack, &str)> {
        let (id, why) = self.watched.as_ref()?;
        Some((self.processes.get(id)?, why))
    }

    pub fn limit(&self) -> Option<&Limit> {
        self.limit.as_ref()
    }

    pub fn events(&self) -> &[(Micros, EventKind, String)] {
        &self.events
    }

    /// The looks into one process, oldest first.
    pub fn looks(&self, id: ProcId) -> &[Taken] {
        self.looks.of(id)
    }

    /// The holders of one process that were read on every tick.
    pub fn holders(&self, id: ProcId) -> &[HolderTrack] {
        self.followed.of(id)
    }

    /// Whose training loop it is, where the package or the output says so.
    pub(crate) fn training_loop(&self) -> Option<TrainingLoop> {
        self.steps.training_loop()
    }

    /// How the data is cut into steps, as far as marks or flags say.
    pub fn geometry(&self) -> Geometry {
        let mut geometry = self.steps.geometry();
        if self.geometry_override.examples.is_some() {
            // The length of an epoch that the run shows would beat the one that the flags give.
            geometry.epoch_steps = None;
        }
        geometry.merge(&self.geometry_override);
        geometry
    }
}

/// What this process adds to an honest sum: its proportional share when that was read, corrected by
/// what it has grown by itself since; its counters until then.
pub(crate) fn own_share(reading: &Reading) -> Bytes {
    match &reading.pss {
        Some(pss) => {
            let read = pss.anon + pss.shmem + pss.swap;
            let now = reading.anon.0 as i128 - pss.rss_anon.0 as i128;
            let own = (read.0 as i128 + now).max(0);
            Bytes(u64::try_from(own).unwrap_or(u64::MAX))
        }
        None => reading.held(),
    }
}
