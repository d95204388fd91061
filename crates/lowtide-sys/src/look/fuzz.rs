//! What `scripts/fuzz` tries on the readers of another process's memory, which can hold anything.

use std::collections::BTreeSet;

use lowtide_core::look::Allocator;

use super::holdings::Holdings;
use super::programs::Programs;
use super::subject::Subject;
use super::taxonomy::{Python, Sort, Sorter};
use crate::memory::{Image, Mapping, Mappings, Memory};

const PAGE: u64 = 4096;
const LENGTH: u64 = 16 * PAGE;
/// glibc's heap, two mappings in a row, one where a thread's heap can begin, and libc's data.
const PLACES: [(u64, &str, Sort); 5] = [
    (0x5555_5556_0000, "[heap]", Sort::Heap),
    (0x7f00_0010_0000, "", Sort::Anon),
    (0x7f00_0010_0000 + LENGTH, "", Sort::Anon),
    (0x7f00_0400_0000, "", Sort::Anon),
    (0x7f00_0800_0000, "/lib/libc.so.6", Sort::File),
];
/// Of the first byte: all pages are resident, not only those that are written; huge pages; an older Python.
const FULL: u8 = 1;
const HUGE: u8 = 2;
const OLD: u8 = 4;
/// Of a row's first byte: the page vanishes after it was asked for.
const VANISHES: u8 = 0x80;

/// A process's memory: one byte of options, then rows of a place, an offset in words (two bytes), a number of
/// words, and these. Whatever stands there, the parts are what the process holds, and no page is read that
/// is not there.
pub(crate) fn take_apart(bytes: &[u8]) {
    let Some((options, mut rest)) = bytes.split_first() else {
        return;
    };
    let is = |option: u8| options & option != 0;
    let (mut mappings, mut image) = (Mappings::default(), Image::default());
    let mut resident = BTreeSet::new();
    for (start, name, _) in PLACES {
        if is(FULL) {
            image.write(start, &[0; LENGTH as usize]);
            resident.extend((start..start + LENGTH).step_by(PAGE as usize));
        }
        let mapping = Mapping {
            start,
            end: start + LENGTH,
            read: true,
            write: true,
            rss: LENGTH,
            anon: LENGTH,
            huge: if is(HUGE) { LENGTH } else { 0 },
            ..Mapping::default()
        };
        mappings.push(mapping, name.as_bytes());
    }
    let mut whole = true;
    while let Some(([place, low, high, words], after)) = rest.split_first_chunk() {
        let (start, ..) = PLACES[usize::from(place & !VANISHES) % PLACES.len()];
        let offset = u64::from(u16::from_le_bytes([*low, *high])) * 8 % LENGTH;
        if place & VANISHES != 0 {
            let page = start + offset / PAGE * PAGE;
            image = image.vanishing(page, page + PAGE);
            (whole, rest) = (false, after);
            continue;
        }
        let length = usize::from(*words) * 8;
        let length = length.min(after.len()).min((LENGTH - offset) as usize);
        let from = start + offset;
        // A page is there as a whole.
        for page in (from / PAGE * PAGE..from + length as u64).step_by(PAGE as usize) {
            if resident.insert(page) {
                image.write(page, &[0; PAGE as usize]);
            }
        }
        image.write(from, &after[..length]);
        rest = &after[length..];
    }
    let subject = Subject {
        mappings,
        sorts: PLACES.map(|(_, _, sort)| sort).to_vec(),
        programs: Programs::default(),
        allocator: Allocator::Glibc,
        python: Some(Python {
            minor: is(OLD).then_some(9),
            free_threaded: false,
        }),
        stack: 8 << 20,
    };
    let holdings = Holdings::of(&subject, Some(&image)).expect("it has not ended");
    let parts = holdings.ledger.into_parts();
    let sizes = parts.iter().filter_map(|part| part.bytes);
    let sum: u64 = sizes.map(|bytes| bytes.0).sum();
    assert!(sum <= PLACES.len() as u64 * LENGTH, "{parts:#?}");
    if whole {
        assert_eq!(sum, holdings.held, "{parts:#?}");
        assert_eq!(image.gone(), 0);
    }
}

/// `mountinfo`, from which file systems in memory are known.
pub(crate) fn mounts(bytes: &[u8]) {
    let _ = Sorter::new(bytes);
}
