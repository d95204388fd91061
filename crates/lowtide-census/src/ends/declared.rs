//! A number beside a container that by its name says how large that may become. Nobody holds to it but the program's own
//! code, so it is the weakest of all facts.

use lowtide_core::look::End;

use super::Subject;
use crate::source::Source;

/// What replay buffers, caches and pools call it.
const NAMES: [&str; 16] = [
    "capacity",
    "buffer_size",
    "buffer_capacity",
    "max_size",
    "maxsize",
    "max_len",
    "maxlen",
    "max_length",
    "max_entries",
    "max_items",
    "cache_size",
    "memory_size",
    "queue_size",
    "pool_size",
    "size_limit",
    "max_buffer_size",
];

impl<S: Source> Subject<'_, S> {
    pub(super) fn declared(&self) -> Option<End> {
        let length = self.length?;
        let found = self.siblings().into_iter().filter_map(|(name, value)| {
            let plain = name.trim_start_matches('_').to_ascii_lowercase();
            NAMES.contains(&plain.as_str()).then_some(())?;
            let at = self.heap.count(value)?;
            // One that is passed already ended nothing.
            (at > 0 && at >= length).then_some((at, name))
        });
        let (at, attribute) = found.min()?;
        Some(End::Declared { attribute, at })
    }
}
