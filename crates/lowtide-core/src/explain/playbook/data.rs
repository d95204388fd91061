//! What the data keeps: caches per example, file pages, tokenizers, shuffle buffers.

use crate::judge::epoch::SEEN;
use crate::judge::words::{place, stretch};
use crate::look::MemoryClass;
use crate::units::show_bytes;
use crate::verdict::{BoundKind, Class, Meter};

use super::super::hook::Hook;
use super::super::signs::{EpochSign, Signs};
use super::KnownCause;
use super::experiment::{Expect, Recipe, To, Trial};
use super::loaders::WORKERS;
use super::sign::{BARE, CARRIES, Sign, doubt, goes_on, large, not, open, seen, unknown};

/// What a spawned worker takes without any data: 0.3 to 0.5 GB with torch imported, and some batches.
const IMPORTS: f64 = 0.6e9;
/// One size describes all examples if it explains this share of the growth's variation.
const ONE_SIZE: f64 = 0.9;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P01",
        title: "every example is kept once it was touched",
        cause: "the dataset keeps what the first access produces: pictures that are decoded lazily and stay in a list, a memo dictionary, functools.cache",
        fix: "keep encoded bytes or paths and decode in __getitem__ or the collator, shrink before storing; or accept it and size memory: plateau = base + examples x bytes per example",
        sources: &[
            "https://github.com/leokeba/model-garden",
            "https://github.com/NVIDIA-NeMo/Automodel/issues/2645",
            "https://github.com/unslothai/unsloth/issues/2315",
        ],
        blamed: Some("first touch of each example"),
        spike: false,
        unseen: false,
        signature: first_touch,
        experiment: Trial {
            says: "train on half the examples, everything else as it is",
            change: Recipe::Flag {
                names: &[
                    "examples",
                    "max_train_samples",
                    "max_samples",
                    "num_examples",
                    "train_samples",
                ],
                to: To::Half,
                arm: "half",
            },
            expect: Expect::Here(half_the_examples),
        },
    },
    KnownCause {
        id: "P03",
        title: "each spawned worker has the whole dataset",
        cause: "the dataset lives in memory and is pickled to every spawned worker",
        fix: "Arrow or memory-mapped files, an IterableDataset, or fewer workers",
        sources: &["https://github.com/pytorch/pytorch/issues/2052"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: copies_in_workers,
        experiment: Trial {
            says: "the same job without workers",
            change: Recipe::Flag {
                names: &WORKERS,
                to: To::Value("0"),
                arm: "no-workers",
            },
            expect: Expect::Says("what the workers held is gone"),
        },
    },
    KnownCause {
        id: "P04",
        title: "mapped files are read",
        cause: "pages of memory-mapped files (Arrow, np.memmap, LMDB, safetensors), which the kernel drops when it needs the memory",
        fix: "none is needed",
        sources: &["https://github.com/huggingface/datasets/issues/4883"],
        blamed: Some("pages of mapped files"),
        spike: false,
        unseen: false,
        signature: mapped_files,
        experiment: Trial {
            says: "run it under a small memory limit (systemd-run --user --scope -p MemoryMax=…)",
            change: Recipe::Cgroup("memory.max", To::Small),
            expect: Expect::Says("it goes on: the pages are dropped"),
        },
    },
    KnownCause {
        id: "P05",
        title: "page cache counted to the cgroup",
        cause: "the kernel keeps what was read from and written to disk, and counts it to the job's cgroup",
        fix: "none is needed; alert on anon + shmem + kernel; posix_fadvise(DONTNEED) after a checkpoint",
        sources: &[
            "https://github.com/kubernetes/kubernetes/issues/43916",
            "https://github.com/google/cadvisor/issues/2582",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: page_cache,
        experiment: Trial {
            says: "write to the cgroup's memory.reclaim",
            change: Recipe::Probe(&[]),
            expect: Expect::Says("its count falls, the job goes on"),
        },
    },
    KnownCause {
        id: "P19",
        title: "the tokenizer's cache fills",
        cause: "tokenizers keeps the words that it has split, without a bound on their length in older versions",
        fix: "update tokenizers, clear or resize its cache, split long texts first, tokenise beforehand",
        sources: &[
            "https://github.com/huggingface/tokenizers/issues/1539",
            "https://github.com/huggingface/tokenizers/issues/1495",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| {
            vec![
                unknown("different words are not counted"),
                not_settled_with_an_epoch(signs),
            ]
        },
        experiment: Trial {
            says: "make the tokenizer anew every thousand steps",
            change: Recipe::Code,
            expect: Expect::Says("growth starts again from the bottom"),
        },
    },
    KnownCause {
        id: "P29",
        title: "a worker's buffer fills",
        cause: "shuffle buffers and Arrow tables of streaming datasets fill in every worker until they hold their size",
        fix: "a smaller buffer_size, fewer shards at a time, a newer datasets",
        sources: &[
            "https://github.com/huggingface/datasets/issues/7269",
            "https://github.com/huggingface/datasets/issues/7489",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: shuffle_buffer,
        experiment: Trial {
            says: "halve buffer_size of .shuffle()",
            change: Recipe::Setting("buffer_size", To::Half),
            expect: Expect::Says("the plateau comes at half the height"),
        },
    },
];

fn first_touch(signs: &Signs) -> Vec<Sign> {
    let Some(epoch) = &signs.epoch else {
        let by_time = signs
            .bound
            .as_ref()
            .is_some_and(|bound| bound.kind == BoundKind::Epoch);
        let hook = signs.hook(Hook::Counts);
        return vec![unknown(if by_time {
            format!(
                "growth ended with an epoch, but nothing counts the examples: {hook} does, or output like `step 10/500`"
            )
        } else {
            format!(
                "the length of an epoch is not known: --examples, --batch and --accumulate tell it, or {hook}"
            )
        })];
    };
    let later = if signs.after() >= SEEN * epoch.steps {
        let level = stretch(signs.axis, signs.after());
        seen(format!("level for the {level} since"))
    } else {
        unknown("not enough of the next epoch was seen")
    };
    let private = match signs.share(&[MemoryClass::Shared]) {
        // A dataset may keep it there, for all of its workers.
        Some(share) if share >= CARRIES => {
            doubt("the growth is shared memory, not private memory of the process")
        }
        Some(_) => seen("the growth is private memory of the process"),
        None => unknown(BARE),
    };
    vec![
        ended_with_the_epoch(signs, epoch),
        one_size(signs, epoch),
        later,
        private,
    ]
}

fn ended_with_the_epoch(signs: &Signs, epoch: &EpochSign) -> Sign {
    let end = place(signs.axis, epoch.end);
    match (signs.class, signs.course.settled) {
        (Class::WarmUp, Some(at)) if epoch.with_it => seen(format!(
            "growth stopped at {}; an epoch is {:.1} steps",
            place(signs.axis, at),
            epoch.steps
        )),
        (Class::WarmUp, Some(at)) => {
            let says = format!(
                "growth ended at {}, and not with the epoch at {end}",
                place(signs.axis, at),
            );
            // Workers that share the data, and draws with replacement, have seen all of it only after several epochs.
            match at < epoch.end && signs.job.role != "loader-worker" {
                true => not(says),
                false => doubt(says),
            }
        }
        (Class::TooEarly, _) if signs.growing && signs.course.end > epoch.end => unknown(format!(
            "growth went on past {end}, where the first epoch was thought to end"
        )),
        (Class::Leak, _) => not(format!(
            "growth goes on after the first epoch, which ended at {end}"
        )),
        _ => unknown(format!(
            "the first epoch ends at {end}: growth that ends there would be this"
        )),
    }
}

/// Every example takes about as much as the others.
fn one_size(signs: &Signs, epoch: &EpochSign) -> Sign {
    let driver = signs.drivers.first().filter(|d| d.name == "new-example");
    match driver {
        Some(driver) if driver.explains >= ONE_SIZE => seen(format!(
            "{} per {} ({} to {}), the same for all of them",
            show_bytes(driver.per_unit),
            if epoch.counted {
                "new example"
            } else {
                "step of the first epoch"
            },
            show_bytes(driver.low),
            show_bytes(driver.high)
        )),
        _ => unknown("the size of an example is not clear"),
    }
}

fn half_the_examples(signs: &Signs) -> String {
    let at = signs
        .epoch
        .map(|epoch| place(signs.axis, epoch.begin + epoch.steps / 2.0));
    match at {
        Some(at) => format!("half the examples: the plateau moves to {at}, at half the rise"),
        None => "half the examples: the plateau comes after half as many steps".to_owned(),
    }
}

fn copies_in_workers(signs: &Signs) -> Vec<Sign> {
    let Some(workers) = signs.role("loader-worker") else {
        return vec![not("no workers")];
    };
    let each = workers.own / workers.count.max(1) as f64;
    let driven = signs.is_driven_by("worker-start");
    let key = match driven {
        Some(driver) => seen(format!(
            "{} with each started worker",
            show_bytes(driver.per_unit)
        )),
        None => not("growth does not come with started workers"),
    };
    let size = if large(signs, each) && each < IMPORTS {
        open(format!(
            "each of {} workers holds {} of its own, and the import of torch takes as much: compare with a dataset of ten examples",
            workers.count,
            show_bytes(each)
        ))
    } else if large(signs, each) {
        seen(format!(
            "each of {} workers holds {} of its own",
            workers.count,
            show_bytes(each)
        ))
    } else {
        not("the workers are small")
    };
    // A worker of any dataset costs its imports and its prefetched batches: the size is what tells.
    match size {
        size @ Sign::Open(_) if matches!(key, Sign::Seen(_)) => vec![size],
        size => vec![key, size],
    }
}

/// What is judged in a recording has no file pages in it; `statements` says so when they grew.
fn mapped_files(signs: &Signs) -> Vec<Sign> {
    let may_hold = matches!(signs.meter, Meter::Rss | Meter::Uss | Meter::Memory);
    if signs.recorded || !may_hold {
        return Vec::new();
    }
    vec![unknown(
        "the log's number may hold file pages; a recording tells anon from file",
    )]
}

fn page_cache(signs: &Signs) -> Vec<Sign> {
    let Some(surroundings) = &signs.surroundings else {
        return vec![unknown(BARE)];
    };
    let (Some(first), Some(last)) = (surroundings.first.cgroup, surroundings.last.cgroup) else {
        return vec![unknown("no cgroup was recorded")];
    };
    let file = last.file.unwrap_or(0.0) - first.file.unwrap_or(0.0);
    let current = last.current - first.current;
    if current > 0.0 && file >= CARRIES * current {
        vec![not(format!(
            "the cgroup's count rose by {}, {} of it page cache, which is not in what was judged",
            show_bytes(current),
            show_bytes(file)
        ))]
    } else {
        vec![not("the page cache did not grow")]
    }
}

fn not_settled_with_an_epoch(signs: &Signs) -> Sign {
    match signs.epoch {
        Some(epoch) if epoch.with_it => not("growth ended with the epoch"),
        _ => goes_on(signs),
    }
}

fn shuffle_buffer(signs: &Signs) -> Vec<Sign> {
    let key = match signs.job.role.as_str() {
        "loader-worker" => seen("the growth is in a loader worker"),
        _ => not("the growth is not in a loader worker"),
    };
    let fills = match (signs.class, signs.course.settled) {
        (Class::WarmUp, Some(at)) => seen(format!("it ended at {}", place(signs.axis, at))),
        (Class::WarmUp, None) => unknown("its end is known, though not reached yet"),
        (Class::TooEarly, _) => unknown("it is not known yet whether it ends"),
        _ => not("it does not end"),
    };
    vec![
        key,
        fills,
        unknown("whether the dataset is streamed is not known"),
    ]
}
