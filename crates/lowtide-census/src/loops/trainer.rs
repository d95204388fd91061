//! transformers' Trainer (TRL's are made from it): `trainer.state` is made anew for every `train()`, so it is reached
//! through its trainer. A state that nobody holds as his own may be one that was loaded from a file: it is
//! read, too, and does not move.

use lowtide_core::inside::seen::TrainerSeen;

use super::{loader, model, twice};
use crate::object::Heap;
use crate::source::Source;

/// A number of steps beyond this is none.
const MOST_STEPS: u64 = 1 << 40;

pub(super) fn read_all<S: Source>(
    heap: &Heap<'_, S>,
    trainers: &[u64],
    states: &[u64],
) -> Vec<TrainerSeen> {
    let mut seen: Vec<TrainerSeen> = Vec::new();
    for trainer in trainers {
        seen.extend(twice(heap, || of_trainer(heap, *trainer)));
    }
    for state in states {
        if seen.iter().any(|one| one.address == *state) {
            continue;
        }
        seen.extend(twice(heap, || of_state(heap, *state)));
    }
    seen
}

fn of_trainer<S: Source>(heap: &Heap<'_, S>, trainer: u64) -> Option<TrainerSeen> {
    let attributes = heap.attributes(trainer)?;
    let state = attributes.get(heap, "state")?;
    let mut seen = of_state(heap, state)?;
    if let Some(args) = attributes
        .get(heap, "args")
        .and_then(|args| heap.attributes(args))
    {
        let count = |name| args.get(heap, name).and_then(|value| heap.count(value));
        seen.accumulate = count("gradient_accumulation_steps");
        seen.batch = count("per_device_train_batch_size");
        seen.by_steps = count("max_steps").is_some_and(|steps| steps > 0);
        let epochs = args.get(heap, "num_train_epochs");
        let epochs = epochs.and_then(|value| heap.real(value));
        // By steps, the arguments' epochs are not those of the run.
        seen.epochs = epochs.filter(|_| !seen.by_steps).or(seen.epochs);
    }
    let model = attributes.get(heap, "model");
    seen.training = model.and_then(|model| model::mode(heap, model));
    let in_train = attributes.get(heap, "is_in_train");
    seen.in_train = in_train.and_then(|value| heap.truth(value)) == Some(true);
    let dataset = attributes.get(heap, "train_dataset");
    seen.examples = dataset.and_then(|dataset| loader::examples(heap, dataset));
    Some(seen)
}

fn of_state<S: Source>(heap: &Heap<'_, S>, state: u64) -> Option<TrainerSeen> {
    if heap.type_of(state)?.name != "TrainerState" {
        let class = heap.type_of(state)?;
        heap.bases(&class)
            .iter()
            .find(|base| base.name == "TrainerState")?;
    }
    let attributes = heap.attributes(state)?;
    let get = |name| attributes.get(heap, name);
    let count = |name| get(name).and_then(|value| heap.count(value));
    let (step, max_steps) = (count("global_step")?, count("max_steps")?);
    let sane =
        step <= MOST_STEPS && max_steps <= MOST_STEPS && (max_steps == 0 || step <= max_steps);
    sane.then(|| TrainerSeen {
        address: state,
        step,
        max_steps,
        epoch: get("epoch").and_then(|value| heap.real(value)),
        epochs: get("num_train_epochs").and_then(|value| heap.real(value)),
        ..TrainerSeen::default()
    })
}
