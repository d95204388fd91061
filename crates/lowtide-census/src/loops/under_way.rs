//! The loops that threads are in, outermost first: which of them go through a bar or a DataLoader, and what is around
//! those.
//!
//! A generator is no loop by itself: one that a `for` goes through runs its own loops once for that `for`, so those
//! stand in its place. That of a bar is the bar's, and the iterator in it is what the bar goes through.

use std::cell::RefCell;
use std::collections::HashMap;

use lowtide_core::inside::seen::{BarSeen, Enclosing, PassSeen};

use super::loader::{Loader, is_made_from};
use super::{TRIES, passes};
use crate::frames::{Frame, Frames, Level, Thread, iterators};
use crate::interpreter::Interpreter;
use crate::object::{Heap, TYPE};
use crate::source::Source;

/// Generators in generators.
const DEEPEST: usize = 6;
/// Loops of one thread that are kept.
const MOST: usize = 64;
/// Classes that are remembered.
const REMEMBERED: usize = 10_000;

/// What an object is to a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Bar,
    /// accelerate's loaders: one for each process, or one that deals out to all.
    Shard,
    Dispatcher,
    /// A pass over torch's DataLoader.
    Pass,
    Generator,
    Range,
    /// Python's own that hand on what others give.
    HandsOn,
    Else,
}

/// A pass over a DataLoader, by its iterator, and accelerate's loader where the loop goes through that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Through {
    pub iterator: u64,
    pub shard: Option<u64>,
}

/// A loop that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Loop {
    /// What it is to what is in it.
    around: Enclosing,
    bars: Vec<u64>,
    passes: Vec<Through>,
}

impl Loop {
    fn of(around: Enclosing) -> Loop {
        Loop {
            around,
            bars: Vec::new(),
            passes: Vec::new(),
        }
    }

    fn counts(&self) -> bool {
        !self.bars.is_empty() || !self.passes.is_empty()
    }
}

/// What a thread is in.
struct Looped {
    is_main: bool,
    is_in_loop: bool,
    /// Down to the last that counts.
    loops: Vec<Loop>,
    /// Passes that it holds by a name.
    held: Vec<(Through, Enclosing)>,
}

/// What was found of bars and passes at one moment, each with the loop around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    bars: Vec<(u64, Enclosing)>,
    passes: Vec<(Through, Enclosing)>,
}

impl UnderWay {
    /// A `for` says more of a pass than a name that somebody holds it by.
    fn pass(&mut self, pass: Through, around: Enclosing) {
        let known = self
            .passes
            .iter()
            .any(|(one, _)| one.iterator == pass.iterator);
        if !known {
            self.passes.push((pass, around));
        }
    }
}

/// What is kept between ticks to tell loops.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    frames: Frames,
    sorts: RefCell<HashMap<u64, Sort>>,
    /// By iterator and sampler: what a loader tells of itself does not change in a pass.
    loaders: RefCell<HashMap<(u64, u64), Loader>>,
}

impl Watch {
    pub(crate) fn new(source: &impl Source, interpreter: &Interpreter) -> Watch {
        Watch {
            frames: Frames::new(source, interpreter),
            ..Watch::default()
        }
    }

    pub(crate) fn forget(&self) {
        self.frames.forget();
        self.sorts.borrow_mut().clear();
        self.loaders.borrow_mut().clear();
    }

    /// Bars as `bars` reads them and passes, each with what is around it. What was around before and after is the same,
    /// or it is not told: an epoch may have ended in between.
    pub(super) fn read<S: Source>(
        &self,
        heap: &Heap<'_, S>,
        interpreter: &Interpreter,
        bars: impl Fn() -> Vec<BarSeen>,
    ) -> (Vec<BarSeen>, Vec<PassSeen>) {
        let mut before = self.under_way(heap, interpreter);
        let mut seen = Vec::new();
        for _ in 0..TRIES {
            seen = bars();
            let each = before.passes.iter();
            let passes = each
                .filter_map(|(pass, around)| {
                    let shard = pass.shard;
                    let mut read = passes::read(heap, &self.frames, *pass, |key, read| {
                        self.loader(key, read)
                    })?;
                    (read.inside, read.accelerated) = (*around, shard.is_some());
                    Some(read)
                })
                .collect();
            let after = self.under_way(heap, interpreter);
            if before == after {
                for bar in &mut seen {
                    let mut known = after.bars.iter();
                    let around = known.find(|(one, _)| *one == bar.address);
                    bar.inside = around.map_or(Enclosing::Unknown, |(_, around)| *around);
                }
                tell_hidden(&mut seen, &after.bars);
                return (seen, passes);
            }
            before = after;
        }
        (seen, Vec::new())
    }

    fn loader(&self, key: (u64, u64), read: impl FnOnce() -> Loader) -> Loader {
        if let Some(known) = self.loaders.borrow().get(&key) {
            return *known;
        }
        let loader = read();
        let mut loaders = self.loaders.borrow_mut();
        if loaders.len() >= MOST {
            loaders.clear();
        }
        loaders.insert(key, loader);
        loader
    }

    fn under_way<S: Source>(&self, heap: &Heap<'_, S>, interpreter: &Interpreter) -> UnderWay {
        heap.source.anew();
        let mut looped = Vec::new();
        for thread in self.frames.threads(heap, interpreter) {
            let mut walk = Walk {
                watch: self,
                heap,
                followed: Vec::new(),
            };
            looped.push(walk.thread(&thread));
        }
        // Beside a main thread that loops, one that goes through data may fetch it for that one: how far ahead it is
        // nobody knows.
        if looped
            .iter()
            .any(|thread| thread.is_main && thread.is_in_loop)
        {
            for thread in looped.iter_mut().filter(|thread| !thread.is_main) {
                thread.held.clear();
                thread.loops.iter_mut().for_each(|one| one.passes.clear());
            }
        }
        let mut found = UnderWay::default();
        for thread in &looped {
            let mut around = Enclosing::Nothing;
            for one in &thread.loops {
                found.bars.extend(one.bars.iter().map(|bar| (*bar, around)));
                for pass in &one.passes {
                    found.pass(*pass, around);
                }
                around = one.around;
            }
        }
        for (pass, around) in looped.iter().flat_map(|thread| &thread.held) {
            found.pass(*pass, *around);
        }
        found
    }

    fn sort<S: Source>(&self, heap: &Heap<'_, S>, object: u64) -> Option<Sort> {
        let class = heap.source.pointer(object.checked_add(TYPE)?)?;
        if let Some(known) = self.sorts.borrow().get(&class) {
            return Some(*known);
        }
        let name = heap.class(class)?.name.clone();
        let is = |name, module| is_made_from(heap, object, name, module);
        let accelerate = "accelerate.data_loader";
        let sort = match name.as_str() {
            "range_iterator" => Sort::Range,
            "generator" => Sort::Generator,
            "enumerate" | "zip" | "itertools.islice" => Sort::HandsOn,
            _ if is("tqdm", "tqdm.std") => Sort::Bar,
            _ if is("DataLoaderShard", accelerate) => Sort::Shard,
            _ if is("DataLoaderDispatcher", accelerate) => Sort::Dispatcher,
            _ if is("_BaseDataLoaderIter", "torch.utils.data") => Sort::Pass,
            _ => Sort::Else,
        };
        let mut sorts = self.sorts.borrow_mut();
        if sorts.len() < REMEMBERED {
            sorts.insert(class, sort);
        }
        Some(sort)
    }
}

/// One look at one thread.
struct Walk<'a, 'h, S> {
    watch: &'a Watch,
    heap: &'a Heap<'h, S>,
    /// Frames of generators that stand in the place of a `for` already: one that runs is in the chain as well.
    followed: Vec<u64>,
}

impl<S: Source> Walk<'_, '_, S> {
    fn thread(&mut self, thread: &Thread) -> Looped {
        let (mut loops, mut held) = (Vec::new(), Vec::new());
        if !thread.chain.is_whole {
            loops.push(Loop::of(Enclosing::Unknown));
        }
        for frame in &thread.chain.frames {
            if self.followed.contains(&frame.address) {
                continue;
            }
            // Who runs a coroutine is an event loop: its own loops tell nothing.
            if frame.code.is_coroutine {
                loops.push(Loop::of(Enclosing::Unknown));
            }
            loops.extend(self.frame(frame, DEEPEST));
            if frame.code.asks_next {
                self.held(frame, &mut held);
            }
            if loops.len() > MOST {
                // The outermost are those that count.
                loops.truncate(MOST);
                break;
            }
        }
        // What nothing that counts is in does not matter, and moves too fast to be seen twice.
        let is_in_loop = !loops.is_empty();
        let last = loops.iter().rposition(Loop::counts);
        loops.truncate(last.map_or(0, |last| last + 1));
        Looped {
            is_main: thread.is_main,
            is_in_loop,
            loops,
            held,
        }
    }

    fn frame(&mut self, frame: &Frame, deep: usize) -> Vec<Loop> {
        let levels = self.watch.frames.levels(self.heap, frame);
        let each = levels.into_iter();
        each.flat_map(|level| match level {
            Level::Unknown => vec![Loop::of(Enclosing::Unknown)],
            Level::While => vec![Loop::of(Enclosing::Other)],
            Level::For { iterator, start } => self.through(iterator, start, deep),
        })
        .collect()
    }

    /// The loops that stand for a `for`; at least one. `start` is where its code has a range begin.
    fn through(&mut self, iterator: u64, start: Option<i64>, deep: usize) -> Vec<Loop> {
        let other = || vec![Loop::of(Enclosing::Other)];
        let (Some(sort), Some(deep)) = (self.watch.sort(self.heap, iterator), deep.checked_sub(1))
        else {
            return vec![Loop::of(Enclosing::Unknown)];
        };
        match sort {
            Sort::Range => match iterators::range(self.heap, iterator, start) {
                Some(range) => vec![Loop::of(Enclosing::Range {
                    value: range.value,
                    end: range.end,
                    start: range.start,
                })],
                None => other(),
            },
            Sort::Generator => self.generator(iterator, deep),
            Sort::HandsOn => self.handed_on(iterator, deep),
            Sort::Pass => {
                let pass = Through {
                    iterator,
                    shard: None,
                };
                vec![Loop {
                    passes: vec![pass],
                    ..Loop::of(Enclosing::Other)
                }]
            }
            Sort::Bar | Sort::Shard | Sort::Dispatcher | Sort::Else => other(),
        }
    }

    fn generator(&mut self, generator: u64, deep: usize) -> Vec<Loop> {
        let other = || vec![Loop::of(Enclosing::Other)];
        let frames = &self.watch.frames;
        let Some(frame) = frames.generator(self.heap, generator) else {
            return other();
        };
        self.followed.push(frame.address);
        if let Some(known) = self.of_library(&frame, deep) {
            return vec![known];
        }
        let loops = self.frame(&frame, deep);
        if loops.is_empty() { other() } else { loops }
    }

    /// `__iter__` of a bar, or of accelerate's loaders.
    fn of_library(&mut self, frame: &Frame, deep: usize) -> Option<Loop> {
        if frame.code.name != "__iter__" {
            return None;
        }
        let frames = &self.watch.frames;
        let owner = frames.local(self.heap, frame, "self")?;
        match self.watch.sort(self.heap, owner)? {
            Sort::Bar => {
                let mut inner = self.frame(frame, deep);
                if inner.is_empty() {
                    // One that is not shown hands on what it goes through.
                    let on = self.watch.frames.hands_on(self.heap, frame);
                    inner = on.map_or_else(Vec::new, |on| self.through(on, None, deep));
                }
                let mut one = merged(inner);
                one.around = Enclosing::Bar(owner);
                one.bars = vec![owner];
                Some(one)
            }
            sort @ (Sort::Shard | Sort::Dispatcher) => {
                let name = match sort {
                    Sort::Shard => "dataloader_iter",
                    _ => "main_iterator",
                };
                let iterator = frames.local(self.heap, frame, name)?;
                let is_pass = self.watch.sort(self.heap, iterator) == Some(Sort::Pass);
                let mut one = Loop::of(Enclosing::Other);
                // One that deals out is several batches ahead: what the loop has got is not known here.
                if is_pass && sort == Sort::Shard {
                    one.passes.push(Through {
                        iterator,
                        shard: Some(owner),
                    });
                }
                Some(one)
            }
            _ => None,
        }
    }

    /// `enumerate` is the loop that it goes through; so is `zip`, of all that it goes through at once.
    fn handed_on(&mut self, iterator: u64, deep: usize) -> Vec<Loop> {
        let class = self.heap.type_of(iterator);
        let name = class.map(|class| class.name.clone()).unwrap_or_default();
        let behind = iterators::behind(self.heap, iterator, &name);
        if let ([one], "enumerate") = (&behind[..], name.as_str()) {
            return self.through(*one, None, deep);
        }
        let inner = behind
            .into_iter()
            .flat_map(|one| self.through(one, None, deep))
            .collect();
        vec![merged(inner)]
    }

    /// Passes and generators that a frame holds by a name, and asks for their next itself: which of its loops does so
    /// is not known.
    fn held(&mut self, frame: &Frame, held: &mut Vec<(Through, Enclosing)>) {
        let locals = self.watch.frames.locals(self.heap, frame);
        for local in locals.into_iter().flatten().flatten() {
            let loops = match self.watch.sort(self.heap, local) {
                Some(Sort::Pass | Sort::Generator | Sort::HandsOn) => {
                    self.through(local, None, DEEPEST)
                }
                _ => continue,
            };
            let mut around = Enclosing::Unknown;
            for one in loops {
                held.extend(one.passes.into_iter().map(|pass| (pass, around)));
                around = one.around;
            }
        }
    }
}

/// Bars that are not shown are read by nobody, but their loops are seen.
fn tell_hidden(seen: &mut [BarSeen], under_way: &[(u64, Enclosing)]) {
    let shown: Vec<u64> = seen.iter().map(|bar| bar.address).collect();
    let hidden = under_way.iter().filter(|(bar, _)| !shown.contains(bar));
    let around: Vec<Enclosing> = hidden.map(|(_, around)| *around).collect();
    for bar in seen {
        bar.around_hidden = around.contains(&Enclosing::Bar(bar.address));
    }
}

/// Several loops that go on as one.
fn merged(loops: Vec<Loop>) -> Loop {
    let mut one = Loop::of(Enclosing::Other);
    for each in loops {
        one.bars.extend(each.bars);
        one.passes.extend(each.passes);
    }
    one
}
