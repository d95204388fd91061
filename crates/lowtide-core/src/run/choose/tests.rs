//! Who is named where the watched process is at rest: a trainer that loads for 20 s, and then two forked workers.

use crate::entry::Entry;
use crate::mark::Mark;
use crate::process::{Facts, Member, ProcId, Role};
use crate::run::Run;
use crate::sample::{Pss, Reading, Sample, TreeSum};
use crate::units::{Bytes, Micros};
use crate::verdict::{Axis, Class};

const MB: f64 = 1e6;
/// Second at which the workers are started, and at which what they share is read.
const FORKED: u64 = 20;
const READ: u64 = 23;
const TRAINER: f64 = 400.0 * MB;

fn id(pid: u32) -> ProcId {
    ProcId { pid, start: 1 }
}

fn member(pid: u32, role: Role) -> Entry {
    let forked = role == Role::LoaderWorker;
    Entry::Member(Member {
        id: id(pid),
        parent: forked.then(|| id(1)),
        facts: Facts {
            argv: vec!["python".to_owned(), "train.py".to_owned()],
            libtorch: true,
            forked,
            ..Facts::default()
        },
        role,
        why: "a test said so".to_owned(),
    })
}

/// A worker that has taken so much since the fork.
fn worker(pid: u32, taken: f64, second: u64) -> Reading {
    let pss = Pss {
        at: Micros(READ * 1_000_000),
        anon: Bytes((TRAINER / 3.0) as u64),
        uss: Bytes(MB as u64),
        rss_anon: Bytes(TRAINER as u64),
        ..Pss::default()
    };
    Reading {
        anon: Bytes((TRAINER + taken) as u64),
        pss: (second >= READ).then_some(pss),
        threads: 1,
        vsize: Bytes(1 << 30),
        ..Reading::of(id(pid))
    }
}

/// Each worker keeps what `kept` says of the seconds since its start; of epochs every fifth second tells, if told.
fn watch(seconds: u64, epochs: bool, kept: impl Fn(f64) -> f64) -> Run {
    let mut run = Run::new();
    run.apply(&member(1, Role::Trainer));
    run.apply(&Entry::Watch {
        at: Micros(0),
        id: id(1),
        why: "libtorch mapped".to_owned(),
    });
    for second in 0..seconds {
        let at = Micros(second * 1_000_000);
        if second == FORKED {
            for pid in [2, 3] {
                run.apply(&member(pid, Role::LoaderWorker));
            }
        }
        let loaded = TRAINER * ((second + 1) as f64 / FORKED as f64).min(1.0);
        let trainer = Reading {
            anon: Bytes(loaded as u64),
            threads: 1,
            vsize: Bytes(1 << 30),
            ..Reading::of(id(1))
        };
        let mut readings = vec![trainer];
        let mut tree = loaded;
        if second >= FORKED {
            let taken = kept((second - FORKED) as f64);
            readings.extend([2, 3].map(|pid| worker(pid, taken, second)));
            tree += 2.0 * taken;
            if epochs {
                let done = (second - FORKED) / 5;
                run.apply(&Entry::Mark(Mark {
                    at,
                    epoch: Some(done as f64),
                    ..Mark::default()
                }));
            }
        }
        run.apply(&Entry::Sample(Sample {
            seq: second,
            at,
            readings,
            tree: TreeSum {
                held: Bytes(tree as u64),
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
    }
    run
}

/// Whether steps, epochs or nothing is told: it is never "nothing grows", and the worker is named.
#[test]
fn workers_that_grow_are_named_at_every_moment_from_half_a_minute_on() {
    for epochs in [false, true] {
        for seconds in (55..200).step_by(12) {
            let run = watch(seconds, epochs, |since| 3.0 * MB * since);
            let (verdict, _, explanation) = run.explained();
            let told = format!("{seconds} s, epochs {epochs}: {verdict:#?}");
            assert!(verdict.growing, "{told}");
            assert_eq!(verdict.axis, Axis::Time);
            let process = verdict.process.as_ref().expect("a process");
            assert_eq!(process.role, "loader-worker", "{told}");
            assert!(!explanation.drivers.is_empty(), "{told}");
            let about = explanation.ruled_out.iter().map(|one| one.about.as_str());
            let wrong = ["P23", "P38", "P39", "loader workers"];
            for about in about {
                assert!(
                    !wrong.iter().any(|id| about.starts_with(id)),
                    "{about}; {told}"
                );
            }
            // Statistics alone accuse nobody.
            assert!(epochs || verdict.verdict != Class::Leak, "{told}");
        }
    }
}

/// On a busy machine a trainer takes its time to end, alone: that takes back nothing of what was told until then.
#[test]
fn workers_that_grew_until_they_ended_are_named_at_the_end() {
    // Without epochs nobody knows of an end; eleven epochs of five seconds are more than stores take.
    for (epochs, told) in [(false, Class::TooEarly), (true, Class::Leak)] {
        let mut run = watch(75, epochs, |since| 3.0 * MB * since);
        assert_eq!(run.verdict().verdict, told);
        ends_alone(&mut run);
        let verdict = run.verdict();
        assert!(verdict.growing, "{verdict:#?}");
        assert_eq!(verdict.verdict, told, "{verdict:#?}");
        assert_eq!(verdict.process.unwrap().role, "loader-worker");
    }
}

/// The workers of a run of 75 s end, and the trainer 13 s later.
fn ends_alone(run: &mut Run) {
    let at = |second: u64| Micros(second * 1_000_000);
    for pid in [2, 3] {
        run.apply(&Entry::Gone {
            id: id(pid),
            at: at(75),
        });
    }
    for second in 75..88 {
        run.apply(&Entry::Sample(Sample {
            seq: second,
            at: at(second),
            readings: vec![Reading {
                anon: Bytes(TRAINER as u64),
                threads: 1,
                vsize: Bytes(1 << 30),
                ..Reading::of(id(1))
            }],
            tree: TreeSum {
                held: Bytes(TRAINER as u64),
                ..TreeSum::default()
            },
            ..Sample::default()
        }));
    }
    run.apply(&Entry::Gone {
        id: id(1),
        at: at(88),
    });
    run.apply(&Entry::End {
        at: at(88),
        exit: None,
    });
}

#[test]
fn what_each_epoch_keeps_is_told_per_epoch() {
    let (verdict, _, explanation) = watch(180, true, |since| 3.0 * MB * since).explained();
    let epoch = explanation.drivers.iter().find(|one| one.name == "epoch");
    let epoch = epoch.unwrap_or_else(|| panic!("{:#?} {verdict:#?}", explanation.drivers));
    let of_one_or_both = [15.0 * MB, 30.0 * MB];
    let near = |bytes: &f64| (epoch.per_unit / bytes - 1.0).abs() < 0.1;
    assert!(of_one_or_both.iter().any(near), "{epoch:?}");
    assert!(epoch.says.contains("per epoch"), "{epoch:?}");
}

/// What workers share is read some seconds after their start: that is no growth, and no fall, of theirs.
#[test]
fn workers_at_rest_are_no_growth() {
    let (verdict, _, explanation) = watch(180, true, |_| 0.0).explained();
    assert!(
        !verdict.growing && verdict.verdict != Class::Leak,
        "{verdict:#?}"
    );
    assert!(explanation.candidates.is_empty(), "{explanation:#?}");
    // And a cache in each of them that is full after half a minute ends there.
    let (full, ..) = watch(260, true, |since| 3.0 * MB * since.min(30.0)).explained();
    assert_ne!(full.verdict, Class::Leak, "{full:#?}");
    assert!(!full.growing, "{full:#?}");
}

/// A trainer that grows, and workers that grow as fast: what is measured on one of them rules nothing out.
#[test]
fn what_was_measured_on_one_process_rules_nothing_out_while_others_grow() {
    let mut run = watch(40, false, |since| 2.0 * MB * since);
    for second in 40..200_u64 {
        let since = (second - FORKED) as f64;
        let mut readings = vec![Reading {
            anon: Bytes((TRAINER + 2.0 * MB * (second - 40) as f64) as u64),
            threads: 1,
            vsize: Bytes(1 << 30),
            ..Reading::of(id(1))
        }];
        readings.extend([2, 3].map(|pid| worker(pid, 2.0 * MB * since, second)));
        let held: u64 = readings.iter().map(|one| one.anon.0).sum();
        run.apply(&Entry::Sample(Sample {
            seq: second,
            at: Micros(second * 1_000_000),
            tree: TreeSum {
                held: Bytes(held - 2 * TRAINER as u64),
                ..TreeSum::default()
            },
            readings,
            ..Sample::default()
        }));
    }
    let (verdict, _, explanation) = run.explained();
    assert!(verdict.growing, "{verdict:#?}");
    let of_one = explanation
        .ruled_out
        .iter()
        .filter(|one| one.about.starts_with('P'));
    let of_one: Vec<_> = of_one.filter(|one| !one.about.starts_with("P02")).collect();
    assert!(of_one.is_empty(), "{of_one:#?}");
}
