//! What an optimizer's steps leave behind, whatever loop makes them: it changes its parameters in place, and torch counts
//! every such change of a tensor in a counter beside it. Optimizers that keep a `step` for each parameter change that
//! tensor, too, once a step, also where a fused kernel writes the parameters behind torch's back.
//!
//! [`find`] takes some of each optimizer's tensors in a search, [`read`] asks their counters on every tick. Objects of C++
//! say what they are ([`Classes`]), so no layout is taken from a table.

use lowtide_core::inside::seen::ClockSeen;

use crate::contents::{Classes, Role};
use crate::object::{Heap, TYPE};
use crate::source::Source;

/// Tensors of one optimizer that are watched, evenly taken: adapters are few among many that stand still.
const OF_ONE: u64 = 4;
/// Tensors in all; with many optimizers (a search for parameters that keeps them) fewer of each.
const MOST: usize = 48;
/// Groups and parameters of an optimizer that are counted: beyond that it is a torn list.
const GROUPS: u64 = 256;
const PARAMETERS: u64 = 1 << 20;
/// Parameters whose state is looked for among all, in a table of so many at most.
const STATES: usize = 1 << 16;
/// Where a list keeps its items.
const LIST_ITEMS: u64 = 24;
/// Fields of a Python tensor that may lead to its tensor of C++, and of that to its counter.
const OBJECT: std::ops::Range<u64> = 2..8;
const TENSOR: std::ops::Range<u64> = 2..12;
/// In a counter: how many hold it, and the number of changes.
const HOLDERS: u64 = 8;
const CHANGES: u64 = 16;
const COUNTER: &str = "VersionCounter";

/// Where this torch keeps the counter of a tensor, and the tables by which all on the way is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    class: u64,
    tensor: u64,
    tensor_table: u64,
    counter: u64,
    counter_table: u64,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hand {
    /// The changes of a tensor. What an optimizer keeps for a parameter is known by who has it: where a model is made
    /// anew, another tensor may stand in its place, and be changed twice in a step.
    Changes {
        tensor: u64,
        way: Way,
        state: Option<u64>,
    },
    /// A number that the optimizer keeps for a parameter, in a dictionary (bitsandbytes).
    Number { state: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    optimizer: u64,
    /// One change is one step.
    is_exact: bool,
    is_plain: bool,
    /// Another kind of optimizer has the same parameters.
    is_shared: bool,
    hand: Hand,
}

/// None: there are parameters, and their counters are not where they can be told.
pub(super) fn find<S: Source>(heap: &Heap<'_, S>, optimizers: &[u64]) -> Option<Vec<Clock>> {
    let classes = Classes::new(heap.source);
    let (mut clocks, mut parameters) = (Vec::new(), 0);
    let each = (MOST as u64 / 2 / optimizers.len().max(1) as u64).clamp(1, OF_ONE);
    let searches = optimizers
        .iter()
        .any(|one| is_made_from(heap, *one, SEARCHES));
    for optimizer in optimizers {
        let chosen = chosen(heap, *optimizer, each).unwrap_or_default();
        parameters += chosen.len();
        let is_plain = is_one(heap, *optimizer, PLAIN);
        let states = states(heap, *optimizer, &chosen);
        let steps = states
            .iter()
            .filter_map(|state| step(heap, &classes, *state));
        let changes = chosen
            .iter()
            .filter_map(|tensor| changes(heap, &classes, *tensor, None));
        let exact = steps.map(|hand| (true, hand));
        for (is_exact, hand) in exact.chain(changes.map(|hand| (false, hand))) {
            if let Some(known) = clocks
                .iter_mut()
                .find(|clock: &&mut Clock| clock.hand == hand)
            {
                known.is_shared |= heap.type_of(known.optimizer) != heap.type_of(*optimizer);
            } else if clocks.len() < MOST {
                clocks.push(Clock {
                    optimizer: *optimizer,
                    is_exact,
                    is_plain,
                    is_shared: false,
                    hand,
                });
            }
        }
    }
    // What is changed by several hands, or several times in a step, says nothing of steps.
    clocks.retain(|clock| clock.is_exact || !clock.is_shared && !searches);
    (parameters == 0 || !clocks.is_empty()).then_some(clocks)
}

pub(super) fn read<S: Source>(heap: &Heap<'_, S>, clocks: &[Clock]) -> Vec<ClockSeen> {
    heap.source.anew();
    let each = clocks.iter().filter_map(|clock| {
        let (address, ticks) = match clock.hand {
            Hand::Changes { tensor, way, state } => {
                let is_kept = |state| heap.dict_get(state, "step") == Some(tensor);
                state.is_none_or(is_kept).then_some(())?;
                (tensor, way.changes(heap, tensor)?)
            }
            Hand::Number { state } => (state, heap.count(heap.dict_get(state, "step")?)?),
        };
        Some(ClockSeen {
            optimizer: clock.optimizer,
            address,
            is_exact: clock.is_exact,
            is_plain: clock.is_plain,
            ticks,
        })
    });
    each.collect()
}

/// Name and module of a class of torch's.
type OfTorch = (&'static str, &'static str);

/// torch's plainest optimizer keeps no steps, and changes a parameter once in each.
const PLAIN: OfTorch = ("SGD", "torch.optim.sgd");
/// It goes along a line as often as it takes, and changes its parameters each time: 8.2 times a step in a program that
/// somebody wrote blind, whose steps were told eight times too fast.
const SEARCHES: OfTorch = ("LBFGS", "torch.optim.lbfgs");

fn is_one<S: Source>(heap: &Heap<'_, S>, object: u64, (name, module): OfTorch) -> bool {
    let class = heap.type_of(object);
    class.is_some_and(|class| class.name == name && heap.module(&class).as_deref() == Some(module))
}

fn is_made_from<S: Source>(heap: &Heap<'_, S>, object: u64, (name, module): OfTorch) -> bool {
    let Some(class) = heap.type_of(object) else {
        return false;
    };
    let bases = heap.bases(&class);
    let mut named = bases.iter().filter(|base| base.name == name);
    named.any(|base| heap.module(base).as_deref() == Some(module))
}

/// Some of an optimizer's parameters, from all of its groups.
fn chosen<S: Source>(heap: &Heap<'_, S>, optimizer: u64, most: u64) -> Option<Vec<u64>> {
    let groups = heap.attribute(optimizer, "param_groups")?;
    let mut lists = Vec::new();
    for nth in 0..heap.length(groups)?.min(GROUPS) {
        let list = item(heap, groups, nth).and_then(|group| heap.dict_get(group, "params"));
        let length = list.and_then(|list| Some((list, heap.length(list)?)));
        lists.extend(length.filter(|(_, length)| *length <= PARAMETERS));
    }
    let all: u64 = lists.iter().map(|(_, length)| length).sum();
    let mut chosen = Vec::new();
    for nth in 0..most.min(all) {
        // From the first to the last.
        let mut at = match most.min(all) {
            1 => all - 1,
            taken => nth * (all - 1) / (taken - 1),
        };
        for (list, length) in &lists {
            if at < *length {
                chosen.extend(item(heap, *list, at));
                break;
            }
            at -= length;
        }
    }
    Some(chosen)
}

fn item<S: Source>(heap: &Heap<'_, S>, list: u64, nth: u64) -> Option<u64> {
    heap.type_of(list)?.is_list().then_some(())?;
    let items = heap.source.pointer(list.checked_add(LIST_ITEMS)?)?;
    heap.source.pointer(items.checked_add(nth.checked_mul(8)?)?)
}

/// What an optimizer keeps for some of its parameters: dictionaries.
fn states<S: Source>(heap: &Heap<'_, S>, optimizer: u64, of: &[u64]) -> Vec<u64> {
    let state = heap.attribute(optimizer, "state");
    let all = state.and_then(|state| heap.dict(state)).unwrap_or_default();
    let all = all.into_iter().take(STATES);
    all.filter(|(key, _)| of.contains(key))
        .map(|(_, value)| value)
        .collect()
}

fn step<S: Source>(heap: &Heap<'_, S>, classes: &Classes<'_, S>, state: u64) -> Option<Hand> {
    let step = heap.dict_get(state, "step")?;
    match heap.count(step) {
        Some(_) => Some(Hand::Number { state }),
        None => changes(heap, classes, step, Some(state)),
    }
}

fn changes<S: Source>(
    heap: &Heap<'_, S>,
    classes: &Classes<'_, S>,
    tensor: u64,
    state: Option<u64>,
) -> Option<Hand> {
    let way = Way::find(heap, classes, tensor)?;
    way.changes(heap, tensor)?;
    Some(Hand::Changes { tensor, way, state })
}

impl Way {
    fn find<S: Source>(heap: &Heap<'_, S>, classes: &Classes<'_, S>, object: u64) -> Option<Way> {
        let leads = |from: u64, fields: std::ops::Range<u64>, is: &dyn Fn(u64) -> bool| {
            fields.map(|nth| nth * 8).find_map(|at| {
                let to = heap.source.pointer(from.checked_add(at)?)?;
                is(to).then_some((at, to))
            })
        };
        let (tensor, body) = leads(object, OBJECT, &|at| classes.role(at) == Some(Role::Tensor))?;
        let (counter, changes) = leads(body, TENSOR, &|at| {
            classes.of(at).is_some_and(|class| *class.name == *COUNTER)
        })?;
        Some(Way {
            class: heap.source.pointer(object.checked_add(TYPE)?)?,
            tensor,
            tensor_table: heap.source.pointer(body)?,
            counter,
            counter_table: heap.source.pointer(changes)?,
        })
    }

    fn changes<S: Source>(&self, heap: &Heap<'_, S>, object: u64) -> Option<u64> {
        let pointer = |from: u64, at: u64| heap.source.pointer(from.checked_add(at)?);
        let is = |known: u64, at: u64, of: u64| (pointer(of, at)? == known).then_some(());
        is(self.class, TYPE, object)?;
        let body = pointer(object, self.tensor)?;
        is(self.tensor_table, 0, body)?;
        let counter = pointer(body, self.counter)?;
        is(self.counter_table, 0, counter)?;
        let held = heap.source.word(counter.checked_add(HOLDERS)?)? as u32;
        let changes = heap.source.word(counter.checked_add(CHANGES)?)? as u32;
        (held > 0).then_some(u64::from(changes))
    }
}
