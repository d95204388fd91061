//! How many examples a pass draws, by the samplers' own frames: a dataset's length may be code, but who goes through it
//! has asked for it, and keeps the answer. `SequentialSampler` counts through a range, `RandomSampler` has it in a local.

use super::loader::is_made_from;
use crate::frames::{Frames, Level, iterators};
use crate::object::Heap;
use crate::source::Source;

/// Generators that hand on what others give.
const DEEPEST: usize = 6;
/// Where an iterator over a list keeps the list.
const LISTED: u64 = 24;
const SAMPLERS: &str = "torch.utils.data.sampler";

/// `iterator` is that of a DataLoader.
pub(super) fn examples<S: Source>(
    heap: &Heap<'_, S>,
    frames: &Frames,
    iterator: u64,
) -> Option<u64> {
    let batches = heap.attribute(iterator, "_sampler_iter")?;
    let frame = frames.generator(heap, batches)?;
    let owner = frames.local(heap, &frame, "self")?;
    if !is_made_from(heap, owner, "BatchSampler", SAMPLERS) {
        return None;
    }
    let named = frames.local(heap, &frame, "sampler_iter");
    let gone_through = || {
        let mut levels = frames.levels(heap, &frame).into_iter();
        levels.find_map(|level| match level {
            Level::For { iterator, .. } => Some(iterator),
            _ => None,
        })
    };
    sampler(heap, frames, named.or_else(gone_through)?, DEEPEST)
}

fn sampler<S: Source>(
    heap: &Heap<'_, S>,
    frames: &Frames,
    iterator: u64,
    deep: usize,
) -> Option<u64> {
    let deep = deep.checked_sub(1)?;
    match heap.type_of(iterator)?.name.as_str() {
        "range_iterator" => {
            let range = iterators::range(heap, iterator, None)?;
            // One that does not tell where it began is that of the sampler, which begins with the first.
            u64::try_from(range.end - range.start.unwrap_or(0)).ok()
        }
        "list_iterator" => heap.length(heap.source.pointer(iterator.checked_add(LISTED)?)?),
        "generator" => {
            let frame = frames.generator(heap, iterator)?;
            let owner = frames.local(heap, &frame, "self");
            let random = |owner| is_made_from(heap, owner, "RandomSampler", SAMPLERS);
            let length = frames.local(heap, &frame, "n");
            if let Some((owner, length)) = owner.filter(|owner| random(*owner)).zip(length) {
                let asked = heap.attribute(owner, "_num_samples");
                let asked = asked.and_then(|asked| heap.count(asked));
                return asked.or_else(|| heap.count(length));
            }
            sampler(heap, frames, frames.hands_on(heap, &frame)?, deep)
        }
        _ => None,
    }
}
