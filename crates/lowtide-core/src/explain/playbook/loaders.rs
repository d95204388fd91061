//! What loader workers do to memory: copies on read, batches in shared memory, pools, leaks of their own.

use crate::judge::words::{percent, with_article};
use crate::look::MemoryClass;
use crate::units::show_bytes;
use crate::verdict::{Class, Meter};

use super::super::signs::Signs;
use super::KnownCause;
use super::experiment::{Expect, Recipe, To, Trial};
use super::sign::{
    BARE, CARRIES, ECHO, FLAT, Sign, being_filled, carried_by, doubt, goes_on, large, not,
    of_a_leak, seen, unknown,
};

/// What people call the number of workers, and how far they read ahead.
pub(super) const WORKERS: [&str; 3] = ["num_workers", "dataloader_num_workers", "workers"];
const PREFETCH: [&str; 2] = ["prefetch_factor", "dataloader_prefetch_factor"];

/// A second pool as large as the first.
const DOUBLED: u64 = 2;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P02",
        title: "workers copy the data that they only read",
        cause: "reading a Python object writes its reference count, so pages shared by fork become copies in every worker that reads them",
        fix: "keep the data in numpy, Arrow or torch arrays, or in shared memory; start workers by spawn or forkserver; fewer workers",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/13246",
            "https://ppwwyyxx.com/blog/2022/Demystify-RAM-Usage-in-Multiprocess-DataLoader/",
            "https://github.com/metatensor/metatrain/issues/1229",
        ],
        blamed: Some("copies by forked workers"),
        spike: false,
        unseen: true,
        signature: copy_on_read,
        experiment: Trial {
            says: "the same job without workers (num_workers=0)",
            change: Recipe::Flag {
                names: &WORKERS,
                to: To::Value("0"),
                arm: "no-workers",
            },
            expect: Expect::Says("the tree's sum stays level"),
        },
    },
    KnownCause {
        id: "P06",
        title: "shared memory is kept: batches, files in /dev/shm",
        cause: "tensors that workers hand over live in /dev/shm: workers x prefetch x batch bytes, or somebody keeps them; so do files that are written there and stay",
        fix: "smaller prefetch_factor, clone what is kept from a batch, close what was opened; a larger --shm-size only moves the end",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/5040",
            "https://github.com/pytorch/pytorch/issues/1355",
        ],
        blamed: Some("batches in shared memory"),
        spike: false,
        unseen: false,
        signature: shared_batches,
        experiment: Trial {
            says: "halve prefetch_factor, or the workers",
            change: Recipe::Flag {
                names: &PREFETCH,
                to: To::Half,
                arm: "prefetch",
            },
            expect: Expect::Says("shared memory halves if it is the queue; a leak keeps its pace"),
        },
    },
    KnownCause {
        id: "P07",
        title: "a loader's prefetch buffers",
        cause: "every start of a loader fills workers x prefetch_factor x batch bytes",
        fix: "size it: it is a constant, not a leak",
        sources: &["https://github.com/hpcaitech/Open-Sora/issues/526"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: prefetch,
        experiment: Trial {
            says: "double prefetch_factor",
            change: Recipe::Flag {
                names: &PREFETCH,
                to: To::Twice,
                arm: "prefetch",
            },
            expect: Expect::Says("each stair doubles"),
        },
    },
    KnownCause {
        id: "P12",
        title: "a second pool of workers stays alive",
        cause: "training and evaluation workers live together (persistent_workers), or a loader is made anew and its old pool stays",
        fix: "evaluation without persistent workers, let go of the training iterator first",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/62066",
            "https://github.com/huggingface/transformers/issues/30943",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: second_pool,
        experiment: Trial {
            says: "evaluate with num_workers=0",
            change: Recipe::Setting("num_workers of the evaluation", To::Value("0")),
            expect: Expect::Says("the stair at the first evaluation is gone"),
        },
    },
    KnownCause {
        id: "P23",
        title: "a worker keeps memory with every sample",
        cause: "code that runs in the workers keeps what it should free: a native decoder (decord, PyAV, OpenCV), or a list in the dataset",
        fix: "another decoder (torchcodec), close containers, clear what __getitem__ keeps; recycle workers (persistent_workers=False) until then",
        sources: &[
            "https://github.com/dmlc/decord/issues/208",
            "https://github.com/hpcaitech/Open-Sora/issues/526",
        ],
        blamed: Some("decoders and datasets in workers"),
        spike: false,
        unseen: false,
        signature: worker_leak,
        experiment: Trial {
            says: "the same job without workers: the loader's code runs in the trainer",
            change: Recipe::Flag {
                names: &WORKERS,
                to: To::Value("0"),
                arm: "no-workers",
            },
            expect: Expect::Says("the trainer grows at the workers' pace"),
        },
    },
    KnownCause {
        id: "P32",
        title: "shared memory that nobody maps",
        cause: "files in /dev/shm that a killed job or a forgetful loader left behind (torch_*, sem.*, psm_*)",
        fix: "delete them when no process has them open (fuser); unlink as soon as they are mapped",
        sources: &["https://www.kernel.org/doc/html/latest/filesystems/tmpfs.html"],
        blamed: None,
        spike: false,
        unseen: false,
        signature: unmapped,
        experiment: Trial {
            says: "list /dev/shm with its dates, and fuser on each file",
            change: Recipe::Probe(&[]),
            expect: Expect::Says("files that no process has open"),
        },
    },
];

fn copy_on_read(signs: &Signs) -> Vec<Sign> {
    let Some(copies) = &signs.copies else {
        return if signs.recorded {
            Vec::new()
        } else {
            vec![unknown(BARE)]
        };
    };
    let copied = copies.copied();
    let told = format!(
        "{} forked processes have {} of private pages and took {} since the fork: the rest are copies",
        copies.forked,
        show_bytes(copies.private),
        show_bytes(copies.taken)
    );
    if large(signs, copied) && copied >= CARRIES * copies.private {
        // What a process shows as resident does not grow by copies: its own growth is another matter.
        return match signs.class {
            Class::Stable | Class::Spikes => vec![seen(told)],
            _ if signs.meter == Meter::Pss => vec![seen(told)],
            _ => Vec::new(),
        };
    }
    if copied < FLAT * signs.course.grew {
        let says = format!(
            "{} forked processes copied {} in all",
            copies.forked,
            show_bytes(copied)
        );
        return vec![match copies.unread {
            0 => not(says),
            unread => doubt(format!(
                "{says}, but what {unread} more share was not read since it grew"
            )),
        }];
    }
    Vec::new()
}

fn shared_batches(signs: &Signs) -> Vec<Sign> {
    let key = match (&signs.levels, signs.share(&[MemoryClass::Shared])) {
        (_, Some(_)) => carried_by(signs, &[MemoryClass::Shared], "shared memory"),
        (Some(levels), None) => {
            let shmem = levels.last.shmem - levels.first.shmem;
            let held = shmem
                + (levels.last.anon - levels.first.anon)
                + (levels.last.swap - levels.first.swap);
            if held > 0.0 && shmem >= CARRIES * held {
                seen(format!(
                    "RssShmem grew by {}, {} of all",
                    show_bytes(shmem),
                    percent(shmem / held)
                ))
            } else {
                let says = format!("shared memory grew by {} only", show_bytes(shmem.max(0.0)));
                // What nobody maps is in /dev/shm all the same.
                match held > 0.0 && shmem < FLAT * held {
                    true => not(says),
                    false => doubt(says),
                }
            }
        }
        (None, None) => unknown(BARE),
    };
    if let Some(reserved) = signs.fills() {
        return vec![doubt(being_filled(signs, reserved))];
    }
    let zero = |name: &str| name.contains("/dev/zero");
    let named = match signs.shared.first() {
        Some((name, _)) if zero(name) => not("it is /dev/zero: pinned memory, not batches"),
        Some((name, bytes)) => seen(format!("{name}: {} more", show_bytes(*bytes))),
        None => unknown("the names of the shared memory were not seen"),
    };
    vec![key, named]
}

fn prefetch(signs: &Signs) -> Vec<Sign> {
    if signs.counted.worker_starts == 0 {
        return vec![not("no workers were started")];
    }
    match signs.is_driven_by("worker-start") {
        // What a loader fills is given back with it: growth that outlasts all bounds is something else.
        Some(_) if signs.class == Class::Leak => {
            vec![not("it grows with every start of a worker, and goes on")]
        }
        Some(driver) => vec![seen(format!(
            "{} with each started worker",
            show_bytes(driver.per_unit)
        ))],
        None => vec![not("growth does not come with started workers")],
    }
}

fn second_pool(signs: &Signs) -> Vec<Sign> {
    let counted = &signs.counted;
    let Some(workers) = signs.role("loader-worker") else {
        return vec![not("no workers")];
    };
    let before = counted.worker_starts - counted.later_workers.min(counted.worker_starts);
    let alive = workers.count as u64;
    let key = if counted.evaluations > 0 && before > 0 && alive >= DOUBLED * before {
        seen(format!(
            "{before} workers before the first evaluation, {alive} alive at a time after it"
        ))
    } else {
        not("the number of workers did not double at an evaluation")
    };
    let theirs = if workers.grew >= CARRIES * signs.course.grew {
        seen(format!(
            "the workers' memory grew by {}",
            show_bytes(workers.grew)
        ))
    } else {
        not("the growth is not the workers'")
    };
    vec![key, theirs]
}

fn worker_leak(signs: &Signs) -> Vec<Sign> {
    if !signs.recorded {
        return vec![unknown(BARE)];
    }
    let role = signs.job.role.as_str();
    let worker =
        role == "loader-worker" || (signs.job.forked && role != "trainer" && role != "rank");
    let key = if worker {
        of_a_leak(
            signs,
            format!("the growth is in {}", with_article(role)),
            "a shuffle buffer or a cache of what it has read fills like that too: num_workers=0 moves it to the trainer, smaller buffers end it sooner",
        )
    } else if let Some(workers) = signs.role("loader-worker") {
        let theirs = format!(
            "{} workers grew by {}, what is judged grew by {}",
            workers.count,
            show_bytes(workers.grew.max(0.0)),
            show_bytes(signs.course.grew)
        );
        if !workers.known || workers.grew >= FLAT * signs.course.grew {
            return vec![unknown(match signs.workers_looked_into {
                0 => format!("{theirs}; none of them was looked into by itself"),
                1 => format!("{theirs}; one of them was looked into"),
                looked => format!("{theirs}; {looked} of them were looked into"),
            })];
        }
        not(theirs)
    } else {
        return Vec::new();
    };
    let trainer = match signs.watched_grew {
        Some(grew) if worker && grew < ECHO * signs.course.grew => seen(format!(
            "the watched process grew by {} only",
            show_bytes(grew.max(0.0))
        )),
        _ => unknown("what the watched process did meanwhile is not clear"),
    };
    vec![key, goes_on(signs), trainer]
}

fn unmapped(signs: &Signs) -> Vec<Sign> {
    let Some(surroundings) = &signs.surroundings else {
        return vec![unknown(BARE)];
    };
    let (Some(first), Some(last)) = (surroundings.first.dev_shm, surroundings.last.dev_shm) else {
        return vec![unknown("/dev/shm was not read")];
    };
    let files = last.0 - first.0;
    let Some(levels) = &signs.levels else {
        return vec![unknown("no process was measured")];
    };
    let mapped = levels.last.shmem - levels.first.shmem;
    // /dev/shm is the whole machine's: it counts only where the processes do not hold the growth.
    let own =
        mapped + (levels.last.anon - levels.first.anon) + (levels.last.swap - levels.first.swap);
    let together: f64 = signs.roles.iter().map(|role| role.grew).sum();
    let unexplained = signs.course.grew - own.max(together).max(0.0);
    if unexplained >= CARRIES * signs.course.grew
        && large(signs, files)
        && files >= CARRIES * unexplained
    {
        vec![seen(format!(
            "/dev/shm holds {} more, of which the process maps {}",
            show_bytes(files),
            show_bytes(mapped.max(0.0))
        ))]
    } else {
        vec![not("no growth in /dev/shm beyond what is mapped")]
    }
}
