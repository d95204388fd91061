//! What the words before a number, or in the name of a column, say about it: memory in use, or something else.
//! A size counts only if they say memory. Downloads, checkpoints, traffic and what is left free are sizes too, and
//! each was once judged as a leak.

use lowtide_core::verdict::Meter;

/// Memory, and nothing else that stands beside it changes that: `RSS after saving the checkpoint`.
const SURE: [(&[&str], Meter, u8); 5] = [
    (&["pss"], Meter::Pss, 90),
    (&["uss"], Meter::Uss, 85),
    (&["rssanon"], Meter::Anon, 95),
    (&["rss", "vmrss", "resident"], Meter::Rss, 80),
    (&["ram", "arbeitsspeicher"], Meter::Memory, 70),
];

/// Memory, unless a word of [`OTHER`] stands nearer to the number: `memory of the model`.
const LIKELY: [(&[&str], Meter, u8); 6] = [
    (&["held"], Meter::Held, 100),
    (&["anon", "anonymous"], Meter::Anon, 95),
    (&["private"], Meter::Uss, 85),
    (&["real", "res"], Meter::Rss, 80),
    (
        &["mem", "memory", "workingset", "speicher"],
        Meter::Memory,
        70,
    ),
    (&["heap"], Meter::Memory, 60),
];

/// Of these, the ones that mean other things too, where a number has no unit.
const NEEDS_UNIT: [&str; 5] = ["held", "private", "real", "res", "heap"];

/// The GPU's, where it is memory at all.
const GPU: [&str; 8] = ["gpu", "cuda", "vram", "nvml", "hbm", "mps", "xpu", "device"];

/// What torch calls its own: memory of the GPU without a word for it.
const TORCH: [&str; 2] = ["allocated", "reserved"];

/// Ranks: higher is closer to the leak signal.
pub(super) const RANK_GPU: u8 = 10;
const RANK_UNIT: u8 = 40;

/// Something else than memory in use, whatever else is said.
const NOT_IN_USE: [&str; 33] = [
    "total",
    "limit",
    "max",
    "min",
    "peak",
    "swap",
    "virtual",
    "vms",
    "vsz",
    "vmsize",
    "vmpeak",
    "vmhwm",
    "percent",
    "pct",
    "disk",
    "cache",
    "cached",
    "buffers",
    "delta",
    "diff",
    "growth",
    "capacity",
    "installed",
    "quota",
    "budget",
    "bandwidth",
    "threshold",
    "maximum",
    "minimum",
    "limits",
    "gesamt",
    "maximal",
    "prozent",
];

/// What is left: it falls where memory grows, and flat or falling numbers would be called stable.
const LEFT: [&str; 10] = [
    "free",
    "available",
    "avail",
    "memavailable",
    "memfree",
    "headroom",
    "remaining",
    "frei",
    "freier",
    "verfügbar",
];

/// Other things that have a size or a speed, or that are counted.
const OTHER: [&str; 74] = [
    "net",
    "network",
    "traffic",
    "recv",
    "received",
    "sent",
    "rx",
    "tx",
    "download",
    "downloaded",
    "downloading",
    "upload",
    "uploaded",
    "uploading",
    "saved",
    "saving",
    "save",
    "wrote",
    "write",
    "written",
    "writing",
    "file",
    "files",
    "dataset",
    "datasets",
    "model",
    "models",
    "checkpoint",
    "checkpoints",
    "ckpt",
    "shard",
    "shards",
    "weights",
    "params",
    "parameters",
    "safetensors",
    "pt",
    "bin",
    "throughput",
    "speed",
    "rate",
    "batch",
    "io",
    "read",
    "bank",
    "transfer",
    "transferred",
    "copied",
    "copy",
    "compressed",
    "archive",
    "log",
    "logs",
    "tensor",
    "tensors",
    "image",
    "images",
    "video",
    "videos",
    "corpus",
    "tokens",
    "util",
    "utilization",
    "utilisation",
    "temp",
    "temperature",
    "power",
    "clock",
    "folder",
    "directory",
    "dir",
    "payload",
    "faults",
    "errors",
];

/// Words beside a unit that say nothing against memory: `value_mb`, `MB used`. Tables of two columns are named so.
const PLAIN: [&str; 12] = [
    "value", "values", "used", "usage", "use", "in", "size", "process", "proc", "current", "now",
    "y",
];

/// What the words say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Memory in use; the higher the rank, the closer to the leak signal.
    Memory(Meter, u8),
    /// Memory that is left.
    Left,
    /// A part of some memory that nobody gave the size of.
    Share(Meter),
    Other,
}

/// Words that may stand between a word for memory and its number.
const BETWEEN: [&str; 10] = [
    "after", "before", "at", "is", "now", "of", "end", "start", "begin", "gc",
];

/// Whether the last words speak of the memory itself: a number without a unit is the number of what stands right
/// before it, `ram loss 512` that of the loss.
pub(super) fn ends_in_memory(words: &[String]) -> bool {
    let among = |list: &[&str], w: &String| list.contains(&w.as_str());
    let named = |kinds: &[(&[&str], Meter, u8)], w: &String| kinds.iter().any(|k| among(k.0, w));
    let last = words
        .iter()
        .rev()
        .find(|w| !among(&PLAIN, w) && !among(&BETWEEN, w));
    last.is_some_and(|w| named(&SURE, w) || named(&LIKELY, w) || among(&TORCH, w))
}

/// `unit` says that the number is in bytes, or in a unit of them.
pub(super) fn of(words: &[String], unit: bool) -> Meaning {
    let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    let memory = in_use(words, unit);
    if has(&LEFT) {
        let ours = memory.is_some() || unit;
        return if ours { Meaning::Left } else { Meaning::Other };
    }
    match memory {
        Some((meter, _)) if has(&["percent", "pct"]) => match has(&["cpu"]) {
            true => Meaning::Other,
            false => Meaning::Share(meter),
        },
        Some(_) if has(&NOT_IN_USE) => Meaning::Other,
        Some((meter, rank)) => Meaning::Memory(meter, rank),
        None => Meaning::Other,
    }
}

fn in_use(words: &[String], unit: bool) -> Option<(Meter, u8)> {
    let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    let kind = |kinds: &[(&[&str], Meter, u8)]| {
        let known = kinds.iter().find(|(names, ..)| has(names));
        known.map(|(_, meter, rank)| (*meter, *rank))
    };
    let gpu = has(&GPU);
    // The kernel's parts of RSS: what is private counts, what a file or another process holds does not.
    if has(&["rss", "pss"]) && has(&["anon"]) {
        return Some((Meter::Anon, 95));
    }
    if let [.., before, last] = words
        && matches!(before.as_str(), "rss" | "pss")
        && matches!(last.as_str(), "file" | "shmem" | "dirty")
    {
        return None;
    }
    // A buffer of transitions, which are counted.
    if words.windows(2).any(|two| two == ["replay", "memory"]) {
        return None;
    }
    let known = kind(&SURE).or_else(|| {
        // `res 512` without a unit is a resolution.
        let spoken = |w: &String| unit || !NEEDS_UNIT.contains(&w.as_str());
        let likely =
            |w: &String| spoken(w) && LIKELY.iter().any(|(names, ..)| names.contains(&w.as_str()));
        let torch = |w: &String| TORCH.contains(&w.as_str());
        let on_gpu = |w: &String| unit && GPU.contains(&w.as_str());
        // Windows' name, in two words.
        let working = words.windows(2).any(|two| two == ["working", "set"]);
        let set = |w: &String| working && w == "set";
        // The word that stands nearest to the number and says anything.
        let telling = words.iter().rev().find(|w| {
            likely(w)
                || set(w)
                || torch(w)
                || on_gpu(w)
                || **w == "vram"
                || OTHER.contains(&w.as_str())
        })?;
        if OTHER.contains(&telling.as_str()) {
            return None;
        }
        kind(&LIKELY)
            .or(working.then_some((Meter::Memory, 70)))
            .or(Some((Meter::Gpu, RANK_GPU)))
    });
    let torch = has(&TORCH);
    match known {
        // `memory allocated` is torch's.
        Some(_) if gpu || torch => Some((Meter::Gpu, RANK_GPU)),
        Some(known) => Some(known),
        None => {
            let plain = |w: &String| PLAIN.contains(&w.as_str()) || super::header::is_unit(w);
            (unit && words.iter().all(plain)).then_some((Meter::Memory, RANK_UNIT))
        }
    }
}

/// Whether a word says that the size is something else than memory in use now.
pub(super) fn not_in_use(words: &[String]) -> bool {
    let listed = |w: &String| NOT_IN_USE.contains(&w.as_str());
    words.iter().any(listed)
}

/// Whether a word is memory's own name: `memory_allocated` is, `allocated` alone may be of anything.
pub(super) fn names_memory(words: &[String]) -> bool {
    let own = |w: &String| matches!(w.as_str(), "mem" | "memory" | "vram");
    words.iter().any(own)
}
