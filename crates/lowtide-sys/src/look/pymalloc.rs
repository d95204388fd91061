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
pub(super) struct Shape {
    pub pool: u64,
    pub arena: u64,
}

impl Shape {
    /// Up to 3.9.
    pub(super) const SMALL: Shape = Shape {
        pool: 4 << 10,
        arena: 256 << 10,
    };
    /// From 3.10 on, which finds arenas by a tree of addresses.
    pub(super) const LARGE: Shape = Shape {
        pool: 16 << 10,
        arena: 1 << 20,
    };

    pub(super) fn of(minor: u32) -> Shape {
        if minor < 10 {
            Shape::SMALL
        } else {
            Shape::LARGE
        }
    }
}

/// What is in the pools of one mapping.
#[derive(Debug, Default)]
pub(super) struct Pools {
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
pub(super) fn scan(memory: &impl Memory, pages: &Pages, shape: Shape, huge: bool) -> Pools {
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
            to = to.max((first + shape.arena - shape.pool).min(next));
        }
        let from = spans.last().map_or(*first, |span| span.1.max(*first));
        let to = to.min(end);
        if from < to {
            spans.push((from, to));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Image;
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

    const START: u64 = 0x7f00_0010_0000;

    /// An arena of pools as the interpreter leaves them, each with its class and live blocks; every byte
    /// behind a head is somebody's data.
    fn arena(pools: &[(u32, u32)], shape: Shape) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (class, live) in pools {
            let block = (class + 1) * STEP as u32;
            let pool = head(
                *live,
                *class,
                HEAD as u32 + live * block,
                shape.pool as u32 - block,
            );
            bytes.extend(pool);
            bytes.resize(bytes.len() + shape.pool as usize - HEAD, 0x5a);
        }
        bytes
    }

    fn scanned(image: &Image, length: u64, shape: Shape) -> Pools {
        let pages = image.resident(START, START + length).unwrap();
        scan(image, &pages, shape, false)
    }

    #[test]
    fn pools_are_found_in_memory() {
        for shape in [Shape::SMALL, Shape::LARGE] {
            let bytes = arena(&[(4, 10), (4, 3), (31, 5), (0, 0)], shape);
            let image = Image::default().with(START, &bytes);
            let pools = scanned(&image, shape.arena, shape);
            let live = 13 * 80 + 5 * 512;
            let classes = pools.live.classes();
            let found: Vec<_> = classes
                .map(|(name, sum)| (name, sum.count, sum.bytes))
                .collect();
            let class = |name: &str, count, bytes| (name.to_owned(), count, bytes);
            assert_eq!(
                found,
                [
                    class("80 B blocks", 13, 13 * 80),
                    class("512 B blocks", 5, 5 * 512)
                ]
            );
            assert_eq!(pools.spans, [(START, START + 4 * shape.pool)]);
            assert_eq!(pools.slack, 4 * shape.pool - live);
            assert_eq!(image.gone(), 0, "a page that is not there was read");
        }
    }

    /// A pool whose head is gone when its turn comes, one that claims more than it holds, and heads that
    /// say that one arena lies everywhere.
    #[test]
    fn pools_that_vanish_or_lie_are_left_out() {
        let shape = Shape::LARGE;
        let honest = arena(&[(4, 10), (4, 20), (4, 30)], shape);
        let image = Image::default().with(START, &honest);
        let gone = image.vanishing(START + shape.pool, START + shape.pool + 4096);
        let pools = scanned(&gone, shape.arena, shape);
        assert_eq!(pools.live.bytes, 40 * 80);
        let mut lying = honest;
        lying[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        let image = Image::default().with(START, &lying);
        assert_eq!(scanned(&image, shape.arena, shape).live.bytes, 50 * 80);
        // The same number of an arena at both ends of a long mapping: two arenas, and nothing between.
        let far = 100 * shape.arena;
        let one = arena(&[(4, 10)], shape);
        let image = Image::default().with(START, &one).with(START + far, &one);
        let pools = scanned(&image, far + shape.arena, shape);
        let pool = |start: u64| (start, start + shape.pool);
        assert_eq!(pools.spans, [pool(START), pool(START + far)]);
    }

    proptest! {
        /// Heads with any numbers in them give no more than is there.
        #[test]
        fn no_more_is_found_than_is_resident(
            pools in proptest::collection::vec((0u32..34, 0u32..300, 0u32..4), 0..40),
        ) {
            let shape = Shape::SMALL;
            let heads: Vec<_> = pools.iter().map(|(class, live, _)| (*class, *live)).collect();
            let mut bytes = arena(&heads, shape);
            for (pool, (_, _, arena)) in bytes.chunks_mut(shape.pool as usize).zip(&pools) {
                pool[32..36].copy_from_slice(&arena.to_le_bytes());
            }
            let image = Image::default().with(START, &bytes);
            let pools = scanned(&image, bytes.len() as u64, shape);
            let claimed: u64 = pools.spans.iter().map(|(from, to)| to - from).sum();
            prop_assert!(pools.spans.is_sorted_by(|a, b| a.1 <= b.0), "{pools:?}");
            prop_assert_eq!(pools.live.bytes + pools.slack, claimed, "{:?}", pools);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), HEAD)) {
            let bytes: [u8; HEAD] = bytes.try_into().unwrap();
            let _ = pool(&bytes, Shape::SMALL);
            let _ = pool(&bytes, Shape::LARGE);
        }
    }
}
