//! tqdm: the class keeps all open bars in a set of weak references, so bars that are made anew for each epoch are found
//! without another search.

use lowtide_core::inside::seen::{BarSeen, Enclosing};

use super::{loader, twice};
use crate::object::Heap;
use crate::source::Source;

/// Where `enumerate` keeps what it goes through.
const ENUMERATED: u64 = 24;
/// Bars that are read at most: a screen does not show more.
const MOST: usize = 32;

pub(super) fn read_all<S: Source>(heap: &Heap<'_, S>, classes: &[u64]) -> Vec<BarSeen> {
    let mut bars = Vec::new();
    for class in classes {
        let open = open(heap, *class).unwrap_or_default();
        bars.extend(
            open.into_iter()
                .take(MOST)
                .filter_map(|bar| twice(heap, || read(heap, bar))),
        );
    }
    bars
}

fn open<S: Source>(heap: &Heap<'_, S>, class: u64) -> Option<Vec<u64>> {
    let class = heap.class(class)?;
    let set = heap.class_attribute(&class, "_instances")?;
    heap.weakly_held(heap.attribute(set, "data")?)
}

fn read<S: Source>(heap: &Heap<'_, S>, bar: u64) -> Option<BarSeen> {
    let attributes = heap.attributes(bar)?;
    let get = |name| attributes.get(heap, name);
    let count = |name| get(name).and_then(|value| heap.count(value));
    // A bar that is not shown counts nothing.
    if get("disable").and_then(|value| heap.truth(value))? {
        return None;
    }
    let n = count("n")?;
    Some(BarSeen {
        address: bar,
        n,
        initial: count("initial").unwrap_or(0),
        total: count("total"),
        label: get("desc")
            .and_then(|value| heap.text(value))
            .unwrap_or_default(),
        unit: get("unit")
            .and_then(|value| heap.text(value))
            .unwrap_or_default(),
        started: get("start_t").and_then(|value| heap.real(value))?,
        shown: count("last_print_n").unwrap_or(n),
        over_loader: get("iterable").is_some_and(|value| is_loader(heap, value)),
        inside: Enclosing::Unknown,
        around_hidden: false,
    })
}

/// A DataLoader, or what `enumerate` makes of one.
fn is_loader<S: Source>(heap: &Heap<'_, S>, iterable: u64) -> bool {
    let Some(class) = heap.type_of(iterable) else {
        return false;
    };
    match class.name.as_str() {
        "enumerate" => {
            let inner = heap.source.pointer(iterable.saturating_add(ENUMERATED));
            inner.is_some_and(|inner| loader::is_iterator(heap, inner))
        }
        _ => loader::is_loader(heap, iterable),
    }
}
