//! The names of what a function has: its locals, what it closes over, its arguments; and the line that it begins at.

use super::chain::untagged;
use super::layout::Places;
use super::{Frame, Frames};
use crate::object::Heap;
use crate::source::Source;

/// Names that are read; longer functions are written by programs.
const MOST: usize = 4096;
/// In code up to 3.10: names of what it closes over, and of its own locals that others close over.
const FREE: u64 = 80;
const CELLS: u64 = 88;
/// In a frame object, from 3.11 on: its frame.
const OF_OBJECT: u64 = 24;

/// Where code has numbers that only names are asked with: how many arguments it has, and its first line.
fn numbers(places: &Places) -> (u64, u64) {
    match places.minor {
        ..=10 => (16, 40),
        11 => (56, 72),
        12.. => (52, 68),
    }
}

impl Frames {
    /// The frame of a frame object, which it is itself up to 3.10.
    pub(crate) fn of_object<S: Source>(&self, heap: &Heap<'_, S>, object: u64) -> Option<Frame> {
        let places = self.places.as_ref()?;
        let frame = match places.minor {
            ..=10 => object,
            11.. => heap.source.pointer(object.checked_add(OF_OBJECT)?)?,
        };
        self.frame(heap, places, frame)?.0
    }

    /// All variables that are set, by name; one that a closure has is a cell.
    pub(crate) fn variables<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        frame: &Frame,
    ) -> Vec<(String, u64)> {
        let read = || {
            let places = self.places.as_ref()?;
            let names = self.names(heap, frame.code.address)?;
            let first = frame.address.checked_add(places.locals)?;
            let words = heap.source.words(first, names.len())?;
            let each = names.into_iter().zip(words);
            let set = each.filter_map(|(name, word)| {
                let object = untagged(places, word)?;
                heap.type_of(object)?;
                Some((heap.text(name).unwrap_or_else(|| "?".to_owned()), object))
            });
            Some(set.collect())
        };
        read().unwrap_or_default()
    }

    /// The place of the variable that has an object now, among all of a frame.
    pub(crate) fn place_of<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        frame: &Frame,
        object: u64,
    ) -> Option<u64> {
        let places = self.places.as_ref()?;
        let count = self.names(heap, frame.code.address)?.len();
        let first = frame.address.checked_add(places.locals)?;
        let words = heap.source.words(first, count)?;
        let mut each = words.iter().map(|word| untagged(places, *word));
        Some(each.position(|one| one == Some(object))? as u64)
    }

    /// What the variable at a place has now.
    pub(crate) fn variable_at<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        frame: u64,
        place: u64,
    ) -> Option<u64> {
        let places = self.places.as_ref()?;
        let first = frame.checked_add(places.locals)?;
        let word = heap
            .source
            .word(first.checked_add(place.checked_mul(8)?)?)?;
        untagged(places, word)
    }

    /// Names of all variables of code, as they stand in its frames.
    fn names<S: Source>(&self, heap: &Heap<'_, S>, code: u64) -> Option<Vec<u64>> {
        let places = self.places.as_ref()?;
        let tuple = |at: u64| {
            let tuple = heap.source.pointer(code.checked_add(at)?)?;
            heap.tuple(tuple, MOST)
        };
        let mut names = tuple(places.locals_names)?;
        if places.minor <= 10 {
            names.extend(tuple(CELLS)?);
            names.extend(tuple(FREE)?);
        }
        Some(names)
    }

    /// The name of the variable that stands at `nth` of `count` in a closure: they are a function's last.
    pub(crate) fn closed_over<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        code: u64,
        nth: usize,
        count: usize,
    ) -> Option<String> {
        let names = self.names(heap, code)?;
        let at = names.len().checked_sub(count)?.checked_add(nth)?;
        heap.text(*names.get(at)?)
    }

    /// The name of the argument whose default stands at `nth` of `count`: arguments are a function's first.
    pub(crate) fn defaulted<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        code: u64,
        nth: usize,
        count: usize,
    ) -> Option<String> {
        let (arguments, _) = numbers(self.places.as_ref()?);
        let arguments = u32::from_le_bytes(heap.source.array(code.checked_add(arguments)?)?);
        let at = (arguments as usize).checked_sub(count)?.checked_add(nth)?;
        heap.text(*self.names(heap, code)?.get(at)?)
    }

    /// The line that the code of a frame begins at. It stays the same while the function runs on, as a name should.
    pub(crate) fn first_line<S: Source>(&self, heap: &Heap<'_, S>, frame: &Frame) -> Option<u32> {
        let (_, line) = numbers(self.places.as_ref()?);
        let at = frame.code.address.checked_add(line)?;
        let line = u32::from_le_bytes(heap.source.array(at)?);
        (line < 1 << 24).then_some(line)
    }
}
