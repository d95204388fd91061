//! Sizes that Python itself holds to: `deque(maxlen=…)`, `lru_cache(maxsize=…)`, `Queue(maxsize=…)`.

use lowtide_core::look::End;

use super::Subject;
use crate::source::Source;

/// In a deque, below nothing where it has none.
const MAX_LENGTH: u64 = 64;
/// In a cache: what it remembers, the function that it stands for, and its size, below nothing where it has none.
const CACHE_DICT: u64 = 72;
const CACHE_FUNCTION: u64 = 88;
const CACHE_SIZE: u64 = 96;
/// No container is larger.
const MOST: i64 = 1 << 40;

/// Classes whose items stand in an attribute, and what the size is called there.
const QUEUES: [(&str, &str, &str); 2] = [
    ("queue", "Queue", "maxsize"),
    ("asyncio.queues", "Queue", "_maxsize"),
];

impl<S: Source> Subject<'_, S> {
    pub(super) fn sized(&self) -> Option<End> {
        self.of_queue()
            .or_else(|| self.of_deque())
            .or_else(|| self.of_cache())
    }

    fn of_deque(&self) -> Option<End> {
        if !self.is(self.address, &["collections.deque"]) {
            return None;
        }
        let of = "deque".to_owned();
        let at = self.number(self.address, MAX_LENGTH)?;
        Some(End::MaxLen { of, at })
    }

    /// The cache itself, or the dictionary that it remembers by.
    fn of_cache(&self) -> Option<End> {
        let names = ["functools._lru_cache_wrapper"];
        let own = Some(self.address).filter(|at| self.is(*at, &names));
        let of_owner = || self.owner.filter(|owner| self.is(*owner, &names));
        let cache = own.or_else(of_owner)?;
        // Where these are as expected, so is the size.
        let source = self.heap.source;
        let dict = source.pointer(cache.checked_add(CACHE_DICT)?)?;
        let function = source.pointer(cache.checked_add(CACHE_FUNCTION)?)?;
        self.heap.type_of(function)?;
        self.heap.type_of(dict)?.is_dict().then_some(())?;
        let at = self.number(cache, CACHE_SIZE)?;
        Some(End::CacheSize { at })
    }

    fn of_queue(&self) -> Option<End> {
        let owner = self.owner?;
        let class = self.heap.type_of(owner)?;
        let bases = self.heap.bases(&class);
        let found = QUEUES.iter().find(|(module, name, _)| {
            let mut bases = bases.iter().filter(|base| base.name == *name);
            bases.any(|base| self.heap.module(base).as_deref() == Some(module))
        });
        let (_, _, attribute) = found?;
        let at = self.heap.count(self.heap.attribute(owner, attribute)?)?;
        (at > 0).then_some(End::QueueSize { at })
    }

    fn number(&self, object: u64, offset: u64) -> Option<u64> {
        let word = self.heap.source.word(object.checked_add(offset)?)? as i64;
        u64::try_from(word).ok().filter(|_| word < MOST)
    }
}
