//! torch's DataLoader: how many batches and examples it has, where that is a number that stands somewhere. A length
//! that is code (a dataset's own `__len__`) stays unknown.

use crate::object::{Class, Heap};
use crate::source::Source;

/// Where numpy's arrays keep their data and the number of items along the first axis.
const ARRAY_DATA: u64 = 16;
const ARRAY_DIMENSIONS: u64 = 24;
const ARRAY_SHAPE: u64 = 32;
/// Datasets in datasets in datasets, and loaders around loaders.
const DEEPEST: usize = 8;

/// What a loader tells of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loader {
    /// In batches.
    pub length: Option<u64>,
    pub examples: Option<u64>,
    pub batch: Option<u64>,
}

fn is<S: Source>(heap: &Heap<'_, S>, class: &Class, name: &str, module: &str) -> bool {
    let here = |one: &Class| {
        one.name == name
            && heap
                .module(one)
                .is_some_and(|found| found.starts_with(module))
    };
    here(class)
}

pub(super) fn is_made_from<S: Source>(
    heap: &Heap<'_, S>,
    object: u64,
    name: &str,
    module: &str,
) -> bool {
    let Some(class) = heap.type_of(object) else {
        return false;
    };
    heap.bases(&class)
        .iter()
        .any(|base| is(heap, base, name, module))
}

pub(super) fn is_loader<S: Source>(heap: &Heap<'_, S>, object: u64) -> bool {
    is_made_from(heap, object, "DataLoader", "torch.utils.data")
        || is_made_from(heap, object, "DataLoaderShard", "accelerate.data_loader")
}

pub(super) fn is_iterator<S: Source>(heap: &Heap<'_, S>, object: u64) -> bool {
    is_made_from(heap, object, "_BaseDataLoaderIter", "torch.utils.data")
}

pub(super) fn read<S: Source>(heap: &Heap<'_, S>, loader: u64) -> Option<Loader> {
    wrapped(heap, loader, DEEPEST)
}

fn wrapped<S: Source>(heap: &Heap<'_, S>, loader: u64, deep: usize) -> Option<Loader> {
    if !is_loader(heap, loader) {
        return None;
    }
    let attributes = heap.attributes(loader)?;
    // accelerate wraps the loader that it was given.
    if let Some(base) = attributes.get(heap, "base_dataloader") {
        return wrapped(heap, base, deep.checked_sub(1)?);
    }
    let get = |name| attributes.get(heap, name);
    parts(heap, get("dataset"), get("batch_sampler")?, || None)
}

/// By what its iterators keep, too. `drawn_now` is what a pass that is under way draws.
pub(super) fn parts<S: Source>(
    heap: &Heap<'_, S>,
    dataset: Option<u64>,
    sampler: u64,
    drawn_now: impl FnOnce() -> Option<u64>,
) -> Option<Loader> {
    let class = heap.type_of(sampler)?;
    let mut found = Loader {
        examples: dataset.and_then(|dataset| examples(heap, dataset)),
        ..Loader::default()
    };
    // One of somebody's own has a length of its own.
    if is(heap, &class, "BatchSampler", "torch.utils.data.sampler") {
        let sampler = heap.attributes(sampler)?;
        let batch = sampler
            .get(heap, "batch_size")
            .and_then(|value| heap.count(value))?;
        let drop = sampler
            .get(heap, "drop_last")
            .and_then(|value| heap.truth(value))?;
        let drawn = sampler
            .get(heap, "sampler")
            .and_then(|value| drawn(heap, value))
            .or_else(drawn_now);
        found.batch = Some(batch);
        found.length = drawn.filter(|_| batch > 0).map(|drawn| match drop {
            true => drawn / batch,
            false => drawn.div_ceil(batch),
        });
    }
    Some(found)
}

/// How many examples a sampler draws in a pass.
fn drawn<S: Source>(heap: &Heap<'_, S>, sampler: u64) -> Option<u64> {
    let class = heap.type_of(sampler)?;
    let module = heap.module(&class)?;
    let attributes = heap.attributes(sampler)?;
    let get = |name| attributes.get(heap, name);
    let count = |name| get(name).and_then(|value| heap.count(value));
    let of_source = || examples(heap, get("data_source")?);
    match (class.name.as_str(), module.as_str()) {
        ("SequentialSampler", "torch.utils.data.sampler") => of_source(),
        ("RandomSampler", "torch.utils.data.sampler")
        | ("SeedableRandomSampler", "accelerate.data_loader") => {
            count("_num_samples").or_else(of_source)
        }
        ("SubsetRandomSampler", "torch.utils.data.sampler") => heap.length(get("indices")?),
        ("WeightedRandomSampler", "torch.utils.data.sampler")
        | ("DistributedSampler", "torch.utils.data.distributed") => count("num_samples"),
        _ => None,
    }
}

/// How many examples a dataset has.
pub(super) fn examples<S: Source>(heap: &Heap<'_, S>, dataset: u64) -> Option<u64> {
    within(heap, dataset, DEEPEST)
}

fn within<S: Source>(heap: &Heap<'_, S>, dataset: u64, deep: usize) -> Option<u64> {
    if let Some(length) = heap.length(dataset) {
        return Some(length);
    }
    let class = heap.type_of(dataset)?;
    let module = heap.module(&class)?;
    let attributes = heap.attributes(dataset)?;
    let get = |name| attributes.get(heap, name);
    deep.checked_sub(1)?;
    match (class.name.as_str(), module.as_str()) {
        ("Subset", "torch.utils.data.dataset") => heap.length(get("indices")?),
        ("ConcatDataset", "torch.utils.data.dataset") => {
            heap.count(heap.last_item(get("cumulative_sizes")?)?)
        }
        ("Dataset", "datasets.arrow_dataset") => {
            // Rows that were picked stand in a table of their own.
            let picked = get("_indices").filter(|picked| !heap.is_none(*picked));
            rows(heap, picked.or_else(|| get("_data"))?)
        }
        _ => None,
    }
}

/// The rows of a table of `datasets`: the last of the offsets at which its pieces begin.
fn rows<S: Source>(heap: &Heap<'_, S>, table: u64) -> Option<u64> {
    let offsets = heap.attribute(table, "_offsets")?;
    let class = heap.type_of(offsets)?;
    if class.name != "numpy.ndarray" {
        return None;
    }
    let word = |at: u64| heap.source.word(offsets.checked_add(at)?);
    let data = heap.source.pointer(offsets.checked_add(ARRAY_DATA)?)?;
    let dimensions = word(ARRAY_DIMENSIONS)? as u32;
    let count = heap
        .source
        .word(heap.source.pointer(offsets + ARRAY_SHAPE)?)?;
    if dimensions != 1 || !(2..1 << 24).contains(&count) {
        return None;
    }
    // They begin with nothing, and rise.
    let first = heap.source.word(data)?;
    let last = heap.source.word(data.checked_add((count - 1) * 8)?)?;
    (first == 0 && last < 1 << 40).then_some(last)
}
