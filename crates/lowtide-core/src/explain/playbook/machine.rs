//! What lies outside the loop's own heap: cycles and their collector, other processes, swap, the kernel.

use crate::look::MemoryClass;
use crate::units::show_bytes;
use crate::verdict::Class;

use super::super::hook::Hook;
use super::super::signs::Signs;
use super::KnownCause;
use super::experiment::{Expect, Recipe, To, Trial};
use super::sign::{
    BARE, CARRIES, ECHO, FLAT, MORE_OBJECTS, Sign, carried_by, doubt, goes_on, large, not,
    of_a_leak, open, seen, unknown,
};

/// A collection that frees this share of the level had something to free.
const COLLECTED: f64 = 0.01;
/// Calls of the collector that are enough to say that it frees nothing.
const CALLS: u64 = 3;
/// The patch releases of CPython 3.14 that have the incremental collector; 3.14.5 is generational again.
const INCREMENTAL: std::ops::RangeInclusive<u32> = 0..=4;
/// Swap takes part from this share of the growth on.
const SWAPPED: f64 = 0.3;
/// Seconds of waiting for memory that are no accident.
const STALLED: f64 = 1.0;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P25",
        title: "reference cycles wait for the garbage collector",
        cause: "objects that refer to each other hold memory until the collector's oldest generation runs",
        fix: "break the cycles, gc.collect() every N steps, gc.freeze() after the start",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/95462",
            "https://pytorch.org/blog/understanding-gpu-memory-2/",
        ],
        blamed: Some("reference cycles"),
        spike: true,
        unseen: false,
        signature: cycles,
        experiment: Trial {
            says: "{hook}: it says what each gc.collect() freed",
            change: Recipe::Hook(Hook::Collects),
            expect: Expect::Says("collections free as much as the teeth are high"),
        },
    },
    KnownCause {
        id: "P48",
        title: "CPython 3.14.0 to 3.14.4 pile up cycles",
        cause: "the incremental collector of these releases falls behind: objects that refer to each other stay much longer than before",
        fix: "Python 3.14.5 or later, or 3.13; gc.collect() every N steps until then",
        sources: &[
            "https://github.com/python/cpython/issues/148726",
            "https://github.com/python/mypy/issues/21403",
            "https://github.com/cositools/cosipy/issues/629",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: slow_collector,
        experiment: Trial {
            says: "{hook}: it calls gc.collect(); or the same job with Python 3.14.5 or 3.13",
            change: Recipe::Hook(Hook::Collects),
            expect: Expect::Says(
                "memory comes back with each call; with the other Python the growth is gone",
            ),
        },
    },
    KnownCause {
        id: "P26",
        title: "rollouts are kept by the controller",
        cause: "trajectories, log-probabilities or encoded images stay in the driver process of a reinforcement learning job",
        fix: "drop raw payloads once they are sent, a newer vLLM",
        sources: &[
            "https://github.com/volcengine/verl/issues/429",
            "https://github.com/OpenRLHF/OpenRLHF/issues/1065",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: controller,
        experiment: Trial {
            says: "half the rollout batch",
            change: Recipe::Setting("rollout batch", To::Half),
            expect: Expect::Says("half the growth per step"),
        },
    },
    KnownCause {
        id: "P30",
        title: "memory went to swap",
        cause: "the machine is short of memory, and the job's pages are swapped out while RSS looks level",
        fix: "count RSS + swap; forbid swap for the job (memory.swap.max=0) to see it fail early",
        sources: &["https://docs.kernel.org/accounting/psi.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: swapped,
        experiment: Trial {
            says: "the same job in a cgroup with memory.swap.max=0",
            change: Recipe::Cgroup("memory.swap.max", To::Value("0")),
            expect: Expect::Says("RSS grows as RSS + swap did"),
        },
    },
    KnownCause {
        id: "P31",
        title: "another process grows",
        cause: "the process that was watched is not the one that grows: a wrapper, a helper or a sibling",
        fix: "look at the process that is named",
        sources: &["https://github.com/leokeba/model-garden"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: sibling,
        experiment: Trial {
            says: "one look at all processes of the job",
            change: Recipe::Probe(&["lowtide", "ps"]),
            expect: Expect::Says("the named process is larger at each look"),
        },
    },
    KnownCause {
        id: "P35",
        title: "only rank 0 grows",
        cause: "logging, gathering of evaluation outputs or assembling checkpoints on the first rank",
        fix: "move that work, or switch it off",
        sources: &["https://docs.pytorch.org/docs/stable/distributed.checkpoint.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: rank_zero,
        experiment: Trial {
            says: "the same job without what only rank 0 does (logging, evaluation)",
            change: Recipe::Code,
            expect: Expect::Says("rank 0 is as level as the others"),
        },
    },
    KnownCause {
        id: "P37",
        title: "the kernel's own memory grows",
        cause: "dentries and inodes of millions of small files, sockets: memory of the cgroup that no process holds",
        fix: "pack files (webdataset, Arrow); it is reclaimed under pressure",
        sources: &["https://docs.kernel.org/admin-guide/cgroup-v2.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: slab,
        experiment: Trial {
            says: "read slab_reclaimable in the cgroup's memory.stat; echo 2 > /proc/sys/vm/drop_caches",
            change: Recipe::Probe(&[]),
            expect: Expect::Says("the count falls"),
        },
    },
];

fn cycles(signs: &Signs) -> Vec<Sign> {
    match collections(signs) {
        Some(sign) => vec![sign],
        _ if signs.course.teeth => vec![unknown(format!(
            "it rises and falls like a saw, but who frees it was not measured; this would tell: {}",
            signs.hook(Hook::Collects)
        ))],
        _ if signs.class == Class::Spikes => vec![doubt("no saw-teeth")],
        _ => vec![unknown(format!(
            "gc.collect() was not tried; this would tell: {}",
            signs.hook(Hook::Collects)
        ))],
    }
}

/// What calls of the collector freed; none without enough of them.
fn collections(signs: &Signs) -> Option<Sign> {
    let gc = signs.cleaned.get("gc").filter(|gc| gc.calls >= CALLS)?;
    let each = gc.freed / gc.calls as f64;
    Some(if each >= COLLECTED * signs.course.level {
        seen(format!(
            "gc.collect() freed {} in {} calls",
            show_bytes(gc.freed),
            gc.calls
        ))
    } else if gc.freed < FLAT * signs.course.grew.max(COLLECTED * signs.course.level) {
        not(format!("gc freed nothing in {} calls", gc.calls))
    } else {
        doubt(format!(
            "gc.collect() freed {} in {} calls, little against what is held",
            show_bytes(gc.freed),
            gc.calls
        ))
    })
}

fn slow_collector(signs: &Signs) -> Vec<Sign> {
    let Some(python) = signs.python.filter(|python| python.minor == 14) else {
        return Vec::new();
    };
    let objects = carried_by(
        signs,
        &[MemoryClass::PythonLive, MemoryClass::PythonSlack],
        "Python small objects",
    );
    let key = match (objects, python.micro) {
        (Sign::Seen(says), Some(micro)) if INCREMENTAL.contains(&micro) => {
            seen(format!("Python 3.14.{micro}; {says}"))
        }
        (_, Some(micro)) if !INCREMENTAL.contains(&micro) => {
            not(format!("Python 3.14.{micro} has the older collector again"))
        }
        (Sign::Seen(says), None) => open(format!(
            "Python 3.14, {says}; which of its releases it is was not seen: python -VV tells"
        )),
        (other, _) => other,
    };
    let counted = match &signs.objects {
        Some(counted) if counted.span.last.objects > MORE_OBJECTS * counted.span.first.objects => {
            seen(format!(
                "objects that the collector knows: {:.0} -> {:.0}",
                counted.span.first.objects, counted.span.last.objects
            ))
        }
        Some(_) => not("the collector knows no more objects than before"),
        None => unknown("objects were not counted from inside"),
    };
    // A list that only grows has more of them too; a collection parts the two.
    let collected = collections(signs).unwrap_or_else(|| unknown("gc.collect() was not tried"));
    match key {
        key @ Sign::Seen(_) => vec![key, either(counted, collected)],
        key => vec![key],
    }
}

/// What contradicts, else what was seen, else what was not measured.
fn either(one: Sign, other: Sign) -> Sign {
    match (&one, &other) {
        (Sign::Not(_) | Sign::Doubt(_), _) => one,
        (_, Sign::Not(_) | Sign::Doubt(_) | Sign::Seen(_)) => other,
        _ => one,
    }
}

fn controller(signs: &Signs) -> Vec<Sign> {
    let argv = &signs.job.argv;
    let ray = argv.contains("ray::") || argv.contains("verl") || argv.contains("openrlhf");
    vec![
        if ray {
            of_a_leak(
                signs,
                format!("the growing process drives rollouts: {argv}"),
                "what it keeps may have a bound: half the rollout batch would tell",
            )
        } else {
            not("no rollout controller")
        },
        goes_on(signs),
    ]
}

fn swapped(signs: &Signs) -> Vec<Sign> {
    let Some(levels) = &signs.levels else {
        return vec![unknown(BARE)];
    };
    let swap = levels.last.swap - levels.first.swap;
    let stalled = signs
        .surroundings
        .as_ref()
        .and_then(|surroundings| Some(surroundings.last.stalled? - surroundings.first.stalled?));
    vec![
        if swap > 0.0 && swap >= SWAPPED * signs.course.grew {
            seen(format!("{} more in swap", show_bytes(swap)))
        } else {
            not("nothing went to swap")
        },
        match stalled {
            Some(seconds) if seconds >= STALLED => {
                seen(format!("tasks waited {seconds:.0} s for memory"))
            }
            Some(_) => not("nobody waited for memory"),
            None => unknown("pressure was not read"),
        },
    ]
}

fn sibling(signs: &Signs) -> Vec<Sign> {
    if !signs.recorded {
        return vec![unknown(BARE)];
    }
    let role = signs.job.role.as_str();
    let known = signs.job.trains || matches!(role, "loader-worker" | "compile-worker" | "logger");
    let key = if !known && !signs.job.forked && !role.is_empty() {
        match signs.watched_grew {
            Some(grew) if grew < FLAT * signs.course.grew => seen(format!(
                "{} ({role}) grows, the watched process does not",
                signs.job.argv
            )),
            _ => not("the watched process grows"),
        }
    } else {
        not("the growing process is part of the training")
    };
    vec![key]
}

fn rank_zero(signs: &Signs) -> Vec<Sign> {
    if signs.ranks.len() < 2 {
        return vec![not("fewer than two ranks")];
    }
    let first = signs
        .ranks
        .iter()
        .find(|(rank, _)| *rank == 0)
        .map_or(0.0, |(_, grew)| *grew);
    let others = signs.ranks.iter().filter(|(rank, _)| *rank != 0);
    let most = others.map(|(_, grew)| *grew).fold(0.0, f64::max);
    vec![
        if first >= CARRIES * signs.course.grew && most < ECHO * first {
            seen(format!(
                "rank 0 grew by {}, the others by {} at most",
                show_bytes(first),
                show_bytes(most)
            ))
        } else {
            not("other ranks grow too")
        },
    ]
}

fn slab(signs: &Signs) -> Vec<Sign> {
    let Some(surroundings) = &signs.surroundings else {
        return vec![unknown(BARE)];
    };
    let kernel = |group: Option<crate::run::surroundings::Group>| {
        group
            .filter(|group| group.only_ours)
            .and_then(|group| group.kernel)
    };
    let (Some(first), Some(last)) = (
        kernel(surroundings.first.cgroup),
        kernel(surroundings.last.cgroup),
    ) else {
        return vec![unknown(
            "the cgroup is shared, or its kernel memory is not told",
        )];
    };
    let grew = last - first;
    vec![
        if large(signs, grew) && grew >= CARRIES * signs.course.grew {
            seen(format!(
                "kernel memory of the cgroup grew by {}",
                show_bytes(grew)
            ))
        } else {
            not("the kernel's memory hardly grew")
        },
    ]
}
