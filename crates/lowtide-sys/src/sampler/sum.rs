//! What the tree holds, every page once.
//!
//! A process without forked relatives owns its anonymous pages, so the cheap counters are exact. In a
//! family of forked processes a page may be in several: once all members have been read since the
//! family last changed, their proportional sizes add up to what the family holds, each corrected by
//! what its process grew since. Before that, the eldest member counts in full and the others with what
//! can be their own: the private part of their last reading plus growth, or, when there is none, a
//! page per fault since the fork. That is an upper bound, and it rises when a worker copies by reading.

use std::collections::HashMap;

use lowtide_core::sample::{Basis, Cgroup, Node, TreeSum};
use lowtide_core::units::{Bytes, Micros};

use super::careful::Family;
use super::member::Tracked;

pub(super) type Families = HashMap<(u64, u64), Family>;

/// The own count of a cgroup that holds only our tree; `helpers` is what lowtide's own processes
/// in it hold.
pub(super) fn by_cgroup(group: &Cgroup, helpers: Bytes) -> Option<TreeSum> {
    let held = group.anon? + group.shmem? + group.swap.unwrap_or(Bytes::ZERO);
    Some(TreeSum {
        held: held.saturating_sub(helpers),
        basis: Basis::Cgroup,
    })
}

/// The sum over processes.
pub(super) fn by_process(
    members: &[Tracked],
    families: &Families,
    node: &Node,
    page: u64,
    now: Micros,
) -> TreeSum {
    let (mut anon, mut shmem, mut swap) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    let mut oldest = Micros(0);
    let mut unread = 0;
    let mut shares = false;
    let mut related: HashMap<(u64, u64), Vec<&Tracked>> = HashMap::new();

    for tracked in members {
        let reading = &tracked.reading;
        let family = families.get(&tracked.family).copied().unwrap_or_default();
        if family.members > 1 {
            shares = true;
            related.entry(tracked.family).or_default().push(tracked);
            match reading.pss {
                Some(pss) => oldest = oldest.max(now.since(pss.at)),
                None => unread += 1,
            }
        } else {
            anon = anon + reading.anon;
        }
        shmem = shmem + shmem_of(tracked);
        swap = swap + swap_of(tracked, family.members > 1);
    }
    for (key, kin) in &related {
        let changed = families.get(key).map_or(Micros(0), |family| family.changed);
        anon = anon + family_anon(kin, changed, page);
    }
    shares |= members.len() > 1 && shmem > Bytes::ZERO;
    // Several processes may map the same shared memory, but all of it is no more than the machine's.
    shmem = shmem.min(node.shmem);
    swap = swap.min(node.swap_total.saturating_sub(node.swap_free));
    let basis = if shares {
        Basis::Pss { oldest, unread }
    } else {
        Basis::Counters
    };
    TreeSum {
        held: anon + shmem + swap,
        basis,
    }
}

fn family_anon(kin: &[&Tracked], changed: Micros, page: u64) -> Bytes {
    let settled = kin
        .iter()
        .all(|tracked| tracked.reading.pss.is_some_and(|pss| pss.at > changed));
    if settled {
        return kin
            .iter()
            .filter_map(|tracked| {
                let pss = tracked.reading.pss?;
                Some((pss.anon + tracked.reading.anon).saturating_sub(pss.rss_anon))
            })
            .sum();
    }
    let Some(eldest) = kin
        .iter()
        .min_by_key(|tracked| (tracked.id().start, tracked.id().pid))
    else {
        return Bytes::ZERO;
    };
    let others: Bytes = kin
        .iter()
        .filter(|tracked| tracked.id() != eldest.id())
        .map(|tracked| own_anon(tracked, page))
        .sum();
    let largest = kin.iter().map(|tracked| tracked.reading.anon).max();
    // The eldest may have let go of what its children still share.
    (eldest.reading.anon + others).max(largest.unwrap_or(Bytes::ZERO))
}

/// What can be a forked process's own: never more than its anonymous memory.
fn own_anon(tracked: &Tracked, page: u64) -> Bytes {
    let reading = &tracked.reading;
    let own = match reading.pss {
        Some(pss) => pss.uss.min(pss.rss_anon) + reading.anon.saturating_sub(pss.rss_anon),
        None => {
            // A fault copies one page. A huge page comes with one fault too, but shows as growth.
            let copied = Bytes(reading.minor_faults.saturating_mul(page));
            let grown = reading
                .anon
                .saturating_sub(tracked.anon_at_join.unwrap_or(Bytes::ZERO));
            copied.max(grown)
        }
    };
    own.min(reading.anon)
}

/// A process's share of swapped pages, with what was swapped since it was read.
fn swap_of(tracked: &Tracked, related: bool) -> Bytes {
    let swapped = tracked.reading.swap;
    match tracked.reading.pss {
        Some(pss) if related => (pss.swap + swapped)
            .saturating_sub(tracked.careful.swap)
            .min(swapped),
        _ => swapped,
    }
}

/// A process's share of shared memory: as large a part of what it maps as when it was read.
fn shmem_of(tracked: &Tracked) -> Bytes {
    let mapped = tracked.reading.shmem;
    match tracked.reading.pss {
        Some(pss) if tracked.careful.shmem > Bytes::ZERO => {
            let part = (pss.shmem.as_f64() / tracked.careful.shmem.as_f64()).min(1.0);
            Bytes((mapped.as_f64() * part) as u64)
        }
        _ => mapped,
    }
}

#[cfg(test)]
mod tests {
    use lowtide_core::process::ProcId;
    use lowtide_core::sample::Pss;

    use super::*;

    const MB: u64 = 1_000_000;

    /// One process of a forked family, in MB.
    fn process(pid: u32, anon: u64, faults: u64, pss: Option<(u64, u64, u64)>) -> Tracked {
        let id = ProcId {
            pid,
            start: u64::from(pid),
        };
        let mut tracked = Tracked::new(id, None, Micros(0));
        tracked.family = (1, 1);
        tracked.anon_at_join = Some(Bytes(anon * MB));
        tracked.reading.anon = Bytes(anon * MB);
        tracked.reading.minor_faults = faults;
        tracked.reading.pss = pss.map(|(at, share, uss)| Pss {
            at: Micros(at),
            anon: Bytes(share * MB),
            uss: Bytes(uss * MB),
            rss_anon: Bytes(anon * MB),
            ..Pss::default()
        });
        tracked
    }

    fn held(members: &[Tracked], changed: u64) -> u64 {
        let family = Family {
            members: members.len(),
            changed: Micros(changed),
        };
        let families = Families::from([((1, 1), family)]);
        let node = Node {
            shmem: Bytes(1000 * MB),
            ..Node::default()
        };
        by_process(members, &families, &node, 4096, Micros(100))
            .held
            .0
            / MB
    }

    #[test]
    fn shares_add_up_once_all_were_read_since_the_family_changed() {
        let read = |at| {
            [
                process(1, 900, 0, Some((at, 300, 1))),
                process(2, 900, 0, Some((at, 300, 1))),
                process(3, 900, 0, Some((at, 300, 1))),
            ]
        };
        assert_eq!(held(&read(50), 40), 900);
        // One process fewer: the shares of the others are too small now, so they do not count.
        assert_eq!(held(&read(50)[..2], 60), 901);
    }

    #[test]
    fn growth_since_the_reading_counts_at_once() {
        let mut members = [
            process(1, 900, 0, Some((50, 450, 1))),
            process(2, 900, 0, Some((50, 450, 1))),
        ];
        members[1].reading.anon = Bytes(1000 * MB);
        assert_eq!(held(&members, 40), 1000);
    }

    #[test]
    fn unread_forks_count_a_page_per_fault() {
        let members = [
            process(1, 900, 300_000, None),
            process(2, 900, 25_000, None),
        ];
        assert_eq!(held(&members, 40), 900 + 102);
        let all_copied = [
            process(1, 900, 300_000, None),
            process(2, 900, 9_000_000, None),
        ];
        assert_eq!(held(&all_copied, 40), 1800);
    }

    #[test]
    fn what_the_eldest_let_go_is_still_held_by_its_children() {
        let members = [
            process(1, 10, 300_000, None),
            process(2, 900, 0, None),
            process(3, 900, 0, None),
        ];
        assert_eq!(held(&members, 40), 900);
    }

    #[test]
    fn shared_memory_is_no_more_than_the_machine_has() {
        let mut members = [process(1, 0, 0, None), process(2, 0, 0, None)];
        for member in &mut members {
            member.reading.shmem = Bytes(800 * MB);
        }
        assert_eq!(held(&members, 40), 1000);
    }

    #[test]
    fn a_group_of_our_own_is_counted_by_the_kernel() {
        let group = Cgroup {
            anon: Some(Bytes(500)),
            shmem: Some(Bytes(70)),
            swap: Some(Bytes(8)),
            only_ours: true,
            ..Cgroup::default()
        };
        let sum = by_cgroup(&group, Bytes(100)).unwrap();
        assert_eq!((sum.held, sum.basis), (Bytes(478), Basis::Cgroup));
    }
}
