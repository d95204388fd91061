//! When a census is taken, on a schedule whose time is data.

use super::super::Kind;
use super::super::schedule::{Reached, Schedule};
use super::*;
use lowtide_core::look::{Breakdown, Cost, Examiner, LookWhy, PartMember, PythonHeap};
use lowtide_core::look::{PythonVersion, Unaccounted};

const ID: ProcId = ProcId { pid: 7, start: 1 };
const STEPS: Reached = Reached {
    step: Some(1),
    total: None,
};

/// A census of so many objects, which took so long for each.
fn census(at: Micros, id: ProcId, objects: u64, pace: f64) -> Look {
    let cpu = Micros::from_seconds(FIXED + pace * objects as f64);
    Look {
        cost: Cost { wall: cpu, cpu },
        heap: Some(PythonHeap {
            python: PythonVersion {
                minor: 11,
                micro: None,
            },
            step: None,
            objects,
            bytes: Bytes::ZERO,
            stopped: None,
            holders: Vec::new(),
            unaccounted: Unaccounted::default(),
        }),
        ..Look::new(at, id, LookWhy::Due, Examiner::Census)
    }
}

fn python(held: u64, tracked: Option<u64>) -> Target {
    Target {
        python: true,
        tracked,
        ..Target::new(ID, Bytes(held))
    }
}

struct Watched {
    objects: u64,
    pace: f64,
    headroom: Option<f64>,
    before: Micros,
}

impl Watched {
    /// The seconds at which a census is taken, and what all of them cost.
    fn times(&self, seconds: u64, held: impl Fn(u64) -> u64) -> (Vec<u64>, f64) {
        let mut schedule = Schedule::new(vec![Kind::Census]);
        schedule.before = self.before;
        let (mut times, mut cost) = (Vec::new(), 0.0);
        for second in 0..seconds {
            let now = Micros(second * 1_000_000);
            let all = [python(held(second), Some(self.objects / 3))];
            let targets = schedule.targets(now, &all, [Some(ID), None]);
            if let Some(due) = schedule.due(0, now, &targets, STEPS, self.headroom) {
                times.push(second);
                let look = census(now, ID, self.objects, self.pace);
                cost += look.cost.cpu.seconds();
                schedule.took(due, &Ok(look));
            }
        }
        (times, cost)
    }
}

const SMALL: Watched = Watched {
    objects: 40_000,
    pace: 3e-6,
    headroom: None,
    before: Micros(0),
};
/// torch and transformers.
const LARGE: Watched = Watched {
    objects: 1_500_000,
    ..SMALL
};

fn leaks(second: u64) -> u64 {
    500_000_000 + second * 1_000_000
}

#[test]
fn a_minute_has_two_of_a_small_process_within_the_budget() {
    let (times, cost) = SMALL.times(60, leaks);
    assert!(times.len() >= 2, "{times:?}");
    assert!(times[1] - times[0] >= 12, "{times:?}");
    assert!(times.last() > Some(&30), "{times:?}");
    assert!(cost <= 0.6, "{cost}");
}

#[test]
fn hours_have_some_of_a_large_one_within_the_budget() {
    let (times, cost) = LARGE.times(4 * 3600, leaks);
    assert!(times.len() >= 4, "{times:?}");
    // Nothing of it is lent: the first comes when it is paid.
    assert!((600..650).contains(&times[0]), "{times:?}");
    assert!(times[1] < 1400, "{times:?}");
    assert!(times.last() > Some(&9000), "{times:?}");
    assert!(cost <= 0.01 * 4.0 * 3600.0, "{cost}");
    assert!(LARGE.times(240, leaks).0.is_empty());
}

/// Its time pays, not ours: who attaches to a job of hours has not to wait for as long again.
#[test]
fn one_that_had_run_for_long_is_gone_over_within_the_first_minute() {
    let long = |seconds: u64| Watched {
        before: Micros(seconds * 1_000_000),
        ..LARGE
    };
    let (times, _) = long(24 * 3600).times(240, leaks);
    assert!(times.first() < Some(&60), "{times:?}");
    assert!(long(60).times(240, leaks).0.is_empty());
    // A day is not paid for at once.
    let (times, cost) = long(24 * 3600).times(3600, leaks);
    assert!(
        cost <= 0.01 * (3600.0 + BEFORE.seconds()),
        "{cost}: {times:?}"
    );
}

#[test]
fn what_does_not_grow_is_not_gone_over() {
    assert!(LARGE.times(4 * 3600, |_| 500_000_000).0.is_empty());
    // A cheap one is: once, so that there is something to compare with.
    assert_eq!(SMALL.times(4 * 3600, |_| 500_000_000).0.len(), 1);
    // One that grows late is gone over as soon as it has.
    let late = |second: u64| 500_000_000 + second.saturating_sub(5000) * 1_000_000;
    let (times, _) = LARGE.times(8000, late);
    assert!((5000..5020).contains(&times[0]), "{times:?}");
}

#[test]
fn a_census_that_turns_out_dear_is_paid_before_the_next() {
    let slow = Watched {
        pace: 10e-6,
        ..SMALL
    };
    let (times, cost) = slow.times(600, leaks);
    assert!(times.len() >= 2, "{times:?}");
    assert!(cost <= 6.0, "{cost}: {times:?}");
}

#[test]
fn its_own_memory_is_a_small_part_of_the_headroom_or_it_is_not_taken() {
    // Before anything was counted: four for each that is tracked.
    let takes = 4.0 * 13_333.0 * MEMORY as f64;
    let tight = |share: f64| Watched {
        headroom: Some(takes * 10.0 * share),
        ..SMALL
    };
    assert!(tight(0.99).times(600, leaks).0.is_empty());
    assert!(!tight(1.01).times(600, leaks).0.is_empty());
    // With a stop all of it is copied.
    let mut stopped = Census {
        stops: true,
        ..Census::default()
    };
    let target = python(500_000_000, Some(13_333));
    assert!(!stopped.has_room(&target, Some(takes * 10.0 * 1.5)));
    assert!(stopped.has_room(&target, Some(takes * 10.0 * 1.8)));
    // Below the limit nothing is left.
    let over = Watched {
        headroom: Some(-5e6),
        ..SMALL
    };
    assert!(over.times(600, leaks).0.is_empty());
}

#[test]
fn that_it_is_not_taken_is_told_once() {
    let mut schedule = Schedule::new(vec![Kind::Light, Kind::Census]);
    let mut told = Vec::new();
    let mut light = 0;
    for second in 0..200 {
        let now = Micros(second * 1_000_000);
        let all = [python(leaks(second), Some(100_000))];
        let targets = schedule.targets(now, &all, [Some(ID), None]);
        if let Some(due) = schedule.due(0, now, &targets, STEPS, Some(1e9)) {
            light += 1;
            let look = Look::new(now, ID, due.why, Examiner::Mappings);
            schedule.took(due, &Ok(look));
        }
        assert_eq!(schedule.due(1, now, &targets, STEPS, Some(1e9)), None);
        told.extend(schedule.spared());
    }
    // Everything else goes on.
    assert!(light > 3);
    let said: Vec<String> = told.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "no census of 7: it would take about 140 MB, more than a tenth of the 1.00 GB that are left below the limit; \
             who holds what grows is not known"
        ]
    );
}

/// A look that counted so many blocks of 32 B, and as many bytes and a tenth in all.
fn mapped(id: ProcId, blocks: u64) -> Look {
    let bytes = blocks * 32;
    let member = PartMember::new("32 B blocks", blocks, Bytes(bytes));
    let all = Bytes(bytes + bytes / 10);
    let small = Part::of_class(MemoryClass::PythonLive, all, vec![member]);
    Look {
        breakdowns: vec![Breakdown::new(By::Mapping, vec![small])],
        ..Look::new(Micros(1), id, LookWhy::Due, Examiner::Mappings)
    }
}

/// Of numbers and texts the collector knows nothing: what is in the allocator's pools is counted.
#[test]
fn untracked_objects_are_known_by_their_blocks() {
    let mut census = Census::default();
    let target = python(300_000_000, Some(100));
    assert_eq!(census.objects(&target), 400);
    let look = mapped(ID, 6_000_000);
    census.saw(&look);
    assert_eq!(census.objects(&target), 6_600_000);
    // A worker whose objects nobody counted has as many as what it holds has room for.
    let worker = Target {
        id: ProcId { pid: 9, start: 1 },
        tracked: None,
        ..target
    };
    assert_eq!(census.objects(&worker), 1_500_000);
}

#[test]
fn workers_that_grow_are_gone_over_and_other_programs_are_not() {
    let worker = ProcId { pid: 9, start: 2 };
    let shell = ProcId { pid: 11, start: 2 };
    let mut schedule = Schedule::new(vec![Kind::Light, Kind::Census]);
    let mut seen = Vec::new();
    for second in 0..600 {
        let now = Micros(second * 1_000_000);
        let grown = 100_000_000 + second * 1_000_000;
        let of = |id, python| Target {
            id,
            python,
            tracked: None,
            ..Target::new(id, Bytes(grown))
        };
        let all = [
            python(500_000_000, Some(500_000)),
            of(worker, true),
            of(shell, false),
        ];
        let targets = schedule.targets(now, &all, [Some(ID), None]);
        if let Some(due) = schedule.due(0, now, &targets, STEPS, None) {
            schedule.took(due, &Ok(mapped(due.id, 500_000)));
        }
        if let Some(due) = schedule.due(1, now, &targets, STEPS, None) {
            schedule.took(due, &Ok(census(now, due.id, 500_000, 2e-6)));
            seen.push(due.id);
        }
    }
    assert!(seen.len() >= 2, "{seen:?}");
    assert!(seen.iter().all(|id| *id == worker), "{seen:?}");
}

#[test]
fn it_has_time_for_what_it_was_expected_to_take() {
    let known = Census {
        known: BTreeMap::from([(ID, 2_000_000)]),
        ..Census::default()
    };
    let within = known.within(&python(1, None));
    assert!((Duration::from_secs(18)..WITHIN_AT_MOST).contains(&within));
    assert_eq!(Census::default().within(&python(1, None)), WITHIN);
}

/// What cannot be read is no reason to ask again, and one that only starts is.
#[test]
fn refusals_become_gaps() {
    let why = |refusal| gap(ID, &refusal).why;
    assert_eq!(why(Refusal::NotPython), GapWhy::Unsupported);
    assert_eq!(why(Refusal::FreeThreaded), GapWhy::Unsupported);
    assert_eq!(why(Refusal::Gone), GapWhy::Vanished);
    assert_eq!(why(Refusal::NotAsExpected("no list")), GapWhy::Late);
}

/// What is not tracked is known by a look alone: a census that did not wait for it would take memory that nobody has.
#[test]
fn a_census_waits_until_a_look_has_counted_blocks() {
    let mut schedule = Schedule::new(vec![Kind::Light, Kind::Census]);
    let targets = [python(300_000_000, Some(100))];
    let at = |second: u64| Micros(second * 1_000_000);
    let look = schedule.due(0, at(6), &targets, STEPS, Some(1e9)).unwrap();
    for second in 6..20 {
        assert_eq!(
            schedule.due(1, at(second), &targets, STEPS, Some(1e9)),
            None
        );
    }
    schedule.took(look, &Ok(mapped(ID, 6_000_000)));
    assert_eq!(schedule.due(1, at(20), &targets, STEPS, Some(1e9)), None);
    // Where looks are refused nothing is to be waited for.
    let mut schedule = Schedule::new(vec![Kind::Light, Kind::Census]);
    let look = schedule.due(0, at(6), &targets, STEPS, None).unwrap();
    let refusal = gap(ID, &Refusal::NotPython);
    schedule.took(look, &Err(refusal));
    assert!(schedule.due(1, at(7), &targets, STEPS, None).is_some());
}
