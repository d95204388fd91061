//! What `scripts/fuzz` tries on the files of cgroups.

use lowtide_core::sample::Cgroup;

use super::{find, stat_v1, stat_v2};

/// `PID/cgroup` up to a zero byte, then `mountinfo`: together they become a path that is opened.
pub(crate) fn place(bytes: &[u8]) {
    let zero = bytes.iter().position(|byte| *byte == 0);
    let (cgroup, mountinfo) = bytes.split_at(zero.unwrap_or(bytes.len()));
    let Some(place) = find::find(cgroup, mountinfo.get(1..).unwrap_or_default()) else {
        return;
    };
    let mut parts = place.path.split('/');
    assert!(parts.all(|part| part != ".."), "{place:?} leads out");
    assert!(!place.path.starts_with('/'), "{place:?} leads elsewhere");
}

/// `memory.stat` of either version.
pub(crate) fn counters(bytes: &[u8]) {
    let mut seen = Cgroup::default();
    stat_v1(bytes, &mut seen);
    stat_v2(bytes, &mut seen);
}
