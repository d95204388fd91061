//! The way to a holder, from where its name begins: gone again on every tick, because an address alone is used again by
//! others. Every object on it must still be of the type that it had, and be reached as it was: under the same key, in the
//! same slot, by the same variable.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use super::key::Key;
use crate::frames::{Frame, Frames};
use crate::holders;
use crate::object::{Class, Heap, TYPE};
use crate::source::Source;

/// Entries of a dictionary that are looked through for a key that is not where it was.
const SEARCHED: u64 = 4096;
/// Items from the beginning of a deque that may lead on.
const OF_DEQUE: u64 = 1024;
/// Bytes of an object in which it may refer to another.
const LARGEST: u64 = 4096;

/// From a module's names, or from a function that runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    root: Root,
    legs: Vec<Leg>,
}

#[derive(Clone, Debug, PartialEq)]
enum Root {
    Object { address: u64, class: u64 },
    Frame { address: u64, code: u64 },
}

/// To the next object, which is of this type.
#[derive(Clone, Debug, PartialEq)]
struct Leg {
    by: By,
    class: u64,
    /// Of the function or generator that it leads from: another one in its place has other variables.
    code: Option<u64>,
}

/// Where something was last: a shorter way to it, and no part of the way.
#[derive(Clone, Default)]
struct Hint(Cell<u64>);

impl PartialEq for Hint {
    fn eq(&self, _: &Hint) -> bool {
        true
    }
}

impl fmt::Debug for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.get())
    }
}

#[derive(Clone, Debug, PartialEq)]
enum By {
    /// At a place of the object itself: a module's names, a slot, what is in a cell.
    Word(u64),
    /// In an object's dictionary or beside it.
    Attribute(Key),
    /// A dictionary's value, and where it stood.
    Entry(Key, Hint),
    /// Of a list or tuple.
    Item(u64),
    OfDeque(u64),
    /// Of a function that runs or a generator that waits.
    Variable(u64),
}

/// Functions that run now, each by its frame and its code.
#[derive(Debug, Default)]
pub(super) struct Running(HashSet<(u64, u64)>);

impl Running {
    pub(super) fn new<'a>(frames: impl Iterator<Item = &'a Frame>) -> Running {
        let each = frames.map(|frame| (frame.address, frame.code.address));
        Running(each.collect())
    }
}

/// What is needed to go.
pub(super) struct Ground<'a, 'h, S> {
    pub heap: &'a Heap<'h, S>,
    pub frames: &'a Frames,
}

impl Way {
    /// Along these addresses. `running` is the frame that it begins at, if it begins at one.
    /// None where a step could not be gone again: a member of a set, or what only C knows.
    pub(super) fn along<S: Source>(
        ground: &Ground<'_, '_, S>,
        addresses: &[u64],
        running: Option<&Frame>,
    ) -> Option<Way> {
        let class = |object: u64| Some(ground.heap.type_of(object)?.address);
        let first = *addresses.first()?;
        let root = match running {
            Some(frame) => Root::Frame {
                address: frame.address,
                code: frame.code.address,
            },
            None => Root::Object {
                address: first,
                class: class(first)?,
            },
        };
        let mut legs: Vec<Leg> = Vec::new();
        let mut at = 1;
        while let Some(to) = addresses.get(at) {
            let (from, last) = (addresses[at - 1], addresses.get(at + 1));
            let frame = running.filter(|_| at == 1);
            // From an object to what it has in its dictionary is one step: the dictionary may come and go.
            let through = last.filter(|_| ground.heap.attribute_dict(from) == Some(*to));
            let attribute = through.and_then(|value| ground.attribute(from, *value));
            let (by, to) = match (frame, attribute, through) {
                (None, Some(by), Some(value)) => {
                    at += 1;
                    (by, *value)
                }
                _ => (ground.how(frame, from, *to)?, *to),
            };
            let code = frame.is_none().then(|| ground.code_of(from)).flatten();
            let class = class(to)?;
            legs.push(Leg { by, class, code });
            at += 1;
        }
        Some(Way { root, legs })
    }

    pub(super) fn begins_in_a_frame(&self) -> bool {
        matches!(self.root, Root::Frame { .. })
    }

    /// What is at its end now.
    pub(super) fn go<S: Source>(
        &self,
        ground: &Ground<'_, '_, S>,
        running: &Running,
    ) -> Option<u64> {
        let is_of = |object: u64, class: u64| {
            let at = object.checked_add(TYPE);
            at.and_then(|at| ground.heap.source.word(at)) == Some(class)
        };
        let mut legs = self.legs.iter();
        let mut at = match self.root {
            Root::Object { address, class } => is_of(address, class).then_some(address)?,
            Root::Frame { address, code } => {
                running.0.contains(&(address, code)).then_some(())?;
                let first = legs.next()?;
                let By::Variable(place) = first.by else {
                    return None;
                };
                let to = ground.frames.variable_at(ground.heap, address, place)?;
                is_of(to, first.class).then_some(to)?
            }
        };
        for leg in legs {
            if leg.code.is_some() && ground.code_of(at) != leg.code {
                return None;
            }
            at = ground.next(at, &leg.by)?;
            is_of(at, leg.class).then_some(())?;
        }
        Some(at)
    }
}

impl<S: Source> Ground<'_, '_, S> {
    /// How one object refers to another.
    fn how(&self, frame: Option<&Frame>, from: u64, to: u64) -> Option<By> {
        let heap = self.heap;
        if let Some(frame) = frame {
            return Some(By::Variable(self.frames.place_of(heap, frame, to)?));
        }
        let class = heap.type_of(from)?;
        if class.is_dict() {
            let found = heap.find_placed(from, u64::MAX >> 8, |place, key, value| {
                (value == to).then_some((key, place))
            });
            if let Some((key, place)) = found {
                return Some(By::Entry(Key::of(heap, key)?, Hint(Cell::new(place))));
            }
        }
        if (class.is_list() || class.is_tuple())
            && let Some(place) = heap.index_of(from, to)
        {
            return Some(By::Item(place));
        }
        if self.is_deque(&class) {
            let place = heap.index_in_deque(from, to)?;
            return (place < OF_DEQUE).then_some(By::OfDeque(place));
        }
        if let Some(frame) = self.frame_of(&class, from)
            && let Some(place) = self.frames.place_of(heap, &frame, to)
        {
            return Some(By::Variable(place));
        }
        // A small set has its members in itself, and leaves them there when it grows.
        let by_word = || (!self.is_set(&class)).then(|| self.word(&class, from, to))?;
        self.attribute(from, to).or_else(by_word)
    }

    /// What a function or generator runs.
    fn code_of(&self, object: u64) -> Option<u64> {
        let class = self.heap.type_of(object)?;
        match class.name.as_str() {
            "function" => holders::code_of(self.heap, object),
            _ => Some(self.frame_of(&class, object)?.code.address),
        }
    }

    fn attribute(&self, from: u64, to: u64) -> Option<By> {
        let attributes = self.heap.attributes(from)?;
        let mut entries = attributes.entries().iter();
        let (name, _) = entries.find(|(_, value)| *value == to)?;
        Some(By::Attribute(Key::of(self.heap, *name)?))
    }

    fn word(&self, class: &Class, from: u64, to: u64) -> Option<By> {
        let count = (class.basic_size.min(LARGEST) / 8) as usize;
        let words = self.heap.source.words(from, count)?;
        // Before its second word are its holders, and its type.
        let mut each = words.iter().enumerate().skip(2);
        let (nth, _) = each.find(|(_, word)| **word == to)?;
        Some(By::Word(nth as u64 * 8))
    }

    fn next(&self, from: u64, by: &By) -> Option<u64> {
        let heap = self.heap;
        match by {
            By::Word(offset) => heap.source.pointer(from.checked_add(*offset)?),
            By::Attribute(name) => {
                let attributes = heap.attributes(from)?;
                let mut entries = attributes.entries().iter();
                let found = entries.find(|(key, _)| name.is(heap, *key));
                found.map(|(_, value)| *value)
            }
            By::Entry(key, place) => {
                let here = heap.entry_at(from, place.0.get());
                if let Some((at, value)) = here
                    && key.is(heap, at)
                {
                    return Some(value);
                }
                let found = heap.find_placed(from, SEARCHED, |place, at, value| {
                    key.is(heap, at).then_some((place, value))
                })?;
                place.0.set(found.0);
                Some(found.1)
            }
            By::Item(place) => heap.item_at(from, *place),
            By::OfDeque(place) => {
                let items = heap.deque_items(from, place + 1)?;
                items.get(usize::try_from(*place).ok()?).copied()
            }
            By::Variable(place) => {
                let class = heap.type_of(from)?;
                let frame = self.frame_of(&class, from)?;
                self.frames.variable_at(heap, frame.address, *place)
            }
        }
    }

    /// The frame of an object that has one.
    fn frame_of(&self, class: &Class, object: u64) -> Option<Frame> {
        match class.name.as_str() {
            "generator" | "coroutine" | "async_generator" => {
                self.frames.generator(self.heap, object)
            }
            "frame" => self.frames.of_object(self.heap, object),
            _ => None,
        }
    }

    fn is_set(&self, class: &Class) -> bool {
        let bases = self.heap.bases(class);
        let is = |name: &str| bases.iter().any(|base| base.name == name);
        is("set") || is("frozenset")
    }

    fn is_deque(&self, class: &Class) -> bool {
        let bases = self.heap.bases(class);
        bases.iter().any(|base| base.name == "collections.deque")
    }
}
