//! Decides when to look into which process; time is data.
//!
//! The first look at a process comes when its start-up is over, the next ones at pauses that grow with
//! the time passed, and between them when what it holds has grown by a tenth. Where nobody says how many
//! steps there will be the end cannot be foreseen; this way the last look lies in the last third of the
//! run, and close to the last growth. Where it is known, the last steps get a look whatever it costs, unless it is a
//! census.
//!
//! Who pays: looks have their share of the time. Those that are taken whatever they cost are not paid back by later
//! ones: two dear looks at the start of a run would leave its growth unseen. A census is paid from what all looks
//! together have left over, and what it spent is never missing for them.

use std::collections::BTreeMap;
use std::time::Duration;

use lowtide_core::look::LookWhy;
use lowtide_core::process::ProcId;
use lowtide_core::sample::GapWhy;
use lowtide_core::units::{Bytes, Micros, Share};

use super::census::{self, Census, Spared};
use super::{Answer, Kind};

/// Share of wall time that looks may take of a core.
pub(super) const BUDGET: Share = Share(0.01);
/// Start-up takes this long where nothing tells of steps.
const START_UP: Micros = Micros(5_000_000);
/// The next look comes when this much more of the time has passed.
const FACTOR: f64 = 1.5;
/// And this many are taken whatever they cost: one alone compares with nothing.
const AT_LEAST: u32 = 2;
/// The second of them waits this long where it can: right after the first there is nothing to compare,
/// and a run of 20 s is to have both.
pub(super) const PATIENCE: Micros = Micros(12_000_000);
/// From this share of the steps on, the end is near: late enough to have seen nearly all of the growth,
/// and in a run of 48 steps of 0.2 s still two seconds before it.
const NEAR_THE_END: f64 = 0.8;
const SHORTEST_PAUSE: Micros = Micros(4_000_000);
/// For looks that are asked for: by growth, by the first step, by a new verdict.
const SHORTEST_ASKED: Micros = Micros(2_000_000);
/// Growth that deserves a look between two that are due.
const GREW: f64 = 1.1;
/// And that is more than noise of a small process.
pub(super) const GREW_BYTES: f64 = 4e6;
/// A look ends after this much work, whatever is left to read: about 10 GB of small blocks.
const WITHIN: Duration = Duration::from_secs(2);
/// With enough saved up, a look may take this long.
const WITHIN_AT_MOST: Duration = Duration::from_secs(10);

/// A process beside the watched one deserves looks when it has grown by this much, whatever the watched one did: what
/// that took to start may be more than its workers leak in minutes.
const BESIDE: f64 = 8e6;
/// And by this share of what the one that grew most beside it did.
const LIKE_THE_MOST: f64 = 0.2;
/// So many of them, at most: workers of one loader are alike.
const MOST_BESIDE: usize = 4;

/// What the first minute pays for may be spent before it is over, where there is something new to see: a run of a
/// minute is to have a look in its last third even if the first ones were dear.
pub(super) const ON_LOAN: Micros = Micros(60_000_000);
/// Only what costs no more than this is lent to looks: a third of what a minute pays, and as much as a look at a
/// gigabyte takes.
const LENT: f64 = 0.2;

/// What looks have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LooksSpent {
    looks: u32,
    cpu: Micros,
    /// Without those that were taken whatever they cost.
    paid: Micros,
}

/// How far the training loop has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::watch) struct Reached {
    /// None: it has not begun.
    pub step: Option<u64>,
    pub total: Option<u64>,
}

impl Reached {
    fn is_near_the_end(self) -> bool {
        let share = |(step, total): (u64, u64)| step as f64 >= NEAR_THE_END * total as f64;
        self.step.zip(self.total).is_some_and(share)
    }
}

/// One process that could be looked into, as the newest tick saw it.
#[derive(Clone, Copy, Debug)]
pub(in crate::watch) struct Target {
    pub id: ProcId,
    pub held: Bytes,
    /// There is a CPython in it, as far as its command tells.
    pub python: bool,
    /// Objects that its collector tracks, where that was read.
    pub tracked: Option<u64>,
    /// No look into it is taken that is not paid for.
    pub within_budget: bool,
}

impl Target {
    pub(in crate::watch) fn new(id: ProcId, held: Bytes) -> Target {
        Target {
            id,
            held,
            python: false,
            tracked: None,
            within_budget: false,
        }
    }
}

/// What is known of the looks of one examiner into one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    first: Micros,
    /// Time and size at the last look.
    pub last: Option<(Micros, Bytes)>,
    looks: u32,
    /// Those of them that were taken since the first step.
    in_steps: u32,
    /// One of them when the end was near.
    at_the_end: bool,
    /// One of them has found something.
    answered: bool,
    refused: bool,
}

impl Seen {
    fn new(first: Micros) -> Seen {
        Seen {
            first,
            last: None,
            looks: 0,
            in_steps: 0,
            at_the_end: false,
            answered: false,
            refused: false,
        }
    }

    pub(super) fn pause(&self, now: Micros) -> Micros {
        now.since(self.last.map_or(self.first, |(at, _)| at))
    }

    /// Whether a look is taken even if nothing is left to pay for it.
    fn is_free(&self, now: Micros, reached: Reached) -> bool {
        // What start-up looked like does not help once there are steps to compare.
        let compared = match reached.step {
            Some(_) => self.in_steps,
            None => self.looks,
        };
        // Steps whose number nobody knows may be over soon, and those that are nearly done will be.
        let known = reached.total.is_some() && !reached.is_near_the_end();
        let may_wait = reached.step.is_none() || known;
        compared == 0
            || compared < AT_LEAST && (!may_wait || self.pause(now) >= PATIENCE)
            || self.lacks_the_end(reached)
    }

    fn lacks_the_end(&self, reached: Reached) -> bool {
        reached.is_near_the_end() && !self.at_the_end
    }
}

/// How a look is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    free: bool,
}

const PAID: Terms = Terms { free: false };

/// The look that is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub id: ProcId,
    pub examiner: usize,
    pub why: LookWhy,
    /// Taken whatever it costs.
    pub free: bool,
}

#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// On what terms each examiner looks.
    kinds: Vec<Kind>,
    /// By process and examiner.
    seen: BTreeMap<(ProcId, usize), Seen>,
    /// What each examiner has cost.
    spent: Vec<LooksSpent>,
    /// A look that somebody wants soon, by examiner.
    pub asked: Vec<Option<LookWhy>>,
    pub census: Census,
    /// How long the job had run before it was watched.
    pub before: Micros,
    /// What each process of the tree held when its own start-up was over.
    began: BTreeMap<ProcId, (Micros, Bytes)>,
}

impl Schedule {
    pub(super) fn new(kinds: Vec<Kind>) -> Schedule {
        Schedule {
            spent: vec![LooksSpent::default(); kinds.len()],
            asked: vec![None; kinds.len()],
            kinds,
            ..Schedule::default()
        }
    }

    pub(super) fn kind(&self, due: Due) -> Kind {
        self.kinds.get(due.examiner).copied().unwrap_or(Kind::Light)
    }

    pub(super) fn soon(&mut self, why: LookWhy) {
        self.asked.fill(Some(why));
    }

    pub(super) fn spared(&mut self) -> Option<Spared> {
        self.census.spared()
    }

    /// All that was spent, by whomever.
    fn total(&self) -> LooksSpent {
        let add = |all: LooksSpent, one: &LooksSpent| LooksSpent {
            looks: all.looks + one.looks,
            cpu: Micros(all.cpu.0 + one.cpu.0),
            paid: Micros(all.paid.0 + one.paid.0),
        };
        self.spent.iter().fold(LooksSpent::default(), add)
    }

    /// The processes beside the watched one that have grown, if that is worth a look: most growth first.
    pub(super) fn growers(
        &mut self,
        now: Micros,
        all: &[Target],
        watched: Option<ProcId>,
    ) -> Vec<ProcId> {
        self.began
            .retain(|id, _| all.iter().any(|target| target.id == *id));
        let mut grown = |target: &Target| {
            let began = self.began.entry(target.id).or_insert((now, target.held));
            if began.0 == now || now.since(began.0) < START_UP {
                began.1 = target.held;
            }
            target.held.as_f64() - began.1.as_f64()
        };
        let mut grown: Vec<(ProcId, f64)> = all.iter().map(|one| (one.id, grown(one))).collect();
        grown.retain(|(id, _)| Some(*id) != watched);
        grown.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most = grown.first().map_or(0.0, |(_, grown)| *grown);
        let least = (LIKE_THE_MOST * most).max(BESIDE);
        let worth = grown.into_iter().filter(|(_, grown)| *grown > least);
        worth.take(MOST_BESIDE).map(|(id, _)| id).collect()
    }

    /// Who may be looked into. Workers that grow alike say the same: those after the first are looked into as far as
    /// the budget goes.
    pub(super) fn targets(
        &mut self,
        now: Micros,
        all: &[Target],
        wanted: [Option<ProcId>; 2],
    ) -> Vec<Target> {
        let growers = self.growers(now, all, wanted[0]);
        let wants = |id: ProcId| wanted.contains(&Some(id));
        let chosen = all.iter().filter_map(|target| {
            let rank = growers.iter().position(|id| *id == target.id);
            (wants(target.id) || rank.is_some()).then(|| Target {
                within_budget: !wants(target.id) && rank > Some(0),
                ..*target
            })
        });
        chosen.collect()
    }

    /// What looks may still spend by then, in seconds of a core. What censuses spent is no matter of theirs.
    fn credit(&self, until: Micros) -> f64 {
        let of = self.spent.iter().zip(&self.kinds);
        let light = of.filter(|(_, kind)| **kind == Kind::Light);
        let paid: f64 = light.map(|(spent, _)| spent.paid.seconds()).sum();
        until.seconds() * BUDGET.0 - paid
    }

    /// The process that an examiner is to look into now, if any. `headroom` is what is left below the limit, where
    /// there is one.
    pub(super) fn due(
        &mut self,
        examiner: usize,
        now: Micros,
        targets: &[Target],
        reached: Reached,
        headroom: Option<f64>,
    ) -> Option<Due> {
        let mut best: Option<(Due, Bytes, Micros)> = None;
        for target in targets {
            let key = (target.id, examiner);
            let seen = *self.seen.entry(key).or_insert(Seen::new(now));
            let Some(why) = why(&seen, now, target.held, reached, self.asked[examiner]) else {
                continue;
            };
            let terms = match self.kinds[examiner] {
                _ if seen.refused => None,
                Kind::Light => self.light(examiner, &seen, now, target, reached),
                Kind::Census => (self.takes_census(&seen, now, target, headroom)).then_some(PAID),
            };
            let Some(Terms { free }) = terms else {
                continue;
            };
            // The one that has waited longest goes first.
            let waited = seen.pause(now);
            if best.is_none_or(|(_, _, longest)| waited > longest) {
                let id = target.id;
                let due = Due {
                    id,
                    examiner,
                    why,
                    free,
                };
                best = Some((due, target.held, waited));
            }
        }
        let (due, held, _) = best?;
        self.asked[due.examiner] = None;
        if let Some(seen) = self.seen.get_mut(&(due.id, due.examiner)) {
            seen.last = Some((now, held));
            seen.looks += 1;
            seen.in_steps += u32::from(reached.step.is_some());
            seen.at_the_end |= reached.is_near_the_end();
        }
        Some(due)
    }

    /// On what terms a look is taken, if it is.
    fn light(
        &self,
        examiner: usize,
        seen: &Seen,
        now: Micros,
        target: &Target,
        reached: Reached,
    ) -> Option<Terms> {
        if !target.within_budget && seen.is_free(now, reached) {
            return Some(Terms { free: true });
        }
        // Each look is expected to cost what this examiner's before did.
        let spent = self.spent[examiner];
        let usual = spent.cpu.seconds() / f64::from(spent.looks.max(1));
        let lends = !target.within_budget && usual <= LENT && seen.pause(now) >= PATIENCE;
        let until = if lends { now.max(ON_LOAN) } else { now };
        (self.credit(until) >= usual).then_some(PAID)
    }

    /// Whether a census is worth what it costs, can be paid and has room.
    fn takes_census(
        &mut self,
        seen: &Seen,
        now: Micros,
        target: &Target,
        headroom: Option<f64>,
    ) -> bool {
        let began = self.began.get(&target.id).map(|(_, held)| *held);
        let spent = self.total().cpu.seconds();
        let money = census::Money {
            now,
            before: self.before.min(census::BEFORE),
            spent,
        };
        target.python
            && self.is_looked_into(target.id)
            && self.census.is_wanted(seen, target, began, money)
            && self.census.has_room(target, headroom)
    }

    /// Whether looks have told of a process all that they can: what a census will cost in time and memory is known
    /// by that.
    fn is_looked_into(&self, id: ProcId) -> bool {
        let mut lights = (0..self.kinds.len()).filter(|nth| self.kinds[*nth] == Kind::Light);
        lights.all(|light| {
            let seen = self.seen.get(&(id, light));
            seen.is_some_and(|seen| seen.answered || seen.refused)
        })
    }

    /// What came of a look that was due.
    pub(super) fn took(&mut self, due: Due, answer: &Answer) {
        let seen = self.seen.get_mut(&(due.id, due.examiner));
        match answer {
            Ok(look) => {
                if let Some(seen) = seen {
                    seen.answered = true;
                }
                match self.kind(due) {
                    Kind::Light => self.census.saw(look),
                    Kind::Census => self.census.took(look),
                }
                let spent = &mut self.spent[due.examiner];
                spent.looks += 1;
                spent.cpu = Micros(spent.cpu.0 + look.cost.cpu.0);
                if !due.free {
                    spent.paid = Micros(spent.paid.0 + look.cost.cpu.0);
                }
            }
            Err(gap) => {
                if let Some(seen) = seen {
                    // What is denied once is denied again.
                    seen.refused = gap.why != GapWhy::Late;
                }
            }
        }
    }

    pub(super) fn within(&self, now: Micros, due: Due, target: Option<&Target>) -> Duration {
        if let (Kind::Census, Some(target)) = (self.kind(due), target) {
            return self.census.within(target);
        }
        let credit = Duration::try_from_secs_f64(self.credit(now)).unwrap_or_default();
        credit.clamp(WITHIN, WITHIN_AT_MOST)
    }
}

fn why(
    seen: &Seen,
    now: Micros,
    held: Bytes,
    reached: Reached,
    asked: Option<LookWhy>,
) -> Option<LookWhy> {
    let in_steps = reached.step.is_some();
    let Some((last, held_then)) = seen.last else {
        let started = in_steps || now.since(seen.first) >= START_UP;
        return started.then_some(LookWhy::Start);
    };
    let pause = now.since(last);
    // A first look during start-up says nothing of the steps: they get one of their own.
    if in_steps && seen.in_steps == 0 && pause >= SHORTEST_ASKED {
        return Some(LookWhy::Start);
    }
    if asked.is_some() && pause >= SHORTEST_ASKED {
        return asked;
    }
    let passed = last.since(seen.first).seconds() * (FACTOR - 1.0);
    let usual = pause >= SHORTEST_PAUSE && pause.seconds() >= passed;
    let grown = held.as_f64() >= (held_then.as_f64() * GREW).max(held_then.as_f64() + GREW_BYTES);
    let soon = grown || seen.lacks_the_end(reached);
    (usual || soon && pause >= SHORTEST_ASKED).then_some(LookWhy::Due)
}

#[cfg(test)]
mod tests;
