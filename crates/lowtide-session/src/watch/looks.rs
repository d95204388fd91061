//! When to look into which process, and the thread that does it: a look takes up to seconds, and a tick
//! must not wait for it. What it found comes back with a later tick.
//!
//! The first look at a process comes when its start-up is over, the next ones at pauses that grow with
//! the time passed, and between them when what it holds has grown by a tenth. Where nobody says how many
//! steps there will be the end cannot be foreseen; this way the last look lies in the last third of the
//! run, and close to the last growth. Where it is known, the last steps get a look whatever it costs.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use lowtide_core::look::{Look, LookWhy};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros, Share};
use lowtide_sys::look::{Options, take};
use lowtide_sys::proc::Proc;

/// Share of wall time that looks may take of a core.
const BUDGET: Share = Share(0.01);
/// Start-up takes this long where nothing tells of steps.
const START_UP: Micros = Micros(5_000_000);
/// The next look comes when this much more of the time has passed.
const FACTOR: f64 = 1.5;
/// And this many are taken whatever they cost: one alone compares with nothing.
const AT_LEAST: u32 = 2;
/// The second of them waits this long where it can: right after the first there is nothing to compare,
/// and a run of 20 s is to have both.
const PATIENCE: Micros = Micros(12_000_000);
/// From this share of the steps on, the end is near: late enough to have seen nearly all of the growth,
/// and in a run of 48 steps of 0.2 s still two seconds before it.
const NEAR_THE_END: f64 = 0.8;
const SHORTEST_PAUSE: Micros = Micros(4_000_000);
/// For looks that are asked for: by growth, by the first step, by a new verdict.
const SHORTEST_ASKED: Micros = Micros(2_000_000);
/// Growth that deserves a look between two that are due.
const GREW: f64 = 1.1;
/// And that is more than noise of a small process.
const GREW_BYTES: f64 = 4e6;
/// A look ends after this much work, whatever is left to read: about 10 GB of small blocks.
const WITHIN: Duration = Duration::from_secs(2);
/// With enough saved up, a look may take this long.
const WITHIN_AT_MOST: Duration = Duration::from_secs(10);

/// A process beside the watched one deserves looks when it has grown by this much, and by more than the
/// watched one: a worker that leaks.
const BESIDE: f64 = 8e6;

/// What looks have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LooksSpent {
    pub looks: u32,
    pub cpu: Micros,
}

/// How far the training loop has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
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
pub(super) struct Candidate {
    pub id: ProcId,
    pub held: Bytes,
}

/// What is known of the looks into one process.
#[derive(Clone, Copy, Debug)]
struct Seen {
    first: Micros,
    /// Time and size at the last look.
    last: Option<(Micros, Bytes)>,
    looks: u32,
    /// Those of them that were taken since the first step.
    in_steps: u32,
    /// One of them when the end was near.
    at_the_end: bool,
    refused: bool,
}

impl Seen {
    fn pause(&self, now: Micros) -> Micros {
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

/// Decides; time is data.
#[derive(Debug, Default)]
struct Schedule {
    processes: BTreeMap<ProcId, Seen>,
    spent: LooksSpent,
    asked: Option<LookWhy>,
    /// What each process of the tree held when its own start-up was over.
    began: BTreeMap<ProcId, (Micros, Bytes)>,
}

impl Schedule {
    /// The process that has grown most, if that is worth a look beside the watched one.
    fn grower(
        &mut self,
        now: Micros,
        all: &[Candidate],
        watched: Option<ProcId>,
    ) -> Option<ProcId> {
        self.began
            .retain(|id, _| all.iter().any(|candidate| candidate.id == *id));
        let mut grown = |candidate: &Candidate| {
            let began = self
                .began
                .entry(candidate.id)
                .or_insert((now, candidate.held));
            if began.0 == now || now.since(began.0) < START_UP {
                began.1 = candidate.held;
            }
            candidate.held.as_f64() - began.1.as_f64()
        };
        let grown: Vec<(ProcId, f64)> = all.iter().map(|one| (one.id, grown(one))).collect();
        let own = grown.iter().find(|(id, _)| Some(*id) == watched);
        let least = own.map_or(0.0, |(_, grown)| *grown).max(BESIDE);
        let most = grown.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (most.1 > least).then_some(most.0)
    }

    /// What may still be spent, in seconds of a core.
    fn credit(&self, now: Micros) -> f64 {
        now.seconds() * BUDGET.0 - self.spent.cpu.seconds()
    }

    /// The process to look into now, if any.
    fn due(
        &mut self,
        now: Micros,
        candidates: &[Candidate],
        reached: Reached,
    ) -> Option<(ProcId, LookWhy)> {
        let credit = self.credit(now);
        // Each look is expected to cost what the ones before did.
        let usual = self.spent.cpu.seconds() / f64::from(self.spent.looks.max(1));
        let asked = self.asked;
        let mut best: Option<(ProcId, LookWhy, Micros)> = None;
        for candidate in candidates {
            let seen = self.processes.entry(candidate.id).or_insert(Seen {
                first: now,
                last: None,
                looks: 0,
                in_steps: 0,
                at_the_end: false,
                refused: false,
            });
            if seen.refused || !(credit >= usual || seen.is_free(now, reached)) {
                continue;
            }
            let Some(why) = why(seen, now, candidate.held, reached, asked) else {
                continue;
            };
            // The one that has waited longest goes first.
            let waited = seen.pause(now);
            if best.is_none_or(|(_, _, longest)| waited > longest) {
                best = Some((candidate.id, why, waited));
            }
        }
        let (id, why, _) = best?;
        self.asked = None;
        let held = candidates.iter().find(|candidate| candidate.id == id);
        if let Some(seen) = self.processes.get_mut(&id) {
            seen.last = Some((now, held.map_or(Bytes::ZERO, |candidate| candidate.held)));
            seen.looks += 1;
            seen.in_steps += u32::from(reached.step.is_some());
            seen.at_the_end |= reached.is_near_the_end();
        }
        Some((id, why))
    }

    fn within(&self, now: Micros) -> Duration {
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

type Answer = Result<Look, Gap>;

/// The schedule and its thread.
pub(super) struct Looks {
    schedule: Schedule,
    ask: Sender<(ProcId, Options)>,
    answers: Receiver<Answer>,
    busy: bool,
}

impl Looks {
    /// None: no thread could be had, or no `/proc`; then there are no looks.
    pub(super) fn start() -> Option<Looks> {
        let proc = Proc::at("/proc").ok()?;
        let (ask, asked) = channel::<(ProcId, Options)>();
        let (answer, answers) = channel();
        // Not joined: it ends with its last look, at most seconds after us.
        std::thread::Builder::new()
            .name("looks".to_owned())
            .spawn(move || {
                for (id, options) in asked {
                    if answer.send(take(&proc, id, options)).is_err() {
                        return;
                    }
                }
            })
            .ok()?;
        Some(Looks {
            schedule: Schedule::default(),
            ask,
            answers,
            busy: false,
        })
    }

    /// A look is wanted soon: the verdict changed, or the guard warned.
    pub(super) fn soon(&mut self, why: LookWhy) {
        self.schedule.asked = Some(why);
    }

    /// What the thread has found since the last call.
    pub(super) fn found(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        self.busy = false;
        let spent = &mut self.schedule.spent;
        match &answer {
            Ok(look) => {
                spent.looks += 1;
                spent.cpu = Micros(spent.cpu.0 + look.cost.cpu.0);
            }
            Err(gap) => {
                let seen = gap.who.and_then(|id| self.schedule.processes.get_mut(&id));
                if let Some(seen) = seen {
                    // What is denied once is denied again.
                    seen.refused = gap.why != GapWhy::Late;
                }
            }
        }
        Some(answer)
    }

    /// Asks for the look that is due, if any: into the watched process, into the one that the verdict
    /// names, into the one that grows most. `all` is the tree.
    pub(super) fn turn(
        &mut self,
        now: Micros,
        all: &[Candidate],
        wanted: [Option<ProcId>; 2],
        reached: Reached,
    ) {
        let grower = self.schedule.grower(now, all, wanted[0]);
        if self.busy {
            return;
        }
        let mut candidates = all.to_vec();
        candidates.retain(|one| wanted.contains(&Some(one.id)) || grower == Some(one.id));
        let Some((id, why)) = self.schedule.due(now, &candidates, reached) else {
            return;
        };
        let options = Options {
            at: now,
            why,
            within: self.schedule.within(now),
        };
        self.busy = self.ask.send((id, options)).is_ok();
    }

    pub(super) fn spent(&self) -> LooksSpent {
        self.schedule.spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ProcId = ProcId { pid: 7, start: 1 };

    const IN_STEPS: Reached = Reached {
        step: Some(1),
        total: None,
    };

    /// Runs the schedule with a tick a second; `held` and the moment of the first step are given.
    fn times(
        seconds: u64,
        cost: f64,
        first_step: u64,
        held: impl Fn(u64) -> u64,
    ) -> Vec<(u64, LookWhy)> {
        times_of(seconds, cost, held, |second| Reached {
            step: second.checked_sub(first_step),
            total: None,
        })
    }

    fn times_of(
        seconds: u64,
        cost: f64,
        held: impl Fn(u64) -> u64,
        reached: impl Fn(u64) -> Reached,
    ) -> Vec<(u64, LookWhy)> {
        let mut schedule = Schedule::default();
        let mut looks = Vec::new();
        for second in 0..seconds {
            let candidate = Candidate {
                id: ID,
                held: Bytes(held(second)),
            };
            let now = Micros(second * 1_000_000);
            if let Some((_, why)) = schedule.due(now, &[candidate], reached(second)) {
                looks.push((second, why));
                schedule.spent.looks += 1;
                schedule.spent.cpu.0 += Micros::from_seconds(cost).0;
            }
        }
        looks
    }

    #[test]
    fn twenty_seconds_have_two_looks_and_the_last_third_has_one() {
        for seconds in [20, 31, 100, 777, 5000] {
            let looks = times(seconds, 0.01, u64::MAX, |_| 1_000_000_000);
            assert!(looks.len() >= 2, "{seconds}: {looks:?}");
            let (last, _) = *looks.last().unwrap();
            assert!(last as f64 >= seconds as f64 / FACTOR - 2.0, "{looks:?}");
        }
        // A week of it does not make thousands.
        assert!(times(604_800, 0.1, 3, |_| 1).len() < 40);
    }

    #[test]
    fn a_dear_process_is_looked_into_within_the_budget() {
        let looks = times(3600, 1.0, 2, |second| 1_000_000_000 + second * 100_000_000);
        assert!(
            looks.len() as f64 * 1.0 <= 36.0 + f64::from(AT_LEAST),
            "{looks:?}"
        );
        assert!(looks.len() > 10, "{looks:?}");
    }

    #[test]
    fn steps_get_a_look_of_their_own_and_growth_does_too() {
        // Imports take 12 s.
        let looks = times(15, 0.01, 12, |_| 1);
        let starts = looks.iter().filter(|(_, why)| *why == LookWhy::Start);
        let starts: Vec<u64> = starts.map(|(second, _)| *second).collect();
        assert_eq!(starts, [5, 12]);
        // Flat for ten minutes, then a leak: it does not have to wait for the next look that is due.
        let late = times(700, 0.01, 1, |second| {
            1_000_000_000 + second.saturating_sub(600) * 50_000_000
        });
        assert!(
            late.iter().filter(|(second, _)| *second > 600).count() > 5,
            "{late:?}"
        );
    }

    #[test]
    fn dear_looks_into_the_start_up_do_not_cost_the_steps_theirs() {
        let growing = |second| 500_000_000 + second * 20_000_000;
        let looks = times(26, 0.5, 10, growing);
        let in_steps = looks.iter().filter(|(second, _)| *second >= 10);
        assert_eq!(in_steps.count(), 2, "{looks:?}");
    }

    #[test]
    fn two_dear_looks_into_known_steps_are_far_apart() {
        let growing = |second| 500_000_000 + second * 20_000_000;
        // One step a second, from the tenth second on.
        let looks = times_of(30, 1.0, growing, |second| Reached {
            step: second.checked_sub(10),
            total: Some(20),
        });
        let in_steps: Vec<u64> = looks
            .iter()
            .map(|look| look.0)
            .filter(|at| *at >= 10)
            .collect();
        assert_eq!(in_steps.first(), Some(&10));
        assert!(in_steps.last() >= Some(&26), "{looks:?}");
        // Nothing may be left over for the end: one that is dear waits for it no longer than this.
        let killed = times_of(30, 1.0, growing, |second| Reached {
            step: second.checked_sub(10),
            total: Some(100_000),
        });
        assert_eq!(
            killed.iter().filter(|look| look.0 >= 10).count(),
            2,
            "{killed:?}"
        );
    }

    #[test]
    fn a_worker_that_is_noticed_near_the_end_is_looked_into_twice() {
        let growing = |second| 500_000_000 + second * 20_000_000;
        let looks = times_of(30, 1.0, growing, |second| Reached {
            step: Some(80 + second),
            total: Some(100),
        });
        assert!(looks.len() >= 2, "{looks:?}");
    }

    #[test]
    fn a_worker_that_grows_deserves_looks_and_one_that_starts_does_not() {
        let worker = ProcId { pid: 9, start: 2 };
        let mut schedule = Schedule::default();
        let mut grower = |second: u64, held: u64| {
            let all = [(ID, 1_000_000_000), (worker, held)];
            let all = all.map(|(id, held)| Candidate {
                id,
                held: Bytes(held),
            });
            schedule.grower(Micros(second * 1_000_000), &all, Some(ID))
        };
        assert_eq!(grower(1, 1_000_000), None);
        assert_eq!(grower(4, 80_000_000), None, "it imports");
        assert_eq!(grower(7, 84_000_000), None);
        assert_eq!(grower(20, 89_000_000), Some(worker));
    }

    #[test]
    fn a_look_that_is_asked_for_comes_at_once() {
        let mut schedule = Schedule::default();
        let candidate = [Candidate {
            id: ID,
            held: Bytes(1),
        }];
        let at = |second: u64| Micros(second * 1_000_000);
        assert_eq!(
            schedule.due(at(100), &candidate, IN_STEPS),
            Some((ID, LookWhy::Start))
        );
        assert_eq!(schedule.due(at(103), &candidate, IN_STEPS), None);
        schedule.asked = Some(LookWhy::Verdict);
        assert_eq!(
            schedule.due(at(104), &candidate, IN_STEPS),
            Some((ID, LookWhy::Verdict))
        );
        // A worker that the verdict names has waited longest.
        let worker = Candidate {
            id: ProcId { pid: 9, start: 2 },
            held: Bytes(1),
        };
        let both = [candidate[0], worker];
        assert_eq!(
            schedule.due(at(105), &both, IN_STEPS),
            Some((worker.id, LookWhy::Start))
        );
    }
}
