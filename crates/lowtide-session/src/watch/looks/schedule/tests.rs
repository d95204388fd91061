//! Looks on a schedule whose time is data.

use super::*;
use lowtide_core::look::{Cost, Examiner, Look};
use lowtide_core::sample::Gap;

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
    let mut schedule = Schedule::new(vec![Kind::Light; 1]);
    let mut looks = Vec::new();
    for second in 0..seconds {
        let target = Target::new(ID, Bytes(held(second)));
        let now = Micros(second * 1_000_000);
        if let Some(due) = schedule.due(0, now, &[target], reached(second), None) {
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
    let mut schedule = Schedule::new(vec![Kind::Light; 1]);
    // The watched process loads for longer than the worker leaks: that hides nobody.
    let mut growers = |second: u64, held: u64| {
        let loads = 1_000_000_000 + 100_000_000 * second;
        let all = [(ID, loads), (worker, held)];
        let all = all.map(|(id, held)| Target::new(id, Bytes(held)));
        schedule.growers(Micros(second * 1_000_000), &all, Some(ID))
    };
    assert!(growers(1, 1_000_000).is_empty());
    assert!(growers(4, 80_000_000).is_empty(), "it imports");
    assert!(growers(7, 84_000_000).is_empty());
    assert_eq!(growers(20, 89_000_000), [worker]);
}

/// Workers of one loader leak alike: each of them is looked into, as far as the budget goes.
#[test]
fn all_that_grow_are_looked_into_and_the_budget_is_kept() {
    const COST: f64 = 0.4;
    let pids = [7, 11, 12, 13, 14, 15, 16];
    let ids = pids.map(|pid| ProcId { pid, start: 1 });
    let mut schedule = Schedule::new(vec![Kind::Light; 1]);
    let mut seen: Vec<ProcId> = Vec::new();
    for second in 0..600_u64 {
        let now = Micros(second * 1_000_000);
        let all = ids.map(|id| {
            let grows = u64::from(id != ID && id.pid < 16);
            Target::new(id, Bytes(400_000_000 + grows * second * 10_000_000))
        });
        let targets = schedule.targets(now, &all, [Some(ID), None]);
        if let Some(due) = schedule.due(0, now, &targets, IN_STEPS, None) {
            seen.push(due.id);
            schedule.took(due, &Ok(look(due, now, COST)));
        }
    }
    let often = |id: &ProcId| seen.iter().filter(|one| *one == id).count();
    let beside = ids[1..6].iter().filter(|id| often(id) >= 2).count();
    assert_eq!(beside, MOST_BESIDE, "{seen:?}");
    assert_eq!(often(&ids[6]), 0, "one at rest");
    let free = 2.0 * f64::from(AT_LEAST) * COST;
    assert!(seen.len() as f64 * COST <= 6.0 + free, "{}", seen.len());
}

/// A second examiner has its own pauses, and both live on one budget.
#[test]
fn two_examiners_share_the_budget() {
    let costs = [0.1, 2.0];
    let mut schedule = Schedule::new(vec![Kind::Light; costs.len()]);
    let mut looks = [Vec::new(), Vec::new()];
    for second in 0..3600 {
        let held = Bytes(1_000_000_000 + second * 100_000_000);
        let now = Micros(second * 1_000_000);
        for (examiner, cost) in costs.into_iter().enumerate() {
            let targets = [Target::new(ID, held)];
            if let Some(due) = schedule.due(examiner, now, &targets, IN_STEPS, None) {
                looks[examiner].push(second);
                schedule.took(due, &Ok(look(due, now, cost)));
            }
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
    let mut schedule = Schedule::new(vec![Kind::Light; 2]);
    let target = [Target::new(ID, Bytes(1))];
    let due = |schedule: &mut Schedule, examiner, now| {
        schedule.due(examiner, now, &target, IN_STEPS, None)
    };
    let first = due(&mut schedule, 0, Micros(1)).unwrap();
    let gap = Gap {
        who: Some(ID),
        what: "memory".to_owned(),
        why: GapWhy::Denied,
    };
    schedule.took(first, &Err(gap));
    let mut later = |examiner| {
        let seconds = (1..100).map(|second| Micros(second * 1_000_000));
        let looks = seconds.filter_map(|now| due(&mut schedule, examiner, now));
        looks.count()
    };
    assert_eq!(later(0), 0);
    assert!(later(1) > 1);
}

#[test]
fn a_look_that_is_asked_for_comes_at_once() {
    let mut schedule = Schedule::new(vec![Kind::Light; 1]);
    let due = |id, why| {
        Some(Due {
            id,
            examiner: 0,
            why,
            free: true,
        })
    };
    let target = [Target::new(ID, Bytes(1))];
    let at = |second: u64| Micros(second * 1_000_000);
    assert_eq!(
        schedule.due(0, at(100), &target, IN_STEPS, None),
        due(ID, LookWhy::Start)
    );
    assert_eq!(schedule.due(0, at(103), &target, IN_STEPS, None), None);
    schedule.asked.fill(Some(LookWhy::Verdict));
    assert_eq!(
        schedule.due(0, at(104), &target, IN_STEPS, None),
        due(ID, LookWhy::Verdict)
    );
    // A worker that the verdict names has waited longest.
    let worker = Target::new(ProcId { pid: 9, start: 2 }, Bytes(1));
    let both = [target[0], worker];
    assert_eq!(
        schedule.due(0, at(105), &both, IN_STEPS, None),
        due(worker.id, LookWhy::Start)
    );
}

/// Two dear looks at the start, and cheap ones from then on: those are not owed by whoever comes after.
#[test]
fn dear_looks_at_the_start_leave_the_last_third_its_own() {
    let workers = [9, 11].map(|pid| ProcId { pid, start: 2 });
    // As measured beside three busy loops: what was forked just now costs five times as much.
    let cost = |nth: usize| [0.04, 0.32, 0.29, 0.29].get(nth).copied().unwrap_or(0.06);
    for seconds in 50..90 {
        let mut schedule = Schedule::new(vec![Kind::Light]);
        let mut looks: Vec<(ProcId, u64)> = Vec::new();
        for second in 0..seconds {
            let now = Micros(second * 1_000_000);
            let grown = second.saturating_sub(12) * 8_000_000;
            let held = |id| {
                if id == ID {
                    390_000_000
                } else {
                    390_000_000 + grown
                }
            };
            let all = [ID, workers[0], workers[1]].map(|id| Target::new(id, Bytes(held(id))));
            let targets = schedule.targets(now, &all, [Some(ID), Some(workers[1])]);
            let due = schedule.due(0, now, &targets, Reached::default(), None);
            if let Some(due) = due {
                schedule.took(due, &Ok(look(due, now, cost(looks.len()))));
                looks.push((due.id, second));
            }
        }
        let last = looks.iter().rfind(|(id, _)| *id == workers[1]);
        let last = last.map_or(0, |(_, second)| *second);
        assert!(
            last as f64 >= seconds as f64 / FACTOR - 2.0,
            "{seconds}: {looks:?}"
        );
    }
}

/// A census that takes all that it may, for half a minute each: looks come as if there were none.
#[test]
fn censuses_neither_delay_looks_nor_cost_them_any() {
    let times = |kinds: Vec<Kind>| {
        let mut schedule = Schedule::new(kinds.clone());
        let (mut looks, mut censuses) = (Vec::new(), 0);
        let mut underway: Option<(u64, Due)> = None;
        for second in 0..3600_u64 {
            let now = Micros(second * 1_000_000);
            let target = Target {
                python: true,
                tracked: Some(1000),
                ..Target::new(ID, Bytes(500_000_000 + second * 20_000_000))
            };
            let targets = schedule.targets(now, &[target], [Some(ID), None]);
            let due = schedule.due(0, now, &targets, IN_STEPS, None);
            if let Some(due) = due {
                looks.push(second);
                schedule.took(due, &Ok(look(due, now, 0.05)));
            }
            match underway {
                Some((until, due)) if second >= until => {
                    // Much more than was expected of a thousand objects.
                    schedule.took(due, &Ok(look(due, now, 6.0)));
                    underway = None;
                }
                None if kinds.len() > 1 => {
                    let due = schedule.due(1, now, &targets, IN_STEPS, None);
                    censuses += u32::from(due.is_some());
                    underway = due.map(|due| (second + 30, due));
                }
                _ => {}
            }
        }
        (looks, censuses)
    };
    let (alone, _) = times(vec![Kind::Light]);
    let (beside, censuses) = times(vec![Kind::Light, Kind::Census]);
    assert!(censuses >= 2, "{censuses}");
    assert_eq!(alone, beside);
}
