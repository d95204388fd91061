//! Holders as they are told: with what may end their growth, and which code adds to them or empties them.

use lowtide_core::look::{CodePlace, End, Holder};

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
/// How code that puts something into a container's item is called.
const INTO_A_SLOT: &str = "[...]";

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
    let ends: Vec<Vec<End>> = (found.iter())
        .map(|spotted| ends(heap, graph, contents, spotted))
        .collect();
    // What keys come from is asked about, too: where code adds to that, it ends nothing.
    let sources: Vec<Slot> = (found.iter().zip(&ends))
        .filter_map(|(spotted, ends)| source(spotted, ends))
        .collect();
    let own = found.iter().map(|spotted| spotted.slot.as_ref());
    let asked: Vec<Option<&Slot>> = own.chain(sources.iter().map(Some)).collect();
    let mut all = writers(heap, interpreter, graph, &asked);
    let of_sources = all.split_off(found.len());
    let grows = |slot: &Slot| {
        let found = sources.iter().position(|one| one == slot);
        found.is_none_or(|nth| may_grow(&of_sources[nth]))
    };
    let each = found.iter().zip(all).zip(ends);
    each.map(|((spotted, writers), mut ends)| {
        let source = source(spotted, &ends);
        ends.retain(|end| match end {
            End::Slots { .. } => !may_grow(&writers),
            End::Keys { .. } => !source.as_ref().is_some_and(grows),
            _ => true,
        });
        Holder {
            ends,
            adds: places(&writers.adds),
            empties: places(&writers.empties),
            ..spotted.holder.clone()
        }
    })
    .collect()
}

fn ends<S: Source>(
    heap: &Heap<'_, S>,
    graph: &Graph,
    contents: &Contents,
    spotted: &Spotted,
) -> Vec<End> {
    let owner = spotted.slot.as_ref().map(|slot| slot.owner);
    let subject = Subject {
        heap,
        address: spotted.holder.address,
        length: spotted.holder.length,
        owner: owner.map(|owner| graph.nodes[owner as usize].address),
    };
    subject.ends(contents)
}

/// The container beside a holder that its keys come from.
fn source(spotted: &Spotted, ends: &[End]) -> Option<Slot> {
    let owner = spotted.slot.as_ref()?.owner;
    let name = ends.iter().find_map(|end| match end {
        End::Keys { of, .. } => Some(of.clone()),
        _ => None,
    })?;
    let step = Step::Attribute(name);
    Some(Slot { owner, step })
}

/// Code makes it longer, or could not be read: to put something into a slot that is there, or into an item, does not.
fn may_grow(writers: &Writers) -> bool {
    let longer = |place: &writers::Place| !place.how.starts_with(INTO_A_SLOT);
    writers.unread > 0 || writers.adds.iter().any(longer)
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
    asked: &[Option<&Slot>],
) -> Vec<Writers> {
    let places = Places::of(heap.source, interpreter.runtime, interpreter.version.minor);
    let Some(places) = places else {
        return asked.iter().map(|_| Writers::default()).collect();
    };
    let slots: Vec<Option<writers::Slot>> = asked
        .iter()
        .map(|asked| slot(heap, &places, graph, (*asked)?))
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
