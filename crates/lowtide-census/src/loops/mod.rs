//! Training loops' own state. [`search`] finds, in one pass over all objects, those that lead to it; [`read`] takes a few
//! words of them, on every tick. One file a library; what a number means is decided in core
//! ([`lowtide_core::inside`]).
//!
//! Every number is reached anew from an object whose type is checked, and is taken if all on the way to it is the
//! same when it is read again right after: the loop runs on, and frees what it replaces.

mod bar;
mod clocks;
mod drawn;
mod imports;
mod known;
mod lightning;
mod loader;
mod model;
mod passes;
mod trainer;
mod under_way;

use lowtide_core::inside::seen::Inside;
use lowtide_sys::memory::Memory;

use crate::interpreter::Interpreter;
use crate::object::{Heap, Memo};
use crate::source::{Chunks, Near, Source};
use crate::walk::List;
use imports::Imports;
use known::{Known, Sort};
pub(crate) use under_way::Watch;

/// Tries until a reading and its repetition are the same.
const TRIES: usize = 3;
/// Objects of one sort that are kept: a process has a handful of trainers and bars; what makes more of them
/// makes them without end.
const MOST: usize = 64;
/// Objects that a pass looks at before it asks whether its time is over.
const BETWEEN: usize = 4096;

/// The objects that lead to the state of loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    trainers: Vec<u64>,
    states: Vec<u64>,
    fits: Vec<u64>,
    loaders: Vec<u64>,
    models: Vec<u64>,
    optimizers: Vec<u64>,
    /// What counts the optimizers' steps; none where that cannot be told.
    clocks: Option<Vec<clocks::Clock>>,
    /// The class that lists all bars.
    bars: Vec<u64>,
    /// torch is there.
    torch: bool,
    imports: Option<Imports>,
}

impl Found {
    pub(crate) fn is_empty(&self) -> bool {
        let Found {
            trainers,
            states,
            fits,
            bars,
            ..
        } = self;
        [trainers, states, fits, bars]
            .into_iter()
            .all(Vec::is_empty)
    }
}

/// What a pass came to.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    pub found: Found,
    pub objects: u64,
    /// Time ran out.
    pub is_cut: bool,
}

/// Goes over all objects once.
pub(crate) fn search<M: Memory>(memory: &M, interpreter: &Interpreter, memo: &Memo) -> Pass {
    let chunks = Chunks::new(memory);
    let heap = Heap::knowing(&chunks, interpreter.layout, memo);
    let mut known = Known::default();
    let mut pass = Pass::default();
    let mut modules = Vec::new();
    for head in interpreter.lists(&chunks) {
        for object in List::new(&chunks, head) {
            pass.objects += 1;
            if pass.objects.is_multiple_of(BETWEEN as u64) && memory.is_over() {
                pass.is_cut = true;
                return pass;
            }
            let Some(sort) = known.sort(&heap, object) else {
                continue;
            };
            let found = &mut pass.found;
            let kept = match sort {
                // There may be thousands, and one that is listed twice does no harm.
                Sort::Module => {
                    if modules.len() < model::MOST {
                        modules.push(object);
                    }
                    continue;
                }
                Sort::Trainer => &mut found.trainers,
                Sort::TrainerState => &mut found.states,
                Sort::Fit => &mut found.fits,
                Sort::Loader => &mut found.loaders,
                Sort::Optimizer => &mut found.optimizers,
                Sort::BarClass => &mut found.bars,
                Sort::Torch => {
                    found.torch = true;
                    continue;
                }
                Sort::Imported => {
                    if found.imports.is_none() {
                        found.imports = Imports::of(&heap, object);
                    }
                    continue;
                }
            };
            if kept.len() < MOST && !kept.contains(&object) {
                kept.push(object);
            }
        }
    }
    pass.found.models = model::largest(&heap, &modules);
    pass.found.clocks = clocks::find(&heap, &pass.found.optimizers);
    pass
}

/// What the loops are at now.
pub(crate) fn read(
    source: &impl Source,
    interpreter: &Interpreter,
    memo: &Memo,
    found: &Found,
    watch: &Watch,
) -> Inside {
    let heap = Heap::knowing(source, interpreter.layout, memo);
    let lengths = found.loaders.iter();
    let (bars, passes) = watch.read(&heap, interpreter, || bar::read_all(&heap, &found.bars));
    Inside {
        trainers: trainer::read_all(&heap, &found.trainers, &found.states),
        fits: all(&heap, &found.fits, |fit| lightning::read(&heap, fit)),
        bars,
        passes,
        training: model::is_training(&heap, &found.models),
        clocks: (found.clocks.as_ref()).map(|clocks| clocks::read(&heap, clocks)),
        optimizes: optimizes(&heap, found),
        loader_lengths: lengths
            .filter_map(|loader| loader::read(&heap, *loader)?.length)
            .collect(),
    }
}

fn all<S: Source, T: PartialEq>(
    heap: &Heap<'_, S>,
    objects: &[u64],
    read: impl Fn(u64) -> Option<T>,
) -> Vec<T> {
    let each = objects.iter();
    each.filter_map(|object| twice(heap, || read(*object)))
        .collect()
}

/// The same twice in a row, or nothing.
fn twice<S: Source, T: PartialEq>(heap: &Heap<'_, S>, read: impl Fn() -> Option<T>) -> Option<T> {
    heap.source.anew();
    let mut before = read()?;
    for _ in 0..TRIES {
        heap.source.again();
        let again = read()?;
        if before == again {
            return Some(again);
        }
        before = again;
    }
    None
}

/// None where there is no torch.
fn optimizes<S: Source>(heap: &Heap<'_, S>, found: &Found) -> Option<bool> {
    let imports = found.imports.as_ref();
    let came = || imports.is_some_and(|imports| imports.have_torch(heap));
    (found.torch || came()).then(|| is_any(heap, &found.optimizers))
}

fn is_any<S: Source>(heap: &Heap<'_, S>, objects: &[u64]) -> bool {
    objects
        .iter()
        .any(|object| heap.attributes(*object).is_some())
}

/// For [`crate::follow`], which reads from the process itself.
pub(crate) fn read_now<M: Memory>(
    memory: &M,
    interpreter: &Interpreter,
    memo: &Memo,
    found: &Found,
    watch: &Watch,
) -> Inside {
    read(&Near::new(memory), interpreter, memo, found, watch)
}
