//! One object: what it refers to, and how large it is. Built-in types are read as they are laid out (one file a
//! family); of all others every word is taken that could be a reference, and whoever collects them asks whether an
//! object is there.
//!
//! Sizes are those of `sys.getsizeof`. What Python itself leaves out there stands beside them.

mod apart;
mod frame;
mod instance;
mod scalar;
mod sequence;
mod table;
mod types;

use super::plan::{Plan, Shape};
use crate::frames::Places;
use crate::object::{Heap, SIZE, flag};
use crate::source::{Source, is_pointer};

/// Behind the reference count and the type.
const HEAD: u64 = 16;
/// Words that are read at once.
const AT_ONCE: u64 = 2048;
/// No object has more items: torn bytes look like any number.
const MOST_ITEMS: u64 = 1 << 36;

/// Memory that was asked for as one. No address where there are several alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub at: u64,
    pub bytes: u64,
    pub count: u64,
}

/// What was found of one object; used again for the next.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Words that may be references: pointers, by their look.
    pub words: Vec<u64>,
    /// As `sys.getsizeof` says.
    pub told: u64,
    /// What belongs to it and is not in that.
    pub beside: u64,
    /// Of both, what stands in blocks apart from the object.
    pub apart: Vec<Block>,
    /// It made no sense, or could not be read as a whole.
    pub torn: bool,
}

impl Found {
    fn clear(&mut self) {
        self.words.clear();
        self.apart.clear();
        (self.told, self.beside, self.torn) = (0, 0, false);
    }

    /// What `sys.getsizeof` tells of a block apart.
    fn tells(&mut self, at: u64, bytes: u64) {
        self.told = self.told.saturating_add(bytes);
        self.stands_at(at, bytes);
    }

    /// The same of several that are alike.
    fn tells_each(&mut self, count: u64, bytes: u64) {
        self.told = self.told.saturating_add(count.saturating_mul(bytes));
        self.apart.push(Block {
            at: 0,
            bytes,
            count,
        });
    }

    fn stands_at(&mut self, at: u64, bytes: u64) {
        let count = 1;
        self.apart.push(Block { at, bytes, count });
    }

    /// What it leaves out.
    fn leaves_out(&mut self, at: u64, bytes: u64) {
        self.beside = self.beside.saturating_add(bytes);
        self.stands_at(at, bytes);
    }

    fn refers(&mut self, word: u64) {
        if is_pointer(word) {
            self.words.push(word);
        }
    }
}

/// Reads objects of one interpreter.
pub(super) struct Visitor<'a, S> {
    pub heap: &'a Heap<'a, S>,
    pub places: Option<Places>,
}

impl<S: Source> Visitor<'_, S> {
    pub(super) fn visit(&self, object: u64, plan: &Plan, found: &mut Found) {
        found.clear();
        found.told = plan.before.saturating_add(plan.basic);
        // An object of a class that can be freed holds it.
        if plan.has(flag::HEAP) {
            found.words.push(plan.class);
        }
        // Nothing that is read reaches over the end of the address space: see `is_pointer`.
        let read = match plan.shape {
            Shape::Leaf | Shape::Bytes => self.items(object, plan, found),
            Shape::Int => self.int(object, plan, found),
            Shape::Text => self.text(object, plan, found),
            Shape::ByteArray => self.byte_array(object, found),
            Shape::Array => self.array(object, found),
            Shape::Buffered => self.buffered(object, plan, found),
            Shape::List => self.list(object, found),
            Shape::Tuple => self.tuple(object, plan, found),
            Shape::Dict => self.dict(object, found),
            Shape::OrderedDict => self.ordered_dict(object, found),
            Shape::Set => self.set(object, found),
            Shape::Deque => self.deque(object, found),
            Shape::SimpleQueue => self.simple_queue(object, plan, found),
            Shape::Type => self.class(object, plan, found),
            Shape::Module => self.module(object, plan, found),
            Shape::WeakReference => self.weak_reference(object, found),
            Shape::Cache => self.cache(object, plan, found),
            Shape::CacheEntry => self.cache_entry(object, found),
            Shape::Generator => self.generator(object, plan, found),
            Shape::Frame => self.frame_object(object, plan, found),
            Shape::Code => self.code_object(object, plan, found),
            Shape::Element => self.element(object, plan, found),
            Shape::Pickler => self.pickler(object, plan, found),
            Shape::Unpickler => self.unpickler(object, plan, found),
            Shape::Scanned => self.scanned(object, plan, found),
        };
        found.torn |= read.is_none();
        let further = plan.rest < plan.basic && plan.shape != Shape::Type;
        if further
            && self
                .scan(object, plan.rest, plan.basic, plan, found)
                .is_none()
        {
            found.torn = true;
        }
        if plan.has(flag::MANAGED_DICT) && self.managed(object, plan, found).is_none() {
            found.torn = true;
        }
        if let Some(from_end) = plan.dict_from_end {
            found.torn |= self.dict_at_end(object, plan, from_end, found).is_none();
        }
    }

    /// All words of an object may be references, and its items if they are words.
    fn scanned(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        self.scan(object, HEAD, plan.basic, plan, found)?;
        if plan.item == 8 {
            let count = self.count(object)?;
            self.words(object.checked_add(plan.basic)?, count, found)?;
        }
        self.items(object, plan, found)
    }

    /// Adds the size of the items.
    fn items(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        if plan.item > 0 {
            found.told += self.count(object)?.checked_mul(plan.item)?;
        }
        Some(())
    }

    /// How many items an object of changing length has.
    fn count(&self, object: u64) -> Option<u64> {
        let count = (self.heap.source.word(object + SIZE)? as i64).unsigned_abs();
        (count < MOST_ITEMS).then_some(count)
    }

    /// The words between two places of an object.
    fn scan(&self, object: u64, from: u64, to: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let from = from.max(HEAD).next_multiple_of(8);
        let count = to.saturating_sub(from) / 8;
        let begin = found.words.len();
        self.words(object.checked_add(from)?, count, found)?;
        // The list of weak references is the only word of an object that leads to others without holding them.
        if plan.weak_list >= from && plan.weak_list < to {
            let weak = self.heap.source.word(object + plan.weak_list)?;
            if let Some(nth) = found.words[begin..].iter().position(|word| *word == weak) {
                found.words.remove(begin + nth);
            }
        }
        Some(())
    }

    /// Words in a row.
    fn words(&self, at: u64, count: u64, found: &mut Found) -> Option<()> {
        let mut buffer = [0; AT_ONCE as usize * 8];
        let mut done = 0;
        while done < count {
            let length = (count - done).min(AT_ONCE);
            let bytes = &mut buffer[..length as usize * 8];
            let from = at.checked_add(done.checked_mul(8)?)?;
            if !self.heap.source.fill(from, bytes) {
                return None;
            }
            let (words, _) = bytes.as_chunks::<8>();
            let words = words.iter().map(|word| u64::from_le_bytes(*word));
            found.words.extend(words.filter(|word| is_pointer(*word)));
            done += length;
        }
        Some(())
    }
}
