//! Holders as they are told: with what may end their growth, and which code adds to them or empties them.

use lowtide_core::look::{CodePlace, Holder};

use crate::contents::{Content, Contents};
use crate::ends::{Pictures, Subject};
use crate::frames::Places;
use crate::graph::Graph;
use crate::holders::{self, Slot, Spotted, Step};
use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::source::Source;
use crate::writers::{self, Writers};

/// Types whose objects lead to code.
const CODE: [&str; 2] = ["function", "code"];
/// In a module: its names.
const MODULE_NAMES: u64 = 16;
/// Places of code that are told of a holder: more are no answer.
const MOST_PLACES: usize = 8;

impl Pictures for Contents {
    fn picture(&self, address: u64) -> Option<(bool, u64)> {
        match self.of(address)? {
            Content::Image(nth) => {
                let image = self.images.get(nth as usize)?;
                Some((image.is_decoded, image.pixels))
            }
            _ => None,
        }
    }
}

pub(super) fn all<S: Source>(
    heap: &Heap<'_, S>,
    interpreter: &Interpreter,
    graph: &Graph,
    contents: &Contents,
    found: &[Spotted],
) -> Vec<Holder> {
    let writers = writers(heap, interpreter, graph, found);
    let each = found.iter().zip(writers);
    each.map(|(spotted, writers)| {
        let owner = spotted.slot.as_ref().map(|slot| slot.owner);
        let holder = &spotted.holder;
        let subject = Subject {
            heap,
            address: holder.address,
            length: holder.length,
            owner: owner.map(|owner| graph.nodes[owner as usize].address),
        };
        Holder {
            ends: subject.ends(contents),
            adds: places(&writers.adds),
            empties: places(&writers.empties),
            ..holder.clone()
        }
    })
    .collect()
}

fn places(places: &[writers::Place]) -> Vec<CodePlace> {
    let each = places.iter().take(MOST_PLACES);
    each.map(|place| CodePlace {
        function: place.function.clone(),
        file: place.file.clone(),
        line: place.line,
        how: place.how.clone(),
    })
    .collect()
}

/// Who writes to each of them; nothing for those that code cannot name.
fn writers<S: Source>(
    heap: &Heap<'_, S>,
    interpreter: &Interpreter,
    graph: &Graph,
    found: &[Spotted],
) -> Vec<Writers> {
    let places = Places::of(heap.source, interpreter.runtime, interpreter.version.minor);
    let Some(places) = places else {
        return found.iter().map(|_| Writers::default()).collect();
    };
    let slots: Vec<Option<writers::Slot>> = found
        .iter()
        .map(|spotted| slot(heap, &places, graph, spotted.slot.as_ref()?))
        .collect();
    let known: Vec<writers::Slot> = slots.iter().flatten().cloned().collect();
    let lead = |kind: &str| CODE.contains(&kind);
    let is_code: Vec<bool> = graph.kinds.iter().map(|kind| lead(&kind.name)).collect();
    let objects = graph
        .nodes
        .iter()
        .filter(|node| is_code[node.kind as usize]);
    let codes = writers::codes(heap, &places, objects.map(|node| node.address));
    let mut told = writers::find(heap, &places, &codes, &known).into_iter();
    let of = |slot: Option<writers::Slot>| slot.and_then(|_| told.next()).unwrap_or_default();
    slots.into_iter().map(of).collect()
}

/// What code calls the slot that has a holder.
fn slot<S: Source>(
    heap: &Heap<'_, S>,
    places: &Places,
    graph: &Graph,
    slot: &Slot,
) -> Option<writers::Slot> {
    let owner = graph.nodes[slot.owner as usize].address;
    let kind = graph.kind(slot.owner);
    let class = heap.type_of(owner);
    match &slot.step {
        Step::Attribute(name) => {
            let name = name.clone();
            let class = class?;
            let names = match class.name.as_str() {
                "module" => heap.source.pointer(owner.checked_add(MODULE_NAMES)?),
                _ => class.is_dict().then_some(owner),
            };
            // Of a class, or of its objects.
            let of = if class.is_type() {
                owner
            } else {
                class.address
            };
            Some(match names {
                Some(dict) => writers::Slot::Global { dict, name },
                None => writers::Slot::Attribute { class: of, name },
            })
        }
        Step::Local(name) | Step::Closed(name) => {
            let code = match kind.name.as_str() {
                "function" => holders::code_of(heap, owner)?,
                _ => places.code_of(heap.source, owner)?,
            };
            let name = name.clone();
            Some(writers::Slot::Variable { code, name })
        }
        _ => None,
    }
}
