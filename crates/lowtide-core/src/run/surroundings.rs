//! What surrounds the tree: its cgroup, the machine, the GPUs. Samples feed it; `explain` compares the
//! first with the last.

use crate::sample::Sample;

use super::occurrences::At;
use super::thin::Thin;

const KEPT: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surroundings {
    pub at: At,
    pub cgroup: Option<Group>,
    /// Shared memory of the whole machine.
    pub shmem: f64,
    pub page_cache: f64,
    /// `/dev/shm`: used and size.
    pub dev_shm: Option<(f64, f64)>,
    /// Seconds that some task has waited for memory, since boot.
    pub stalled: Option<f64>,
    /// GPU memory in use on all devices; none without a GPU.
    pub gpu: Option<f64>,
}

/// The leaf cgroup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Group {
    pub current: f64,
    pub anon: Option<f64>,
    pub file: Option<f64>,
    pub kernel: Option<f64>,
    pub only_ours: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SurroundingsSeen(pub Thin<Surroundings, KEPT>);

impl SurroundingsSeen {
    pub(crate) fn push(&mut self, sample: &Sample, at: At) {
        let group = sample.cgroups.first();
        let size = |bytes: crate::units::Bytes| bytes.as_f64();
        let pressure = group.and_then(|g| g.pressure).or(sample.node.pressure);
        self.0.push(Surroundings {
            at,
            cgroup: group.map(|group| Group {
                current: group.current.as_f64(),
                anon: group.anon.map(size),
                file: group.file.map(size),
                kernel: group.kernel.map(size),
                only_ours: group.only_ours,
            }),
            shmem: sample.node.shmem.as_f64(),
            page_cache: sample.node.page_cache.as_f64(),
            dev_shm: sample
                .node
                .dev_shm
                .map(|(used, whole)| (used.as_f64(), whole.as_f64())),
            stalled: pressure.map(|pressure| pressure.some_total.seconds()),
            gpu: (!sample.gpus.is_empty())
                .then(|| sample.gpus.iter().map(|gpu| gpu.used.as_f64()).sum()),
        });
    }
}
