//! What the name of a column or of a printed value says: which memory, in which unit, or which axis.

use lowtide_core::units::unit_factor;
use lowtide_core::verdict::Meter;

use super::meaning::{self, Meaning};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    Step,
    Epoch,
    /// Seconds per unit of the column; none for a bare `t` or a timestamp, whose numbers tell.
    Time(Option<f64>),
    Index,
    Memory(Memory),
    /// Memory that is left: it falls where memory grows.
    Left,
    /// The lowest or highest of what another column holds: W&B writes three columns for each metric.
    Beside,
    /// Which process a row is about: rows of several must not be mixed.
    Owner,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Memory {
    pub meter: Meter,
    /// Bytes per unit, when the name says the unit.
    pub factor: Option<f64>,
    /// Which one to take when there are several: higher is closer to the leak signal.
    pub rank: u8,
    /// In per cent of a memory whose size the file does not say.
    pub share: bool,
}

impl Memory {
    pub(super) fn with_unit(self, factor: Option<f64>) -> Memory {
        Memory { factor, ..self }
    }
}

/// What a share ranks: below every size.
const RANK_SHARE: u8 = 20;

/// Splits `rssBytes`, `rss_bytes`, `RSS (MB)` and `mem[GiB]` into lower-case words.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            words.push(String::new());
        } else {
            if c.is_uppercase() && was_lower {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|w| !w.is_empty());
    // `GiB` and `MiB` fall apart at the capital B: put them together again.
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last) if word == "b" && unit_factor(&format!("{last}b")).is_some() => {
                last.push('b')
            }
            _ => joined.push(word),
        }
    }
    joined
}

pub(super) fn column(name: &str) -> Column {
    let mut words = words(name);
    if name.contains('%') {
        words.push("percent".to_owned());
    }
    let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    // nvidia-smi's share of time in which the memory was busy is none of its size.
    let busy = name.contains("utilization.memory");
    if busy || name.ends_with("__MIN") || name.ends_with("__MAX") {
        return Column::Beside;
    }
    if has(&["pid", "rank", "process", "hostname", "host"])
        && words.len() <= 2
        && !has(&["memory", "mem", "rss"])
    {
        return Column::Owner;
    }
    if let Some(memory) = memory(&words) {
        return Column::Memory(memory);
    }
    if meaning::of(&words, unit_in(&words).is_some()) == Meaning::Left {
        return Column::Left;
    }
    if has(&[
        "step",
        "steps",
        "iteration",
        "iterations",
        "iter",
        "iters",
        "batch",
        "update",
        "updates",
        "schritt",
        "schritte",
    ]) {
        return Column::Step;
    }
    if has(&["epoch", "epochs", "epoche"]) {
        return Column::Epoch;
    }
    let unit = words.iter().rev().find_map(|w| seconds(w));
    if has(&[
        "t",
        "time",
        "timestamp",
        "ts",
        "date",
        "datetime",
        "elapsed",
        "at",
        "clock",
        "uptime",
        "zeit",
        "uhrzeit",
        "datum",
        "zeitstempel",
    ]) && !has(&["percent"])
    {
        return Column::Time(unit);
    }
    if unit.is_some() && words.len() == 1 {
        return Column::Time(unit);
    }
    if words.is_empty()
        || has(&[
            "index", "sample", "samples", "i", "n", "idx", "row", "no", "nr", "x",
        ])
    {
        return Column::Index;
    }
    Column::Other
}

/// Seconds in a unit of time.
fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "ms" | "millis" | "milliseconds" | "msec" => 1e-3,
        "us" | "micros" | "microseconds" => 1e-6,
        "ns" | "nanos" | "nanoseconds" => 1e-9,
        "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

/// Is this the name of memory in use? `None` for everything else.
pub(super) fn memory(words: &[String]) -> Option<Memory> {
    let factor = unit_in(words);
    let (meter, rank, share) = match meaning::of(words, factor.is_some()) {
        // W&B's `system/memory` is the used part of the machine's, in per cent.
        Meaning::Memory(..)
            if factor.is_none() && words.ends_with(&WANDB_SHARE.map(str::to_owned)) =>
        {
            (Meter::Memory, RANK_SHARE, true)
        }
        Meaning::Memory(meter, rank) => (meter, rank, false),
        Meaning::Share(meter) => (meter, RANK_SHARE, true),
        Meaning::Left | Meaning::Other => return None,
    };
    Some(Memory {
        meter,
        factor,
        rank,
        share,
    })
}

const WANDB_SHARE: [&str; 2] = ["system", "memory"];

/// The unit that a name says.
pub(super) fn unit_in(words: &[String]) -> Option<f64> {
    words.iter().rev().find_map(|w| named_unit(w))
}

pub(super) fn is_unit(word: &str) -> bool {
    named_unit(word).is_some()
}

/// A unit that stands as a word of its own in a name. One letter alone is no unit there.
fn named_unit(word: &str) -> Option<f64> {
    match word {
        "mbytes" | "megabytes" | "megabyte" => Some(1e6),
        "kbytes" | "kilobytes" => Some(1e3),
        "gbytes" | "gigabytes" | "gigabyte" => Some(1e9),
        _ if word.len() > 1 => {
            unit_factor(word).filter(|_| word.ends_with('b') || word.starts_with("byte"))
        }
        _ => None,
    }
}

/// The unit of numbers that carry none, from the numbers themselves. Resident sizes come in pages:
/// multiples of 4,096 in bytes (shares of pages, as in PSS, of 1,024), of 4 in kB; what is left is told by magnitude, where only one
/// reading is plausible for a process (1 MB to some TB).
pub(super) fn unit_by_values(
    values: impl Iterator<Item = f64> + Clone,
) -> Option<(f64, &'static str)> {
    let max = values.clone().fold(0.0, f64::max);
    let multiples = |of: f64| values.clone().all(|v| v % of == 0.0);
    unit_by_pages(max, multiples(1024.0), multiples(4.0))
}

/// The same from what was noted about the numbers: the largest, and whether all are multiples of
/// 1,024 or of 4.
pub(super) fn unit_by_pages(max: f64, pages: bool, fours: bool) -> Option<(f64, &'static str)> {
    if max >= 1e9 || (max >= 1e6 && pages) {
        Some((1.0, "bytes"))
    } else if max >= 1e5 && fours {
        Some((1024.0, "KiB"))
    } else if (300.0..1e6).contains(&max) {
        Some((1e6, "MB"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(name: &str) -> Option<(Meter, Option<f64>)> {
        match column(name) {
            Column::Memory(m) if !m.share => Some((m.meter, m.factor)),
            _ => None,
        }
    }

    #[test]
    fn names_tell_kind_and_unit() {
        for (name, expected) in [
            ("value_mb", (Meter::Memory, Some(1e6))),
            ("MB", (Meter::Memory, Some(1e6))),
            ("rss_bytes", (Meter::Rss, Some(1.0))),
            ("rss_kb", (Meter::Rss, Some(1e3))),
            ("RSS (MiB)", (Meter::Rss, Some(1024.0 * 1024.0))),
            ("rssBytes", (Meter::Rss, Some(1.0))),
            ("Memory usage [GB]", (Meter::Memory, Some(1e9))),
            ("gpu_mem_mb", (Meter::Gpu, Some(1e6))),
            ("rss", (Meter::Rss, None)),
            ("process_memory_mb", (Meter::Memory, Some(1e6))),
            ("bytes", (Meter::Memory, Some(1.0))),
            ("rss_after_save_mb", (Meter::Rss, Some(1e6))),
            ("Arbeitsspeicher (MB)", (Meter::Memory, Some(1e6))),
            (
                "\\\\BOX\\Process(python)\\Working Set",
                (Meter::Memory, None),
            ),
            ("cuda memory allocated (MB)", (Meter::Gpu, Some(1e6))),
            ("run-7 - system/proc.memory.rssMB", (Meter::Rss, Some(1e6))),
        ] {
            assert_eq!(meter(name), Some(expected), "{name}");
        }
        for name in [
            "cpu",
            "value",
            "download_mb",
            "net_rx_bytes",
            "disk_used_gb",
            "checkpoint_mb",
            "memory_of_model_mb",
            "gpu_util",
            "memory utilization (MB)",
            "system/proc.memory.rssMB__MIN",
            "total_mb",
            "peak_rss_mb",
            "loss",
            "vms",
            "free",
            "replay memory",
            "Working Set Peak",
            "Speicher gesamt (MB)",
        ] {
            assert_eq!(meter(name), None, "{name}");
        }
        for name in [
            "mem_available_mb",
            "MemFree",
            "free_mb",
            "Speicher frei (MB)",
            "system/proc.memory.availableMB",
        ] {
            assert_eq!(column(name), Column::Left, "{name}");
        }
        for name in ["mem_percent", "%MEM", "run - system/memory", "memory (%)"] {
            let Column::Memory(memory) = column(name) else {
                panic!("{name}")
            };
            assert!(memory.share, "{name}");
        }
        assert_eq!(column("cpu_percent"), Column::Other);
        assert_eq!(column("step"), Column::Step);
        assert_eq!(column("global_step"), Column::Step);
        assert_eq!(column("t"), Column::Time(None));
        assert_eq!(column("time_s"), Column::Time(Some(1.0)));
        assert_eq!(column("elapsed (min)"), Column::Time(Some(60.0)));
        assert_eq!(column("seconds"), Column::Time(Some(1.0)));
        assert_eq!(column("timestamp"), Column::Time(None));
        assert_eq!(column("% Processor Time"), Column::Other);
        assert_eq!(column("utilization.memory [%]"), Column::Beside);
        assert_eq!(column(""), Column::Index);
        assert_eq!(column("pid"), Column::Owner);
    }

    #[test]
    fn pages_tell_the_unit() {
        let unit = |values: &[f64]| unit_by_values(values.iter().copied()).map(|(_, name)| name);
        assert_eq!(unit(&[4_096_000.0, 8_192_000.0]), Some("bytes"));
        assert_eq!(unit(&[412_340.0, 512_348.0]), Some("KiB"));
        assert_eq!(unit(&[5552.0, 5601.0]), Some("MB"));
        assert_eq!(unit(&[5.4, 7.2]), None);
    }
}
