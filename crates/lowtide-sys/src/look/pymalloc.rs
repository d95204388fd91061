//! CPython's small objects, found from outside by the heads of their pools.
//!
//! `obmalloc.c` carves arenas (anonymous mappings) into pools, each aligned to its size, with a head of
//! 48 bytes that is the same from 3.8 to 3.14 on every 64-bit machine. Its last number must be the pool
//! size minus the block size, which no other data has by chance at that alignment together with the
//! rest. No symbol and no version is needed: 4 KiB pools up to 3.9, 16 KiB from 3.10 on.

use std::collections::HashMap;

use super::ledger::Blocks;
use crate::memory::{Batch, Memory, Pages};

const HEAD: usize = 48;
/// Blocks come in steps of 16 bytes up to 512.
const STEP: u64 = 16;
const CLASSES: u64 = 32;
/// Heads that are asked for in one call.
const AT_ONCE: usize = 1024;

/// Sizes of pools and arenas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub pool: u64,
    pub arena: u64,
}

impl Shape {
    /// Up to 3.9.
    pub const SMALL: Shape = Shape {
        pool: 4 << 10,
        arena: 256 << 10,
    };
    /// From 3.10 on, which finds arenas by a tree of addresses.
    pub const LARGE: Shape = Shape {
        pool: 16 << 10,
        arena: 1 << 20,
    };

    pub fn of(minor: u32) -> Shape {
        if minor < 10 {
            Shape::SMALL
        } else {
            Shape::LARGE
        }
    }
}

/// What is in the pools of one mapping.
#[derive(Debug, Default)]
pub struct Pools {
    pub live: Blocks,
    /// Resident in arenas and not live.
    pub slack: u64,
    /// Stretches of addresses that belong to arenas, ascending.
    pub spans: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pool {
    live: u64,
    /// Size of its blocks.
    block: u64,
    arena: u32,
}

/// Reads a head; `None` if these bytes are none.
fn pool(head: &[u8; HEAD], shape: Shape) -> Option<Pool> {
    let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let live = u64::from(number(0));
    let (arena, class) = (number(32), u64::from(number(36)));
    let (next, most) = (u64::from(number(40)), u64::from(number(44)));
    let block = (class + 1) * STEP;
    let room = (shape.pool - HEAD as u64) / block.max(1);
    // The next fresh block lies on the grid of blocks, at most one behind the last.
    let on_grid = next >= HEAD as u64
        && next <= shape.pool
        && (next - HEAD as u64).is_multiple_of(block.max(1));
    let right = class < CLASSES && most == shape.pool - block && live <= room && on_grid;
    right.then_some(Pool { live, block, arena })
}

/// Scans the resident pages of one mapping. `huge`: it has huge pages, where memory that was never
/// touched is resident all the same.
pub fn scan(memory: &impl Memory, pages: &Pages, shape: Shape, huge: bool) -> Pools {
    let mut pools = Pools::default();
    let mut arenas: HashMap<u32, (u64, u64)> = HashMap::new();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    let (mut asked, mut batch) = (Vec::with_capacity(AT_ONCE), Batch::<HEAD>::default());
    let mut at = pages.start().next_multiple_of(shape.pool);
    while at < pages.end() && !memory.is_over() {
        asked.clear();
        while asked.len() < AT_ONCE && at + shape.pool <= pages.end() {
            if pages.has(at) {
                asked.push(at);
                at += shape.pool;
            } else if let Some(next) = pages.next(at) {
                // A pool without its first page is none.
                at = next.next_multiple_of(shape.pool).max(at + shape.pool);
            } else {
                at = pages.end();
            }
        }
        if asked.is_empty() {
            break;
        }
        let heads = batch.read(memory, &asked);
        for (address, head) in asked.iter().zip(heads) {
            let Some(pool) = head.and_then(|head| pool(head, shape)) else {
                continue;
            };
            let resident = pages.bytes(*address, address + shape.pool);
            let bytes = (pool.live * pool.block).min(resident);
            pools.live.add(pool.block, pool.live, bytes);
            let arena = arenas.entry(pool.arena).or_insert((*address, *address));
            // Every interpreter of a process counts its arenas from zero.
            if *address >= arena.0 + shape.arena {
                spans.push(*arena);
                *arena = (*address, *address);
            }
            arena.1 = *address;
        }
    }
    spans.extend(arenas.into_values());
    spans.sort_unstable();
    pools.spans = whole(&spans, shape, huge, pages.end());
    let resident: u64 = pools.spans.iter().map(|(a, b)| pages.bytes(*a, *b)).sum();
    pools.slack = resident.saturating_sub(pools.live.bytes);
    pools
}

/// From the first and last pool of each arena to the stretch it takes, none over another.
fn whole(arenas: &[(u64, u64)], shape: Shape, huge: bool, end: u64) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::with_capacity(arenas.len());
    for (index, (first, last)) in arenas.iter().enumerate() {
        let next = arenas.get(index + 1).map_or(end, |next| next.0);
        // Pools are carved in order: behind the last one nothing was touched, but a huge page is there
        // as a whole. An arena need not begin at a pool, so its last part may be less than one.
        let mut to = last + shape.pool;
        if huge {
            to = to.max(first + shape.arena - shape.pool);
        }
        let from = spans.last().map_or(*first, |span| span.1.max(*first));
        let to = to.min(next).min(end);
        if from < to {
            spans.push((from, to));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(live: u32, class: u32, next: u32, most: u32) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&live.to_le_bytes());
        head[32..36].copy_from_slice(&7u32.to_le_bytes());
        head[36..40].copy_from_slice(&class.to_le_bytes());
        head[40..44].copy_from_slice(&next.to_le_bytes());
        head[44..48].copy_from_slice(&most.to_le_bytes());
        head
    }

    #[test]
    fn a_pool_is_known_by_its_head() {
        // 80-byte blocks, 10 of them handed out, 3 in use.
        let good = head(3, 4, 48 + 10 * 80, 16384 - 80);
        assert_eq!(
            pool(&good, Shape::LARGE),
            Some(Pool {
                live: 3,
                block: 80,
                arena: 7
            })
        );
        // Of another version's size, more blocks than fit, off the grid, a class that does not exist,
        // and a page that was never written.
        for bad in [
            good,
            head(3, 4, 48 + 10 * 80, 4096),
            head(60, 4, 48 + 10 * 80, 4096 - 80),
            head(3, 4, 50, 4096 - 80),
            head(3, 32, 48, 4096 - 528),
            head(3, u32::MAX, 48, 4096),
            [0; HEAD],
        ] {
            assert_eq!(pool(&bad, Shape::SMALL), None);
        }
    }

    #[test]
    fn arenas_do_not_overlap() {
        let (shape, pool) = (Shape::SMALL, 4096);
        let arenas = [(0, 3 * pool), (shape.arena, shape.arena)];
        assert_eq!(
            whole(&arenas, shape, false, 1 << 30),
            [(0, 4 * pool), (shape.arena, shape.arena + pool)]
        );
        // With huge pages the untouched tail is resident too; a neighbour is not swallowed.
        assert_eq!(
            whole(&[(0, 0), (9 * pool, 9 * pool)], shape, true, 20 * pool),
            [(0, 9 * pool), (9 * pool, 20 * pool)]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), HEAD)) {
            let bytes: [u8; HEAD] = bytes.try_into().unwrap();
            let _ = pool(&bytes, Shape::SMALL);
            let _ = pool(&bytes, Shape::LARGE);
        }
    }
}
