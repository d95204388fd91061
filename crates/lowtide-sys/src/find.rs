//! The training jobs of this machine, for `lowtide ps` and `attach --find`: all
//! processes of a moment, grouped into trees that begin where someone started the job.

use std::collections::HashMap;

use lowtide_core::process::{Member, ProcId, Role};
use lowtide_core::tree::assign::assign;
use lowtide_core::tree::choose::{Watchable, choose};
use lowtide_core::tree::program::{Program, is_python};
use lowtide_core::tree::roles;
use lowtide_core::units::Bytes;

use crate::Error;
use crate::facts;
use crate::proc::maps::Mapped;
use crate::proc::{Proc, stat, status};

/// Without Python in its name, a process must be at least this large to have its map read: a
/// framework alone takes more.
const LARGE: Bytes = Bytes(100_000_000);

/// A training job that runs now.
#[derive(Clone, Debug)]
pub struct TrainingJob {
    /// What to attach to: the topmost launcher or trainer.
    pub root: ProcId,
    /// The one to watch.
    pub trainer: ProcId,
    pub why: String,
    /// The whole tree, parents before children.
    pub members: Vec<Member>,
}

struct Seen {
    member: Member,
    mapped: Mapped,
    held: Bytes,
    family: (u64, u64),
    parent_pid: u32,
}

/// All jobs; with `text` only those in which a trainer's command line contains it, whether or not
/// a framework is mapped.
pub fn find_training(proc: &Proc, text: Option<&str>) -> Result<Vec<TrainingJob>, Error> {
    let machine = Machine::read(proc)?;
    let all = 0..machine.seen.len();
    let trainers: Vec<usize> = all.filter(|at| machine.trains(*at, text)).collect();
    let mut roots: Vec<usize> = (trainers.iter())
        .map(|at| machine.root_of(*at, &trainers))
        .collect();
    roots.sort_unstable();
    roots.dedup();
    // A trainer that another one started is in that one's tree already: it stands in one job only.
    let topmost = |root: &usize| {
        !(roots.iter()).any(|other| other != root && machine.is_below(*root, *other))
    };
    let roots: Vec<usize> = roots.iter().copied().filter(topmost).collect();
    let jobs = roots.into_iter().filter_map(|root| machine.job(root));
    Ok(jobs.collect())
}

/// All processes, by index, with the role of each.
struct Machine {
    seen: Vec<Seen>,
    called: Vec<(Role, String)>,
    by_id: HashMap<ProcId, usize>,
}

impl Machine {
    fn read(proc: &Proc) -> Result<Machine, Error> {
        let seen = processes(proc)?;
        let members: Vec<&Member> = seen.iter().map(|seen| &seen.member).collect();
        let called = assign(&members);
        let by_id = (members.iter().enumerate())
            .map(|(at, member)| (member.id, at))
            .collect();
        Ok(Machine {
            called,
            by_id,
            seen,
        })
    }

    fn parent_of(&self, at: usize) -> Option<usize> {
        self.by_id.get(&self.seen[at].member.parent?).copied()
    }

    fn is_below(&self, mut at: usize, top: usize) -> bool {
        while at != top {
            let Some(parent) = self.parent_of(at) else {
                return false;
            };
            at = parent;
        }
        true
    }

    fn trains(&self, at: usize, text: Option<&str>) -> bool {
        let seen = &self.seen[at];
        let facts = &seen.member.facts;
        if !self.called[at].0.trains() || seen.member.id.pid == std::process::id() {
            return false;
        }
        match text {
            Some(text) => facts.argv.join(" ").contains(text),
            None => seen.mapped.framework() || roles::rank(facts).is_some(),
        }
    }

    /// Where someone started the job of this trainer.
    fn root_of(&self, at: usize, trainers: &[usize]) -> usize {
        // What started several trainers that are not ranks of one job runs jobs; it is no part of one.
        let has_others = |parent: usize, root: usize| {
            trainers.iter().any(|at| {
                !matches!(self.called[*at].0, Role::Rank { .. })
                    && self.is_below(*at, parent)
                    && !self.is_below(*at, root)
            })
        };
        let mut root = at;
        while let Some(parent) = (self.parent_of(root))
            .filter(|at| started_it(&self.seen[*at].member, self.called[*at].0))
            .filter(|parent| !has_others(*parent, root))
        {
            root = parent;
        }
        root
    }

    /// The tree below a root, and the one to watch in it.
    fn job(&self, root: usize) -> Option<TrainingJob> {
        let all = 0..self.seen.len();
        let tree: Vec<usize> = all.filter(|at| self.is_below(*at, root)).collect();
        let watchable = |at: &usize| Watchable {
            id: self.seen[*at].member.id,
            role: self.called[*at].0,
            facts: &self.seen[*at].member.facts,
            held: self.seen[*at].held,
            growth: Bytes::ZERO,
            cpu: 0.0,
            gpu: None,
        };
        let watchables: Vec<Watchable<'_>> = tree.iter().map(watchable).collect();
        let choice = choose(&watchables, None)?;
        let member = |at: &usize| Member {
            role: self.called[*at].0,
            why: self.called[*at].1.clone(),
            ..self.seen[*at].member.clone()
        };
        let mut members: Vec<Member> = tree.iter().map(member).collect();
        members.sort_by_key(|member| (member.id.start, member.id.pid));
        Some(TrainingJob {
            root: self.seen[root].member.id,
            trainer: choice.id,
            why: choice.why,
            members,
        })
    }
}

/// Whether a parent belongs to the job: what launched it or trains itself, but not the shell in
/// which someone typed the command, and not a service that runs all the time.
fn started_it(member: &Member, role: Role) -> bool {
    if member.id.pid == std::process::id() {
        return false;
    }
    match role {
        Role::Launcher => {
            let argv = &member.facts.argv;
            let service = matches!(
                Program::of(argv).name(),
                "slurmstepd" | "lowtide" | "sudo" | "su"
            );
            // An interactive shell has no arguments but options.
            let only_options = argv
                .iter()
                .skip(1)
                .all(|argument| argument.starts_with('-'));
            !service && !only_options
        }
        role => role.trains(),
    }
}

/// All processes that run, each with its parent.
fn processes(proc: &Proc) -> Result<Vec<Seen>, Error> {
    let mut pids = Vec::new();
    proc.pids(&mut pids)?;
    let mut buffer = Vec::new();
    let mut seen: Vec<Seen> = Vec::new();
    for pid in pids {
        // What vanishes meanwhile is no longer a job.
        seen.extend(process(proc, pid, &mut buffer));
    }
    let by_pid: HashMap<u32, usize> = seen
        .iter()
        .enumerate()
        .map(|(at, seen)| (seen.member.id.pid, at))
        .collect();
    for at in 0..seen.len() {
        let Some(parent) = by_pid
            .get(&seen[at].parent_pid)
            .map(|parent| &seen[*parent])
        else {
            continue;
        };
        let id = parent.member.id;
        let (ours, theirs) = (&seen[at].member.facts, &parent.member.facts);
        let forked = ours.exe == theirs.exe
            && if seen[at].family.1 == 0 {
                ours.argv == theirs.argv
            } else {
                seen[at].family == parent.family
            };
        seen[at].member.parent = Some(id);
        seen[at].member.facts.forked = forked;
    }
    Ok(seen)
}

fn process(proc: &Proc, pid: u32, buffer: &mut Vec<u8>) -> Option<Seen> {
    proc.read(pid, "stat", buffer).ok()?;
    let stat = stat::parse(buffer)?;
    if stat.is_kernel_thread() || stat.has_ended() {
        return None;
    }
    let id = ProcId {
        pid,
        start: stat.start,
    };
    let family = (stat.start_code, stat.start_stack);
    let parent_pid = stat.parent;
    let comm = stat.comm.to_vec();
    let mut facts = facts::gather(proc, pid, &comm, buffer);
    proc.read(pid, "status", buffer).ok()?;
    let status = status::parse(buffer)?;
    let held = status.anon + status.shmem + status.swap;
    let mut mapped = Mapped::default();
    if is_python(&facts) || held + status.file > LARGE {
        mapped = facts::mapped(proc, pid, buffer).unwrap_or_default();
        facts::note(&mut facts, mapped);
    }
    let member = Member {
        id,
        parent: None,
        facts,
        role: Role::Other,
        why: String::new(),
    };
    Some(Seen {
        member,
        mapped,
        held,
        family,
        parent_pid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::fixture::{Fake, Fixture};

    const TORCH: &str = "1-2 r-xp 0 0 1 /env/libtorch_cpu.so\n";

    fn machine() -> Fixture {
        let fixture = Fixture::new();
        let mut job = vec![
            Fake::new(1, 0, &["/sbin/init"]),
            Fake::new(5, 1, &["-bash"]),
            Fake::new(10, 5, &["uv", "run", "python", "train.py"]),
            Fake::new(11, 10, &["python", "train.py"]),
            Fake::new(20, 5, &["python", "plot.py"]),
            Fake::new(30, 5, &["bash"]),
            Fake::new(31, 30, &["python", "-m", "torch.distributed.run", "ddp.py"]),
            Fake::new(32, 31, &["python", "ddp.py"]),
            Fake::new(33, 31, &["python", "ddp.py"]),
        ];
        job[3].maps = TORCH.into();
        for rank in 0..2 {
            let env = [("RANK", rank.to_string()), ("WORLD_SIZE", "2".to_owned())];
            job[7 + rank].env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
        }
        for fake in &job {
            fixture.put(fake);
        }
        fixture
    }

    #[test]
    fn jobs_begin_where_someone_started_them() {
        let fixture = machine();
        let jobs = find_training(&fixture.proc(), None).unwrap();
        let found: Vec<(u32, u32, usize)> = jobs
            .iter()
            .map(|job| (job.root.pid, job.trainer.pid, job.members.len()))
            .collect();
        assert_eq!(found, [(10, 11, 2), (31, 32, 3)]);
    }

    /// A search that imports torch itself and starts two trainings: one tree, and nobody in it twice.
    #[test]
    fn a_process_stands_in_one_job() {
        let fixture = Fixture::new();
        let mut all = [
            Fake::new(1, 0, &["/sbin/init"]),
            Fake::new(5, 1, &["-bash"]),
            Fake::new(10, 5, &["python", "search.py"]),
            Fake::new(11, 10, &["python", "train.py", "--lr", "1"]),
            Fake::new(12, 10, &["sh", "-c", "python train.py --lr 2"]),
            Fake::new(13, 12, &["python", "train.py", "--lr", "2"]),
        ];
        for at in [2, 3, 5] {
            all[at].maps = TORCH.into();
        }
        all.iter().for_each(|fake| fixture.put(fake));
        let jobs = find_training(&fixture.proc(), None).unwrap();
        let mut pids: Vec<u32> = (jobs.iter().flat_map(|job| &job.members))
            .map(|member| member.id.pid)
            .collect();
        pids.sort_unstable();
        assert_eq!(pids, [10, 11, 12, 13], "{jobs:#?}");
        assert_eq!(jobs.len(), 1);
    }

    #[test]
    fn a_text_finds_any_python_program() {
        let fixture = machine();
        let jobs = find_training(&fixture.proc(), Some("plot")).unwrap();
        assert_eq!(jobs.len(), 1);
        assert_eq!(jobs[0].trainer.pid, 20);
        assert!(
            find_training(&fixture.proc(), Some("nothing"))
                .unwrap()
                .is_empty()
        );
    }
}
