//! A run is fed entries by hand: who is named, on which axis, against which limit.

use super::*;
use crate::judge::testing::surely_leaks_after;
use crate::mark::{Mark, MarkSource};
use crate::process::{Facts, Member, Role};
use crate::sample::{LimitFrom, Pss, TreeSum};
use crate::verdict::{Axis, Class, Meter};

const MB: f64 = 1e6;

/// Short enough that every run here has passed it: what still grows then leaks.
const EPOCH: Geometry = Geometry {
    examples: None,
    batch: None,
    accumulate: None,
    world: None,
    epoch_steps: Some(100.0),
};

fn id(pid: u32) -> ProcId {
    ProcId { pid, start: 1 }
}

fn member(pid: u32, role: Role) -> Entry {
    Entry::Member(Member {
        id: id(pid),
        parent: None,
        facts: Facts {
            argv: vec!["python".to_owned(), format!("job{pid}.py")],
            ..Facts::default()
        },
        role,
        why: "a test said so".to_owned(),
    })
}

fn reading(pid: u32, anon: f64, shmem: f64) -> Reading {
    Reading {
        anon: Bytes(anon as u64),
        shmem: Bytes(shmem as u64),
        vsize: Bytes(1 << 30),
        peak: Bytes(anon as u64),
        threads: 1,
        ..Reading::of(id(pid))
    }
}

/// Noise that is the same in every run: a few hundred kilobytes.
fn jitter(n: u64) -> f64 {
    (n.wrapping_mul(2_654_435_761) % 1000) as f64 * 300.0
}

/// A trainer (1) and a worker (2) for `seconds`, as their sizes say.
fn watch(seconds: u64, sizes: impl Fn(u64) -> (Reading, Reading)) -> Run {
    let mut run = Run::new();
    run.apply(&member(1, Role::Trainer));
    run.apply(&member(2, Role::LoaderWorker));
    run.apply(&Entry::Watch {
        at: Micros(0),
        id: id(1),
        why: "libtorch mapped".to_owned(),
    });
    for n in 0..seconds {
        let (trainer, worker) = sizes(n);
        run.apply(&Entry::Mark(Mark {
            at: Micros(n * 1_000_000),
            step: Some(n),
            geometry: Some(EPOCH),
            ..Mark::default()
        }));
        run.apply(&Entry::Sample(Sample {
            seq: n,
            at: Micros(n * 1_000_000),
            readings: vec![trainer, worker],
            tree: TreeSum {
                held: trainer.held() + worker.held(),
                ..TreeSum::default()
            },
            limit: Some(Limit {
                bytes: Bytes(4_000_000_000),
                from: LimitFrom::Node,
                used: Bytes(1_000_000_000),
            }),
            ..Sample::default()
        }));
    }
    run
}

#[test]
fn a_worker_that_leaks_is_named_while_the_trainer_is_flat() {
    let run = watch(900, |n| {
        let leak = 50.0 * MB + n as f64 * MB + jitter(n);
        (
            reading(1, 300.0 * MB + jitter(n), 0.0),
            reading(2, leak, 0.0),
        )
    });
    let verdict = run.verdict();
    assert_eq!(verdict.verdict, Class::Leak, "{verdict:?}");
    let process = verdict.process.unwrap();
    assert_eq!((process.pid, process.role.as_str()), (2, "loader-worker"));
    assert!(
        (verdict.rate.value - MB).abs() < 0.05 * MB,
        "{:?}",
        verdict.rate
    );
}

#[test]
fn the_worker_is_still_named_when_the_job_is_over() {
    let mut run = watch(900, |n| {
        let leak = 50.0 * MB + n as f64 * MB + jitter(n);
        (
            reading(1, 300.0 * MB + jitter(n), 0.0),
            reading(2, leak, 0.0),
        )
    });
    for pid in [1, 2] {
        run.apply(&Entry::Gone {
            id: id(pid),
            at: Micros(900_000_000),
        });
    }
    run.apply(&Entry::End {
        at: Micros(901_000_000),
        exit: None,
    });
    assert_eq!(run.verdict().process.unwrap().pid, 2);
}

#[test]
fn growth_that_the_tree_does_not_show_accuses_nobody() {
    // What the worker takes the trainer gives back: moved, not leaked.
    let run = watch(900, |n| {
        let moved = n as f64 * MB;
        (
            reading(1, 1200.0 * MB - moved + jitter(n), 0.0),
            reading(2, 50.0 * MB + moved, 0.0),
        )
    });
    assert_ne!(run.verdict().verdict, Class::Leak);
}

#[test]
fn a_tiny_process_that_grows_is_nobodys_leak() {
    let run = watch(900, |n| {
        let tiny = 1.0 * MB + n as f64 * 5_000.0;
        (
            reading(1, 900.0 * MB + jitter(n), 0.0),
            reading(2, tiny, 0.0),
        )
    });
    let verdict = run.verdict();
    assert_eq!(verdict.leaking, Some(false), "{verdict:?}");
    assert_eq!(verdict.process.unwrap().pid, 1);
}

#[test]
fn the_meter_is_the_part_that_moved() {
    let run = watch(900, |n| {
        let grown = n as f64 * 2.0 * MB;
        (
            reading(1, 300.0 * MB + jitter(n), grown),
            reading(2, 20.0 * MB, 0.0),
        )
    });
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, verdict.meter),
        (Class::Leak, Meter::Shmem)
    );
}

#[test]
fn the_limit_is_shared_with_all_that_counts_against_it() {
    let run = watch(900, |n| {
        (
            reading(1, 300.0 * MB + n as f64 * MB + jitter(n), 0.0),
            reading(2, 20.0 * MB, 0.0),
        )
    });
    let verdict = run.verdict();
    assert_eq!(verdict.limit, Some(4e9));
    assert_eq!(verdict.headroom, Some(3e9));
    let oom = verdict.oom.expect("a leak with a limit has an end");
    // 3 GB are left at 1 MB a second, from second 899 on.
    assert!((oom.at - 3899.0).abs() < 200.0, "{oom:?}");
}

/// When the job is over nearly all of the limit is free: that is not what the job had left.
#[test]
fn headroom_is_what_the_job_had_left() {
    let mut run = watch(60, |_| {
        (reading(1, 300.0 * MB, 0.0), reading(2, 20.0 * MB, 0.0))
    });
    run.apply(&Entry::Sample(Sample {
        seq: 60,
        at: Micros(60_000_000),
        limit: Some(Limit {
            bytes: Bytes(4_000_000_000),
            from: LimitFrom::Node,
            used: Bytes(7_000_000),
        }),
        ..Sample::default()
    }));
    assert_eq!(run.verdict().headroom, Some(3e9));
}

#[test]
fn steps_are_the_axis_once_they_are_known() {
    let mut run = watch(2, |_| {
        (reading(1, 300.0 * MB, 0.0), reading(2, 1.0 * MB, 0.0))
    });
    assert_eq!(run.verdict().axis, Axis::Time);
    for step in 3..=20 {
        let at = Micros((5 + step) * 1_000_000);
        run.apply(&Entry::Mark(Mark {
            at,
            step: Some(step),
            ..Mark::default()
        }));
        run.apply(&Entry::Sample(Sample {
            seq: 5 + step,
            at,
            readings: vec![reading(1, 300.0 * MB, 0.0)],
            ..Sample::default()
        }));
    }
    assert_eq!(run.verdict().axis, Axis::Step);
}

#[test]
fn a_process_that_is_being_taken_apart_is_not_its_memory() {
    let mut run = watch(900, |n| {
        (
            reading(1, 300.0 * MB + jitter(n), 0.0),
            reading(2, 20.0 * MB, 0.0),
        )
    });
    // Half freed at the last look, gone at the next.
    for (seq, anon) in [(900, 20.0 * MB), (901, 0.0)] {
        let mut dying = reading(1, anon, 0.0);
        dying.vsize = Bytes(anon as u64);
        run.apply(&Entry::Sample(Sample {
            seq,
            at: Micros(seq * 1_000_000),
            readings: vec![dying],
            ..Sample::default()
        }));
    }
    let track = run.process(id(1)).unwrap();
    assert!(track.held.min > 290.0 * MB, "{:?}", track.held);
    assert_eq!(run.verdict().verdict, Class::Stable);
}

#[test]
fn a_pool_that_is_made_anew_does_not_make_us_grow() {
    let mut run = Run::new();
    for pid in 1..2000 {
        run.apply(&member(pid, Role::LoaderWorker));
        run.apply(&Entry::Gone {
            id: id(pid),
            at: Micros(u64::from(pid)),
        });
    }
    assert!(run.processes().count() < 100);
}

#[test]
fn a_short_command_at_the_end_does_not_decide_for_the_run() {
    let mut run = watch(900, |n| {
        (
            reading(1, 300.0 * MB + jitter(n), 0.0),
            reading(2, 20.0 * MB, 0.0),
        )
    });
    run.apply(&member(3, Role::Other));
    run.apply(&Entry::Watch {
        at: Micros(900_000_000),
        id: id(3),
        why: "most memory".to_owned(),
    });
    assert_eq!(run.verdict().verdict, Class::Stable);
}

#[test]
fn a_bar_before_the_callback_does_not_hide_a_leak() {
    let mut run = Run::new();
    run.apply(&member(1, Role::Trainer));
    run.apply(&Entry::Watch {
        at: Micros(0),
        id: id(1),
        why: "libtorch mapped".to_owned(),
    });
    // A data bar counts to 300 at 68 MB; then the loop counts from 1 and leaks.
    let leaks = (1.15 * surely_leaks_after(EPOCH.epoch_steps, Some(1.0))) as u64;
    let phases = [
        (MarkSource::Output, 0..300_u64, 0.0),
        (MarkSource::Callback, 300..300 + leaks, 2.0 * MB),
    ];
    for (source, ticks, leak) in phases {
        for (done, n) in ticks.enumerate() {
            let at = Micros(n * 1_000_000);
            run.apply(&Entry::Mark(Mark {
                at,
                source,
                step: Some(done as u64 + 1),
                geometry: Some(EPOCH),
                ..Mark::default()
            }));
            run.apply(&Entry::Sample(Sample {
                seq: n,
                at,
                readings: vec![reading(1, 68.0 * MB + done as f64 * leak, 0.0)],
                ..Sample::default()
            }));
        }
    }
    assert_eq!(run.verdict().verdict, Class::Leak);
}

/// What two workers share with their trainer becomes their own over time, and that is seen when their share is read
/// once a minute: 100 MB at once, twice. They keep 1 MB a step each.
#[test]
fn what_is_no_longer_shared_is_nothing_that_steps_keep() {
    const SHARED: f64 = 300.0 * MB;
    let mut run = Run::new();
    for (pid, role) in [
        (1, Role::Trainer),
        (2, Role::LoaderWorker),
        (3, Role::LoaderWorker),
    ] {
        run.apply(&member(pid, role));
    }
    let anon = |n: u64| SHARED + n as f64 * MB;
    for n in 0..300_u64 {
        let at = Micros(n * 1_000_000);
        run.apply(&Entry::Mark(Mark {
            at,
            step: Some(n),
            geometry: Some(EPOCH),
            ..Mark::default()
        }));
        let worker = |pid| {
            let looked = n / 60 * 60;
            let own = 50.0 * MB * (looked.clamp(60, 180) / 60) as f64;
            let kept = anon(looked) - SHARED;
            Reading {
                pss: Some(Pss {
                    anon: Bytes((own + kept) as u64),
                    rss_anon: Bytes(anon(looked) as u64),
                    ..Pss::default()
                }),
                ..reading(pid, anon(n), 0.0)
            }
        };
        let readings = vec![reading(1, SHARED, 0.0), worker(2), worker(3)];
        let held = readings.iter().map(|one| own_share(one).0).sum();
        run.apply(&Entry::Sample(Sample {
            seq: n,
            at,
            readings,
            tree: TreeSum {
                held: Bytes(held),
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
    }
    let (_, _, subject, explanation) = run.decided_and_explained();
    assert_eq!(subject, Subject::Role("loader-worker"));
    let step = &explanation.drivers[0];
    assert_eq!(step.name, "step");
    assert!((step.per_unit - 2.0 * MB).abs() < 0.02 * MB, "{step:?}");
}

/// A trainer that loads 400 MB in four looks, keeps some bytes with each, and forks a worker at the
/// fourth, which then reads all of it. Hundreds of looks follow, of which few are kept.
fn forks_a_reader(keeps: f64) -> Run {
    let mut run = Run::new();
    run.apply(&member(1, Role::Trainer));
    run.apply(&Entry::Watch {
        at: Micros(0),
        id: id(1),
        why: "libtorch mapped".to_owned(),
    });
    for n in 0..300 {
        let at = Micros(n * 100_000);
        let trainer = reading(
            1,
            (n + 1).min(4) as f64 * 100.0 * MB + keeps * n as f64,
            0.0,
        );
        let mut readings = vec![trainer];
        if n == 3 {
            let Entry::Member(mut worker) = member(2, Role::LoaderWorker) else {
                unreachable!("a member is made")
            };
            worker.parent = Some(id(1));
            worker.facts.forked = true;
            run.apply(&Entry::Member(worker));
        }
        if n >= 3 {
            let anon = Bytes((400.0 * MB) as u64);
            let uss = Bytes(((n - 3).min(200) as f64 * 2.0 * MB) as u64);
            readings.push(Reading {
                pss: Some(Pss {
                    at,
                    anon,
                    uss,
                    rss_anon: anon,
                    ..Pss::default()
                }),
                ..reading(2, 400.0 * MB, 0.0)
            });
            run.apply(&Entry::Mark(Mark {
                at,
                step: Some(n),
                ..Mark::default()
            }));
        }
        run.apply(&Entry::Sample(Sample {
            seq: n,
            at,
            readings,
            ..Sample::default()
        }));
    }
    run
}

/// What was shared is known from the look that saw the worker first, not from one that is kept near it.
#[test]
fn copies_are_counted_from_what_the_fork_began_with() {
    let run = forks_a_reader(0.0);
    let (verdict, _, explanation) = run.explained();
    assert_eq!(verdict.verdict, Class::Stable, "{verdict:?}");
    let found: Vec<&str> = explanation
        .candidates
        .iter()
        .map(|c| c.id.as_str())
        .collect();
    assert_eq!(found, ["P02"], "{explanation:#?}");
}

#[test]
fn workers_that_copied_are_not_ruled_out() {
    let (_, _, explanation) = forks_a_reader(0.5 * MB).explained();
    let about = |name: &str| {
        let mut said = explanation.ruled_out.iter();
        said.any(|said| said.about.contains(name))
    };
    assert!(!explanation.drivers.is_empty(), "the trainer grows");
    assert!(!about("workers"), "{:#?}", explanation.ruled_out);
}

/// Bursts in the rhythm of the looks: no sample falls into one, on a floor that rises to its plateau. The
/// kernel's high-water mark knows them, so the range of what the run needs holds them: as its upper end, since
/// what passed may have been files.
#[test]
fn a_burst_that_no_sample_sees_may_be_needed() {
    const BURST: f64 = 60.0 * MB;
    let floor = |n: u64| 200.0 * MB + (n.min(400) as f64) * 0.4 * MB;
    let mut run = watch(900, |n| {
        let trainer = Reading {
            peak: Bytes((floor(n) + BURST) as u64),
            file: Bytes(20_000_000),
            ..reading(1, floor(n) + jitter(n), 0.0)
        };
        (trainer, reading(2, 50.0 * MB, 0.0))
    });
    run.apply(&Entry::End {
        at: Micros(900_000_000),
        exit: Some(Exit::Code(0)),
    });
    let needs = run.verdict().outlook.unwrap().needs;
    let seen = floor(900) + 50.0 * MB;
    assert!((needs.value - seen).abs() < MB, "{needs:?}");
    let with_burst = seen + BURST - 20.0 * MB;
    assert!((needs.high - with_burst).abs() < MB, "{needs:?}");
}

/// What a growing job held last is what it needed, whether a look found nobody after it or none came any more;
/// it says nothing of the floor, since some of it may have been free already.
#[test]
fn the_last_look_before_the_end_counts_as_needed() {
    const STEP: f64 = 10.0 * MB;
    for found_nobody in [true, false] {
        let mut run = watch(60, |n| {
            let grows = reading(1, 200.0 * MB + n as f64 * STEP, 0.0);
            (grows, reading(2, 50.0 * MB, 0.0))
        });
        if found_nobody {
            run.apply(&Entry::Sample(Sample {
                seq: 60,
                at: Micros(60_000_000),
                ..Sample::default()
            }));
        }
        run.apply(&Entry::End {
            at: Micros(61_000_000),
            exit: Some(Exit::Code(0)),
        });
        let last = 200.0 * MB + 59.0 * STEP;
        let track = run.process(id(1)).unwrap();
        assert_eq!(track.held.max, last);
        assert_eq!(track.held.last, last - STEP);
        // Until its end it may have taken another step.
        let needs = run.verdict().outlook.unwrap().needs;
        assert_eq!(needs.value, last + 50.0 * MB, "{found_nobody}");
        assert_eq!(needs.high, needs.value + STEP, "{found_nobody}");
    }
}
