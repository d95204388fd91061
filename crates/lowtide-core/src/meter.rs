//! Every meter, declared once: its name, its unit, what it means, and how it is read from a [`Reading`]
//! and put back into one. Export, recording, fold, report, page, live view and `/metrics` go by this
//! table, so a new meter is a variant, a row below and whatever reads it from the system.

use std::fmt;

use serde::de::Error;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::sample::{Pss, Reading};
use crate::units::{Bytes, Micros, show_bytes, show_count, show_duration};

/// What a series measures, in the order in which views list it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meter {
    /// anon + shmem + swap: the leak signal.
    Held,
    Anon,
    File,
    Shmem,
    Swap,
    Rss,
    Pss,
    Uss,
    Gpu,
    /// Huge pages from the machine's own pool (`MAP_HUGETLB`, hugetlbfs). They were set aside before any
    /// process asked, so the kernel counts them in no other meter, and they are not part of `held`.
    Hugetlb,
    /// A bare series whose kind is not known.
    Memory,
    /// What Python's cyclic collector tracks.
    Objects,
    Vsize,
    Peak,
    Threads,
    Fds,
    Cpu,
    MinorFaults,
    MajorFaults,
    PssAt,
    PssCost,
    PssAnon,
    PssFile,
    PssShmem,
    PssSwap,
    PssRssAnon,
    Collections0,
    Collections1,
    Collections2,
}

/// What a meter counts. Values are whole numbers everywhere; seconds are kept as microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Seconds,
    /// Things of this name: threads, files, faults, objects.
    Count(&'static str),
}

/// Whose lines a picture keeps and a report holds. Every line costs columns in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// In recording and export alone.
    Never,
    /// A line of every process, but a report holds only that of the one that is watched.
    Watched,
    /// It tells who grows: a report holds the line of every process.
    Every,
}

/// How the recording keeps a meter.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Its place in a row, for ever: an older reader skips places that it does not know. The frequent
    /// movers have the first ones, so that the usual mask of changes is one byte.
    pub column: usize,
    /// It moves by multiples of this nearly always.
    pub step: u64,
    /// Puts a stored value back. None where it cannot be: what every reading has is missing.
    pub set: fn(&mut Reading, Option<u64>) -> Option<()>,
}

#[derive(Clone, Copy, Debug)]
pub struct MeterInfo {
    pub meter: Meter,
    /// In JSON, as a column of export, as a label of `/metrics`.
    pub name: &'static str,
    /// For people, with `meaning` behind it.
    pub label: &'static str,
    pub meaning: &'static str,
    pub unit: Unit,
    pub drawn: Drawn,
    /// None where this tick has no value: a gap, never a zero.
    pub get: fn(&Reading) -> Option<u64>,
    /// None for what is worked out of others.
    pub stored: Option<Stored>,
}

/// Sizes move by pages.
const PAGE: u64 = 4096;
/// CPU time is counted in clock ticks: 100 a second on every Linux that lowtide runs on.
const TICK: u64 = 10_000;

/// A place in a recording's row.
const fn column(
    column: usize,
    step: u64,
    set: fn(&mut Reading, Option<u64>) -> Option<()>,
) -> Option<Stored> {
    Some(Stored { column, step, set })
}

/// A part of the careful reading, which is there as a whole or not at all. `pss_at` comes first.
fn put_pss(r: &mut Reading, value: Option<u64>, set: fn(&mut Pss, u64)) -> Option<()> {
    match (&mut r.pss, value) {
        (Some(pss), Some(value)) => set(pss, value),
        (None, None) => {}
        _ => return None,
    }
    Some(())
}

/// The numbers of a collector's generations are there together or not at all. The first one comes first.
fn put_collections(r: &mut Reading, value: Option<u64>, generation: usize) -> Option<()> {
    match (&mut r.collections, value) {
        (Some(done), Some(value)) => done[generation] = value,
        (None, None) => {}
        _ => return None,
    }
    Some(())
}

/// All meters, in the order of [`Meter`]; those that are drawn come first. A static, so that asking for
/// one copies nothing.
pub static METERS: [MeterInfo; 29] = TABLE;

const TABLE: [MeterInfo; 29] = [
    MeterInfo {
        meter: Meter::Held,
        name: "held",
        label: "held",
        meaning: "anon + shmem + swap",
        unit: Unit::Bytes,
        drawn: Drawn::Every,
        get: |r| Some(r.held().0),
        stored: None,
    },
    MeterInfo {
        meter: Meter::Anon,
        name: "anon",
        label: "anon",
        meaning: "the process's own pages",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| Some(r.anon.0),
        stored: column(0, PAGE, |r, v| {
            r.anon = Bytes(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::File,
        name: "file",
        label: "file",
        meaning: "pages of mapped files",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| Some(r.file.0),
        stored: column(3, PAGE, |r, v| {
            r.file = Bytes(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Shmem,
        name: "shmem",
        label: "shmem",
        meaning: "shared memory",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| Some(r.shmem.0),
        stored: column(9, PAGE, |r, v| {
            r.shmem = Bytes(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Swap,
        name: "swap",
        label: "swap",
        meaning: "swapped out",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| Some(r.swap.0),
        stored: column(10, PAGE, |r, v| {
            r.swap = Bytes(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Rss,
        name: "rss",
        label: "RSS",
        meaning: "resident, shared pages in full",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| Some(r.rss().0),
        stored: None,
    },
    MeterInfo {
        meter: Meter::Pss,
        name: "pss",
        label: "PSS",
        meaning: "resident, shared pages by share",
        unit: Unit::Bytes,
        drawn: Drawn::Every,
        get: |r| r.pss.map(|pss| pss.total().0),
        stored: None,
    },
    MeterInfo {
        meter: Meter::Uss,
        name: "uss",
        label: "USS",
        meaning: "private pages alone",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| r.pss.map(|pss| pss.uss.0),
        stored: column(18, PAGE, |r, v| put_pss(r, v, |pss, v| pss.uss = Bytes(v))),
    },
    MeterInfo {
        meter: Meter::Gpu,
        name: "gpu",
        label: "GPU",
        meaning: "its memory on all devices",
        unit: Unit::Bytes,
        drawn: Drawn::Every,
        get: |r| r.gpu.map(|gpu| gpu.0),
        stored: column(11, PAGE, |r, v| {
            r.gpu = v.map(Bytes);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Hugetlb,
        name: "hugetlb",
        label: "hugetlb",
        meaning: "huge pages of the machine's pool, neither in RSS nor held",
        unit: Unit::Bytes,
        drawn: Drawn::Watched,
        get: |r| r.hugetlb.map(|huge| huge.0),
        stored: column(20, PAGE, |r, v| {
            r.hugetlb = v.map(Bytes);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Memory,
        name: "memory",
        label: "memory",
        meaning: "as the file has it",
        unit: Unit::Bytes,
        drawn: Drawn::Every,
        get: |_| None,
        stored: None,
    },
    MeterInfo {
        meter: Meter::Objects,
        name: "objects",
        label: "objects",
        meaning: "what Python's collector tracks, within 6 %",
        unit: Unit::Count("objects"),
        drawn: Drawn::Watched,
        get: |r| r.objects,
        stored: column(21, 1, |r, v| {
            r.objects = v;
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Vsize,
        name: "vsize",
        label: "address space",
        meaning: "all that is mapped, touched or not",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| Some(r.vsize.0),
        stored: column(4, PAGE, |r, v| {
            r.vsize = Bytes(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Peak,
        name: "peak",
        label: "peak",
        meaning: "the kernel's high-water mark of RSS",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| Some(r.peak.0),
        stored: column(5, PAGE, |r, v| {
            r.peak = Bytes(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Threads,
        name: "threads",
        label: "threads",
        meaning: "threads of the process",
        unit: Unit::Count("threads"),
        drawn: Drawn::Never,
        get: |r| Some(r.threads.into()),
        stored: column(6, 1, |r, v| {
            r.threads = u32::try_from(v?).ok()?;
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Fds,
        name: "fds",
        label: "files",
        meaning: "open file descriptors, counted rarely",
        unit: Unit::Count("files"),
        drawn: Drawn::Never,
        get: |r| r.fds.map(u64::from),
        stored: column(7, 1, |r, v| {
            r.fds = v.and_then(|fds| u32::try_from(fds).ok());
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Cpu,
        name: "cpu",
        label: "CPU",
        meaning: "user and system time together",
        unit: Unit::Seconds,
        drawn: Drawn::Never,
        get: |r| Some(r.cpu.0),
        stored: column(1, TICK, |r, v| {
            r.cpu = Micros(v?);
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::MinorFaults,
        name: "minor_faults",
        label: "minor faults",
        meaning: "pages that were touched first, or copied after a fork",
        unit: Unit::Count("faults"),
        drawn: Drawn::Never,
        get: |r| Some(r.minor_faults),
        stored: column(2, 1, |r, v| {
            r.minor_faults = v?;
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::MajorFaults,
        name: "major_faults",
        label: "major faults",
        meaning: "pages that came from a disk",
        unit: Unit::Count("faults"),
        drawn: Drawn::Never,
        get: |r| Some(r.major_faults),
        stored: column(8, 1, |r, v| {
            r.major_faults = v?;
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::PssAt,
        name: "pss_at",
        label: "PSS read at",
        meaning: "when in the run the last careful reading was taken",
        unit: Unit::Seconds,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.at.0),
        stored: column(12, 1, |r, v| {
            let at = v.map(Micros);
            r.pss = at.map(|at| Pss {
                at,
                ..r.pss.unwrap_or_default()
            });
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::PssCost,
        name: "pss_cost",
        label: "PSS cost",
        meaning: "how long the last careful reading took",
        unit: Unit::Seconds,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.cost.0),
        stored: column(13, 1, |r, v| put_pss(r, v, |pss, v| pss.cost = Micros(v))),
    },
    MeterInfo {
        meter: Meter::PssAnon,
        name: "pss_anon",
        label: "PSS anon",
        meaning: "its share of anonymous pages",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.anon.0),
        stored: column(14, PAGE, |r, v| put_pss(r, v, |pss, v| pss.anon = Bytes(v))),
    },
    MeterInfo {
        meter: Meter::PssFile,
        name: "pss_file",
        label: "PSS file",
        meaning: "its share of pages of mapped files",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.file.0),
        stored: column(15, PAGE, |r, v| put_pss(r, v, |pss, v| pss.file = Bytes(v))),
    },
    MeterInfo {
        meter: Meter::PssShmem,
        name: "pss_shmem",
        label: "PSS shmem",
        meaning: "its share of shared memory",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.shmem.0),
        stored: column(16, PAGE, |r, v| {
            put_pss(r, v, |pss, v| pss.shmem = Bytes(v))
        }),
    },
    MeterInfo {
        meter: Meter::PssSwap,
        name: "pss_swap",
        label: "PSS swap",
        meaning: "its share of what is swapped out",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.swap.0),
        stored: column(17, PAGE, |r, v| put_pss(r, v, |pss, v| pss.swap = Bytes(v))),
    },
    MeterInfo {
        meter: Meter::PssRssAnon,
        name: "pss_rss_anon",
        label: "anon at PSS",
        meaning: "anon when the last careful reading was taken",
        unit: Unit::Bytes,
        drawn: Drawn::Never,
        get: |r| r.pss.map(|pss| pss.rss_anon.0),
        stored: column(19, PAGE, |r, v| {
            put_pss(r, v, |pss, v| pss.rss_anon = Bytes(v))
        }),
    },
    MeterInfo {
        meter: Meter::Collections0,
        name: "collections_0",
        label: "collections 0",
        meaning: "what Python's collector did of its youngest generation",
        unit: Unit::Count("collections"),
        drawn: Drawn::Never,
        get: |r| r.collections.map(|done| done[0]),
        stored: column(22, 1, |r, v| {
            r.collections = v.map(|first| {
                let [_, second, third] = r.collections.unwrap_or_default();
                [first, second, third]
            });
            Some(())
        }),
    },
    MeterInfo {
        meter: Meter::Collections1,
        name: "collections_1",
        label: "collections 1",
        meaning: "what Python's collector did of its middle generation",
        unit: Unit::Count("collections"),
        drawn: Drawn::Never,
        get: |r| r.collections.map(|done| done[1]),
        stored: column(23, 1, |r, v| put_collections(r, v, 1)),
    },
    MeterInfo {
        meter: Meter::Collections2,
        name: "collections_2",
        label: "collections 2",
        meaning: "what Python's collector did of its oldest generation",
        unit: Unit::Count("collections"),
        drawn: Drawn::Never,
        get: |r| r.collections.map(|done| done[2]),
        stored: column(24, 1, |r, v| put_collections(r, v, 2)),
    },
];

const fn stored_count() -> usize {
    let (mut count, mut nth) = (0, 0);
    while nth < TABLE.len() {
        count += TABLE[nth].stored.is_some() as usize;
        nth += 1;
    }
    count
}

/// Those that a recording keeps, by their columns.
pub const STORED: [Meter; stored_count()] = {
    let mut columns = [Meter::Held; stored_count()];
    let mut nth = 0;
    while nth < TABLE.len() {
        if let Some(stored) = TABLE[nth].stored {
            columns[stored.column] = TABLE[nth].meter;
        }
        nth += 1;
    }
    columns
};

impl Meter {
    pub const COUNT: usize = TABLE.len();

    pub fn info(self) -> &'static MeterInfo {
        &METERS[self as usize]
    }

    pub fn named(name: &str) -> Option<Meter> {
        METERS
            .iter()
            .find(|info| info.name == name)
            .map(|info| info.meter)
    }

    /// Those that have lines, in order.
    pub fn drawn() -> impl Iterator<Item = &'static MeterInfo> {
        METERS.iter().take_while(|info| info.drawn != Drawn::Never)
    }
}

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.info().name)
    }
}

impl Serialize for Meter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.info().name)
    }
}

impl<'de> Deserialize<'de> for Meter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Meter, D::Error> {
        let name = String::deserialize(from)?;
        Meter::named(&name).ok_or_else(|| D::Error::custom(format!("no meter is named `{name}`")))
    }
}

/// What a page needs to know of it.
impl Serialize for MeterInfo {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Meter", 4)?;
        fields.serialize_field("name", self.name)?;
        fields.serialize_field("label", self.label)?;
        fields.serialize_field("unit", self.unit.name())?;
        fields.serialize_field("meaning", self.meaning)?;
        fields.end()
    }
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Seconds => "seconds",
            Unit::Count(things) => things,
        }
    }

    /// For people: `17.4 GB`, `3m 20s`, `12 000`.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Bytes => show_bytes(value),
            Unit::Seconds => show_duration(value / 1e6),
            Unit::Count(_) => show_count(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcId;

    #[test]
    fn the_table_is_in_order_and_its_names_and_columns_are_unique() {
        for (nth, info) in METERS.iter().enumerate() {
            assert_eq!(info.meter as usize, nth, "{}", info.name);
            assert_eq!(Meter::named(info.name), Some(info.meter));
        }
        let drawn = METERS.iter().filter(|info| info.drawn != Drawn::Never);
        assert_eq!(Meter::drawn().count(), drawn.count(), "they come first");
        for (nth, meter) in STORED.into_iter().enumerate() {
            let stored = meter.info().stored.expect("a hole in the columns");
            assert_eq!(stored.column, nth, "{meter} shares its column");
        }
    }

    #[test]
    fn a_meter_is_its_name_in_json() {
        for info in &METERS {
            let json = serde_json::to_string(&info.meter).unwrap();
            assert_eq!(json, format!("\"{}\"", info.name));
            assert_eq!(serde_json::from_str::<Meter>(&json).unwrap(), info.meter);
        }
        assert!(serde_json::from_str::<Meter>("\"tides\"").is_err());
    }

    #[test]
    fn what_is_stored_of_a_reading_makes_it_again() {
        let mut value = 0;
        let mut next = || {
            value += 1;
            value
        };
        let full = Reading {
            anon: Bytes(next()),
            file: Bytes(next()),
            shmem: Bytes(next()),
            swap: Bytes(next()),
            hugetlb: Some(Bytes(next())),
            vsize: Bytes(next()),
            peak: Bytes(next()),
            threads: next() as u32,
            fds: Some(next() as u32),
            cpu: Micros(next()),
            minor_faults: next(),
            major_faults: next(),
            gpu: Some(Bytes(next())),
            pss: Some(Pss {
                at: Micros(next()),
                cost: Micros(next()),
                anon: Bytes(next()),
                file: Bytes(next()),
                shmem: Bytes(next()),
                swap: Bytes(next()),
                uss: Bytes(next()),
                rss_anon: Bytes(next()),
            }),
            objects: Some(next()),
            collections: Some([next(), next(), next()]),
            ..Reading::of(ProcId { pid: 1, start: 2 })
        };
        let bare = Reading {
            hugetlb: None,
            fds: None,
            gpu: None,
            pss: None,
            objects: None,
            collections: None,
            ..full
        };
        for reading in [full, bare] {
            let mut made = Reading::of(reading.id);
            for info in STORED.map(Meter::info) {
                let set = info.stored.unwrap().set;
                set(&mut made, (info.get)(&reading)).unwrap();
            }
            assert_eq!(made, reading);
        }
        let missing = |meter: Meter| {
            let set = meter.info().stored.unwrap().set;
            set(&mut bare.clone(), None).is_none()
        };
        assert!(missing(Meter::Anon) && missing(Meter::Cpu));
        assert!(!missing(Meter::Gpu) && !missing(Meter::PssAt) && !missing(Meter::Objects));
        // One generation without the others is no count.
        let alone = Meter::Collections2.info().stored.unwrap().set;
        assert!(alone(&mut bare.clone(), Some(1)).is_none());
    }
}
