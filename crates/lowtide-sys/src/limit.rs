//! The effective limit: the smallest of everything that can stop the job. Fed by the sampler with
//! what it has just read; pure.

use lowtide_core::process::Facts;
use lowtide_core::sample::{Cgroup, Limit, LimitFrom, Node};
use lowtide_core::units::{Bytes, Cap};

use crate::proc::limits::Limits;

/// What a limit of the watched process itself is measured against.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watched {
    pub rlimits: Limits,
    pub vsize: Bytes,
    pub data: Bytes,
}

pub(crate) fn effective(
    cgroups: &[Cgroup],
    node: &Node,
    facts: Option<&Facts>,
    watched: Watched,
    user: Option<Cap>,
    tree_held: Bytes,
) -> Option<Limit> {
    let mut limits: Vec<Limit> = Vec::with_capacity(cgroups.len() + 4);
    let mut add = |bytes: Option<Bytes>, from: LimitFrom, used: Bytes| {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > Bytes::ZERO) {
            limits.push(Limit { bytes, from, used });
        }
    };
    let own = match user {
        Some(Cap::Bytes(bytes)) => Some(bytes),
        _ => None,
    };
    add(own, LimitFrom::User, tree_held);
    for group in cgroups {
        // `high` throttles and does not kill, but a job that sits on it makes no progress.
        let bytes = [group.max, group.high].into_iter().flatten().min();
        add(
            bytes,
            LimitFrom::Cgroup(group.path.clone()),
            group.working_set(),
        );
    }
    add(facts.and_then(slurm), LimitFrom::Slurm, tree_held);
    add(
        watched.rlimits.address_space,
        LimitFrom::Rlimit,
        watched.vsize,
    );
    add(watched.rlimits.data, LimitFrom::Rlimit, watched.data);
    add(
        Some(node.total),
        LimitFrom::Node,
        node.total.saturating_sub(node.available),
    );
    // The first of equals: the nearest to the job.
    let smallest = limits.into_iter().min_by_key(|limit| limit.bytes)?;
    Some(match user {
        Some(Cap::Share(share)) => Limit {
            bytes: Bytes((smallest.bytes.as_f64() * share.0) as u64),
            from: LimitFrom::User,
            ..smallest
        },
        _ => smallest,
    })
}

/// Slurm's memory for this node. It counts in MiB; 0 means all of the node's.
fn slurm(facts: &Facts) -> Option<Bytes> {
    let number = |name: &str| -> Option<u64> {
        let (_, value) = facts.env.iter().find(|(known, _)| known == name)?;
        value.parse().ok()
    };
    let mib = number("SLURM_MEM_PER_NODE").or_else(|| {
        let per_cpu = number("SLURM_MEM_PER_CPU")?;
        Some(per_cpu.saturating_mul(number("SLURM_CPUS_ON_NODE")?))
    })?;
    (mib > 0).then(|| Bytes(mib.saturating_mul(1 << 20)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_core::units::Share;

    const GIB: u64 = 1 << 30;

    fn node() -> Node {
        Node {
            total: Bytes(64 * GIB),
            available: Bytes(50 * GIB),
            ..Node::default()
        }
    }

    fn group(path: &str, max: Option<u64>) -> Cgroup {
        Cgroup {
            path: path.into(),
            max: max.map(Bytes),
            current: Bytes(10 * GIB),
            file: Some(Bytes(4 * GIB)),
            ..Cgroup::default()
        }
    }

    fn env(pairs: &[(&str, &str)]) -> Facts {
        Facts {
            env: pairs
                .iter()
                .map(|(n, v)| ((*n).into(), (*v).into()))
                .collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn the_smallest_ancestor_wins_and_page_cache_is_not_used_memory() {
        let groups = [
            group("/a/b", None),
            group("/a", Some(16 * GIB)),
            group("/", Some(32 * GIB)),
        ];
        let limit = effective(&groups, &node(), None, Watched::default(), None, Bytes(1)).unwrap();
        assert_eq!(limit.bytes, Bytes(16 * GIB));
        assert_eq!(limit.from, LimitFrom::Cgroup("/a".into()));
        assert_eq!(limit.used, Bytes(6 * GIB));
    }

    #[test]
    fn without_any_other_limit_the_machine_is_it() {
        let limit = effective(
            &[group("/", None)],
            &node(),
            None,
            Watched::default(),
            None,
            Bytes(1),
        )
        .unwrap();
        assert_eq!(
            (limit.bytes, limit.from, limit.used),
            (Bytes(64 * GIB), LimitFrom::Node, Bytes(14 * GIB))
        );
    }

    #[test]
    fn slurm_rlimit_and_the_users_own_count_too() {
        let held = Bytes(7 * GIB);
        let of = |facts: &Facts, watched, user| {
            let limit = effective(&[], &node(), Some(facts), watched, user, held).unwrap();
            (limit.bytes.0 / GIB, limit.from, limit.used.0 / GIB)
        };
        let none = Watched::default();
        assert_eq!(
            of(&env(&[("SLURM_MEM_PER_NODE", "8192")]), none, None),
            (8, LimitFrom::Slurm, 7)
        );
        let per_cpu = env(&[("SLURM_MEM_PER_CPU", "2048"), ("SLURM_CPUS_ON_NODE", "8")]);
        assert_eq!(of(&per_cpu, none, None), (16, LimitFrom::Slurm, 7));
        assert_eq!(
            of(&env(&[("SLURM_MEM_PER_NODE", "0")]), none, None).1,
            LimitFrom::Node
        );
        let watched = Watched {
            rlimits: Limits {
                stack: None,
                address_space: Some(Bytes(20 * GIB)),
                data: None,
            },
            vsize: Bytes(12 * GIB),
            data: Bytes(3 * GIB),
        };
        assert_eq!(
            of(&Facts::default(), watched, None),
            (20, LimitFrom::Rlimit, 12)
        );
        assert_eq!(
            of(&Facts::default(), watched, Some(Cap::Bytes(Bytes(9 * GIB)))),
            (9, LimitFrom::User, 7)
        );
        // A part of the limit that was found, with what counts against that one.
        let half = Some(Cap::Share(Share(0.5)));
        assert_eq!(of(&Facts::default(), none, half), (32, LimitFrom::User, 14));
    }
}
