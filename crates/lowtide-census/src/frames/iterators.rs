//! Iterators of Python's own: the range that a loop counts through, and those that go through others.

use crate::object::Heap;
use crate::source::Source;

/// Holders of an object beyond this are an address, or what never dies.
const MOST_HELD: u64 = 1 << 20;
/// In `enumerate`, `islice`, `zip`: what they go through.
const ENUMERATED: u64 = 24;
const SLICED: u64 = 16;
const ZIPPED: u64 = 24;
/// Iterators that `zip` goes through at once.
const MOST_ZIPPED: usize = 8;
/// Numbers beyond this count no rounds.
const FARTHEST: i64 = 1 << 48;

/// `for value in range(start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub value: i64,
    pub end: i64,
    pub start: Option<i64>,
}

/// An object that somebody holds.
pub(super) fn is_held<S: Source>(heap: &Heap<'_, S>, object: u64) -> bool {
    // From 3.12 on only the lower half counts.
    let mask = match heap.layout.minor {
        ..=11 => u64::MAX,
        12.. => u64::from(u32::MAX),
    };
    let count = heap.source.word(object).map(|word| word & mask);
    count.is_some_and(|count| (1..MOST_HELD).contains(&count))
}

/// Where a loop over a range is; by ones only, as rounds are counted. `start` is where its code has it begin.
pub(crate) fn range<S: Source>(
    heap: &Heap<'_, S>,
    iterator: u64,
    start: Option<i64>,
) -> Option<Range> {
    let words = heap.source.words(iterator.checked_add(16)?, 4)?;
    let number = |nth: usize| {
        let value = words[nth] as i64;
        (-FARTHEST..FARTHEST).contains(&value).then_some(value)
    };
    match heap.layout.minor {
        // Which one, where it began, by how much, how many.
        ..=11 => {
            let (index, start, step, length) = (number(0)?, number(1)?, number(2)?, number(3)?);
            let sane = step == 1 && (1..=length).contains(&index);
            sane.then_some(Range {
                value: start + index - 1,
                end: start + length,
                start: Some(start),
            })
        }
        // The next one, by how much, how many are left.
        12.. => {
            let (next, step, left) = (number(0)?, number(1)?, number(2)?);
            (step == 1 && left >= 0).then_some(Range {
                value: next - 1,
                end: next + left,
                start: start.filter(|start| *start < next),
            })
        }
    }
}

/// What an iterator goes through itself, if it is one that hands on what others give.
pub(crate) fn behind<S: Source>(heap: &Heap<'_, S>, iterator: u64, class: &str) -> Vec<u64> {
    let pointer = |at: u64| heap.source.pointer(iterator.checked_add(at)?);
    match class {
        "enumerate" => pointer(ENUMERATED).into_iter().collect(),
        "itertools.islice" => pointer(SLICED).into_iter().collect(),
        "zip" => {
            let zipped = pointer(ZIPPED).filter(|zipped| {
                heap.type_of(*zipped)
                    .is_some_and(|class| class.name == "tuple")
            });
            let zipped = zipped.and_then(|zipped| heap.tuple(zipped, MOST_ZIPPED));
            zipped.unwrap_or_default()
        }
        _ => Vec::new(),
    }
}
