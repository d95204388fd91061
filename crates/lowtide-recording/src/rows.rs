//! Which value stands in which column. The frequent movers come first, so that the usual mask of
//! changes is one byte. Columns are only ever added at the end: old readers skip them.

use lowtide_core::mark::{Geometry, LoopObject, Mark, MarkSource, Phase, TrainingLoop};
use lowtide_core::meter::{METERS, STORED};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Basis, Cgroup, Gpu, Node, Pressure, Reading, TreeSum};
use lowtide_core::units::{Bytes, Micros};

use crate::cells::{Cell, OTHER};

/// Sizes move by pages nearly always.
const PAGE: u64 = 4096;

fn size(bytes: Bytes) -> Cell {
    Some(bytes.0)
}

fn maybe(bytes: Option<Bytes>) -> Cell {
    bytes.map(|b| b.0)
}

fn bytes(cell: Cell) -> Option<Bytes> {
    cell.map(Bytes)
}

fn small(cell: Cell) -> Option<u32> {
    u32::try_from(cell?).ok()
}

/// A reading's columns are those of its meters, where each is declared.
pub(crate) const READING: usize = STORED.len();

struct ReadingColumn {
    get: fn(&Reading) -> Cell,
    set: fn(&mut Reading, Cell) -> Option<()>,
}

static READING_COLUMNS: [ReadingColumn; READING] = {
    const NONE: ReadingColumn = ReadingColumn {
        get: |_| None,
        set: |_, _| None,
    };
    let mut columns = [NONE; READING];
    let mut nth = 0;
    while nth < READING {
        let info = &METERS[STORED[nth] as usize];
        if let Some(stored) = info.stored {
            columns[nth] = ReadingColumn {
                get: info.get,
                set: stored.set,
            };
        }
        nth += 1;
    }
    columns
};

pub(crate) static READING_UNITS: [u64; READING] = {
    let mut units = [1; READING];
    let mut nth = 0;
    while nth < READING {
        if let Some(stored) = METERS[STORED[nth] as usize].stored {
            units[nth] = stored.step;
        }
        nth += 1;
    }
    units
};

pub(crate) fn reading_row(r: &Reading) -> [Cell; READING] {
    std::array::from_fn(|nth| (READING_COLUMNS[nth].get)(r))
}

pub(crate) fn reading(id: ProcId, row: &[Cell; READING]) -> Option<Reading> {
    let mut reading = Reading::of(id);
    for (column, cell) in READING_COLUMNS.iter().zip(row) {
        (column.set)(&mut reading, *cell)?;
    }
    Some(reading)
}

/// Takes over the columns of a row that have changed: a bit of the mask each.
pub(crate) fn update(reading: &mut Reading, mask: u64, row: &[Cell; READING]) -> Option<()> {
    let mut left = mask;
    while left != 0 {
        let nth = left.trailing_zeros() as usize;
        left &= left - 1;
        // Beyond the row are columns of a later lowtide.
        if let Some(column) = READING_COLUMNS.get(nth) {
            (column.set)(reading, row[nth])?;
        }
    }
    Some(())
}

pub(crate) const NODE: usize = 12;
pub(crate) const NODE_UNITS: [u64; NODE] =
    [PAGE, PAGE, PAGE, 1, 1, 1, 1, PAGE, PAGE, PAGE, PAGE, PAGE];

pub(crate) fn node_row(n: &Node) -> [Cell; NODE] {
    let [some, full, some_total, full_total] = pressure_cells(n.pressure);
    [
        size(n.available),
        size(n.page_cache),
        size(n.shmem),
        some_total,
        full_total,
        some,
        full,
        maybe(n.dev_shm.map(|d| d.0)),
        maybe(n.dev_shm.map(|d| d.1)),
        size(n.swap_free),
        size(n.swap_total),
        size(n.total),
    ]
}

pub(crate) fn node(row: &[Cell; NODE]) -> Option<Node> {
    Some(Node {
        available: bytes(row[0])?,
        page_cache: bytes(row[1])?,
        shmem: bytes(row[2])?,
        pressure: pressure([row[5], row[6], row[3], row[4]]),
        dev_shm: bytes(row[7]).zip(bytes(row[8])),
        swap_free: bytes(row[9])?,
        swap_total: bytes(row[10])?,
        total: bytes(row[11])?,
    })
}

pub(crate) const CGROUP: usize = 16;
pub(crate) const CGROUP_UNITS: [u64; CGROUP] = [
    PAGE, PAGE, PAGE, PAGE, 1, 1, 1, PAGE, 1, 1, 1, PAGE, PAGE, PAGE, PAGE, 1,
];

pub(crate) fn cgroup_row(c: &Cgroup) -> [Cell; CGROUP] {
    let [some, full, some_total, full_total] = pressure_cells(c.pressure);
    [
        size(c.current),
        maybe(c.anon),
        maybe(c.file),
        maybe(c.kernel),
        some_total,
        full_total,
        some,
        maybe(c.shmem),
        full,
        c.limit_hits,
        c.oom_kills,
        maybe(c.swap),
        maybe(c.max),
        maybe(c.high),
        maybe(c.swap_max),
        Some(c.only_ours.into()),
    ]
}

pub(crate) fn cgroup(path: String, row: &[Cell; CGROUP]) -> Option<Cgroup> {
    Some(Cgroup {
        path,
        current: bytes(row[0])?,
        anon: bytes(row[1]),
        file: bytes(row[2]),
        kernel: bytes(row[3]),
        pressure: pressure([row[6], row[8], row[4], row[5]]),
        shmem: bytes(row[7]),
        limit_hits: row[9],
        oom_kills: row[10],
        swap: bytes(row[11]),
        max: bytes(row[12]),
        high: bytes(row[13]),
        swap_max: bytes(row[14]),
        only_ours: row[15]? != 0,
    })
}

pub(crate) const GPU: usize = 2;
pub(crate) const GPU_UNITS: [u64; GPU] = [PAGE; GPU];

pub(crate) fn gpu_row(g: &Gpu) -> [Cell; GPU] {
    [size(g.used), size(g.total)]
}

pub(crate) fn gpu(index: u32, name: String, row: &[Cell; GPU]) -> Option<Gpu> {
    Some(Gpu {
        index,
        name,
        used: bytes(row[0])?,
        total: bytes(row[1])?,
    })
}

pub(crate) const LIMIT: usize = 2;
pub(crate) const LIMIT_UNITS: [u64; LIMIT] = [PAGE; LIMIT];

pub(crate) const TREE: usize = 4;
pub(crate) const TREE_UNITS: [u64; TREE] = [PAGE, 1, 1, 1];

/// The age of the oldest reading grows with every tick; the moment it was read does not.
pub(crate) fn tree_row(t: &TreeSum, at: Micros) -> [Cell; TREE] {
    let (basis, oldest, unread) = match t.basis {
        Basis::Cgroup => (0, None, None),
        Basis::Pss { oldest, unread } => {
            (1, Some(at.0.wrapping_sub(oldest.0)), Some(unread.into()))
        }
        Basis::Counters => (2, None, None),
        Basis::Other => (OTHER, None, None),
    };
    [size(t.held), oldest, unread, Some(basis)]
}

pub(crate) fn tree(row: &[Cell; TREE], at: Micros) -> Option<TreeSum> {
    let basis = match row[3]? {
        0 => Basis::Cgroup,
        1 => Basis::Pss {
            oldest: Micros(at.0.wrapping_sub(row[1]?)),
            unread: small(row[2])?,
        },
        2 => Basis::Counters,
        _ => Basis::Other,
    };
    Some(TreeSum {
        held: bytes(row[0])?,
        basis,
    })
}

fn pressure_cells(p: Option<Pressure>) -> [Cell; 4] {
    let part = |of: fn(&Pressure) -> u64| p.as_ref().map(of);
    [
        part(|p| percent(p.some_avg10)),
        part(|p| percent(p.full_avg10)),
        part(|p| p.some_total.0),
        part(|p| p.full_total.0),
    ]
}

fn pressure([some, full, some_total, full_total]: [Cell; 4]) -> Option<Pressure> {
    Some(Pressure {
        some_avg10: from_percent(some?),
        full_avg10: from_percent(full?),
        some_total: Micros(some_total?),
        full_total: Micros(full_total?),
    })
}

/// The kernel prints two decimals: as hundredths they are small numbers. Anything else keeps its bits.
fn percent(value: f32) -> u64 {
    let hundredths = (value * 100.0).round();
    if (0.0..=10_000.0).contains(&hundredths) && (hundredths / 100.0).to_bits() == value.to_bits() {
        (hundredths as u64) << 1
    } else {
        u64::from(value.to_bits()) << 1 | 1
    }
}

fn from_percent(cell: u64) -> f32 {
    if cell & 1 == 0 {
        (cell >> 1) as f32 / 100.0
    } else {
        f32::from_bits((cell >> 1) as u32)
    }
}

pub(crate) const MARK: usize = 18;
pub(crate) const MARK_UNITS: [u64; MARK] = [1; MARK];

/// Epochs are mostly logged with a few decimals; millionths keep those short.
const EPOCH_PARTS: f64 = 1e6;

pub(crate) fn mark_row(m: &Mark) -> [Cell; MARK] {
    let parts = m.epoch.and_then(epoch_parts);
    let exact = m.epoch.filter(|_| parts.is_none()).map(f64::to_bits);
    let source = match m.source {
        MarkSource::Callback => 0,
        MarkSource::Output => 1,
        MarkSource::TrainerState => 2,
        MarkSource::Memory => 3,
        MarkSource::Other => OTHER,
    };
    let phase = m.phase.map(|p| match p {
        Phase::Start => 0,
        Phase::Train => 1,
        Phase::Eval => 2,
        Phase::Save => 3,
        Phase::End => 4,
    });
    let training_loop = m.training_loop.map(|known| match known {
        TrainingLoop::Trainer => 0,
        TrainingLoop::Lightning => 1,
        TrainingLoop::Plain => 2,
    });
    let object = m.object.map(|known| match known {
        LoopObject::TrainerState => 0,
        LoopObject::LightningLoop => 1,
        LoopObject::Accelerator => 2,
        LoopObject::Bar => 3,
        LoopObject::DataLoader => 4,
        LoopObject::Optimizer => 5,
    });
    let g = m.geometry;
    [
        Some(m.at.0),
        m.step,
        parts,
        m.examples,
        phase,
        m.rank.map(u64::from),
        m.pid.map(u64::from),
        exact,
        m.total_steps,
        Some(source),
        g.map(|_| 1),
        g.and_then(|g| g.examples),
        g.and_then(|g| g.batch),
        g.and_then(|g| g.accumulate),
        g.and_then(|g| g.world),
        g.and_then(|g| g.epoch_steps).map(f64::to_bits),
        training_loop,
        object,
    ]
}

pub(crate) fn mark(row: &[Cell; MARK]) -> Option<Mark> {
    let source = match row[9]? {
        0 => MarkSource::Callback,
        1 => MarkSource::Output,
        2 => MarkSource::TrainerState,
        3 => MarkSource::Memory,
        _ => MarkSource::Other,
    };
    let phase = match row[4] {
        None => None,
        Some(0) => Some(Phase::Start),
        Some(1) => Some(Phase::Train),
        Some(2) => Some(Phase::Eval),
        Some(3) => Some(Phase::Save),
        Some(4) => Some(Phase::End),
        // A phase of a later lowtide: none that is known here begins.
        Some(_) => None,
    };
    let geometry = row[10].map(|_| Geometry {
        examples: row[11],
        batch: row[12],
        accumulate: row[13],
        world: row[14],
        epoch_steps: row[15].map(f64::from_bits),
    });
    let training_loop = match row[16] {
        Some(0) => Some(TrainingLoop::Trainer),
        Some(1) => Some(TrainingLoop::Lightning),
        Some(2) => Some(TrainingLoop::Plain),
        // One that a later lowtide knows is unknown here.
        None | Some(_) => None,
    };
    let object = match row[17] {
        Some(0) => Some(LoopObject::TrainerState),
        Some(1) => Some(LoopObject::LightningLoop),
        Some(2) => Some(LoopObject::Accelerator),
        Some(3) => Some(LoopObject::Bar),
        Some(4) => Some(LoopObject::DataLoader),
        Some(5) => Some(LoopObject::Optimizer),
        None | Some(_) => None,
    };
    let epoch = row[2].map(|parts| parts as f64 / EPOCH_PARTS);
    Some(Mark {
        at: Micros(row[0]?),
        step: row[1],
        epoch: epoch.or(row[7].map(f64::from_bits)),
        examples: row[3],
        phase,
        rank: small(row[5]),
        pid: small(row[6]),
        total_steps: row[8],
        source,
        geometry,
        training_loop,
        object,
    })
}

fn epoch_parts(epoch: f64) -> Option<u64> {
    let parts = (epoch * EPOCH_PARTS).round();
    let fits = (0.0..1e15).contains(&parts);
    (fits && (parts / EPOCH_PARTS).to_bits() == epoch.to_bits()).then_some(parts as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_lists_the_columns_of_a_reading() {
        let said = include_str!("../../../docs/recording.md")
            .lines()
            .find_map(|line| line.strip_prefix("| reading | ")?.strip_suffix(" |"))
            .unwrap();
        let units = [(1, ""), (4096, " [p]"), (10_000, " [t]")];
        let columns: Vec<String> = STORED
            .iter()
            .zip(READING_UNITS)
            .map(|(meter, step)| {
                let unit = units.iter().find(|(size, _)| *size == step).unwrap().1;
                format!("{meter}{unit}")
            })
            .collect();
        assert_eq!(said, columns.join(", "));
    }
}
