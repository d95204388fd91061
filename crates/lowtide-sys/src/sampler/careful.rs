//! Careful readings, by `smaps_rollup`: which process gets the next one, and whether there is budget for it.
//!
//! The kernel holds the target's memory lock for the whole read, so reads are paid from a credit
//! that accrues with time. They go first to families of forked processes whose members have not all
//! been read since the family last changed (before that their shares cannot be added up), then to
//! processes whose faults say that shared pages were copied, then to the rest, rarely: a process
//! without relatives owns its anonymous pages, and the cheap counters say it all.

use lowtide_core::sample::{Gap, GapWhy, Pss};
use lowtide_core::units::{Bytes, Micros, Share};

use super::member::Tracked;
use super::sum::Families;
use crate::proc::{self, Proc, smaps_rollup};

/// Enough to read a small tree at once: three readings of a process of 1 GB.
const FIRST_CREDIT: Micros = Micros(60_000);
/// No single read may hold the target's lock for longer than this: a pause that a training step of
/// seconds does not notice. It allows about 16 GiB of 4 KiB pages.
const LONGEST_READ: Micros = Micros(250_000);
/// Measured: 9 to 15 ms per GiB of 4 KiB pages; much less with huge pages.
const COST_PER_GIB: f64 = 15_000.0;
const SMALLEST_COST: f64 = 100.0;

/// A family that has just changed is left to settle: twenty workers are not forked at once.
const SETTLE: Micros = Micros(2_000_000);
/// Copies below this share of the process, or below this size, change no picture.
const DOUBT_SHARE: f64 = 0.02;
const DOUBT_BYTES: f64 = 4e6;
/// How old a reading may get without any sign of change.
const REFRESH_FAMILY: Micros = Micros(300_000_000);
const REFRESH_ALONE: Micros = Micros(1_800_000_000);
/// A process that is too large is mentioned again at this distance.
const MENTION_AGAIN: Micros = Micros(60_000_000);

/// What is known of one process's careful readings.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    /// Faults when it was read.
    faults: u64,
    /// RssShmem when it was read.
    pub shmem: Bytes,
    /// VmSwap when it was read.
    pub swap: Bytes,
    /// Processor time and resident size of the last read, for the next estimate.
    cost: Option<(Micros, Bytes)>,
    refused: bool,
    mentioned: Option<Micros>,
}

/// What all processes of a family have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Family {
    pub members: usize,
    /// When a member last joined or left.
    pub changed: Micros,
}

#[derive(Debug)]
pub(super) struct Careful {
    budget: Share,
    page: u64,
    buffer: Vec<u8>,
    credit: f64,
    last: Option<Micros>,
    /// Wall time spent in reads: at most this long a lock of the target was held.
    pub locked: Micros,
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Need {
    /// Nothing but its age, or never read.
    Old,
    Copied,
    FamilyChanged,
}

impl Careful {
    pub(super) fn new(budget: Share, page: u64) -> Careful {
        let credit = if budget.0 > 0.0 {
            FIRST_CREDIT.0 as f64
        } else {
            0.0
        };
        Careful {
            budget,
            page,
            buffer: Vec::new(),
            credit,
            last: None,
            locked: Micros(0),
        }
    }

    fn accrue(&mut self, now: Micros) {
        if let Some(last) = self.last.replace(now) {
            let most = LONGEST_READ.0 as f64 * 1.2;
            let earned = now.since(last).0 as f64 * self.budget.0;
            self.credit = (self.credit + earned).min(most.max(FIRST_CREDIT.0 as f64));
        }
    }

    /// Takes as many readings as the credit allows.
    pub(crate) fn read_some(
        &mut self,
        proc: &Proc,
        now: Micros,
        members: &mut [Tracked],
        families: &Families,
        gaps: &mut Vec<Gap>,
    ) {
        self.accrue(now);
        while self.credit > 0.0 {
            let mut best: Option<(usize, Need, f64, f64)> = None;
            for (index, tracked) in members.iter_mut().enumerate() {
                let family = families.get(&tracked.family).copied().unwrap_or_default();
                let Some((need, weight)) = need(tracked, family, now, self.page) else {
                    continue;
                };
                let cost = estimate(tracked);
                if cost > LONGEST_READ.0 as f64 {
                    mention(tracked, now, gaps);
                    continue;
                }
                // Most information for the money first, within a class of need.
                let value = weight / cost;
                if best.is_none_or(|(_, n, v, _)| (n, v) < (need, value)) {
                    best = Some((index, need, value, cost));
                }
            }
            // Too dear for now: save up for it, so that the cheap ones do not starve the large one.
            let Some((index, _, _, cost)) = best.filter(|(_, _, _, cost)| *cost <= self.credit)
            else {
                return;
            };
            let spent = self.read(proc, now, &mut members[index], gaps);
            self.credit -= spent.max(cost.min(SMALLEST_COST));
        }
    }

    /// One read; returns its wall time in microseconds.
    fn read(
        &mut self,
        proc: &Proc,
        now: Micros,
        tracked: &mut Tracked,
        gaps: &mut Vec<Gap>,
    ) -> f64 {
        let (wall, processor) = (std::time::Instant::now(), super::processor_time());
        let result = proc.read(tracked.id().pid, "smaps_rollup", &mut self.buffer);
        let wall = Micros(u64::try_from(wall.elapsed().as_micros()).unwrap_or(u64::MAX));
        let processor = super::processor_time().since(processor);
        self.locked = Micros(self.locked.0 + wall.0);

        let rollup = result.map_err(proc::why).and_then(|()| {
            // An empty file: it ended between opening and reading. A full one of an old kernel has
            // no kinds.
            smaps_rollup::parse(&self.buffer).ok_or(if self.buffer.is_empty() {
                GapWhy::Vanished
            } else {
                GapWhy::Unsupported
            })
        });
        match rollup {
            Ok(rollup) => {
                tracked.careful = History {
                    faults: tracked.reading.minor_faults,
                    shmem: tracked.reading.shmem,
                    swap: tracked.reading.swap,
                    cost: Some((processor, tracked.reading.rss())),
                    refused: false,
                    mentioned: None,
                };
                tracked.note_pss(Pss {
                    at: now,
                    cost: wall,
                    anon: rollup.anon,
                    file: rollup.file,
                    shmem: rollup.shmem,
                    swap: rollup.swap,
                    uss: rollup.uss,
                    rss_anon: rollup.rss_anon,
                });
            }
            Err(why) => {
                tracked.careful.refused = true;
                gaps.push(Gap {
                    who: Some(tracked.id()),
                    what: "smaps_rollup".to_owned(),
                    why,
                });
            }
        }
        wall.0 as f64
    }
}

/// Whether a process deserves a reading, how urgently, and what it would tell (in bytes).
fn need(tracked: &Tracked, family: Family, now: Micros, page: u64) -> Option<(Need, f64)> {
    if tracked.careful.refused {
        return None;
    }
    let reading = &tracked.reading;
    let size = reading.held().as_f64().max(1.0);
    let related = family.members > 1;
    let Some(pss) = reading.pss else {
        let need = if related {
            Need::FamilyChanged
        } else {
            Need::Old
        };
        let settled = !related || now.since(family.changed) >= SETTLE;
        return settled.then_some((need, size));
    };
    if related && pss.at <= family.changed {
        return (now.since(family.changed) >= SETTLE).then_some((Need::FamilyChanged, size));
    }
    if related {
        // Each fault copies at most one page, and only what was shared can be copied.
        let faulted =
            reading.minor_faults.saturating_sub(tracked.careful.faults) as f64 * page as f64;
        let shared = reading.anon.saturating_sub(pss.uss).as_f64();
        let copied = faulted.min(shared);
        if copied > DOUBT_BYTES.max(DOUBT_SHARE * reading.anon.as_f64()) {
            return Some((Need::Copied, copied));
        }
    }
    let patience = if related {
        REFRESH_FAMILY
    } else {
        REFRESH_ALONE
    };
    (now.since(pss.at) >= patience).then_some((Need::Old, size))
}

/// What a reading is going to cost, in microseconds of processor time.
fn estimate(tracked: &Tracked) -> f64 {
    let rss = tracked.reading.rss().as_f64();
    let cost = match tracked.careful.cost {
        Some((cost, then)) if then > Bytes::ZERO => cost.0 as f64 * (rss / then.as_f64()),
        _ => COST_PER_GIB * rss / f64::from(1u32 << 30),
    };
    cost.max(SMALLEST_COST)
}

fn mention(tracked: &mut Tracked, now: Micros, gaps: &mut Vec<Gap>) {
    let due = tracked
        .careful
        .mentioned
        .is_none_or(|at| now.since(at) >= MENTION_AGAIN);
    if due {
        tracked.careful.mentioned = Some(now);
        gaps.push(Gap {
            who: Some(tracked.id()),
            what: "smaps_rollup".to_owned(),
            why: GapWhy::TooLarge,
        });
    }
}
