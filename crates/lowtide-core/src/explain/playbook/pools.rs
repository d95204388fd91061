//! Memory that is mapped in large pieces and used bit by bit: buffers that a job reserved and touches, and
//! the arenas of libraries that keep memory of their own. The first end at their size. The second are used
//! again and again: a leak inside one maps nothing new, so that sizes of mappings say nothing.

use crate::judge::words::percent;
use crate::look::{MemoryClass, Pool};
use crate::units::show_bytes;

use super::super::hook::Hook;
use super::super::signs::Signs;
use super::KnownCause;
use super::experiment::{Expect, Recipe, To, Trial};
use super::sign::{CARRIES, Sign, being_filled, not, seen, unknown};

/// More mappings than this are new ones; fewer come and go with threads and libraries.
pub(super) const NEW_MAPS: u64 = 10;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P43",
        title: "reserved space is being touched",
        cause: "a large array was asked for as a whole (np.zeros, torch.empty, shared memory of a set size), and the kernel gives its pages only as they are written: a replay buffer, a cache by index",
        fix: "none is needed if it fits: it ends at its size; else a smaller buffer or a smaller dtype",
        sources: &[
            "https://numpy.org/doc/stable/reference/generated/numpy.zeros.html",
            "https://docs.kernel.org/mm/overcommit-accounting.html",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| match (&signs.reserved, signs.fills()) {
            (_, Some(reserved)) => vec![seen(being_filled(signs, reserved))],
            (Some(reserved), None) => vec![not(being_filled(signs, reserved))],
            (None, None) => Vec::new(),
        },
        experiment: Trial {
            says: "np.full instead of np.zeros, or write to every page at the start (buffer[...] = 0)",
            change: Recipe::Code,
            expect: Expect::Says("all of it is there at step 1, and memory is level after that"),
        },
    },
    KnownCause {
        id: "P44",
        title: "Arrow's memory pool grows",
        cause: "Arrow takes its buffers from a pool of its own (mimalloc inside libarrow): tables and batches that somebody refers to, slices that hold the whole they were cut from, or pages that the pool keeps. Its arenas stay mapped, so a level VmData says nothing",
        fix: "drop references to tables and batches, copy what is kept of a slice, pa.default_memory_pool().release_unused()",
        sources: &[
            "https://arrow.apache.org/docs/python/memory.html",
            "https://arrow.apache.org/docs/cpp/env_vars.html",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| arenas(signs, &[Pool::Arrow]),
        experiment: Trial {
            says: "the same job with malloc as Arrow's pool, so that looks see its blocks; pa.total_allocated_bytes() at each step says what is in use",
            change: Recipe::Env(&[("ARROW_DEFAULT_MEMORY_POOL", "system")]),
            expect: Expect::Says(
                "the growth is in malloc's blocks, and pa.total_allocated_bytes() rises with it if something keeps tables",
            ),
        },
    },
    KnownCause {
        id: "P45",
        title: "torch's own mimalloc grows",
        cause: "torch from 2.10 on takes CPU tensors on aarch64 from a mimalloc that is linked into it: tensors that are kept, or pages that it keeps after they were freed. A preloaded malloc sees none of it",
        fix: "let go of the tensors; if they are freed but held, MIMALLOC_PURGE_DELAY=0",
        sources: &[
            "https://github.com/pytorch/pytorch/pull/164741",
            "https://github.com/pytorch/pytorch/pull/104497",
            "https://github.com/pytorch/pytorch/issues/178726",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| arenas(signs, &[Pool::Torch]),
        experiment: Trial {
            says: "the same job with freed pages given back at once",
            change: Recipe::Env(&[("MIMALLOC_PURGE_DELAY", "0")]),
            expect: Expect::Here(|signs| {
                format!(
                    "a lower floor: it was freed but held; the same growth: tensors are kept ({} counts them)",
                    signs.hook(Hook::Counts)
                )
            }),
        },
    },
    KnownCause {
        id: "P46",
        title: "the heap of a Java machine grows",
        cause: "a Java machine in the process (Spark, Hadoop's file system, Lucene) touches its heap up to -Xmx before it collects in earnest",
        fix: "a smaller -Xmx (spark.driver.memory); objects that Java keeps need a heap dump",
        sources: &["https://docs.oracle.com/en/java/javase/21/gctuning/"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| arenas(signs, &[Pool::Jvm]),
        experiment: Trial {
            says: "jcmd PID GC.heap_info at two steps, and the same job with half the -Xmx",
            change: Recipe::Setting("-Xmx", To::Half),
            expect: Expect::Says("the growth ends at -Xmx, at half of it with half"),
        },
    },
    KnownCause {
        id: "P47",
        title: "the heap of another malloc grows",
        cause: "jemalloc, tcmalloc or mimalloc takes the place of malloc: what is in use and what it keeps of freed memory lie in the same arenas, which a look cannot part",
        fix: "faster decay (MALLOC_CONF=dirty_decay_ms:1000, TCMALLOC_RELEASE_RATE=10, MIMALLOC_PURGE_DELAY=0) if it is freed but held; else let go of what is kept",
        sources: &[
            "https://jemalloc.net/jemalloc.3.html",
            "https://microsoft.github.io/mimalloc/environment.html",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| arenas(signs, &[Pool::Jemalloc, Pool::Tcmalloc, Pool::Mimalloc]),
        experiment: Trial {
            says: "the same job with glibc's malloc, whose blocks a look can tell from what it holds",
            change: Recipe::Env(&[("LD_PRELOAD", "")]),
            expect: Expect::Says("looks show whether the growth is in use"),
        },
    },
];

pub(crate) fn owner(pool: Pool) -> &'static str {
    match pool {
        Pool::Arrow => "Arrow",
        Pool::Jvm => "a Java machine",
        Pool::Torch => "torch's mimalloc",
        Pool::Jemalloc => "jemalloc",
        Pool::Tcmalloc => "tcmalloc",
        Pool::Mimalloc => "mimalloc",
    }
}

/// Growth in anonymous memory of no other kind, with one owner of arenas in the process. Where there are
/// several none is named alone: `statements` says so.
fn arenas(signs: &Signs, owners: &[Pool]) -> Vec<Sign> {
    let [pool] = signs.pools.as_slice() else {
        return Vec::new();
    };
    if !owners.contains(pool) || signs.fills().is_some() {
        return Vec::new();
    }
    let (Some(memory), Some(share)) = (
        signs.memory_that_grew(),
        signs.share(&[MemoryClass::OtherAnon]),
    ) else {
        return vec![unknown("no two whole looks into the process")];
    };
    let told = format!(
        "anonymous memory outside malloc and Python: {} more, {} of the growth",
        show_bytes(share * memory.grew),
        percent(share.max(0.0))
    );
    let key = if share < CARRIES {
        not(told)
    } else if !memory.missing.is_empty() {
        unknown("the looks are incomplete: memory of no known kind may be malloc's")
    } else {
        seen(format!("{told}; only {} keeps arenas there", owner(*pool)))
    };
    let inside = match &signs.counts {
        Some(counts) if counts.last.maps <= counts.first.maps + NEW_MAPS => seen(format!(
            "mappings {} -> {}: it grows inside what is mapped",
            counts.first.maps, counts.last.maps
        )),
        _ => unknown("new mappings may be its arenas, or somebody else's"),
    };
    let used = unknown("what of the arenas is in use is not seen from outside");
    vec![key, inside, used]
}
