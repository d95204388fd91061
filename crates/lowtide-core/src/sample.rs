//! One look at the tree: what every tick collects. `lowtide-sys` fills it, the recorder stores it,
//! the run's fold reads it. Sizes are bytes; a value that could not be read is a [`Gap`], never a zero.

use serde::{Deserialize, Serialize};

use crate::later;
use crate::process::ProcId;
use crate::units::{Bytes, Micros};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Counts ticks from 0; a hole in the numbers is a tick that was lost.
    pub seq: u64,
    pub at: Micros,
    /// How much later than planned this tick began.
    pub late: Micros,
    /// Ordered by pid.
    pub readings: Vec<Reading>,
    pub node: Node,
    /// From the leaf of the watched process up to the root.
    pub cgroups: Vec<Cgroup>,
    pub limit: Option<Limit>,
    pub tree: TreeSum,
    pub gpus: Vec<Gpu>,
    pub gaps: Vec<Gap>,
}

/// One process in a sample: the counters that cost microseconds, and the last careful reading. What each
/// of them is called and means stands in [`crate::meter`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub id: ProcId,
    pub anon: Bytes,
    pub file: Bytes,
    pub shmem: Bytes,
    pub swap: Bytes,
    /// `None` where the kernel does not tell.
    pub hugetlb: Option<Bytes>,
    pub vsize: Bytes,
    /// The kernel's high-water mark of RSS (VmHWM).
    pub peak: Bytes,
    pub threads: u32,
    /// Open file descriptors; counted rarely, because it lists a directory. `None` until then.
    pub fds: Option<u32>,
    /// User and system time together.
    pub cpu: Micros,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// GPU memory of this process over all devices.
    pub gpu: Option<Bytes>,
    pub pss: Option<Pss>,
    /// Objects that Python's cyclic collector tracks, within 6 %. `None` where its lists were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<u64>,
    /// Collections that it has done, by generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collections: Option<[u64; 3]>,
}

impl Reading {
    /// A process of which nothing was read yet.
    pub fn of(id: ProcId) -> Reading {
        Reading {
            id,
            anon: Bytes::ZERO,
            file: Bytes::ZERO,
            shmem: Bytes::ZERO,
            swap: Bytes::ZERO,
            hugetlb: None,
            vsize: Bytes::ZERO,
            peak: Bytes::ZERO,
            threads: 0,
            fds: None,
            cpu: Micros(0),
            minor_faults: 0,
            major_faults: 0,
            gpu: None,
            pss: None,
            objects: None,
            collections: None,
        }
    }

    pub fn rss(&self) -> Bytes {
        self.anon + self.file + self.shmem
    }

    /// A process that has ended but was not collected yet has no address space any more.
    pub fn is_alive(&self) -> bool {
        self.vsize > Bytes::ZERO
    }

    /// What reclaim cannot drop without swap: the leak signal.
    pub fn held(&self) -> Bytes {
        self.anon + self.shmem + self.swap
    }
}

/// A reading of `smaps_rollup`. It costs milliseconds under the target's lock, so it is taken on a
/// budget and says when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pss {
    pub at: Micros,
    /// How long the read took.
    pub cost: Micros,
    pub anon: Bytes,
    pub file: Bytes,
    pub shmem: Bytes,
    pub swap: Bytes,
    /// Private clean and dirty pages: what would be freed if only this process ended.
    pub uss: Bytes,
    /// RssAnon at the same moment: growth since then is private until read again.
    pub rss_anon: Bytes,
}

impl Pss {
    pub fn total(&self) -> Bytes {
        self.anon + self.file + self.shmem
    }
}

/// What the tree holds (anon + shmem + swap), every page once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeSum {
    pub held: Bytes,
    pub basis: Basis,
}

/// How a sum over the tree was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The cgroup holds only our tree: its own count.
    Cgroup,
    /// Proportional sizes, each corrected by the private growth since it was read.
    Pss {
        /// Age of the oldest reading in the sum.
        oldest: Micros,
        /// Processes never read yet; they count with their private estimate: an upper bound.
        unread: u32,
    },
    /// One process, or none that share: the counters are the sum.
    #[default]
    Counters,
    /// As a later lowtide does it.
    Other,
}

/// The machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub total: Bytes,
    pub available: Bytes,
    pub page_cache: Bytes,
    pub shmem: Bytes,
    pub swap_total: Bytes,
    pub swap_free: Bytes,
    pub pressure: Option<Pressure>,
    /// `/dev/shm`: bytes used and its size.
    pub dev_shm: Option<(Bytes, Bytes)>,
}

/// Pressure stall information of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Share of the last ten seconds in which some task waited, in per cent.
    pub some_avg10: f32,
    pub full_avg10: f32,
    /// Waiting time since boot.
    pub some_total: Micros,
    pub full_total: Micros,
}

/// One ancestor cgroup with a memory controller (v1 or v2, in the words of v2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Path below the controller's mount.
    pub path: String,
    pub current: Bytes,
    pub max: Option<Bytes>,
    pub high: Option<Bytes>,
    pub swap: Option<Bytes>,
    pub swap_max: Option<Bytes>,
    pub anon: Option<Bytes>,
    /// Page cache without shmem.
    pub file: Option<Bytes>,
    pub shmem: Option<Bytes>,
    pub kernel: Option<Bytes>,
    pub oom_kills: Option<u64>,
    /// Times the limit was hit (v2 `max`, v1 `failcnt`).
    pub limit_hits: Option<u64>,
    pub pressure: Option<Pressure>,
    /// Every process in it belongs to the watched tree.
    pub only_ours: bool,
}

impl Cgroup {
    /// What the kernel cannot simply drop: everything charged but the page cache.
    pub fn working_set(&self) -> Bytes {
        self.current
            .saturating_sub(self.file.unwrap_or(Bytes::ZERO))
    }
}

/// The smallest limit that applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub bytes: Bytes,
    #[serde(default, deserialize_with = "later::or_default")]
    pub from: LimitFrom,
    /// How much of it is in use by everything that counts against it.
    pub used: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitFrom {
    Cgroup(String),
    Node,
    Slurm,
    /// RLIMIT_AS or RLIMIT_DATA of the watched process.
    Rlimit,
    /// `--limit`.
    User,
    /// Found by a later lowtide.
    #[default]
    Other,
}

impl std::fmt::Display for LimitFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LimitFrom::Cgroup(path) => write!(f, "cgroup {path}"),
            LimitFrom::Node => f.write_str("the machine's memory"),
            LimitFrom::Slurm => f.write_str("Slurm"),
            LimitFrom::Rlimit => f.write_str("ulimit"),
            LimitFrom::User => f.write_str("--limit"),
            LimitFrom::Other => f.write_str("a limit that this lowtide does not know"),
        }
    }
}

/// One GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    pub index: u32,
    pub name: String,
    pub used: Bytes,
    pub total: Bytes,
}

/// A reading that is missing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub who: Option<ProcId>,
    /// What was to be read: `status`, `smaps_rollup`, `nvml`, `recording`, …
    pub what: String,
    pub why: GapWhy,
}

impl Gap {
    /// What `what` says when the recording itself lacks something.
    pub const RECORDING: &str = "recording";

    /// The recording lacks something.
    pub fn of_recording(why: GapWhy) -> Gap {
        Gap {
            who: None,
            what: Gap::RECORDING.to_owned(),
            why,
        }
    }

    /// A part of the recording cannot be read.
    pub fn is_damage(&self) -> bool {
        self.why == GapWhy::Malformed && self.what == Gap::RECORDING
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapWhy {
    /// The process ended while it was read.
    Vanished,
    /// No permission.
    Denied,
    /// One read would hold the target's lock for too long.
    TooLarge,
    /// The answer did not come in time.
    Late,
    /// The queue or the disk was full: ticks were not recorded.
    Dropped,
    /// This kernel or driver does not offer it.
    Unsupported,
    /// What came could not be understood.
    Malformed,
    /// A reason of a later lowtide.
    #[serde(other)]
    Other,
}
