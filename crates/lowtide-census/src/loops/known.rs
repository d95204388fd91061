//! The classes that lead to a loop's state, by name and module, and by what they are made from: users make their own
//! trainers, bars and models of them.

use std::collections::HashMap;

use crate::object::{Class, Heap};
use crate::source::Source;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Trainer,
    TrainerState,
    Fit,
    Loader,
    Optimizer,
    Module,
    /// The class of bars itself, not one of them.
    BarClass,
    Torch,
    /// A module of Python's.
    Imported,
}

/// Name and beginning of the module, nearest class first. What a class is made from is asked in this order, too:
/// a loader of accelerate is made from torch's.
const CLASSES: [(&str, &str, Sort); 8] = [
    ("TrainerState", "transformers.trainer", Sort::TrainerState),
    ("Trainer", "transformers.trainer", Sort::Trainer),
    ("Trainer", "lightning.pytorch.trainer", Sort::Fit),
    ("Trainer", "pytorch_lightning.trainer", Sort::Fit),
    ("DataLoader", "torch.utils.data.dataloader", Sort::Loader),
    ("DataLoaderShard", "accelerate.data_loader", Sort::Loader),
    ("Optimizer", "torch.optim.optimizer", Sort::Optimizer),
    ("Module", "torch.nn.modules.module", Sort::Module),
];

/// Classes that are known already, by address.
#[derive(Debug, Default)]
pub(super) struct Known {
    classes: HashMap<u64, Option<Sort>>,
    /// Types of classes.
    metaclasses: HashMap<u64, bool>,
}

impl Known {
    /// What an object is to us.
    pub(super) fn sort<S: Source>(&mut self, heap: &Heap<'_, S>, object: u64) -> Option<Sort> {
        let address = heap.source.pointer(object + crate::object::TYPE)?;
        if let Some(known) = self.classes.get(&address) {
            return match self.metaclasses.get(&address) {
                Some(true) => of_class(heap, object),
                _ => *known,
            };
        }
        let class = heap.class(address);
        let sort = class.as_ref().and_then(|class| sort(heap, class));
        let meta = class.is_some_and(|class| class.is_type());
        self.classes.insert(address, sort);
        self.metaclasses.insert(address, meta);
        if meta { of_class(heap, object) } else { sort }
    }
}

fn sort<S: Source>(heap: &Heap<'_, S>, class: &Class) -> Option<Sort> {
    if !class.is_heap() {
        return (class.name == "module").then_some(Sort::Imported);
    }
    heap.bases(class).iter().find_map(|base| {
        let mut named = CLASSES
            .iter()
            .filter(|(name, ..)| *name == base.name)
            .peekable();
        named.peek()?;
        let module = heap.module(base)?;
        let found = named.find(|(_, start, _)| is_in(&module, start));
        found.map(|(.., sort)| *sort)
    })
}

/// Of classes themselves, two matter: the one that lists all bars, and any of torch's.
fn of_class<S: Source>(heap: &Heap<'_, S>, object: u64) -> Option<Sort> {
    let name = heap.source.pointer(object + crate::object::TYPE_NAME)?;
    let letters: [u8; 10] = heap.source.array(name)?;
    let (bars, torch) = (letters.starts_with(b"tqdm\0"), &letters == b"Optimizer\0");
    if !bars && !torch {
        return None;
    }
    let class = heap.class(object)?;
    let module = heap.module(&class)?;
    match bars {
        true => is_in(&module, "tqdm.std").then_some(Sort::BarClass),
        false => is_in(&module, "torch.optim.optimizer").then_some(Sort::Torch),
    }
}

/// The module itself or one in it: `transformers.trainer` is, `transformers.trainer_callback` too.
fn is_in(module: &str, start: &str) -> bool {
    module.starts_with(start)
}
