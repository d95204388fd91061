//! The frames of a thread and of generators, and what they go through.

use std::rc::Rc;

use super::code::{Code, MOST_SLOTS, Span};
use super::layout::{At, Innermost, OfGenerator, Places};
use super::{Frames, iterators};
use crate::object::Heap;
use crate::source::{Source, is_pointer};

/// Frames of a thread that are followed; Python itself ends at a thousand.
const DEEPEST: usize = 1200;
/// In a cell: what it holds.
const CELL: u64 = 16;
/// Tags of words from 3.14 on: nothing is 1, small numbers have both bits.
const TAGS: u64 = 3;
/// Where a notebook's cells are run: what is outside of that is its own.
const NOTEBOOK: &str = "/IPython/core/interactiveshell.py";

/// What a frame is in, one for each loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// It could not be told what it is in.
    Unknown,
    While,
    /// What the `for` goes through, and where a range begins if its code says so.
    For {
        iterator: u64,
        start: Option<i64>,
    },
}

/// A frame that runs, or waits for one that it called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub address: u64,
    pub code: Rc<Code>,
    /// Its instruction.
    at: Option<usize>,
    /// The stack of values, where that is apart.
    stack: Option<u64>,
}

/// Frames of one thread, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain {
    pub frames: Vec<Frame>,
    /// All of them: nothing is outside the first.
    pub is_whole: bool,
}

impl Frames {
    /// The frames of a thread.
    pub(super) fn chain<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        places: &Places,
        thread: u64,
    ) -> Option<Chain> {
        let mut at = match places.innermost {
            Innermost::At(offset) => heap.source.word(thread.checked_add(offset)?)?,
            Innermost::Through(offset, frame) => {
                let between = heap.source.pointer(thread.checked_add(offset)?)?;
                heap.source.word(between.checked_add(frame)?)?
            }
        };
        let mut chain = Chain::default();
        for _ in 0..DEEPEST {
            if at == 0 {
                chain.is_whole = true;
                break;
            }
            let Some((frame, previous)) = self.frame(heap, places, at) else {
                break;
            };
            if let Some(frame) = frame {
                if frame.code.file.ends_with(NOTEBOOK) {
                    chain.is_whole = true;
                    break;
                }
                chain.frames.push(frame);
            }
            at = previous;
        }
        chain.frames.reverse();
        Some(chain)
    }

    /// A frame, unless it is one of the interpreter's own, and its caller's address.
    pub(super) fn frame<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        places: &Places,
        address: u64,
    ) -> Option<(Option<Frame>, u64)> {
        if !is_pointer(address) {
            return None;
        }
        let mut head = [0; 128];
        let head = head.get_mut(..places.head)?;
        if !heap.source.fill(address, head) {
            return None;
        }
        let word = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let previous = word(places.previous)?;
        let object = word(places.code)? & !tags(places);
        let Some(code) = self.code(heap, places, object) else {
            // Between Python and C there are frames that run nothing.
            return heap.is_none(object).then_some((None, previous));
        };
        let number = |at: usize| Some(i32::from_le_bytes(*head.get(at..)?.first_chunk()?));
        let index = match places.at {
            At::Address(at) => word(at)?
                .checked_sub(code.first)
                .and_then(|bytes| usize::try_from(bytes / 2).ok()),
            At::Index(at) => usize::try_from(number(at)?).ok(),
            At::Byte(at) => usize::try_from(number(at)?).ok().map(|byte| byte / 2),
        };
        let frame = Frame {
            address,
            at: index.filter(|index| *index < code.length),
            code,
            stack: places.stack.and_then(word).filter(|at| is_pointer(*at)),
        };
        Some((Some(frame), previous))
    }

    /// The frame of a generator that is under way.
    pub(crate) fn generator<S: Source>(&self, heap: &Heap<'_, S>, generator: u64) -> Option<Frame> {
        let places = self.places.as_ref()?;
        let frame = match places.generator {
            OfGenerator::Pointer(at) => heap.source.pointer(generator.checked_add(at)?)?,
            OfGenerator::Here { frame, state } => {
                let [state] = heap.source.array(generator.checked_add(state)?)?;
                let begun = match places.minor {
                    ..=12 => -1..=0,
                    13 | 14 => -2..=0,
                    15.. => 1..=4,
                };
                begun.contains(&(state as i8)).then_some(())?;
                generator.checked_add(frame)?
            }
        };
        self.frame(heap, places, frame)?.0
    }

    /// What a frame is in, outermost first.
    pub(crate) fn levels<S: Source>(&self, heap: &Heap<'_, S>, frame: &Frame) -> Vec<Level> {
        let unknown = vec![Level::Unknown];
        let Some(places) = &self.places else {
            return unknown;
        };
        // What has not begun is in nothing.
        let Some(at) = frame.at else {
            return Vec::new();
        };
        let Some(spans) = frame.code.around(at) else {
            return unknown;
        };
        let spans: Vec<&Span> = spans.collect();
        let wanted = spans.iter().filter(|span| span.iterates).count();
        let found = match wanted {
            0 => Some(Vec::new()),
            _ => self.gone_through(heap, places, frame, wanted),
        };
        let Some(found) = found else {
            return unknown;
        };
        let mut found = found.into_iter();
        let level = |span: &Span| match (span.iterates, span.start) {
            (true, start) => found
                .next()
                .map_or(Level::Unknown, |iterator| Level::For { iterator, start }),
            (false, _) => Level::While,
        };
        spans.into_iter().map(level).collect()
    }

    /// What a generator without a loop of its own hands on, by `yield from`.
    pub(crate) fn hands_on<S: Source>(&self, heap: &Heap<'_, S>, frame: &Frame) -> Option<u64> {
        let found = self.gone_through(heap, self.places.as_ref()?, frame, 1)?;
        found.first().copied()
    }

    /// The lowest iterators on the stack of values, as many as loops are under way: nothing but what `with` and `except`
    /// keep there lies between.
    fn gone_through<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        places: &Places,
        frame: &Frame,
        wanted: usize,
    ) -> Option<Vec<u64>> {
        let bottom = match places.stack {
            Some(_) => frame.stack?,
            None => {
                let locals = u64::from(frame.code.locals).checked_mul(8)?;
                frame
                    .address
                    .checked_add(places.locals)?
                    .checked_add(locals)?
            }
        };
        let slots = frame.code.stack_size.min(MOST_SLOTS) as usize;
        let words = heap.source.words(bottom, slots)?;
        let mut found = Vec::new();
        let mut after_function = false;
        for (nth, word) in words.iter().enumerate() {
            if found.len() == wanted {
                break;
            }
            let next = words.get(nth + 1).copied().unwrap_or(0);
            // A list that is gone through by its index (3.15).
            let by_index = places.minor >= 15 && next & TAGS == TAGS;
            let object = untagged(places, *word);
            let class = object.and_then(|object| heap.type_of(object));
            let (Some(object), Some(class)) = (object, class) else {
                after_function = false;
                continue;
            };
            // What `with` holds: how it ends, and from 3.14 on whose that is.
            let held_by_with = places.minor >= 14 && after_function;
            after_function = matches!(
                class.name.as_str(),
                "function"
                    | "method_descriptor"
                    | "wrapper_descriptor"
                    | "builtin_function_or_method"
            );
            if by_index || class.is_iterator() && !held_by_with {
                // What was freed has no holders, or an address where their number was.
                (by_index || iterators::is_held(heap, object)).then_some(())?;
                found.push(object);
            }
        }
        (found.len() == wanted).then_some(found)
    }

    /// The objects in a frame's locals.
    pub(crate) fn locals<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        frame: &Frame,
    ) -> Option<Vec<Option<u64>>> {
        let places = self.places.as_ref()?;
        let count = frame.code.locals.min(MOST_SLOTS) as usize;
        let words = heap
            .source
            .words(frame.address.checked_add(places.locals)?, count)?;
        let object = |word: u64| {
            let object = untagged(places, word)?;
            let class = heap.type_of(object)?;
            match class.name.as_str() {
                "cell" => heap.source.pointer(object.checked_add(CELL)?),
                _ => Some(object),
            }
        };
        Some(words.into_iter().map(object).collect())
    }

    /// A local by its name.
    pub(crate) fn local<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        frame: &Frame,
        name: &str,
    ) -> Option<u64> {
        let nth = frame.code.local(heap, self.places.as_ref()?, name)?;
        self.locals(heap, frame)?.get(nth).copied()?
    }
}

fn tags(places: &Places) -> u64 {
    if places.tagged { TAGS } else { 0 }
}

pub(super) fn untagged(places: &Places, word: u64) -> Option<u64> {
    let number = places.tagged && word & TAGS == TAGS;
    let object = word & !tags(places);
    (!number && is_pointer(object)).then_some(object)
}
