//! Tensors that only C++ holds: saved by autograd's graph, gradients, whatever a library keeps. No Python object leads to
//! them, so heaps are searched for the tables of their classes. Only heaps: tensors are small blocks of `malloc`,
//! their data is not looked at, and what is found has to hold as a tensor before it counts.

use std::collections::BTreeSet;

use lowtide_sys::memory::{Mapping, Mappings, Memory, Pages};

use super::malloc::{self, ALIGN};
use super::storage::mapping;

/// glibc's heaps of threads are aligned to this.
const RESERVE: u64 = 64 << 20;
/// How a thread's heap begins: the address of its arena, which lies in a first heap right behind such a beginning.
const ARENA_BEHIND: [u64; 2] = [32, 48];
/// Read at once.
const WINDOW: u64 = 1 << 20;
/// Blocks longer than this hold data, and are stepped over as a whole.
const DATA: u64 = 64 << 10;
/// Found at most: a process with more has made them without end, and one in ten says as much.
const MOST: usize = 4_000_000;

/// What is looked for: words between the first and the last, and of those the ones that `is` takes.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Stretches of addresses in which tables of classes lie.
    pub tables: &'a [(u64, u64)],
    pub is: &'a dyn Fn(u64) -> bool,
}

impl Wanted<'_> {
    fn has(&self, word: u64) -> bool {
        let near = self
            .tables
            .iter()
            .any(|(from, to)| (*from..*to).contains(&word));
        near && (self.is)(word)
    }
}

/// What a search came to.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Addresses of objects whose first word is a table that was looked for.
    pub found: Vec<u64>,
    /// Bytes that were gone through.
    pub searched: u64,
    /// Time ran out, or there were too many.
    pub is_cut: bool,
}

/// Goes through all heaps: those of glibc, and mappings in which one of the `known` objects lies (another `malloc`).
pub(super) fn search(
    memory: &impl Memory,
    mappings: &Mappings,
    wanted: &Wanted<'_>,
    known: &[u64],
) -> Search {
    let mut search = Search::default();
    let is_candidate = |one: &&Mapping| {
        one.read
            && one.write
            && !one.shared
            && one.inode == 0
            && !mappings.name(one).starts_with("[stack")
    };
    let others: BTreeSet<u64> = (known.iter())
        .filter_map(|at| mapping(mappings, *at))
        .map(|mapping| mapping.start)
        .collect();
    let mut buffer = vec![0; WINDOW as usize];
    for one in mappings.list.iter().filter(is_candidate) {
        let is_heap = mappings.name(one) == "[heap]" || begins_heap(memory, one);
        if !is_heap && !others.contains(&one.start) {
            continue;
        }
        let Ok(pages) = memory.resident(one.start, one.end) else {
            continue;
        };
        let row = match is_heap {
            true if mappings.name(one) == "[heap]" => Row::From(one.start),
            true => Row::Lost,
            false => Row::None,
        };
        through(memory, &pages, row, wanted, &mut buffer, &mut search);
        if memory.is_over() || search.found.len() >= MOST {
            search.is_cut = true;
            break;
        }
    }
    search
}

/// Whether a thread's heap can lie in a mapping: then it begins where one of those may.
pub(super) fn may_be_thread_heap(mapping: &Mapping) -> bool {
    mapping.start.next_multiple_of(RESERVE) < mapping.end
}

/// Whether a thread's heap begins in a mapping. The kernel joins neighbours, so it may be anywhere in it.
fn begins_heap(memory: &impl Memory, mapping: &Mapping) -> bool {
    let mut at = mapping.start.next_multiple_of(RESERVE);
    while at < mapping.end {
        let resident = memory.resident(at, at + memory.page());
        let mut word = [0; 8];
        if resident.is_ok_and(|pages| pages.has(at)) && memory.read(at, &mut word) == 8 {
            let arena = u64::from_le_bytes(word);
            if arena != 0 && ARENA_BEHIND.contains(&(arena % RESERVE)) {
                return true;
            }
        }
        at += RESERVE;
    }
    false
}

/// Chunks of glibc lie one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// The next one begins here.
    From(u64),
    /// Where the next one begins is not known.
    Lost,
    /// It is another `malloc`, whose blocks have no heads.
    None,
}

impl Row {
    /// Lost if its next chunk lies before an address.
    fn at_least(self, from: u64) -> Row {
        match self {
            Row::From(chunk) if chunk < from => Row::Lost,
            row => row,
        }
    }
}

/// Goes through one mapping. From chunk to chunk where their heads are known; where the row is lost, word by word until
/// an object that was looked for shows where a chunk begins.
fn through(
    memory: &impl Memory,
    pages: &Pages,
    mut row: Row,
    wanted: &Wanted<'_>,
    buffer: &mut [u8],
    search: &mut Search,
) {
    let mut at = pages.start();
    while let Some(from) = if pages.has(at) {
        Some(at)
    } else {
        pages.next(at)
    } && search.found.len() < MOST
        && !memory.is_over()
    {
        let end = pages.row_end(from, WINDOW);
        let room = &mut buffer[..(end - from) as usize];
        let came = memory.read(from, room);
        let (words, _) = room[..came].as_chunks::<8>();
        search.searched += came as u64;
        row = window(words, from, pages.end(), row, wanted, search);
        let (read, page) = (from + words.len() as u64 * 8, pages.page());
        at = match row {
            // The next head lies behind this, or is cut: of a long chunk the inside is not read at all.
            Row::From(chunk) if chunk / page * page > from => chunk / page * page,
            _ => read.max(from + page) / page * page,
        };
    }
}

/// Goes through what was read; returns how the row goes on behind it.
fn window(
    words: &[[u8; 8]],
    from: u64,
    end: u64,
    row: Row,
    wanted: &Wanted<'_>,
    search: &mut Search,
) -> Row {
    let word = |at: u64| {
        let nth = usize::try_from(at.checked_sub(from)? / 8).ok()?;
        words.get(nth).map(|word| u64::from_le_bytes(*word))
    };
    let stop = from + words.len() as u64 * 8;
    let mut row = row.at_least(from);
    let mut at = from.next_multiple_of(ALIGN);
    loop {
        if let Row::From(start) = row {
            let Some(head) = word(start + 8) else {
                // It is not of this window, or its head is cut.
                return row;
            };
            let next = malloc::size(head).and_then(|size| start.checked_add(size));
            match next.filter(|next| *next <= end) {
                Some(next) => {
                    if word(start + 16).is_some_and(|word| wanted.has(word)) {
                        search.found.push(start + 16);
                    } else if start + 16 >= stop {
                        // Its block begins with the next window: read this head again there.
                        return row;
                    }
                    row = Row::From(next);
                    continue;
                }
                None => {
                    row = Row::Lost;
                    at = start.next_multiple_of(ALIGN).max(from);
                }
            }
        }
        // Lost: the next object shows where we are.
        while at < stop && !word(at).is_some_and(|word| wanted.has(word)) {
            at += ALIGN;
        }
        if at >= stop {
            return row;
        }
        let head = word(at - 8);
        let size = head.and_then(malloc::size).filter(|size| *size <= DATA);
        match (row, size) {
            (Row::None, _) => search.found.push(at),
            (_, Some(size)) => {
                search.found.push(at);
                row = Row::From(at - 16 + size);
            }
            // Its head was in the window before.
            _ if head.is_none() => search.found.push(at),
            // A copy in somebody's data.
            _ => {}
        }
        at += ALIGN;
    }
}
