//! One sample of the tree per tick. Fed by `/proc`, cgroups and GPUs; read by `run`, `attach` and `ps`.
//!
//! Every tick reads `stat` of each member from a file that stays open, `status` where `stat` shows a
//! change, and `smaps_rollup` on a budget (`careful`). The sum over the tree is made in `sum`.

mod careful;
mod member;
mod sum;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use lowtide_core::process::{Member, ProcId, Role};
use lowtide_core::sample::{Gap, GapWhy, Sample};
use lowtide_core::tree::assign::assign;
use lowtide_core::tree::choose::{Watchable, choose};
use lowtide_core::units::{Bytes, Cap, Micros, Share};
use rustix::time::{ClockId, clock_gettime};

use self::careful::{Careful, Family};
use self::member::{Outcome, Tracked, Units};
use self::sum::Families;
use crate::Error;
use crate::cgroup::{Groups, Whose};
use crate::gpu::{amd, nvml};
use crate::limit::{self, Watched};
use crate::proc::{self, Proc, limits::Limits, meminfo, pressure};
use crate::tree::{Joined, Tree};

/// Groups are listed for strangers at this distance.
const ONLY_OURS_EVERY: Micros = Micros(30_000_000);
/// A process can be moved to another group, and its resource limits can change; both are rare.
const PLACE_EVERY: Micros = Micros(60_000_000);
/// Processes that the driver knows by pids of another namespace are mentioned at this distance.
const FOREIGN_AGAIN: Micros = Micros(60_000_000);
const DRM: &str = "/sys/class/drm";
/// What still trains this long after the proved trainer has ended is the job's next stage, not what
/// is left of the last one.
const NEXT_STAGE: Micros = Micros(10_000_000);
/// Open files that are left to the rest of the program.
const FILES_LEFT: usize = 128;

#[derive(Clone, Debug)]
pub struct Options {
    /// The processes whose trees are watched.
    pub roots: Vec<u32>,
    /// The process that adopts orphans of the tree (`run`'s keeper); not a member itself.
    pub subreaper: Option<u32>,
    /// lowtide's own processes, which may share the job's cgroup.
    pub helpers: Vec<u32>,
    /// Share of wall time for careful readings.
    pub budget: Share,
    /// `--limit`.
    pub limit: Option<Cap>,
    pub proc: PathBuf,
    pub dev_shm: PathBuf,
    /// Ask for GPUs too.
    pub gpus: bool,
}

impl Options {
    pub fn new(roots: Vec<u32>) -> Options {
        Options {
            roots,
            subreaper: None,
            helpers: vec![std::process::id()],
            budget: Share(0.001),
            limit: None,
            proc: PathBuf::from("/proc"),
            dev_shm: PathBuf::from("/dev/shm"),
            gpus: true,
        }
    }
}

/// What has changed since the last tick, in the order in which it is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new member, or one of which something else is known now.
    Member(Member),
    /// It has ended.
    Left(ProcId),
    /// Another process is the one to watch.
    Watch { id: ProcId, why: String },
}

/// What watching has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Processor time of all ticks.
    pub cpu: Micros,
    /// Time spent in `smaps_rollup`: for at most this long a lock of a target was held.
    pub locked: Micros,
    pub ticks: u64,
}

/// What speaks for a process as the one to watch, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    #[default]
    Helps,
    /// It may train: a program that nothing else explains.
    Trains,
    /// A framework, a GPU or a rank says so.
    Proved,
}

impl Standing {
    fn of(tracked: &Tracked) -> Standing {
        let member = &tracked.member;
        let proved = member.facts.libtorch
            || member.facts.libcuda
            || tracked.reading.gpu.is_some()
            || matches!(member.role, Role::Rank { .. });
        match (member.role.trains(), proved) {
            (true, true) => Standing::Proved,
            (true, false) => Standing::Trains,
            (false, _) => Standing::Helps,
        }
    }
}

pub struct Sampler {
    proc: Proc,
    options: Options,
    tree: Tree,
    units: Units,
    /// Ordered by pid.
    members: Vec<Tracked>,
    families: Families,
    careful: Careful,
    watched: Option<ProcId>,
    /// How much spoke for the watched process when it was last seen.
    standing: Standing,
    /// When it was found to have ended.
    left: Option<Micros>,
    groups: Option<Groups>,
    rlimits: Limits,
    placed: Option<Micros>,
    only_ours_checked: Option<Micros>,
    most_files: usize,
    meminfo: Option<OwnedFd>,
    pressure: Option<OwnedFd>,
    nvml: Option<nvml::Watch>,
    has_amd: bool,
    /// When pids of another namespace were last mentioned.
    foreign_told: Micros,
    joined: Vec<Joined>,
    buffer: Vec<u8>,
    spent: Spent,
}

impl Sampler {
    /// Fails when one of the roots does not exist.
    pub fn new(options: Options) -> Result<Sampler, Error> {
        let proc = Proc::at(&options.proc)?;
        for pid in &options.roots {
            // A job that we started and that is over already was quick; that is no error.
            if options.subreaper.is_none() && proc.open(*pid, "stat").is_err() {
                return Err(Error::NoSuchProcess { pid: *pid });
            }
        }
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let files = files
            .and_then(|files| usize::try_from(files).ok())
            .unwrap_or(usize::MAX);
        let units = Units {
            page: rustix::param::page_size() as u64,
            ticks_per_second: rustix::param::clock_ticks_per_second(),
        };
        Ok(Sampler {
            tree: Tree::new(&options.roots, options.subreaper).without(&options.helpers),
            units,
            members: Vec::new(),
            families: Families::new(),
            careful: Careful::new(options.budget, units.page),
            watched: None,
            standing: Standing::default(),
            left: None,
            groups: None,
            rlimits: Limits::default(),
            placed: None,
            only_ours_checked: None,
            most_files: files.saturating_sub(FILES_LEFT),
            meminfo: proc.open_global("meminfo").ok(),
            pressure: proc.open_global("pressure/memory").ok(),
            nvml: options.gpus.then(|| nvml::Watch::start(None)),
            has_amd: options.gpus && !amd::devices(Path::new(DRM)).is_empty(),
            foreign_told: Micros(0),
            joined: Vec::new(),
            buffer: Vec::new(),
            spent: Spent::default(),
            proc,
            options,
        })
    }

    /// Reads everything once and fills `sample`, whose buffers are reused. `now` must not go backwards. The
    /// caller sets `sample.late`.
    pub fn tick(&mut self, now: Micros, sample: &mut Sample) -> Result<Vec<Change>, Error> {
        let began = processor_time();
        let mut changes = Vec::new();
        sample.seq = self.spent.ticks;
        sample.at = now;
        sample.late = Micros(0);
        sample.gaps.clear();

        self.join(now)?;
        let stirred = self.read_members(now, sample, &mut changes);
        if stirred {
            self.update_families(now);
            self.call_roles(&mut changes);
        }
        self.careful.read_some(
            &self.proc,
            now,
            &mut self.members,
            &self.families,
            &mut sample.gaps,
        );
        self.read_node(sample);
        self.read_gpus(now, sample);
        self.choose(now, &mut changes);
        self.read_cgroups(now, sample);

        sample.readings.clear();
        sample
            .readings
            .extend(self.members.iter().map(|tracked| tracked.reading));
        let ours = sample.cgroups.iter().find(|group| group.only_ours);
        let by_cgroup = ours.and_then(|group| sum::by_cgroup(group, self.helpers_held()));
        sample.tree = by_cgroup.unwrap_or_else(|| {
            sum::by_process(
                &self.members,
                &self.families,
                &sample.node,
                self.units.page,
                now,
            )
        });
        let watched = self.watched.and_then(|id| find(&self.members, id));
        sample.limit = limit::effective(
            &sample.cgroups,
            &sample.node,
            watched.map(|tracked| &tracked.member.facts),
            Watched {
                rlimits: self.rlimits,
                vsize: watched.map_or(Bytes::ZERO, |tracked| tracked.reading.vsize),
                data: watched.map_or(Bytes::ZERO, |tracked| tracked.data),
            },
            self.options.limit,
            sample.tree.held,
        );
        self.spent.ticks += 1;
        self.spent.locked = self.careful.locked;
        self.spent.cpu = Micros(self.spent.cpu.0 + processor_time().since(began).0);
        Ok(changes)
    }

    /// No member is left.
    pub fn is_over(&self) -> bool {
        self.tree.is_empty() && self.spent.ticks > 0
    }

    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().map(|tracked| &tracked.member)
    }

    pub fn watched(&self) -> Option<&Member> {
        let id = self.watched?;
        find(&self.members, id).map(|tracked| &tracked.member)
    }

    pub fn spent(&self) -> Spent {
        self.spent
    }

    fn join(&mut self, now: Micros) -> Result<(), Error> {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        self.tree.update(&self.proc, &mut joined)?;
        for Joined { id, parent } in &joined {
            let tracked = Tracked::new(*id, *parent, now);
            let at = self.members.partition_point(|other| other.id() < *id);
            self.members.insert(at, tracked);
        }
        self.joined = joined;
        Ok(())
    }

    /// Reads the cheap counters of all members; tells whether anyone joined, left or changed.
    fn read_members(
        &mut self,
        now: Micros,
        sample: &mut Sample,
        changes: &mut Vec<Change>,
    ) -> bool {
        let mut stirred = false;
        let mut due: Vec<usize> = Vec::new();
        let mut left: Vec<ProcId> = Vec::new();
        let mut files: usize = self.members.iter().map(Tracked::open_files).sum();
        for (index, tracked) in self.members.iter_mut().enumerate() {
            let keep = files + 2 <= self.most_files;
            let before = (tracked.open_files(), tracked.family);
            match tracked.read(&self.proc, self.units, now, keep, &mut self.buffer) {
                Outcome::Read => {}
                Outcome::FactsDue => due.push(index),
                Outcome::Left => left.push(tracked.id()),
                Outcome::Missing(what, why) => {
                    sample.gaps.push(Gap {
                        who: Some(tracked.id()),
                        what: what.to_owned(),
                        why,
                    });
                }
            }
            files += tracked.open_files() - before.0;
            stirred |= tracked.family != before.1;
        }
        // Parents before children, which are compared with them. That is the order of their numbers only until
        // those begin anew.
        due.sort_by_key(|index| self.members[*index].id().start);
        for index in due {
            let parent = self.members[index]
                .member
                .parent
                .and_then(|id| find(&self.members, id))
                .map(Tracked::kinfolk);
            let tracked = &mut self.members[index];
            stirred |= tracked.gather(&self.proc, now, parent.as_ref(), &mut self.buffer);
        }
        for id in &left {
            self.tree.left(*id);
            changes.push(Change::Left(*id));
            stirred = true;
        }
        if !left.is_empty() {
            self.members.retain(|tracked| !left.contains(&tracked.id()));
        }
        stirred
    }

    fn update_families(&mut self, now: Micros) {
        let mut counts: HashMap<(u64, u64), usize> = HashMap::new();
        for tracked in &self.members {
            *counts.entry(tracked.family).or_default() += 1;
        }
        self.families.retain(|key, _| counts.contains_key(key));
        for (key, members) in counts {
            let family = self.families.entry(key).or_default();
            if family.members != members {
                *family = Family {
                    members,
                    changed: now,
                };
            }
        }
    }

    /// Calls the roles anew and reports every member that is new or different.
    fn call_roles(&mut self, changes: &mut Vec<Change>) {
        let members: Vec<&Member> = self.members().collect();
        let called = assign(&members);
        // Parents before children, as a reader of the recording would like it.
        let mut order: Vec<usize> = (0..called.len()).collect();
        order.sort_by_key(|index| (self.members[*index].id().start, *index));
        for (tracked, (role, why)) in self.members.iter_mut().zip(called) {
            tracked.news |= (tracked.member.role, &tracked.member.why) != (role, &why);
            tracked.member.role = role;
            tracked.member.why = why;
        }
        for index in order {
            let tracked = &mut self.members[index];
            if std::mem::take(&mut tracked.news) {
                changes.push(Change::Member(tracked.member.clone()));
            }
        }
    }

    fn choose(&mut self, now: Micros, changes: &mut Vec<Change>) {
        let candidates: Vec<Watchable<'_>> = self
            .members
            .iter()
            .map(|tracked| Watchable {
                id: tracked.id(),
                role: tracked.member.role,
                facts: &tracked.member.facts,
                held: tracked.reading.held(),
                growth: tracked.growth(),
                cpu: tracked.cores(now),
                gpu: tracked.reading.gpu,
            })
            .collect();
        let Some(choice) = choose(&candidates, self.watched) else {
            return;
        };
        let standing = find(&self.members, choice.id).map_or(Standing::Helps, Standing::of);
        // When the trainer has ended, what started it and the other ranks are on their way out too:
        // what the job did is still told by the trainer. What trains on is the next stage.
        let living = self
            .watched
            .is_none_or(|id| find(&self.members, id).is_some());
        self.left = if living {
            None
        } else {
            self.left.or(Some(now))
        };
        let next_stage = standing >= Standing::Trains
            && self.left.is_some_and(|left| now.since(left) >= NEXT_STAGE);
        let as_good = standing == self.standing && (living || standing == Standing::Helps);
        if standing <= self.standing && !as_good && !next_stage {
            return;
        }
        let more_is_known = standing > self.standing;
        self.standing = standing;
        if self.watched != Some(choice.id) || more_is_known {
            self.watched = Some(choice.id);
            self.placed = None;
            changes.push(Change::Watch {
                id: choice.id,
                why: choice.why,
            });
        }
    }

    fn read_node(&mut self, sample: &mut Sample) {
        let mut gap = |what: &str, why: GapWhy| {
            sample.gaps.push(Gap {
                who: None,
                what: what.to_owned(),
                why,
            });
        };
        let meminfo = self.meminfo.as_ref().and_then(|file| {
            proc::read_all(file, &mut self.buffer).ok()?;
            meminfo::parse(&self.buffer)
        });
        match meminfo {
            Some(node) => sample.node = node,
            None => gap("meminfo", GapWhy::Malformed),
        }
        sample.node.pressure = self.pressure.as_ref().and_then(|file| {
            proc::read_all(file, &mut self.buffer).ok()?;
            pressure::parse(&self.buffer)
        });
        sample.node.dev_shm = rustix::fs::statvfs(&self.options.dev_shm).ok().map(|fs| {
            let used = fs.f_blocks.saturating_sub(fs.f_bfree);
            (
                Bytes(used.saturating_mul(fs.f_frsize)),
                Bytes(fs.f_blocks.saturating_mul(fs.f_frsize)),
            )
        });
    }

    fn read_gpus(&mut self, now: Micros, sample: &mut Sample) {
        sample.gpus.clear();
        if self.has_amd {
            sample.gpus.extend(amd::devices(Path::new(DRM)));
            // Reading all of a process's files is dear: only where the driver's library is mapped.
            let users = self
                .members
                .iter_mut()
                .filter(|tracked| tracked.member.facts.libcuda);
            for tracked in users {
                tracked.reading.gpu = amd::of_process(&self.proc, tracked.id().pid);
            }
        }
        let Some(nvml) = &mut self.nvml else {
            return;
        };
        if let Some(answer) = nvml.latest(now, &mut sample.gaps) {
            sample.gpus.extend_from_slice(&answer.devices);
            for tracked in &mut self.members {
                let nvidia = answer.by_pid.get(&tracked.id().pid).copied();
                tracked.reading.gpu = nvidia.or(tracked.reading.gpu.filter(|_| self.has_amd));
            }
            // Memory in use by nobody whose pid means anything here: another pid namespace.
            let foreign = |pid: &u32| self.proc.open(*pid, "stat").is_err();
            if answer.by_pid.keys().any(foreign) && now.since(self.foreign_told) >= FOREIGN_AGAIN {
                self.foreign_told = now;
                sample.gaps.push(Gap {
                    who: None,
                    what: "nvml processes".to_owned(),
                    why: GapWhy::Unsupported,
                });
            }
        } else if nvml.is_over() {
            self.nvml = None;
        }
    }

    fn read_cgroups(&mut self, now: Micros, sample: &mut Sample) {
        let Some(watched) = self.watched else {
            return;
        };
        // A process that has ended is in no group, and its pid may be a stranger's by now.
        let living = find(&self.members, watched);
        if let Some(tracked) = living
            && self.placed.is_none_or(|at| now.since(at) >= PLACE_EVERY)
        {
            self.placed = Some(now);
            self.only_ours_checked = None;
            self.groups = Groups::of(&self.proc, watched.pid);
            self.rlimits = tracked.rlimits(&self.proc, &mut self.buffer);
        }
        let Some(groups) = &mut self.groups else {
            sample.cgroups.clear();
            return;
        };
        if self
            .only_ours_checked
            .is_none_or(|at| now.since(at) >= ONLY_OURS_EVERY)
        {
            self.only_ours_checked = Some(now);
            let (tree, options) = (&self.tree, &self.options);
            groups.check_only_ours(tree.len(), &|pid| {
                if tree.contains(pid) {
                    Whose::Tree
                } else if options.helpers.contains(&pid) || options.subreaper == Some(pid) {
                    Whose::Helper
                } else {
                    Whose::Stranger
                }
            });
        }
        groups.read(now, &mut sample.cgroups);
    }

    /// What lowtide's own processes hold, to be taken off a group's count. Two small reads, done only
    /// where a group is ours alone.
    fn helpers_held(&mut self) -> Bytes {
        let pids = self.options.helpers.iter().chain(&self.options.subreaper);
        let mut held = Bytes::ZERO;
        for pid in pids {
            if self.proc.read(*pid, "status", &mut self.buffer).is_ok()
                && let Some(status) = proc::status::parse(&self.buffer)
            {
                held = held + status.anon + status.shmem + status.swap;
            }
        }
        held
    }
}

fn find(members: &[Tracked], id: ProcId) -> Option<&Tracked> {
    let index = members.binary_search_by_key(&id, Tracked::id).ok()?;
    members.get(index)
}

/// Processor time of this thread.
pub fn processor_time() -> Micros {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let micros = time.tv_sec * 1_000_000 + time.tv_nsec / 1000;
    Micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::proc::fixture::{Fake, Fixture};
    use lowtide_core::process::Role;

    #[test]
    fn a_worker_whose_number_is_below_its_parents_is_a_worker() {
        let fixture = Fixture::new();
        // Above what any kernel numbers: this process is left out, and it may have any number below.
        let trainer = Fake::new(5_000_900, 1, &["python", "train.py"]);
        let worker = Fake {
            pid: 5_000_040,
            parent: trainer.pid,
            start: trainer.start + 1,
            ..trainer.clone()
        };
        for fake in [&trainer, &worker] {
            fixture.put(fake);
            let exe = fixture.root().join(format!("{}/exe", fake.pid));
            symlink("/usr/bin/python3", exe).unwrap();
        }
        let mut sampler = Sampler::new(Options {
            proc: fixture.root().to_owned(),
            ..Options::new(vec![trainer.pid])
        })
        .unwrap();
        let mut sample = Sample::default();
        sampler.tick(Micros(1_000_000), &mut sample).unwrap();
        let roles: Vec<(u32, Role)> = sampler.members().map(|m| (m.id.pid, m.role)).collect();
        let expected = [
            (worker.pid, Role::LoaderWorker),
            (trainer.pid, Role::Trainer),
        ];
        assert_eq!(roles, expected);
    }
}
