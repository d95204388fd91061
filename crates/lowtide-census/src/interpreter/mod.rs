//! The interpreter in a process: which CPython it is, where its state lies, and the lists of its collector.
//!
//! `_PyRuntime` is found by its symbol ([`place`]). From 3.13 on it begins with a table of its own offsets; before,
//! the head of the list of interpreters is the word that leads to something with a collector in it
//! ([`collector`] knows one by its circular lists). What does not fit together is refused.

mod collector;
mod place;

use lowtide_core::look::PythonVersion;
use lowtide_sys::memory::Memory;
use lowtide_sys::proc::Proc;

pub(crate) use collector::Collector;
pub use collector::Counts;

use crate::object::{Heap, Layout};
use crate::refusal::Refusal;
use crate::source::{Direct, Source, is_pointer};

/// CPython versions whose objects were tried.
const MINORS: std::ops::RangeInclusive<u32> = 9..=15;
/// From here on `_PyRuntime` begins with its own offsets, behind this word.
const SELF_DESCRIBED: u32 = 13;
const COOKIE: &[u8; 8] = b"xdebugpy";
/// Places in that table that every version since has alike: whether it is free-threaded, the head of the list
/// of interpreters, and the next of an interpreter.
const FREE_THREADED: u64 = 16;
const INTERPRETERS_HEAD: u64 = 40;
const NEXT: u64 = 64;
/// Before 3.13, the head is among these first bytes of `_PyRuntime` (at 32 and 40 on x86-64; a mutex of the
/// machine's own size stands before it).
const SEARCHED: usize = 512;
/// Interpreters of one process that are followed.
const MOST_INTERPRETERS: usize = 64;
/// The lists change while they are checked: what fits once in this many tries is right.
const TRIES: usize = 32;
/// Objects that may be looked at until one shows that the layout is right.
const SHOWN_WITHIN: usize = 20_000;

/// A CPython that runs in a process.
#[derive(Clone, Debug)]
pub struct Interpreter {
    pub version: PythonVersion,
    pub(crate) layout: Layout,
    /// Where `_PyRuntime` lies.
    pub(crate) runtime: u64,
    /// Where the address of the first interpreter stands.
    head: u64,
    /// Where in an interpreter the address of the next one stands.
    next: u64,
    collector: Collector,
}

impl Interpreter {
    pub fn find(proc: &Proc, pid: u32, memory: &impl Memory) -> Result<Interpreter, Refusal> {
        let places = place::find(proc, pid)?;
        let source = Direct(memory);
        let mut refusal = Refusal::NotAsExpected("_PyRuntime is empty");
        for place in &places {
            match Interpreter::at(&source, place.runtime, place.version) {
                Ok(found) => return Ok(found),
                Err(why) => refusal = why,
            }
            if let Some(errno) = memory.refused() {
                return Err(Refusal::of(errno, "process_vm_readv"));
            }
        }
        Err(refusal)
    }

    pub(crate) fn at(
        source: &impl Source,
        runtime: u64,
        version: Option<PythonVersion>,
    ) -> Result<Interpreter, Refusal> {
        let described = source.array::<8>(runtime).as_ref() == Some(COOKIE);
        let version = version.ok_or(Refusal::NoVersion)?;
        if !MINORS.contains(&version.minor) {
            return Err(Refusal::Version(version.minor));
        }
        if described != (version.minor >= SELF_DESCRIBED) {
            return Err(Refusal::NotAsExpected("its version and its tables differ"));
        }
        let layout = Layout::of(version.minor);
        let mut found = None;
        for _ in 0..TRIES {
            found = match described {
                true => by_table(source, runtime)?,
                false => by_search(source, runtime),
            };
            if found.is_some() {
                break;
            }
        }
        let (head, next, collector) =
            found.ok_or(Refusal::NotAsExpected("no collector was found in it"))?;
        let interpreter = Interpreter {
            version,
            layout,
            runtime,
            head,
            next,
            collector,
        };
        interpreter.shows_itself(source)?;
        Ok(interpreter)
    }

    /// A class that names its module: then types, dictionaries and texts lie where this version has them.
    fn shows_itself(&self, source: &impl Source) -> Result<(), Refusal> {
        let heap = Heap::new(source, self.layout);
        for interpreter in self.all(source) {
            // Oldest first: what lives since the start is not moved.
            for list in self.collector.lists(interpreter).into_iter().rev() {
                let objects = crate::walk::List::new(source, list).take(SHOWN_WITHIN);
                let classes = objects.filter_map(|object| {
                    let kind = heap.type_of(object)?;
                    kind.is_type().then(|| heap.class(object))?
                });
                let mut named = classes.filter(|class| class.is_heap() && class.has_dict());
                if named.any(|class| heap.module(&class).is_some()) {
                    return Ok(());
                }
            }
        }
        Err(Refusal::NotAsExpected("its objects are laid out otherwise"))
    }

    /// All interpreters, newest first: the last one is that of `main`.
    pub(crate) fn all(&self, source: &impl Source) -> Vec<u64> {
        let mut all = Vec::new();
        let mut at = source.pointer(self.head);
        while let Some(one) = at
            && all.len() < MOST_INTERPRETERS
            && !all.contains(&one)
        {
            all.push(one);
            at = source.pointer(one.wrapping_add(self.next));
        }
        all
    }

    /// The heads of all lists of tracked objects.
    pub(crate) fn lists(&self, source: &impl Source) -> Vec<u64> {
        let all = self.all(source).into_iter();
        all.flat_map(|one| self.collector.lists(one)).collect()
    }

    /// A collection is under way in one of them; what cannot be read is none.
    pub(crate) fn is_collecting(&self, source: &impl Source) -> bool {
        let of = |one: u64| self.collector.is_collecting(source, one) == Some(true);
        self.all(source).into_iter().any(of)
    }

    /// What the collector counts, over all interpreters.
    pub fn counts(&self, source: &impl Source) -> Option<Counts> {
        let mut sum: Option<Counts> = None;
        for one in self.all(source) {
            let counts = self.collector.counts(source, one)?;
            sum = Some(sum.map_or(counts, |sum| sum + counts));
        }
        sum
    }
}

type Found = Option<(u64, u64, Collector)>;

fn by_table(source: &impl Source, runtime: u64) -> Result<Found, Refusal> {
    let field = |at: u64| source.word(runtime + at);
    let (free, head, next) = (field(FREE_THREADED), field(INTERPRETERS_HEAD), field(NEXT));
    if free.is_some_and(|free| free != 0) {
        return Err(Refusal::FreeThreaded);
    }
    // Offsets within structures of at most some hundred kilobytes.
    let small = |offset: Option<u64>| offset.filter(|offset| *offset < 1 << 20);
    let (Some(head), Some(next)) = (small(head), small(next)) else {
        return Err(Refusal::NotAsExpected("its table of offsets is broken"));
    };
    let head = runtime + head;
    let first = source.pointer(head);
    let collector = first.and_then(|first| Collector::find(source, first));
    Ok(collector.map(|collector| (head, next, collector)))
}

/// Two words in a row: the newest interpreter and the main one, which is the last of the list that begins
/// with the first. Up to 3.12 the address of the next one stands at the beginning of each.
fn by_search(source: &impl Source, runtime: u64) -> Found {
    let words = source.words(runtime, SEARCHED / 8)?;
    let mut pairs = words.windows(2).enumerate().filter(|(_, pair)| {
        is_pointer(pair[0]) && is_pointer(pair[1]) && last_of(source, pair[0]) == Some(pair[1])
    });
    pairs.find_map(|(nth, pair)| {
        let collector = Collector::find(source, pair[1])?;
        Some((runtime + nth as u64 * 8, 0, collector))
    })
}

fn last_of(source: &impl Source, first: u64) -> Option<u64> {
    let mut at = first;
    for _ in 0..MOST_INTERPRETERS {
        match source.word(at)? {
            0 => return Some(at),
            next if is_pointer(next) => at = next,
            _ => return None,
        }
    }
    None
}
