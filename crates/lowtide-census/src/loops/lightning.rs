//! Lightning's Trainer: steps, epochs and batches are counted in the objects of its fit loop.

use lowtide_core::inside::seen::{FitSeen, Stage};

use super::loader;
use crate::object::Heap;
use crate::source::Source;

pub(super) fn read<S: Source>(heap: &Heap<'_, S>, trainer: u64) -> Option<FitSeen> {
    let attributes = heap.attributes(trainer)?;
    let fit = attributes.get(heap, "fit_loop")?;
    let fit_attributes = heap.attributes(fit)?;
    let epoch_loop = fit_attributes.get(heap, "epoch_loop")?;
    let count = |object, path: &[&str]| heap.count(heap.path(object, path)?);
    let automatic = count(
        epoch_loop,
        &[
            "automatic_optimization",
            "optim_progress",
            "optimizer",
            "step",
            "total",
            "completed",
        ],
    )?;
    let by_hand = count(
        epoch_loop,
        &[
            "manual_optimization",
            "optim_step_progress",
            "total",
            "completed",
        ],
    );
    let by_hand = by_hand.filter(|steps| *steps > 0);
    let fit_value = |name| fit_attributes.get(heap, name);
    // Steps by hand may be several in a batch: then nothing tells how many an epoch has.
    let batches = fit_value("max_batches").and_then(|value| heap.count(value));
    let source = heap.path(fit, &["_combined_loader", "_iterables"]);
    let data = source.and_then(|source| loader::read(heap, source));
    Some(FitSeen {
        address: fit,
        step: by_hand.unwrap_or(automatic),
        max_steps: count(epoch_loop, &["max_steps"]),
        max_epochs: fit_value("max_epochs").and_then(|value| heap.count(value)),
        epoch: count(fit, &["epoch_progress", "current", "processed"])?,
        batches: batches.filter(|_| by_hand.is_none()),
        accumulate: (attributes.get(heap, "accumulate_grad_batches"))
            .and_then(|value| heap.count(value)),
        batch: data.as_ref().and_then(|data| data.batch),
        examples: data.as_ref().and_then(|data| data.examples),
        stage: stage(heap, attributes.get(heap, "state")?),
    })
}

fn stage<S: Source>(heap: &Heap<'_, S>, state: u64) -> Option<Stage> {
    let stage = heap.path(state, &["stage", "_value_"])?;
    Some(match heap.text(stage)?.as_str() {
        "train" => Stage::Train,
        _ => Stage::Other,
    })
}
