//! `nvidia-smi`: its CSV (`query`), `dmon` and `pmon` (`monitor`), and the big table in a loop (`table`). Its sizes are
//! MiB, also where it writes MB.

pub(super) mod monitor;
pub(super) mod query;
pub(super) mod table;

use lowtide_core::verdict::Meter;

use super::super::gather::Whose;

pub(super) const MIB: f64 = 1_048_576.0;

/// The memory of a GPU, or of a process on it.
pub(super) fn of<'a>(name: &'a str, pid: Option<u32>) -> Whose<'a> {
    Whose {
        name,
        pid,
        command: None,
        kind: "memory of the GPU",
        meter: Meter::Gpu,
    }
}
