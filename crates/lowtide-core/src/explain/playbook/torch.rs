//! What torch keeps on the host: graphs, pinned memory, compiled code, compile workers, contexts.

use crate::judge::words::{percent, place};
use crate::units::show_bytes;
use crate::verdict::{Axis, Class};

use super::super::hook::Hook;
use super::super::signs::Signs;
use super::KnownCause;
use super::experiment::{Expect, Recipe, To, Trial};
use super::sign::{
    BARE, CARRIES, FLAT, MALLOC, START, Sign, Tensors, being_filled, carried_by, doubt, goes_on,
    is_trainer, not, of_a_leak, open, seen, tensors, unknown,
};

/// Small blocks that make up this share of the growth are nodes of something that is linked together.
const NODES: f64 = 0.2;
/// New executable mappings that are more than a library loaded late.
const NEW_CODE: u64 = 8;
/// What a library does once comes in fewer rises than this; what every step does comes in many.
const FEW_RISES: f64 = 4.0;

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P08",
        title: "pinned host memory is cached",
        cause: "torch's caching host allocator keeps pinned blocks, rounded up to powers of two",
        fix: "pad or bucket batch sizes, smaller prefetch, pin_memory=False; torch.accelerator.memory.empty_host_cache()",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/95823",
            "https://github.com/pytorch/pytorch/issues/97432",
        ],
        blamed: Some("CUDA pinned memory pool"),
        spike: false,
        unseen: false,
        signature: pinned,
        experiment: Trial {
            says: "pin_memory=False (dataloader_pin_memory of the Trainer)",
            change: Recipe::Setting("pin_memory", To::Value("False")),
            expect: Expect::Says("shared memory stays level"),
        },
    },
    KnownCause {
        id: "P09",
        title: "the autograd graph or tensors of each step are kept",
        cause: "something holds what a step made: `total += loss`, a list of outputs, retain_graph, hooks, self.log of tensors",
        fix: "`.item()` or `.detach()` before keeping, metric objects, clear lists",
        sources: &[
            "https://docs.pytorch.org/docs/stable/notes/faq.html",
            "https://github.com/huggingface/transformers/issues/6999",
            "https://github.com/Lightning-AI/pytorch-lightning/issues/4556",
        ],
        blamed: Some("gradients and autograd graphs"),
        spike: false,
        unseen: false,
        signature: kept_graph,
        experiment: Trial {
            says: "detach in the loop what outlives a step (`loss.item()`), one place at a time, and run again",
            change: Recipe::Code,
            expect: Expect::Says("the rate falls to nothing with the right one"),
        },
    },
    KnownCause {
        id: "P15",
        title: "recompilation on new shapes or values",
        cause: "torch.compile makes new code for each new shape or value, and keeps it with its guards",
        fix: "mark_dynamic or dynamic=True, pad shapes, floats as tensors, torch._dynamo.reset() between phases",
        sources: &[
            "https://docs.pytorch.org/docs/stable/compile/programming_model.recompilation.html",
            "https://github.com/pytorch/pytorch/issues/149834",
        ],
        blamed: Some("compile cache"),
        spike: false,
        unseen: false,
        signature: recompiles,
        experiment: Trial {
            says: "the same job without torch.compile",
            change: Recipe::Env(&[("TORCH_COMPILE_DISABLE", "1")]),
            expect: Expect::Says("the growth is gone (and steps may be slower)"),
        },
    },
    KnownCause {
        id: "P16",
        title: "compile workers",
        cause: "Inductor starts a pool of compile workers, each with torch imported",
        fix: "TORCHINDUCTOR_COMPILE_THREADS=4 or less; a newer torch lets the pool rest",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/105832",
            "https://github.com/pytorch/pytorch/pull/149168",
        ],
        blamed: Some("compile workers"),
        spike: false,
        unseen: false,
        signature: compile_workers,
        experiment: Trial {
            says: "the same job with one compile thread",
            change: Recipe::Env(&[("TORCHINDUCTOR_COMPILE_THREADS", "1")]),
            expect: Expect::Says("their memory is gone"),
        },
    },
    KnownCause {
        id: "P17",
        title: "oneDNN keeps a primitive for every shape",
        cause: "on the CPU oneDNN caches about a thousand primitives, one for each input shape",
        fix: "bucket shapes, or a lower ONEDNN_PRIMITIVE_CACHE_CAPACITY",
        sources: &[
            "https://github.com/pytorch/pytorch/issues/27971",
            "https://github.com/oneapi-src/oneDNN/issues/489",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| {
            vec![
                unknown("input shapes are not told"),
                if signs.job.libtorch && !signs.job.libcuda {
                    seen("torch on the CPU")
                } else {
                    not("no torch on the CPU")
                },
                carried_by(signs, &MALLOC, "malloc"),
            ]
        },
        experiment: Trial {
            says: "the same job with a cache of one primitive",
            change: Recipe::Env(&[("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "1")]),
            expect: Expect::Says("the growth is gone"),
        },
    },
    KnownCause {
        id: "P18",
        title: "one-time start of a library",
        cause: "CUDA context, lazily loaded modules, optimizer state made in the first step (8 bytes a parameter for Adam)",
        fix: "none is needed: a constant",
        sources: &["https://github.com/deepspeedai/DeepSpeed/issues/7693"],
        blamed: Some("CUDA context and first-step state"),
        spike: false,
        unseen: false,
        signature: first_steps,
        experiment: Trial {
            says: "look at the second run",
            change: Recipe::Probe(&[]),
            expect: Expect::Says("the same step at the same place"),
        },
    },
    KnownCause {
        id: "P24",
        title: "buffers of collectives",
        cause: "gloo and NCCL keep host buffers and proxy connections",
        fix: "a newer NCCL, a smaller NCCL_BUFFSIZE",
        sources: &[
            "https://github.com/NVIDIA/nccl/issues/1944",
            "https://github.com/pytorch/pytorch/issues/16144",
        ],
        blamed: None,
        spike: false,
        unseen: false,
        signature: |signs| {
            vec![
                match signs.ranks.len() {
                    0 | 1 => not("one rank: no collectives"),
                    n => unknown(format!("{n} ranks, but collectives are not counted")),
                },
                goes_on(signs),
            ]
        },
        experiment: Trial {
            says: "the same job with smaller NCCL buffers",
            change: Recipe::Env(&[("NCCL_BUFFSIZE", "1048576")]),
            expect: Expect::Says("the growth shrinks with them"),
        },
    },
];

fn pinned(signs: &Signs) -> Vec<Sign> {
    let counted = signs.objects.as_ref().and_then(|counted| {
        let (first, last) = (counted.span.first.cuda?, counted.span.last.cuda?);
        let grew = last.pinned?.as_f64() - first.pinned?.as_f64();
        Some((grew, counted.held))
    });
    if signs.recorded && !signs.job.libcuda && counted.is_none() && signs.shared.is_empty() {
        return Vec::new();
    }
    if let Some((grew, held)) = counted {
        return vec![if grew >= CARRIES * held && grew > 0.0 {
            seen(format!(
                "torch's pinned memory grew by {}",
                show_bytes(grew)
            ))
        } else {
            not(format!(
                "torch's pinned memory grew by {} only",
                show_bytes(grew)
            ))
        }];
    }
    if let Some(reserved) = signs.fills() {
        return vec![not(being_filled(signs, reserved))];
    }
    let zero: f64 = signs
        .shared
        .iter()
        .filter(|(name, _)| name.contains("/dev/zero"))
        .map(|(_, bytes)| bytes)
        .sum();
    match signs.memory_that_grew() {
        Some(memory) if zero >= CARRIES * memory.grew => vec![
            seen(format!("/dev/zero mappings grew by {}", show_bytes(zero))),
            if signs.job.libcuda {
                seen("the process uses CUDA")
            } else {
                not("the process does not use CUDA")
            },
        ],
        // Blocks of malloc can be pinned as they are.
        _ if registers_blocks(signs) => vec![doubt(format!(
            "PYTORCH_CUDA_ALLOC_CONF has ordinary memory pinned: torch's own count would tell ({})",
            signs.hook(Hook::Counts)
        ))],
        Some(_) => vec![not("no /dev/zero or device mapping grew")],
        None => match &signs.levels {
            Some(levels) if levels.last.shmem - levels.first.shmem < FLAT * signs.course.grew => {
                vec![not(format!(
                    "pinned memory is shared memory, and that grew by {} only",
                    show_bytes((levels.last.shmem - levels.first.shmem).max(0.0))
                ))]
            }
            Some(_) => vec![unknown("which shared memory grew was not seen")],
            None => vec![unknown(BARE)],
        },
    }
}

fn registers_blocks(signs: &Signs) -> bool {
    let mut env = signs.job.env.iter();
    env.any(|(_, value)| value.contains("pinned_use_cuda_host_register:True"))
}

fn kept_graph(signs: &Signs) -> Vec<Sign> {
    if signs.recorded && !signs.job.libtorch {
        return Vec::new();
    }
    let nodes = signs
        .blocks
        .zip(signs.memory_that_grew())
        .map(|(blocks, memory)| blocks.small / memory.grew);
    let kept = match (tensors(signs), nodes) {
        (Tensors::Graphs(says), _) => seen(says),
        (Tensors::Grow(says), _) => of_a_leak(
            signs,
            says,
            "a replay buffer or a cache that fills keeps tensors too: half its size would tell",
        ),
        (_, Some(share)) if share >= NODES => of_a_leak(
            signs,
            format!(
                "blocks below 1 kB make up {} of the growth: nodes, whose tensors Python may not know",
                percent(share)
            ),
            "a cache of small things has them too: `.detach()` on what outlives a step would tell",
        ),
        // What only a graph refers to is no object of Python's.
        (Tensors::Flat(says), _) => doubt(says),
        (Tensors::Unknown(why), _) => unknown(why),
    };
    vec![
        kept,
        goes_on(signs),
        is_trainer(signs),
        carried_by(signs, &MALLOC, "malloc"),
    ]
}

fn recompiles(signs: &Signs) -> Vec<Sign> {
    if !signs.recorded {
        return vec![unknown(
            "slow steps and new code are not in a bare log: TORCH_COMPILE_DISABLE=1 would tell",
        )];
    }
    if !signs.job.libtorch {
        return Vec::new();
    }
    let guards = signs.type_that_grew(&["dynamo", "Guard", "inductor", "aot_autograd", "fx."]);
    let new_code = signs
        .counts
        .map(|counts| counts.last.code_maps.saturating_sub(counts.first.code_maps));
    let slow = signs.counted.slow_steps;
    const PARTS: &str = "TORCH_LOGS=recompiles names each one, TORCH_COMPILE_DISABLE=1 would tell";
    let compiles =
        new_code.is_some_and(|code| code >= NEW_CODE) || signs.role("compile-worker").is_some();
    let key = if let Some(driver) = signs.is_driven_by("recompile") {
        let told = format!("{} with each slow step", show_bytes(driver.per_unit));
        if compiles {
            seen(format!("{told}, and new code was compiled"))
        } else {
            // An evaluation, a save or a wait for data is a slow step as well.
            open(format!(
                "{told}, but no new code was seen: a slow step may be anything that nobody marked; {PARTS}"
            ))
        }
    } else if let Some(line) = guards {
        seen(format!("what torch.compile keeps grew: {line}"))
    } else {
        match (new_code, signs.counted.paced) {
            (Some(code), _) if code >= NEW_CODE && slow > 0 => open(format!(
                "{code} new executable mappings and {slow} slow steps: libraries that are loaded late do the same; {PARTS}"
            )),
            // Code for a GPU is not mapped, and some backends make none: what they keep are guards and graphs.
            (Some(code), true) if code < NEW_CODE && slow == 0 => doubt(format!(
                "{code} new executable mappings, and no step was slow: TORCH_COMPILE_DISABLE=1 would tell"
            )),
            (None, true) if slow == 0 => unknown("no step was slow; new code was not looked for"),
            _ => unknown(
                "slow steps and new code do not show it: TORCH_COMPILE_DISABLE=1 would tell",
            ),
        }
    };
    vec![key]
}

fn compile_workers(signs: &Signs) -> Vec<Sign> {
    if !signs.recorded {
        return vec![unknown(
            "a bare log does not show other processes; `lowtide run -- …` does",
        )];
    }
    match signs.role("compile-worker") {
        None => Vec::new(),
        Some(pool) if pool.grew >= CARRIES * signs.course.grew => vec![seen(format!(
            "{} compile workers grew by {}",
            pool.count,
            show_bytes(pool.grew)
        ))],
        Some(pool) => {
            let says = format!(
                "{} of them held {} in all and grew by {}: overhead, not this growth",
                pool.count,
                show_bytes(pool.own),
                show_bytes(pool.grew.max(0.0))
            );
            match pool.known && pool.grew < FLAT * signs.course.grew {
                true => vec![not(says)],
                false => vec![doubt(says)],
            }
        }
    }
}

fn first_steps(signs: &Signs) -> Vec<Sign> {
    let course = &signs.course;
    let watched = (course.end - course.begin).max(f64::MIN_POSITIVE);
    let lasted = (course.to - course.begin) / watched;
    let ended = signs.class == Class::WarmUp && course.settled.is_some();
    let key = if ended && lasted <= START && course.rises < FEW_RISES {
        seen(format!(
            "one step of {} that was over at {}",
            show_bytes(course.grew),
            place(signs.axis, course.to)
        ))
    } else {
        let says = format!(
            "it grew until {}, not at the start only",
            place(signs.axis, course.to)
        );
        // Without marks what a process loads before its first step is in it, and takes as long as it takes.
        match signs.axis == Axis::Step && lasted > START && course.rises >= FEW_RISES {
            true => not(says),
            false => doubt(says),
        }
    };
    match (&key, signs.recorded) {
        (Sign::Seen(_), false) => vec![unknown(
            "one step at the start, but a bare log does not show what was loaded",
        )],
        (_, true) if !signs.job.libtorch || signs.growing => Vec::new(),
        (_, true) => vec![key, seen("the process loads torch")],
        _ => vec![key],
    }
}
