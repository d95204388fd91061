//! What stands around objects: `_PyRuntime`, interpreters, and the collector's lists in each of their shapes.

use super::{BEHIND, Made, World};

/// How a collector is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Up to 3.13.
    Generations,
    /// 3.13 with lists that are aligned to four bytes.
    LooseGenerations,
    /// 3.14.0 to 3.14.4.
    Incremental,
    /// 3.14.5 and later.
    GenerationsAgain,
    /// 3.15.
    Rings,
}

/// What the collector says that it did and has.
pub(crate) const COLLECTIONS: [u64; 3] = [70, 6, 2];
pub(crate) const OLD: u64 = 1200;
pub(crate) const PENDING: u64 = 34;
pub(crate) const YOUNG: u64 = 5;

const INTERPRETER_SIZE: u64 = 20 << 10;
const RUNTIME_SIZE: u64 = 2048;

impl World {
    /// Where the collector begins in an interpreter.
    fn collector_at(&self) -> u64 {
        match (self.kind.minor, self.kind.shape) {
            (9 | 10, _) => 640,
            (11, _) => 672,
            (12, _) => 136,
            (_, Shape::LooseGenerations) => 7428,
            _ => 7424,
        }
    }

    fn next_interpreter_at(&self) -> u64 {
        if self.kind.minor <= 12 { 0 } else { 7264 }
    }

    /// With one interpreter that has all objects.
    pub(crate) fn finish(self) -> Made {
        self.finish_with(1)
    }

    /// With some: the main one has the objects, those that were started later have none.
    pub(crate) fn finish_with(mut self, interpreters: usize) -> Made {
        let all: Vec<u64> = (0..interpreters)
            .map(|_| self.room(INTERPRETER_SIZE))
            .collect();
        let main = all[0];
        let tracked = std::mem::take(&mut self.tracked);
        for (nth, one) in all.iter().enumerate() {
            let objects = if nth == 0 { &tracked[..] } else { &[] };
            self.collector(*one + self.collector_at(), objects);
            let next = nth.checked_sub(1).map_or(0, |before| all[before]);
            self.word(*one + self.next_interpreter_at(), next);
        }
        let runtime = self.runtime(*all.last().expect("one"), main);
        #[cfg(test)]
        let collector = main + self.collector_at();
        self.bytes.resize(self.bytes.len() + BEHIND, 0);
        Made {
            kind: self.kind,
            bytes: self.bytes,
            runtime,
            #[cfg(test)]
            interpreter: main,
            #[cfg(test)]
            collector,
        }
    }

    fn runtime(&mut self, newest: u64, main: u64) -> u64 {
        let runtime = self.room(RUNTIME_SIZE);
        match self.kind.minor {
            // preinitializing ... a mutex, then head and main of the interpreters.
            9 | 10 => self.words(runtime, &[1, 1, 1, runtime + 1024, newest, main]),
            11 | 12 => self.words(runtime, &[1, 1, 1, 0, runtime + 1024, newest, main]),
            minor => {
                self.put(runtime, b"xdebugpy");
                let version = 3 << 24 | u64::from(minor) << 16;
                // version, free_threaded, the runtime's size, finalizing, the head of interpreters, an
                // interpreter's size, id, next.
                let next = self.next_interpreter_at();
                self.words(
                    runtime + 8,
                    &[version, 0, 4096, 600, 632, INTERPRETER_SIZE, 7280, next],
                );
                self.words(runtime + 632, &[newest, main]);
            }
        }
        runtime
    }

    /// A collector, whose lists share these objects out.
    pub(crate) fn collector(&mut self, at: u64, objects: &[u64]) {
        let permanent = match self.kind.shape {
            Shape::Generations => 80,
            Shape::LooseGenerations => 84,
            _ => 72,
        };
        for (nth, list) in [0, 24, 48, permanent].into_iter().enumerate() {
            let part: Vec<u64> = objects.iter().copied().skip(nth).step_by(4).collect();
            self.linked(at + list, &part);
            let numbers = [700u32, if nth == 0 { YOUNG as u32 } else { 0 }];
            self.put(at + list + 16, &numbers[0].to_le_bytes());
            self.put(at + list + 20, &numbers[1].to_le_bytes());
        }
        let lists = [self.list(&[]), self.list(&[])];
        let (stats, garbage, long_lived, youngest) = match self.kind.shape {
            Shape::Generations => (104, 184, Some(200), Some(72)),
            Shape::LooseGenerations => (108, 188, Some(204), Some(76)),
            Shape::Incremental => (96, 176, None, None),
            Shape::GenerationsAgain => (96, 176, Some(216), Some(232)),
            Shape::Rings => (96, 120, Some(144), Some(160)),
        };
        self.words(at + garbage, &lists);
        // From 3.14 on `heap_size` counts all that there is.
        let heap_size = match self.kind.shape {
            Shape::Generations | Shape::LooseGenerations => None,
            Shape::Incremental | Shape::GenerationsAgain => Some(192),
            Shape::Rings => Some(136),
        };
        if let Some(heap_size) = heap_size {
            self.word(at + heap_size, OLD + PENDING + YOUNG);
        }
        if let Some(long_lived) = long_lived {
            self.words(at + long_lived, &[OLD, PENDING]);
        }
        if let Some(youngest) = youngest {
            self.word(at + youngest, at);
        }
        match self.kind.shape {
            Shape::Rings => {
                let rings = self.rings();
                self.word(at + stats, rings);
            }
            _ => {
                for (nth, count) in COLLECTIONS.into_iter().enumerate() {
                    self.word(at + stats + nth as u64 * 24, count);
                }
            }
        }
    }

    /// 3.15: eleven collections of the youngest generation and three of each other, and which is the newest.
    fn rings(&mut self) -> u64 {
        let rings = self.room(912 + 3 * 64 + 8);
        let begins = [(0, 11), (712, 3), (912, 3)];
        for ((begin, length), count) in begins.into_iter().zip(COLLECTIONS) {
            let newest = count % length;
            self.word(rings + begin + newest * 64 + 16, count);
            self.put(rings + begin + length * 64, &[newest as u8]);
        }
        rings
    }

    /// A circle of objects' links, through its head.
    fn linked(&mut self, head: u64, objects: &[u64]) {
        let links: Vec<u64> = (objects.iter().map(|one| one - 16)).collect();
        let circle: Vec<u64> = [&[head], &links[..], &[head]].concat();
        for pair in circle.windows(2) {
            self.word(pair[0], pair[1]);
            // Objects that were finalized are marked in the link to the one before.
            let flag = u64::from(pair[1] != head);
            self.word(pair[1] + 8, pair[0] | flag);
        }
    }
}
