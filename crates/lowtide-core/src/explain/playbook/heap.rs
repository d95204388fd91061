//! What allocators keep, and what the program keeps in them.

use crate::judge::words::percent;
use crate::look::Kind;
use crate::units::show_bytes;

use super::super::signs::Signs;
use super::Entry;
use super::sign::{
    BARE, CARRIES, FREED, MALLOC_IN_USE, Sign, Tensors, carried_by, goes_on, in_words, large, not,
    seen, tensors, unknown, with_env,
};

/// Freed memory takes part in the growth from this share on.
const HELD_SHARE: f64 = 0.3;
/// A trim that returns this share of the level shows that it was free.
const TRIMMED: f64 = 0.1;
/// Threads or open files that are more than a pool that starts late: so many, and so many times.
const MANY: f64 = 10.0;
const TIMES: f64 = 2.0;
/// What an open file holds, at most: a buffer is 8 kB by default, that of a reader some hundred. A loader
/// worker has a dozen files open for the batches on their way, and leaks megabytes for other reasons.
const MOST_A_FILE: f64 = 1e6;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
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
        experiment: |signs| {
            with_env(
                signs,
                &["MALLOC_ARENA_MAX=2", "MALLOC_TRIM_THRESHOLD_=131072"],
                "the same job with two arenas and early trimming (lowtide.cleanup.MemoryCleanup(trim=True) measures a trim)",
                "the plateau is lower; if it is not, holes inside pages keep it: try jemalloc",
            )
        },
    },
    Entry {
        id: "P14",
        title: "large blocks moved into glibc's heap",
        cause: "each freed large block raises glibc's mmap threshold, up to 32 MB; later large blocks live in the heap and leave holes",
        fix: "MALLOC_MMAP_THRESHOLD_=131072 (fixes the threshold; watch the system time)",
        sources: &["https://man7.org/linux/man-pages/man3/mallopt.3.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: large_in_heap,
        experiment: |signs| {
            with_env(
                signs,
                &["MALLOC_MMAP_THRESHOLD_=131072"],
                "the same job with a fixed mmap threshold",
                "freed large blocks go back to the system, the floor is lower",
            )
        },
    },
    Entry {
        id: "P27",
        title: "huge pages hold more than is used",
        cause: "transparent huge pages: a few used kilobytes hold two megabytes",
        fix: "THP madvise or never for the job, jemalloc with thp:never",
        sources: &["https://docs.kernel.org/admin-guide/mm/transhuge.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: huge_pages,
        experiment: |signs| {
            with_env(
                signs,
                &["GLIBC_TUNABLES=glibc.malloc.hugetlb=0"],
                "the same job without huge pages for malloc (or THP=madvise for the machine)",
                "the floor is lower",
            )
        },
    },
    Entry {
        id: "P36",
        title: "weights were loaded on the host first",
        cause: "the model passed through host memory to the GPU, and malloc kept what was freed",
        fix: "low_cpu_mem_usage, mapped safetensors, one malloc_trim after loading",
        sources: &["https://github.com/sgl-project/SpecForge/issues/491"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: loaded_first,
        experiment: |_| {
            in_words(
                "lowtide.cleanup: one trim right after loading",
                "memory falls by about the model's size",
            )
        },
    },
    Entry {
        id: "P38",
        title: "Python objects are kept",
        cause: "a list, dictionary or cache that only grows: records, metrics, parsed examples, closures",
        fix: "bound it (deque, lru_cache with maxsize), or keep what is needed of each object",
        sources: &["https://docs.python.org/3/library/tracemalloc.html"],
        blamed: Some("objects that every step keeps"),
        spike: false,
        unseen: false,
        signature: python_objects,
        experiment: |_| {
            in_words(
                "LowtideCallback(tracemalloc=Window(20, 40)) names the lines of code whose objects stayed",
                "one line leads",
            )
        },
    },
    Entry {
        id: "P39",
        title: "blocks from malloc are kept: arrays, tensors, pictures, buffers of C code",
        cause: "code that runs in every step keeps what it allocates: a collator or transform with a list, a decoder, an extension that does not free",
        fix: "let go of it in the step; free or close what native code returns",
        sources: &["https://bloomberg.github.io/memray/native_mode.html"],
        blamed: Some("a collator, transform or C code that keeps memory in every step"),
        spike: false,
        unseen: false,
        signature: kept_blocks,
        experiment: |_| {
            in_words(
                "one short run under heaptrack, or memray run --native, and look at what is alive at the end",
                "one call stack holds the growth",
            )
        },
    },
    Entry {
        id: "P40",
        title: "mappings are never closed",
        cause: "anonymous mmap without munmap: buffers of a library, pools that are made anew",
        fix: "close or reuse them",
        sources: &["https://man7.org/linux/man-pages/man2/mmap.2.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: mappings,
        experiment: |_| {
            in_words(
                "strace -f -e mmap,munmap on the process for some steps",
                "mmap without its munmap",
            )
        },
    },
    Entry {
        id: "P41",
        title: "threads are started and never end",
        cause: "a thread or pool made in each step, or that waits for ever; each has a stack, an arena and what it holds",
        fix: "one pool for the run; join threads; daemon threads that get an end signal",
        sources: &["https://docs.python.org/3/library/threading.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: threads,
        experiment: |_| {
            in_words(
                "threading.enumerate() or py-spy dump at two steps",
                "the same waiting function, ever more often",
            )
        },
    },
    Entry {
        id: "P42",
        title: "files are opened and never closed",
        cause: "open() without close() in the loader or logger; each file has a buffer",
        fix: "`with open(…)`; close readers",
        sources: &["https://docs.python.org/3/library/functions.html#open"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: open_files,
        experiment: |signs| {
            with_env(
                signs,
                &[
                    "PYTHONWARNINGS=always::ResourceWarning",
                    "PYTHONTRACEMALLOC=5",
                ],
                "the same job with warnings about unclosed files",
                "the warning names where they were opened",
            )
        },
    },
];

fn freed_but_held(signs: &Signs) -> Vec<Sign> {
    let trim = signs
        .inside
        .as_ref()
        .and_then(|inside| inside.cleaned.get("trim"))
        .filter(|trim| trim.calls > 0);
    if let Some(trim) = trim
        && trim.freed >= TRIMMED * signs.course.level
    {
        return vec![seen(format!(
            "{} trims returned {}",
            trim.calls,
            show_bytes(trim.freed)
        ))];
    }
    let Some(memory) = &signs.memory else {
        return vec![unknown(if signs.recorded {
            "no two looks into the process; lowtide.cleanup.MemoryCleanup(trim=True) would tell"
        } else {
            BARE
        })];
    };
    let between = signs.share(&FREED);
    let freed = signs.freed.unwrap_or(0.0);
    let key = match between {
        Some(share) if share >= HELD_SHARE => seen(format!(
            "freed but held: {} more, {} of the growth",
            show_bytes(share * memory.grew),
            percent(share)
        )),
        Some(share) => not(format!(
            "freed but held memory took {} of the growth",
            percent(share.max(0.0))
        )),
        // The looks came after most of the growth: then what is free now tells.
        None if freed >= HELD_SHARE * signs.course.grew => seen(format!(
            "freed but held: {} at the last look, against a growth of {}",
            show_bytes(freed),
            show_bytes(signs.course.grew)
        )),
        None => not(format!(
            "freed but held: {} at the last look, little against the growth",
            show_bytes(freed)
        )),
    };
    let live = match signs.share(&MALLOC_IN_USE) {
        Some(live) if live >= CARRIES => not(format!(
            "blocks in use took {}: they are the growth, the free ones its echo",
            percent(live)
        )),
        Some(live) => seen(format!("blocks in use took {}", percent(live.max(0.0)))),
        None => unknown("the looks came after most of the growth"),
    };
    vec![key, live]
}

fn large_in_heap(signs: &Signs) -> Vec<Sign> {
    let mut found = freed_but_held(signs);
    found.push(match (signs.blocks, signs.memory_that_grew()) {
        (Some(blocks), Some(memory)) if blocks.large >= 0.1 * memory.grew => seen(format!(
            "blocks between 128 kB and 32 MB: {} more",
            show_bytes(blocks.large)
        )),
        (Some(_), Some(_)) => not("no blocks of 128 kB to 32 MB in the heap"),
        _ => unknown("the sizes of blocks were not seen"),
    });
    found
}

fn huge_pages(signs: &Signs) -> Vec<Sign> {
    let (Some(counts), Some(memory)) = (&signs.counts, signs.memory_that_grew()) else {
        return vec![unknown(BARE)];
    };
    let huge = counts.last.huge.as_f64() - counts.first.huge.as_f64();
    let live: f64 = signs
        .share(&[Kind::PythonLive, Kind::GlibcLive, Kind::GlibcMapped])
        .unwrap_or(1.0);
    vec![
        if huge >= CARRIES * memory.grew {
            seen(format!("{} of the growth are huge pages", show_bytes(huge)))
        } else {
            not("the growth is not in huge pages")
        },
        if live < CARRIES {
            seen(format!("only {} of it is in use", percent(live.max(0.0))))
        } else {
            not("most of it is in use")
        },
    ]
}

fn loaded_first(signs: &Signs) -> Vec<Sign> {
    let Some(memory) = &signs.memory else {
        return vec![unknown(BARE)];
    };
    let free = memory
        .parts
        .iter()
        .filter(|part| FREED.contains(&part.kind));
    let free: f64 = free.map(|part| part.first).sum();
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
    if course.from <= course.begin && course.to - course.begin <= 0.1 * (course.end - course.begin)
    {
        seen("the growth was at the start")
    } else {
        not("the growth came later")
    }
}

fn python_objects(signs: &Signs) -> Vec<Sign> {
    let objects = match &signs.inside {
        Some(inside) if inside.span.last.objects > 1.05 * inside.span.first.objects => {
            seen(format!(
                "objects that the collector knows: {:.0} -> {:.0}",
                inside.span.first.objects, inside.span.last.objects
            ))
        }
        // Strings, numbers and bytes are not the collector's.
        Some(_) => unknown("the collector's count is level: strings or numbers, if anything"),
        None => unknown("objects were not counted from inside"),
    };
    vec![
        carried_by(signs, &[Kind::PythonLive], "Python small objects"),
        goes_on(signs),
        objects,
    ]
}

fn kept_blocks(signs: &Signs) -> Vec<Sign> {
    let others = match tensors(signs) {
        Tensors::Grow(says) => not(format!("tensors grow: {says}")),
        Tensors::Flat(says) => seen(says),
        Tensors::Unknown(why) => unknown(why),
    };
    let key = if signs.memory.is_some() {
        carried_by(signs, &MALLOC_IN_USE, "malloc blocks in use")
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
        Some(counts) if counts.last.maps > counts.first.maps + 10 => seen(format!(
            "mappings {} -> {}",
            counts.first.maps, counts.last.maps
        )),
        // Neighbours are merged by the kernel into one.
        _ => unknown("the number of mappings hardly changed: neighbours are merged"),
    };
    let known = |memory: &super::super::Memory| memory.incomplete.is_empty();
    let key = if signs.memory.as_ref().is_none_or(known) {
        carried_by(
            signs,
            &[Kind::OtherAnon],
            "anonymous mappings outside malloc and Python",
        )
    } else {
        unknown("the looks are incomplete: memory of no known kind may be malloc's")
    };
    vec![key, goes_on(signs), maps]
}

fn threads(signs: &Signs) -> Vec<Sign> {
    let Some(parts) = &signs.parts else {
        return vec![unknown(BARE)];
    };
    let (first, last) = (parts.first.threads, parts.last.threads);
    vec![more("threads", first, last), goes_on(signs)]
}

fn open_files(signs: &Signs) -> Vec<Sign> {
    match signs.files {
        Some(files) => vec![
            more("open files", files.first, files.last),
            goes_on(signs),
            a_file_holds(signs.course.grew / (files.last - files.first).max(1.0)),
        ],
        None => vec![unknown("open files were not counted")],
    }
}

fn a_file_holds(bytes: f64) -> Sign {
    let told = format!("{} of growth for each", show_bytes(bytes));
    if bytes <= MOST_A_FILE {
        seen(told)
    } else {
        not(told)
    }
}

fn more(what: &str, first: f64, last: f64) -> Sign {
    let told = format!("{what} {first:.0} -> {last:.0}");
    if last - first >= MANY && last >= TIMES * first {
        seen(told)
    } else {
        not(told)
    }
}
