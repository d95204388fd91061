//! Types, modules, weak references, and the entries of `functools.lru_cache`.

use super::super::plan::Plan;
use super::{Found, Visitor};
use crate::object::flag;
use crate::source::{Source, is_pointer};
use crate::walk::Circle;

/// In a type: its flags; its base, attributes, bases, order of bases, cache and subclasses.
const FLAGS: u64 = 168;
const REFERENCES: [u64; 6] = [256, 264, 336, 344, 352, 360];
/// What it says of itself: a copy of its own.
const DOC: u64 = 176;
const LONGEST_DOC: usize = 1 << 16;
/// The end of what types of C have, too.
const END: u64 = 408;
/// For each slot of its objects that has a name.
const MEMBER: u64 = 40;
/// The collector's links: types of C have none.
const LINKS: u64 = 16;

/// In a module: its attributes; its definition and state, of which the definition tells the size, or (3.15) it itself.
const ATTRIBUTES: u64 = 16;
const DEFINITION: u64 = 24;
const STATE: u64 = 32;
const STATE_SIZE: u64 = 56;
const NEW_STATE: u64 = 24;
const NEW_STATE_SIZE: u64 = 56;
/// States are tables of a few hundred words.
const LARGEST_STATE: u64 = 1 << 16;

/// A weak reference holds what is called when its referent dies.
const CALLBACK: u64 = 24;

/// In a cache: the first of its entries, in a ring of which the cache itself is a part; in an entry: the next one, key and
/// result.
const NEXT: u64 = 24;
const KEY: u64 = 40;
const RESULT: u64 = 48;
/// What follows the part of the ring in a cache.
const CACHE_REST: u64 = 56;

impl<S: Source> Visitor<'_, S> {
    pub(super) fn class(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        for at in REFERENCES {
            found.refers(source.word(object + at)?);
        }
        let is_heap = source.word(object + FLAGS)? & flag::HEAP != 0;
        if !is_heap {
            found.told = END;
            return Some(());
        }
        // As large as `type` says, whatever class it is of.
        found.told = LINKS + plan.rest;
        found.beside = (plan.basic - plan.rest) + self.count(object)? * MEMBER;
        if let Some(keys) = source.pointer(object + self.heap.layout.shared_keys) {
            found.tells(keys, self.keys(keys)?.bytes);
        }
        let doc = source.word(object + DOC)?;
        if let Some(length) = self.letters(doc) {
            found.leaves_out(doc, length + 1);
        }
        self.scan(object, END, plan.basic, plan, found)
    }

    /// How long a text of C is.
    fn letters(&self, at: u64) -> Option<u64> {
        let mut length = 0;
        while length < LONGEST_DOC {
            // As far as the next place that every block and page may end at.
            let mut bytes = [0; 16];
            let count = 16 - (at + length as u64) as usize % 16;
            let from = at.checked_add(length as u64)?;
            if at == 0 || !self.heap.source.fill(from, &mut bytes[..count]) {
                return None;
            }
            if let Some(end) = bytes[..count].iter().position(|byte| *byte == 0) {
                return Some((length + end) as u64);
            }
            length += count;
        }
        None
    }

    /// The state is a table of C, of types mostly: no object, though its second word may well be a type.
    pub(super) fn module(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        found.refers(source.word(object + ATTRIBUTES)?);
        let (state, size) = match self.heap.layout.minor {
            ..=14 => {
                // It lies in the data of a file; what does not look like one is left alone.
                let definition = source.pointer(object + DEFINITION);
                let size = definition.and_then(|at| source.word(at + STATE_SIZE));
                (STATE, size.unwrap_or(0))
            }
            15.. => (NEW_STATE, source.word(object + NEW_STATE_SIZE)?),
        };
        self.scan(object, state + 8, plan.rest, plan, found)?;
        let state = source.word(object + state)?;
        let sane = is_pointer(state) && size <= LARGEST_STATE;
        if sane && self.words(state, size / 8, found).is_some() {
            found.leaves_out(state, size);
        }
        Some(())
    }

    pub(super) fn weak_reference(&self, object: u64, found: &mut Found) -> Option<()> {
        found.refers(self.heap.source.word(object + CALLBACK)?);
        Some(())
    }

    pub(super) fn cache(&self, object: u64, plan: &Plan, found: &mut Found) -> Option<()> {
        let source = self.heap.source;
        let mut at = source.word(object + NEXT)?;
        let mut circle = Circle::from(object);
        // It closes where it began; a cache without a limit has no ring.
        while is_pointer(at) && !circle.closes(at) {
            found.refers(source.word(at + KEY)?);
            found.refers(source.word(at + RESULT)?);
            at = source.word(at + NEXT)?;
        }
        self.scan(object, CACHE_REST, plan.rest, plan, found)
    }

    pub(super) fn cache_entry(&self, object: u64, found: &mut Found) -> Option<()> {
        found.refers(self.heap.source.word(object + KEY)?);
        found.refers(self.heap.source.word(object + RESULT)?);
        Some(())
    }
}
