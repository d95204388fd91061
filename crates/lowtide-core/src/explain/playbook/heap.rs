//! What allocators keep, and what the program keeps in them.

use crate::judge::words::percent;
use crate::look::{MemoryClass, Pool};
use crate::units::show_bytes;

use super::super::hook::Hook;
use super::super::signs::{ReservedSign, Signs};
use super::KnownCause;
use super::experiment::{Expect, Recipe, Trial};
use super::pools::NEW_MAPS;
use super::sign::{
    BARE, CARRIES, FLAT, FREED, MALLOC_IN_USE, MORE_OBJECTS, START, Sign, Tensors, being_filled,
    carried_by, doubt, goes_on, large, not, open, seen, tensors, unknown,
};

/// Freed memory takes part in the growth from this share on.
const HELD_SHARE: f64 = 0.3;
/// A trim that returns this share of the level shows that it was free.
const TRIMMED: f64 = 0.1;
/// What takes the place of glibc's malloc, whose free memory a look knows.
const REPLACE_MALLOC: [Pool; 4] = [Pool::Jemalloc, Pool::Tcmalloc, Pool::Mimalloc, Pool::Torch];

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P13",
        title: "glibc keeps freed memory",
        cause: "freed blocks stay in glibc's arenas, because survivors stand between them or threads have arenas of their own",
        fix: "malloc_trim at a step or evaluation boundary (lowtide.cleanup), jemalloc with decay, fewer threads",
        sources: &[
            "https://man7.org/linux/man-pages/man3/malloc_trim.3.html",
            "https://github.com/sgl-project/SpecForge/issues/491",
        ],
        blamed: Some("memory freed but held by malloc"),
        spike: false,
        unseen: false,
        signature: freed_but_held,
        experiment: Trial {
            says: "the same job with two arenas and early trimming (lowtide.cleanup measures a trim)",
            change: Recipe::Env(&[
                ("MALLOC_ARENA_MAX", "2"),
                ("MALLOC_TRIM_THRESHOLD_", "131072"),
            ]),
            expect: Expect::Says(
                "the plateau is lower; if it is not, holes inside pages keep it: try jemalloc",
            ),
        },
    },
    KnownCause {
        id: "P14",
        title: "large blocks moved into glibc's heap",
        cause: "each freed large block raises glibc's mmap threshold, up to 32 MB; later large blocks live in the heap and leave holes",
        fix: "MALLOC_MMAP_THRESHOLD_=131072 (fixes the threshold; watch the system time)",
        sources: &["https://man7.org/linux/man-pages/man3/mallopt.3.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: large_in_heap,
        experiment: Trial {
            says: "the same job with a fixed mmap threshold",
            change: Recipe::Env(&[("MALLOC_MMAP_THRESHOLD_", "131072")]),
            expect: Expect::Says("freed large blocks go back to the system, the floor is lower"),
        },
    },
    KnownCause {
        id: "P27",
        title: "huge pages hold more than is used",
        cause: "transparent huge pages: a few used kilobytes hold two megabytes",
        fix: "THP madvise or never for the job, jemalloc with thp:never",
        sources: &["https://docs.kernel.org/admin-guide/mm/transhuge.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: huge_pages,
        experiment: Trial {
            says: "the same job without huge pages for malloc (or THP=madvise for the machine)",
            change: Recipe::Env(&[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0")]),
            expect: Expect::Says("the floor is lower"),
        },
    },
    KnownCause {
        id: "P36",
        title: "weights were loaded on the host first",
        cause: "the model passed through host memory to the GPU, and malloc kept what was freed",
        fix: "low_cpu_mem_usage, mapped safetensors, one malloc_trim after loading",
        sources: &["https://github.com/sgl-project/SpecForge/issues/491"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: loaded_first,
        experiment: Trial {
            says: "lowtide.cleanup.MemoryCleanup(gc=False).clean() once, right after loading: it trims",
            change: Recipe::Code,
            expect: Expect::Says("memory falls by about the model's size"),
        },
    },
    KnownCause {
        id: "P38",
        title: "Python objects are kept",
        cause: "a list, dictionary or cache that grows: records, metrics, parsed examples, closures; whether it has a bound is not seen from outside",
        fix: "bound it (deque, lru_cache with maxsize), or keep what is needed of each object",
        sources: &["https://docs.python.org/3/library/tracemalloc.html"],
        blamed: Some("small Python objects that every step keeps"),
        spike: false,
        unseen: false,
        signature: python_objects,
        experiment: Trial {
            says: "{hook}: it names the lines of code whose objects stayed",
            change: Recipe::Hook(Hook::Lines),
            expect: Expect::Says("one line leads"),
        },
    },
    KnownCause {
        id: "P39",
        title: "blocks from malloc are kept: arrays, tensors, pictures, buffers of C code",
        cause: "code that runs in every step keeps what it allocates: a collator or transform with a list, a decoder, an extension that does not free; or a buffer or cache that fills up to its size",
        fix: "let go of it in the step, or bound what keeps it; free or close what native code returns",
        sources: &["https://bloomberg.github.io/memray/native_mode.html"],
        blamed: Some("a collator, transform or C code that keeps memory in every step"),
        spike: false,
        unseen: false,
        signature: kept_blocks,
        experiment: Trial {
            says: "one short run under heaptrack, or memray run --native, and look at what is alive at the end",
            change: Recipe::Probe(&[]),
            expect: Expect::Says("one call stack holds the growth"),
        },
    },
    KnownCause {
        id: "P40",
        title: "anonymous mappings outside malloc are kept",
        cause: "mmap without munmap: buffers of a library, pools that are made anew; or a mapping that was there before and is being filled",
        fix: "close or reuse them",
        sources: &["https://man7.org/linux/man-pages/man2/mmap.2.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: mappings,
        experiment: Trial {
            says: "strace -f -e mmap,munmap on the process for some steps",
            change: Recipe::Probe(&[]),
            expect: Expect::Says(
                "mmap without its munmap; no mmap at all: one that was there before is being filled",
            ),
        },
    },
];

fn freed_but_held(signs: &Signs) -> Vec<Sign> {
    let trim = signs.cleaned.get("trim").filter(|trim| trim.calls > 0);
    if let Some(trim) = trim
        && trim.freed >= TRIMMED * signs.course.level
    {
        return vec![seen(format!(
            "{} trims returned {}",
            trim.calls,
            show_bytes(trim.freed)
        ))];
    }
    if signs.pools.iter().any(|pool| REPLACE_MALLOC.contains(pool)) {
        return vec![unknown(
            "another malloc is loaded: what it keeps of freed memory is not seen from outside",
        )];
    }
    let Some(memory) = signs.mapped() else {
        return vec![if signs.recorded {
            unknown(format!(
                "no two looks into the process; this would tell: {}",
                signs.hook(Hook::Trims)
            ))
        } else {
            unknown(BARE)
        }];
    };
    let between = signs.share(&FREED);
    let freed = signs.freed.unwrap_or(0.0);
    let key = match between {
        Some(share) if share >= HELD_SHARE => seen(format!(
            "freed but held: {} more, {} of the growth",
            show_bytes(share * memory.grew),
            percent(share)
        )),
        Some(share) => {
            let says = format!(
                "freed but held memory took {} of the growth",
                percent(share.max(0.0))
            );
            match share < FLAT {
                true => not(says),
                false => doubt(says),
            }
        }
        // The looks came after most of the growth: then what is free now tells.
        None if freed >= HELD_SHARE * signs.course.grew => seen(format!(
            "freed but held: {} at the last look, against a growth of {}",
            show_bytes(freed),
            show_bytes(signs.course.grew)
        )),
        // And what came after them was not looked at.
        None => doubt(format!(
            "freed but held: {} at the last look, little against the growth, which the looks did not see",
            show_bytes(freed)
        )),
    };
    let live = match signs.share(&MALLOC_IN_USE) {
        Some(live) if live >= CARRIES => doubt(format!(
            "blocks in use took {}: they are the growth, the free ones its echo",
            percent(live)
        )),
        Some(live) => seen(format!("blocks in use took {}", percent(live.max(0.0)))),
        None => unknown("the looks came after most of the growth"),
    };
    vec![key, live]
}

fn large_in_heap(signs: &Signs) -> Vec<Sign> {
    // Freed memory is there without large blocks too: they are what tells this one apart.
    let key = match (signs.blocks, signs.memory_that_grew()) {
        (Some(blocks), Some(memory)) if blocks.large >= FLAT * memory.grew => seen(format!(
            "blocks between 128 kB and 32 MB in the heap: {} more",
            show_bytes(blocks.large)
        )),
        (Some(_), Some(_)) => not("no blocks of 128 kB to 32 MB in the heap"),
        _ => unknown("the sizes of blocks were not seen"),
    };
    let mut found = vec![key];
    found.extend(freed_but_held(signs));
    found
}

/// Huge pages that are being filled, or hold blocks in use, are no waste: large arrays are huge pages
/// wherever the kernel has them switched on.
fn huge_pages(signs: &Signs) -> Vec<Sign> {
    const UNUSED: [MemoryClass; 3] = [
        MemoryClass::GlibcFree,
        MemoryClass::GlibcHoles,
        MemoryClass::PythonSlack,
    ];
    const USED: [MemoryClass; 3] = [
        MemoryClass::PythonLive,
        MemoryClass::GlibcLive,
        MemoryClass::GlibcMapped,
    ];
    let (Some(counts), Some(memory), Some(used), Some(unused)) = (
        &signs.counts,
        signs.memory_that_grew(),
        signs.share(&USED),
        signs.share(&UNUSED),
    ) else {
        return vec![unknown(BARE)];
    };
    let huge = counts.last.huge.as_f64() - counts.first.huge.as_f64();
    if huge < CARRIES * memory.grew {
        return vec![not("the growth is not in huge pages")];
    }
    let told = format!("{} of the growth are huge pages", show_bytes(huge));
    if let Some(reserved) = half_reserved(signs) {
        return vec![not(being_filled(signs, reserved))];
    }
    if used >= CARRIES {
        return vec![not("most of it is in use")];
    }
    if unused >= CARRIES {
        let free = format!("{} of it is free", percent(unused));
        return vec![seen(told), seen(free)];
    }
    vec![open(format!(
        "{told}, but whether they are in use is not seen: the same job with GLIBC_TUNABLES=glibc.malloc.hugetlb=0, or THP=madvise for the machine, would tell"
    ))]
}

/// Reserved space carries the growth, or most of it.
fn half_reserved(signs: &Signs) -> Option<&ReservedSign> {
    let carries = signs.reserved_share() >= CARRIES;
    signs.reserved.as_ref().filter(|_| carries)
}

fn loaded_first(signs: &Signs) -> Vec<Sign> {
    let Some(memory) = signs.mapped() else {
        return vec![unknown(BARE)];
    };
    let free = memory
        .parts
        .iter()
        .filter(|part| part.class.is_some_and(|class| FREED.contains(&class)));
    let free: f64 = free.filter_map(|part| part.first).sum();
    vec![
        if signs.job.libcuda && large(signs, free) && free >= HELD_SHARE * signs.course.level {
            seen(format!(
                "{} freed but held right after the start",
                show_bytes(free)
            ))
        } else {
            not("little freed memory after the start, or no GPU")
        },
        goes_on_or_not_at_all(signs),
    ]
}

/// Memory that was there from the start explains no growth.
fn goes_on_or_not_at_all(signs: &Signs) -> Sign {
    let course = &signs.course;
    if course.from <= course.begin
        && course.to - course.begin <= START * (course.end - course.begin)
    {
        seen("the growth was at the start")
    } else {
        not("the growth came later")
    }
}

fn python_objects(signs: &Signs) -> Vec<Sign> {
    // By the collector's own count, from outside.
    let risen = signs.object_growth.as_ref();
    let objects = match &signs.objects {
        Some(counted) if counted.span.last.objects > MORE_OBJECTS * counted.span.first.objects => {
            seen(format!(
                "objects that the collector knows: {:.0} -> {:.0}",
                counted.span.first.objects, counted.span.last.objects
            ))
        }
        // Strings, numbers and bytes are not the collector's.
        Some(_) => unknown("the collector's count is level: strings or numbers, if anything"),
        None => unknown("objects were not counted from inside"),
    };
    let objects = risen.map_or(objects, |risen| seen(risen.says.clone()));
    vec![small_objects(signs), goes_on(signs), objects]
}

/// Python's own allocator has objects up to 512 bytes; larger ones (strings, bytes, lists, dictionaries) are blocks from
/// malloc. What small ones did not take is theirs no more than anybody else's.
fn small_objects(signs: &Signs) -> Sign {
    let key = carried_by(signs, &[MemoryClass::PythonLive], "Python small objects");
    let blocks = signs.share(&MALLOC_IN_USE).unwrap_or(1.0);
    match key {
        Sign::Not(says) if blocks >= FLAT => doubt(format!(
            "{says}; Python objects above 512 bytes are malloc blocks too: {} counts them by type",
            signs.hook(Hook::Counts)
        )),
        key => key,
    }
}

fn kept_blocks(signs: &Signs) -> Vec<Sign> {
    let others = match tensors(signs) {
        // A collator may keep tensors.
        Tensors::Graphs(says) | Tensors::Grow(says) => doubt(format!("tensors grow: {says}")),
        Tensors::Flat(says) => seen(says),
        Tensors::Unknown(why) => unknown(why),
    };
    let key = if let Some(reserved) = half_reserved(signs) {
        match signs.fills() {
            Some(_) => not(being_filled(signs, reserved)),
            None => doubt(being_filled(signs, reserved)),
        }
    } else if signs.mapped().is_some() {
        let elsewhere = signs.share(&[MemoryClass::PythonLive]).unwrap_or(0.0)
            + signs.share(&FREED).unwrap_or(0.0);
        match carried_by(signs, &MALLOC_IN_USE, "malloc blocks in use") {
            // C code has mappings of its own, and a collator keeps batches in shared memory.
            sign if elsewhere < 1.0 - FLAT => sign.or_doubt(),
            sign => sign,
        }
    } else {
        match goes_on(signs) {
            ended @ Sign::Not(_) => ended,
            _ => unknown(if signs.recorded {
                "no two looks into the process show where the bytes are"
            } else {
                BARE
            }),
        }
    };
    vec![key, goes_on(signs), others]
}

fn mappings(signs: &Signs) -> Vec<Sign> {
    let maps = match &signs.counts {
        Some(counts) if counts.last.maps > counts.first.maps + NEW_MAPS => seen(format!(
            "mappings {} -> {}",
            counts.first.maps, counts.last.maps
        )),
        // Neighbours are merged by the kernel into one.
        _ => unknown("the number of mappings hardly changed: neighbours are merged"),
    };
    let known = |memory: &super::super::BreakdownGrowth| memory.missing.is_empty();
    let key = if let Some(reserved) = half_reserved(signs) {
        not(being_filled(signs, reserved))
    } else if !signs.pools.is_empty() {
        unknown("a library keeps arenas of its own there: the entry on its pool speaks of it")
    } else if signs.mapped().is_none_or(known) {
        carried_by(
            signs,
            &[MemoryClass::OtherAnon],
            "anonymous mappings outside malloc and Python",
        )
    } else {
        unknown("the looks are incomplete: memory of no known kind may be malloc's")
    };
    vec![key, goes_on(signs), maps]
}
