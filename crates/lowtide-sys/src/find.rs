//! The training jobs of this machine, for `lowtide ps` and `attach --find`: one look at all
//! processes, grouped into trees that begin where someone started the job.

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
pub struct Job {
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
pub fn find_training(proc: &Proc, text: Option<&str>) -> Result<Vec<Job>, Error> {
    let seen = look(proc)?;
    let members: Vec<&Member> = seen.iter().map(|seen| &seen.member).collect();
    let called = assign(&members);
    let by_id: HashMap<ProcId, usize> = members
        .iter()
        .enumerate()
        .map(|(at, member)| (member.id, at))
        .collect();
    let parent_of = |at: usize| by_id.get(&members[at].parent?).copied();

    let trains = |at: usize| {
        let seen = &seen[at];
        let facts = &seen.member.facts;
        if !called[at].0.trains() || seen.member.id.pid == std::process::id() {
            return false;
        }
        match text {
            Some(text) => facts.argv.join(" ").contains(text),
            None => seen.mapped.framework() || roles::rank(facts).is_some(),
        }
    };
    let is_below = |mut at: usize, top: usize| loop {
        if at == top {
            return true;
        }
        match parent_of(at) {
            Some(parent) => at = parent,
            None => return false,
        }
    };
    let matching: Vec<usize> = (0..seen.len()).filter(|at| trains(*at)).collect();
    // What started several trainers that are not ranks of one job runs jobs; it is no part of one.
    let has_others = |parent: usize, root: usize| {
        matching.iter().any(|at| {
            !matches!(called[*at].0, Role::Rank { .. })
                && is_below(*at, parent)
                && !is_below(*at, root)
        })
    };
    let root_of = |at: usize| {
        let mut root = at;
        while let Some(parent) = parent_of(root)
            .filter(|at| started_it(&seen[*at].member, called[*at].0))
            .filter(|parent| !has_others(*parent, root))
        {
            root = parent;
        }
        root
    };
    let mut roots: Vec<usize> = matching.iter().map(|at| root_of(*at)).collect();
    roots.sort_unstable();
    roots.dedup();

    let jobs = roots.into_iter().filter_map(|root| {
        let tree: Vec<usize> = (0..seen.len()).filter(|at| is_below(*at, root)).collect();
        let candidates: Vec<Watchable<'_>> = tree
            .iter()
            .map(|at| Watchable {
                id: seen[*at].member.id,
                role: called[*at].0,
                facts: &seen[*at].member.facts,
                held: seen[*at].held,
                growth: Bytes::ZERO,
                cpu: 0.0,
                gpu: None,
            })
            .collect();
        let choice = choose(&candidates, None)?;
        let mut members: Vec<Member> = tree
            .iter()
            .map(|at| Member {
                role: called[*at].0,
                why: called[*at].1.clone(),
                ..seen[*at].member.clone()
            })
            .collect();
        members.sort_by_key(|member| (member.id.start, member.id.pid));
        Some(Job {
            root: seen[root].member.id,
            trainer: choice.id,
            why: choice.why,
            members,
        })
    });
    Ok(jobs.collect())
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

fn look(proc: &Proc) -> Result<Vec<Seen>, Error> {
    let mut pids = Vec::new();
    proc.pids(&mut pids)?;
    let mut buffer = Vec::new();
    let mut seen: Vec<Seen> = Vec::new();
    for pid in pids {
        // What vanishes meanwhile is no longer a job.
        seen.extend(look_at(proc, pid, &mut buffer));
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

fn look_at(proc: &Proc, pid: u32, buffer: &mut Vec<u8>) -> Option<Seen> {
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
