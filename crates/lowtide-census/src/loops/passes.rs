//! A pass over torch's DataLoader, by its iterator: how many batches the loop has got, and what the loader tells of
//! itself. accelerate's loaders go through one of torch's, and fetch one batch ahead.

use lowtide_core::inside::seen::PassSeen;

use super::loader::{self, Loader};
use super::under_way::Through;
use super::{drawn, twice};
use crate::frames::Frames;
use crate::object::Heap;
use crate::source::Source;

/// More batches than this are none.
const MOST: u64 = 1 << 40;

/// `known` looks up what was read of a loader before, by iterator and sampler, or reads it.
pub(super) fn read<S: Source>(
    heap: &Heap<'_, S>,
    frames: &Frames,
    pass: Through,
    known: impl Fn((u64, u64), &dyn Fn() -> Loader) -> Loader,
) -> Option<PassSeen> {
    twice(heap, || {
        let attributes = heap.attributes(pass.iterator)?;
        let get = |name| attributes.get(heap, name);
        let sampler = get("_index_sampler")?;
        let got = heap.count(get("_num_yielded")?)?;
        let loader = known((pass.iterator, sampler), &|| {
            let drawn = || drawn::examples(heap, frames, pass.iterator);
            loader::parts(heap, get("_dataset"), sampler, drawn).unwrap_or_default()
        });
        let mut seen = PassSeen {
            loader: sampler,
            iterator: pass.iterator,
            batches: got,
            length: loader.length,
            examples: loader.examples,
            batch: loader.batch,
            ..PassSeen::default()
        };
        if let Some(shard) = pass.shard {
            accelerated(heap, shard, &mut seen)?;
        }
        (seen.batches <= MOST).then_some(seen)
    })
}

fn accelerated<S: Source>(heap: &Heap<'_, S>, shard: u64, seen: &mut PassSeen) -> Option<()> {
    let attributes = heap.attributes(shard)?;
    let get = |name| attributes.get(heap, name);
    // It asks for a batch more before it hands one on, until there is none.
    let ended = heap.truth(get("end_of_dataloader")?)?;
    if !ended {
        seen.batches = seen.batches.saturating_sub(1);
    }
    seen.passes = get("iteration").and_then(|value| heap.count(value));
    let state = get("gradient_state");
    let settings = state.and_then(|state| heap.attribute(state, "plugin_kwargs"));
    // What was left as it is by itself is not among them.
    seen.accumulate = settings.and_then(|settings| match heap.dict_get(settings, "num_steps") {
        Some(steps) => heap.count(steps),
        None => heap.dict(settings).map(|_| 1),
    });
    Some(())
}
