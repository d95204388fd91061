//! When to look into which process, and the thread that does it: a look takes up to seconds, and a tick
//! must not wait for it. What it found comes back with a later tick.
//!
//! Any number of examiners can look. Each has its own pauses for each process; one thread drives them one
//! after the other, and all of them live on one budget.
//!
//! The first look at a process comes when its start-up is over, the next ones at pauses that grow with
//! the time passed, and between them when what it holds has grown by a tenth. Where nobody says how many
//! steps there will be the end cannot be foreseen; this way the last look lies in the last third of the
//! run, and close to the last growth. Where it is known, the last steps get a look whatever it costs.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use lowtide_core::look::{Examine, Look, LookWhy, Options};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros, Share};

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
struct LooksSpent {
    looks: u32,
    cpu: Micros,
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

/// What is known of the looks of one examiner into one process.
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

/// The look that is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    id: ProcId,
    examiner: usize,
    why: LookWhy,
}

/// Decides; time is data.
#[derive(Debug, Default)]
struct Schedule {
    /// By process and examiner.
    seen: BTreeMap<(ProcId, usize), Seen>,
    /// What each examiner has cost.
    spent: Vec<LooksSpent>,
    /// A look that somebody wants soon, by examiner.
    asked: Vec<Option<LookWhy>>,
    /// What each process of the tree held when its own start-up was over.
    began: BTreeMap<ProcId, (Micros, Bytes)>,
}

impl Schedule {
    fn new(examiners: usize) -> Schedule {
        Schedule {
            spent: vec![LooksSpent::default(); examiners],
            asked: vec![None; examiners],
            ..Schedule::default()
        }
    }

    /// All that was spent, by whomever.
    fn total(&self) -> LooksSpent {
        let add = |all: LooksSpent, one: &LooksSpent| LooksSpent {
            looks: all.looks + one.looks,
            cpu: Micros(all.cpu.0 + one.cpu.0),
        };
        self.spent.iter().fold(LooksSpent::default(), add)
    }

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
        now.seconds() * BUDGET.0 - self.total().cpu.seconds()
    }

    /// The process to look into now, if any, and which examiner is to do it.
    fn due(&mut self, now: Micros, candidates: &[Candidate], reached: Reached) -> Option<Due> {
        let credit = self.credit(now);
        let mut best: Option<(Due, Bytes, Micros)> = None;
        for (examiner, spent) in self.spent.iter().enumerate() {
            // Each look is expected to cost what this examiner's before did.
            let usual = spent.cpu.seconds() / f64::from(spent.looks.max(1));
            for candidate in candidates {
                let key = (candidate.id, examiner);
                let seen = self.seen.entry(key).or_insert(Seen {
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
                let Some(why) = why(seen, now, candidate.held, reached, self.asked[examiner])
                else {
                    continue;
                };
                // The one that has waited longest goes first.
                let waited = seen.pause(now);
                if best.is_none_or(|(_, _, longest)| waited > longest) {
                    let id = candidate.id;
                    best = Some((Due { id, examiner, why }, candidate.held, waited));
                }
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

    /// What came of a look that was due.
    fn took(&mut self, due: Due, answer: &Answer) {
        match answer {
            Ok(look) => {
                let spent = &mut self.spent[due.examiner];
                spent.looks += 1;
                spent.cpu = Micros(spent.cpu.0 + look.cost.cpu.0);
            }
            Err(gap) => {
                if let Some(seen) = self.seen.get_mut(&(due.id, due.examiner)) {
                    // What is denied once is denied again.
                    seen.refused = gap.why != GapWhy::Late;
                }
            }
        }
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
    ask: Sender<(Due, Options)>,
    answers: Receiver<Answer>,
    /// The look that the thread is at.
    underway: Option<Due>,
}

impl Looks {
    /// None: no thread could be had; then there are no looks.
    pub(super) fn start(mut examiners: Vec<Box<dyn Examine>>) -> Option<Looks> {
        let schedule = Schedule::new(examiners.len());
        let (ask, asked) = channel::<(Due, Options)>();
        let (answer, answers) = channel();
        // Not joined: it ends with its last look, at most seconds after us.
        std::thread::Builder::new()
            .name("looks".to_owned())
            .spawn(move || {
                for (due, options) in asked {
                    let Some(examiner) = examiners.get_mut(due.examiner) else {
                        return;
                    };
                    if answer.send(examiner.examine(due.id, options)).is_err() {
                        return;
                    }
                }
            })
            .ok()?;
        Some(Looks {
            schedule,
            ask,
            answers,
            underway: None,
        })
    }

    /// A look is wanted soon: the verdict changed, or the guard warned.
    pub(super) fn soon(&mut self, why: LookWhy) {
        self.schedule.asked.fill(Some(why));
    }

    /// What the thread has found since the last call.
    pub(super) fn found(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        if let Some(due) = self.underway.take() {
            self.schedule.took(due, &answer);
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
        if self.underway.is_some() {
            return;
        }
        let mut candidates = all.to_vec();
        candidates.retain(|one| wanted.contains(&Some(one.id)) || grower == Some(one.id));
        let Some(due) = self.schedule.due(now, &candidates, reached) else {
            return;
        };
        let options = Options {
            at: now,
            why: due.why,
            within: self.schedule.within(now),
        };
        self.underway = self.ask.send((due, options)).is_ok().then_some(due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowtide_core::look::{Cost, Examiner};

    const ID: ProcId = ProcId { pid: 7, start: 1 };

    const IN_STEPS: Reached = Reached {
        step: Some(1),
        total: None,
    };

    fn look(due: Due, at: Micros, cost: f64) -> Look {
        let cpu = Micros::from_seconds(cost);
        Look {
            cost: Cost { wall: cpu, cpu },
            ..Look::new(
                at,
                due.id,
                due.why,
                Examiner::Other(due.examiner.to_string()),
            )
        }
    }

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
        let mut schedule = Schedule::new(1);
        let mut looks = Vec::new();
        for second in 0..seconds {
            let candidate = Candidate {
                id: ID,
                held: Bytes(held(second)),
            };
            let now = Micros(second * 1_000_000);
            if let Some(due) = schedule.due(now, &[candidate], reached(second)) {
                looks.push((second, due.why));
                schedule.took(due, &Ok(look(due, now, cost)));
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
        let mut schedule = Schedule::new(1);
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

    /// A second examiner has its own pauses, and both live on one budget.
    #[test]
    fn two_examiners_share_the_budget() {
        let costs = [0.1, 2.0];
        let mut schedule = Schedule::new(costs.len());
        let mut looks = [Vec::new(), Vec::new()];
        for second in 0..3600 {
            let held = Bytes(1_000_000_000 + second * 100_000_000);
            let now = Micros(second * 1_000_000);
            let due = schedule.due(now, &[Candidate { id: ID, held }], IN_STEPS);
            if let Some(due) = due {
                looks[due.examiner].push(second);
                schedule.took(due, &Ok(look(due, now, costs[due.examiner])));
            }
        }
        let spent = schedule.total();
        assert_eq!(spent.looks as usize, looks[0].len() + looks[1].len());
        let free = f64::from(AT_LEAST) * (costs[0] + costs[1]);
        assert!(spent.cpu.seconds() <= 36.0 + free, "{spent:?}");
        // The cheap one looks more often, and the dear one is not starved.
        assert!(looks[0].len() > looks[1].len(), "{looks:?}");
        assert!(looks[1].len() > 4, "{looks:?}");
    }

    /// What one examiner may not read another may.
    #[test]
    fn a_refusal_is_the_examiners_own() {
        let mut schedule = Schedule::new(2);
        let candidate = [Candidate {
            id: ID,
            held: Bytes(1),
        }];
        let first = schedule.due(Micros(1), &candidate, IN_STEPS).unwrap();
        let gap = Gap {
            who: Some(ID),
            what: "memory".to_owned(),
            why: GapWhy::Denied,
        };
        schedule.took(first, &Err(gap));
        let later = |second: u64| Micros(second * 1_000_000);
        let others =
            (1..100).filter_map(|second| schedule.due(later(second), &candidate, IN_STEPS));
        let others: Vec<usize> = others.map(|due| due.examiner).collect();
        assert!(
            others.len() > 1 && !others.contains(&first.examiner),
            "{others:?}"
        );
    }

    #[test]
    fn a_look_that_is_asked_for_comes_at_once() {
        let mut schedule = Schedule::new(1);
        let due = |id, why| {
            let examiner = 0;
            Some(Due { id, examiner, why })
        };
        let candidate = [Candidate {
            id: ID,
            held: Bytes(1),
        }];
        let at = |second: u64| Micros(second * 1_000_000);
        assert_eq!(
            schedule.due(at(100), &candidate, IN_STEPS),
            due(ID, LookWhy::Start)
        );
        assert_eq!(schedule.due(at(103), &candidate, IN_STEPS), None);
        schedule.asked.fill(Some(LookWhy::Verdict));
        assert_eq!(
            schedule.due(at(104), &candidate, IN_STEPS),
            due(ID, LookWhy::Verdict)
        );
        // A worker that the verdict names has waited longest.
        let worker = Candidate {
            id: ProcId { pid: 9, start: 2 },
            held: Bytes(1),
        };
        let both = [candidate[0], worker];
        assert_eq!(
            schedule.due(at(105), &both, IN_STEPS),
            due(worker.id, LookWhy::Start)
        );
    }
}
