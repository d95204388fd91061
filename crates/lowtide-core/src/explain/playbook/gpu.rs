//! What grows on the GPU: inside torch's pool, and outside it.

use crate::units::show_bytes;
use crate::verdict::Meter;

use super::super::hook::Hook;
use super::super::signs::Signs;
use super::KnownCause;
use super::experiment::{Expect, Recipe, Trial};
use super::sign::{CARRIES, FLAT, Sign, not, seen, unknown};

pub(super) const CAUSES: &[KnownCause] = &[
    KnownCause {
        id: "P33",
        title: "GPU memory is cached in pieces",
        cause: "torch's caching allocator reserves more and more because free pieces do not fit (variable lengths)",
        fix: "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, bucket lengths, empty_cache between phases",
        sources: &["https://docs.pytorch.org/docs/stable/notes/cuda.html"],
        blamed: Some("CUDA caching allocator"),
        spike: false,
        unseen: false,
        signature: gpu_pieces,
        experiment: Trial {
            says: "the same job with expandable segments",
            change: Recipe::Env(&[("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")]),
            expect: Expect::Says("reserved memory stays near what is allocated"),
        },
    },
    KnownCause {
        id: "P34",
        title: "GPU memory outside torch's pool",
        cause: "NCCL, cuBLAS and cuDNN workspaces, further contexts (workers that touch CUDA: 300 to 500 MB each), CUDA graphs",
        fix: "keep CUDA out of workers, fewer communicators",
        sources: &["https://github.com/pytorch/pytorch/issues/3732"],
        blamed: Some("CUDA workspaces and contexts"),
        spike: false,
        unseen: false,
        signature: gpu_outside,
        experiment: Trial {
            says: "start workers with CUDA_VISIBLE_DEVICES= (empty)",
            change: Recipe::Code,
            expect: Expect::Says("what the workers held on the GPU is gone"),
        },
    },
];

fn gpu_pieces(signs: &Signs) -> Vec<Sign> {
    gpu(signs, |used, reserved, allocated| {
        if reserved >= CARRIES * used && allocated < FLAT * reserved {
            seen(format!(
                "torch reserved {} more while it allocated {} more",
                show_bytes(reserved),
                show_bytes(allocated.max(0.0))
            ))
        } else {
            not(format!(
                "reserved grew by {}, allocated by {}",
                show_bytes(reserved),
                show_bytes(allocated)
            ))
        }
    })
}

fn gpu_outside(signs: &Signs) -> Vec<Sign> {
    gpu(signs, |used, reserved, _| {
        let outside = used - reserved;
        if outside >= CARRIES * used {
            seen(format!(
                "the GPU holds {} more, {} of it outside torch's pool",
                show_bytes(used),
                show_bytes(outside)
            ))
        } else {
            not("what the GPU holds more is in torch's pool")
        }
    })
}

/// Growth in use, reserved and allocated, when the growth is the GPU's.
fn gpu(signs: &Signs, tell: impl Fn(f64, f64, f64) -> Sign) -> Vec<Sign> {
    if !signs.recorded {
        return vec![unknown(
            "a bare log of host memory says nothing of the GPU's pools",
        )];
    }
    if signs.meter != Meter::Gpu {
        return match signs.job.libcuda {
            true => vec![not("the growth is host memory, not the GPU's")],
            false => Vec::new(),
        };
    }
    let used = signs
        .surroundings
        .as_ref()
        .and_then(|surroundings| Some(surroundings.last.gpu? - surroundings.first.gpu?));
    let counted = signs.objects.as_ref().and_then(|counted| {
        let (first, last) = (counted.span.first.cuda?, counted.span.last.cuda?);
        Some((
            last.reserved.as_f64() - first.reserved.as_f64(),
            last.allocated.as_f64() - first.allocated.as_f64(),
        ))
    });
    match (used, counted) {
        (Some(used), Some((reserved, allocated))) if used > 0.0 => {
            vec![tell(used, reserved, allocated)]
        }
        _ => vec![unknown(format!(
            "torch's own counters are not there: {} sends them",
            signs.hook(Hook::Counts)
        ))],
    }
}
