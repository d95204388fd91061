//! Which limit is met first: not the smallest, but the one with the least room below it. A machine
//! that others fill up is as deadly as one's own group.

use crate::sample::{Limit, LimitFrom, Sample};

/// The limit with the least room.
pub(crate) fn tightest(sample: &Sample) -> Option<Limit> {
    let groups = sample.cgroups.iter().filter_map(|group| {
        Some(Limit {
            bytes: [group.max, group.high].into_iter().flatten().min()?,
            from: LimitFrom::Cgroup(group.path.clone()),
            used: group.working_set(),
        })
    });
    let node = (sample.node.total.0 > 0).then(|| Limit {
        bytes: sample.node.total,
        from: LimitFrom::Node,
        used: sample.node.total.saturating_sub(sample.node.available),
    });
    let room = |limit: &Limit| limit.bytes.0 as i128 - limit.used.0 as i128;
    // The first of equals: what the sampler chose, then the nearest group.
    sample
        .limit
        .clone()
        .into_iter()
        .chain(groups)
        .chain(node)
        .min_by_key(room)
}
