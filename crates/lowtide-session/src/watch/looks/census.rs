//! On what terms a census is taken while watching: it goes over all objects of a Python process, which costs one to
//! three seconds of a core and 340 MB for a million of them.
//!
//! So it looks only into what grows: first when a process has grown since its start-up, then when it has grown since
//! the census before. What it will cost is known beforehand, from the blocks of small objects that the last look at its
//! mappings counted, or from the objects that its collector tracks. It has to
//! fit what the budget has saved up, or what the first minute will have paid for: then a run of 60 s has two to
//! compare where they are cheap, and one of hours has them whatever they cost, as has one that had run for long when it
//! was attached to. All that looks spent counts in that, and
//! nothing that it spends counts for them. And its own memory may count against
//! the job's limit, so it has to be a small part of what is left below that.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::Sender;
use std::time::Duration;

use lowtide_census::{CensusOptions, Refusal, take};
use lowtide_core::look::{By, Examine, Look, MemoryClass, Options, Part};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::proc::{Proc, status};

use super::super::inside::NewMeters;
use super::schedule::{BUDGET, GREW_BYTES, ON_LOAN, PATIENCE, Seen, Target};

/// Seconds of a core for each object, before one was measured: 5.0 for the 1.67 million of torch and transformers, on a
/// busy machine.
const PACE: f64 = 3e-6;
/// And for none: finding the interpreter and its modules.
const FIXED: f64 = 0.02;
/// What one measured pace may be: a process that is nearly empty, or one that was swapped out, says nothing of others.
const PACES: std::ops::RangeInclusive<f64> = 0.5e-6..=20e-6;
/// Where no look has counted blocks: objects for each one that the collector tracks, 3.1 in a process with torch and transformers (numbers and texts are
/// not tracked), more where a program keeps many of those.
const FOR_EACH_TRACKED: u64 = 4;
/// Bytes that a process holds for each object, where nobody counted: 1.5 million in 300 MB of torch without tensors.
const HELD_FOR_EACH: u64 = 200;
/// What a census keeps for each object while it lasts, in tables and copies of the pages that they are in: 470 MB
/// for 1.39 million of torch and transformers (`bench/census/run.py`), and 695 MB with a stop.
const MEMORY: u64 = 350;
const MEMORY_STOPPED: u64 = 530;
/// It may take this share of the headroom.
const OF_HEADROOM: f64 = 0.1;
/// One that costs no more than this is taken when start-up is over, before anything grew: a third of what a
/// minute pays, and what a plain program of 40,000 objects takes.
const CHEAP: f64 = 0.2;
/// A job that runs for long pays at once: the budget is a share of its time, not of ours. As much as the dearest census
/// that is usual takes, so that nobody who attaches again and again is a burden.
pub(super) const BEFORE: Micros = Micros(600_000_000);
/// It ends after so many times what it is expected to take, ...
const SLACK: f64 = 3.0;
/// ... not before this, ...
const WITHIN: Duration = Duration::from_secs(2);
/// ... and here at the latest.
const WITHIN_AT_MOST: Duration = Duration::from_secs(30);

/// Processes of which something is remembered.
const REMEMBERED: usize = 256;

/// What may be spent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Money {
    pub now: Micros,
    /// What the job had run before it was watched, as far as that counts.
    pub before: Micros,
    /// Seconds of a core that all looks have cost.
    pub spent: f64,
}

impl Money {
    fn pays(self, cost: f64, seen: &Seen, within_budget: bool) -> bool {
        let time = |until: Micros| until.seconds() + self.before.seconds();
        let has = |until: Micros| time(until) * BUDGET.0 - self.spent >= cost;
        // Right after one there is nothing to compare: what is lent is not spent on that.
        let lends = seen.last.is_none() || seen.pause(self.now) >= PATIENCE;
        has(self.now) || lends && !within_budget && has(self.now.max(ON_LOAN))
    }
}

/// A census that was left out because of the memory that it would take itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::watch) struct Spared {
    pub id: ProcId,
    pub takes: Bytes,
    pub headroom: Bytes,
}

impl fmt::Display for Spared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spared {
            id,
            takes,
            headroom,
        } = self;
        write!(
            f,
            "no census of {id}: it would take about {takes}, more than a tenth of the {headroom} that are left below \
             the limit; who holds what grows is not known"
        )
    }
}

/// What the schedule knows of censuses.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// `--looks stop`.
    pub stops: bool,
    /// Seconds of a core for each object, as last measured.
    pace: Option<f64>,
    /// Objects that the last census of a process found.
    known: BTreeMap<ProcId, u64>,
    /// Blocks of small objects in use, by the last look at its mappings.
    blocks: BTreeMap<ProcId, u64>,
    spared: Option<Spared>,
    told: bool,
}

impl Census {
    /// Whether one is worth what it costs, and can be paid. `began` is what the process held when its start-up was
    /// over.
    pub(super) fn is_wanted(
        &self,
        seen: &Seen,
        target: &Target,
        began: Option<Bytes>,
        money: Money,
    ) -> bool {
        let cost = self.cost(target);
        let then = seen.last.map(|(_, held)| held).or(began);
        let grew = then.map(|then| target.held.as_f64() - then.as_f64());
        let grew = grew.is_some_and(|grew| grew >= GREW_BYTES);
        let first_is_cheap = seen.last.is_none() && cost <= CHEAP;
        (grew || first_is_cheap) && money.pays(cost, seen, target.within_budget)
    }

    /// Whether the memory that it takes is a small part of what is left; if not, that is to be told.
    pub(super) fn has_room(&mut self, target: &Target, headroom: Option<f64>) -> bool {
        let each = if self.stops { MEMORY_STOPPED } else { MEMORY };
        let takes = self.objects(target).saturating_mul(each);
        let Some(headroom) = headroom.filter(|left| takes as f64 > OF_HEADROOM * left) else {
            return true;
        };
        if !self.told {
            self.told = true;
            self.spared = Some(Spared {
                id: target.id,
                takes: Bytes(takes),
                headroom: Bytes(headroom.max(0.0) as u64),
            });
        }
        false
    }

    /// What is to be told, once.
    pub(super) fn spared(&mut self) -> Option<Spared> {
        self.spared.take()
    }

    pub(super) fn took(&mut self, look: &Look) {
        let Some(heap) = &look.heap else { return };
        let cost = (look.cost.cpu.seconds() - FIXED).max(0.0);
        let pace = cost / heap.objects.max(1) as f64;
        self.pace = Some(pace.clamp(*PACES.start(), *PACES.end()));
        remember(&mut self.known, look.id, heap.objects);
    }

    /// What the look of another examiner says of a process's objects.
    pub(super) fn saw(&mut self, look: &Look) {
        let mappings = look.breakdown(&By::Mapping);
        let small = |part: &&Part| part.class == Some(MemoryClass::PythonLive);
        let small = mappings.and_then(|mappings| mappings.parts.iter().find(small));
        if let Some(small) = small {
            remember(&mut self.blocks, look.id, blocks(small));
        }
    }

    pub(super) fn within(&self, target: &Target) -> Duration {
        let slack = Duration::try_from_secs_f64(SLACK * self.cost(target));
        slack
            .unwrap_or(WITHIN_AT_MOST)
            .clamp(WITHIN, WITHIN_AT_MOST)
    }

    fn cost(&self, target: &Target) -> f64 {
        FIXED + self.pace.unwrap_or(PACE) * self.objects(target) as f64
    }

    /// How many it has, rather too many than too few.
    fn objects(&self, target: &Target) -> u64 {
        let (known, blocks) = (self.known.get(&target.id), self.blocks.get(&target.id));
        let counted = known.max(blocks).copied();
        counted.unwrap_or_else(|| match target.tracked {
            Some(tracked) => tracked.saturating_mul(FOR_EACH_TRACKED),
            None => target.held.0 / HELD_FOR_EACH,
        })
    }
}

/// A tree of a week has had many.
fn remember(of: &mut BTreeMap<ProcId, u64>, id: ProcId, count: u64) {
    if of.len() >= REMEMBERED && !of.contains_key(&id) {
        of.pop_first();
    }
    of.insert(id, count);
}

/// Of all sizes, by those that are named.
fn blocks(small: &Part) -> u64 {
    let (count, bytes) = (small.members.iter()).fold((0.0, 0.0), |(count, bytes), member| {
        (count + member.count as f64, bytes + member.bytes.as_f64())
    });
    let all = small.bytes.unwrap_or_default().as_f64();
    // Numbers that nobody can have make no harm here.
    (count * (all / f64::max(bytes, 1.0)).max(1.0)) as u64
}

/// Goes over all objects of a process.
pub(in crate::watch) struct CensusExaminer {
    pub proc: Proc,
    /// `--looks stop`.
    pub stop: bool,
    /// Who reads its holders again on every tick.
    pub meters: Sender<NewMeters>,
}

impl Examine for CensusExaminer {
    fn examine(&mut self, id: ProcId, options: Options) -> Result<Look, Gap> {
        let Options { at, why, within } = options;
        let asked = CensusOptions {
            stop: self.stop,
            within,
            at,
            why,
        };
        let before = self.held(id);
        let census = take(&self.proc, id, &asked).map_err(|refusal| gap(id, &refusal))?;
        // Nobody reads them where no thread could be had for that.
        let _ = self.meters.send(NewMeters {
            id,
            interpreter: census.interpreter,
            meters: census.meters,
        });
        let mut look = census.look;
        look.name_the_largest();
        // It was read meanwhile.
        let both = before.zip(self.held(id));
        look.held = both.map(|(before, after)| Bytes((before.0 + after.0) / 2));
        Ok(look)
    }
}

impl CensusExaminer {
    fn held(&self, id: ProcId) -> Option<Bytes> {
        let mut text = Vec::new();
        self.proc.read(id.pid, "status", &mut text).ok()?;
        let status = status::parse(&text)?;
        Some(status.anon + status.shmem + status.swap)
    }
}

fn gap(id: ProcId, refusal: &Refusal) -> Gap {
    let why = match refusal {
        Refusal::Gone => GapWhy::Vanished,
        Refusal::Denied { .. } => GapWhy::Denied,
        // It is asked again when it is due.
        passing if passing.may_pass() => GapWhy::Late,
        _ => GapWhy::Unsupported,
    };
    Gap {
        who: Some(id),
        what: "objects".to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests;
