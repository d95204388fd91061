//! What functions and generators have: closures, defaults, locals.

use super::{Reader, local};
use crate::holders::step::Step;
use crate::object::Heap;
use crate::source::Source;

/// In a function: its code, its arguments' defaults (a tuple, and a dictionary for those by name), its closure.
struct Function {
    code: u64,
    defaults: u64,
    named_defaults: u64,
    closure: u64,
}

/// Items of a closure, or defaults, that are looked through.
const MOST: usize = 1024;

fn places(minor: u32) -> Function {
    let first = match minor {
        ..=9 => 16,
        10.. => 48,
    };
    let after = if minor <= 9 { 16 } else { 8 };
    Function {
        code: first,
        // 3.9 has the globals in between.
        defaults: first + after,
        named_defaults: first + after + 8,
        closure: first + after + 16,
    }
}

/// The code of a function.
pub(crate) fn code_of<S: Source>(heap: &Heap<'_, S>, function: u64) -> Option<u64> {
    let at = function.checked_add(places(heap.layout.minor).code)?;
    heap.source.pointer(at)
}

impl<S: Source> Reader<'_, '_, S> {
    pub(super) fn of_function(&self, function: u64, to: u64) -> Option<Step> {
        let places = places(self.heap.layout.minor);
        let is_at = |offset: u64| {
            let at = function.checked_add(offset);
            at.and_then(|at| self.heap.source.pointer(at)) == Some(to)
        };
        if is_at(places.closure) {
            return Some(Step::Closure);
        }
        (is_at(places.defaults) || is_at(places.named_defaults)).then_some(Step::Defaults)
    }

    /// An item of a tuple that is a function's closure or its defaults.
    pub(super) fn in_function(&self, function: u64, tuple: u64, nth: u64) -> Option<Step> {
        let heap = self.heap;
        if heap.type_of(function)?.name != "function" {
            return None;
        }
        let places = places(heap.layout.minor);
        let at = |offset: u64| heap.source.pointer(function.checked_add(offset)?);
        let code = at(places.code)?;
        let count = heap.tuple(tuple, MOST)?.len();
        let nth = usize::try_from(nth).ok()?;
        if at(places.closure) == Some(tuple) {
            let name = self.frames.closed_over(heap, code, nth, count)?;
            return Some(Step::Closed(name));
        }
        if at(places.defaults) == Some(tuple) {
            let name = self.frames.defaulted(heap, code, nth, count)?;
            return Some(Step::Default(name));
        }
        None
    }

    pub(super) fn of_generator(&self, generator: u64, to: u64) -> Option<Step> {
        // Up to 3.10 its frame is an object.
        if self.heap.type_of(to)?.name == "frame" {
            return Some(Step::Content);
        }
        let frame = self.frames.generator(self.heap, generator)?;
        local(&self.frames.variables(self.heap, &frame), to)
    }

    pub(super) fn of_frame(&self, object: u64, to: u64) -> Option<Step> {
        let frame = self.frames.of_object(self.heap, object)?;
        local(&self.frames.variables(self.heap, &frame), to)
    }
}
