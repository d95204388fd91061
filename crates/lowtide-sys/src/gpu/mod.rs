//! GPU memory, per device and per process. NVIDIA's library may be missing (normal) and its calls may
//! block, so it is asked on a thread of its own; the sampler takes the last answer. AMD is plain files.

pub mod amd;
pub mod nvml;

use std::collections::HashMap;

use lowtide_core::sample::Gpu;
use lowtide_core::units::Bytes;

/// Whether this program can load a library at run time. A static one cannot: musl leaves the loader out,
/// and glibc's would need, on every machine, the very glibc that the program was linked with.
pub const LOADS_LIBRARIES: bool = cfg!(not(target_feature = "crt-static"));

/// What all devices say at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuMemory {
    pub devices: Vec<Gpu>,
    /// Memory of each process over all devices. Pids are those of the driver's namespace: in a
    /// container they may belong to nobody we know.
    pub by_pid: HashMap<u32, Bytes>,
}
