//! Every entry against its case in `cases`, and what may never be claimed.

mod cases;
mod pools;
mod undecided;

use super::super::signs::*;
use super::super::{BreakdownGrowth, Driver, Memory, Moment, ObjectGrowth, PartGrowth};
use super::*;
use crate::look::{By, Counts, Cuda, Examiner, MemoryClass, Pool, PythonVersion};
use crate::run::cleanups::Cleaned;
use crate::run::levels::Levels;
use crate::run::occurrences::At;
use crate::run::surroundings::{Group, Surroundings};
use crate::units::Bytes;
use crate::verdict::{Axis, Bound, BoundKind, Certainty, Meter};
use cases::EntryCase;

const MB: f64 = 1e6;

fn all_cases() -> impl Iterator<Item = &'static EntryCase> {
    cases::CASES.iter().chain(pools::CASES)
}

fn at(n: f64) -> At {
    At {
        seconds: n,
        step: Some(n),
    }
}

fn levels(anon: f64) -> Levels {
    Levels {
        at: at(1.0),
        anon,
        file: 20.0 * MB,
        shmem: 0.0,
        swap: 0.0,
        threads: 8.0,
        fds: Some(20.0),
        private: None,
    }
}

fn driver(name: &str) -> Driver {
    Driver {
        name: name.to_owned(),
        per_unit: MB,
        low: 0.9 * MB,
        high: 1.1 * MB,
        units: 100.0,
        explains: 0.99,
        margin: None,
        tied: false,
        parts_at: None,
        says: String::new(),
    }
}

/// A trainer with torch that leaks a megabyte with each of 200 steps.
fn leak() -> Signs {
    let mut signs = Signs::blank(Class::Leak, Axis::Step, Meter::Anon);
    signs.recorded = true;
    signs.course = Course {
        grew: 200.0 * MB,
        level: 700.0 * MB,
        from: 0.0,
        to: 200.0,
        begin: 0.0,
        end: 200.0,
        settled: None,
        creeps: false,
        rate: MB,
        rises: 50.0,
        teeth: false,
        decides_at: None,
    };
    signs.drivers = vec![driver("step")];
    signs.job = JobSigns {
        name: "base".to_owned(),
        command: ["python", "train.py", "--examples", "80", "--num-workers=2"]
            .map(str::to_owned)
            .to_vec(),
        training_loop: None,
        role: "trainer".to_owned(),
        argv: "python train.py".to_owned(),
        env: Vec::new(),
        libtorch: true,
        libcuda: false,
        forked: false,
        trains: true,
    };
    signs.levels = Some(FirstAndLast {
        first: levels(500.0 * MB),
        last: levels(700.0 * MB),
    });
    signs.tree_grew = Some(200.0 * MB);
    signs.watched_grew = Some(200.0 * MB);
    signs
}

/// The same, but it ended with the epoch at step 100.
fn warm_up() -> Signs {
    let mut signs = leak();
    signs.class = Class::WarmUp;
    signs.growing = false;
    signs.course.settled = Some(100.0);
    signs.course.to = 100.0;
    signs.epoch = Some(EpochSign {
        steps: 100.0,
        begin: 0.0,
        end: 100.0,
        counted: true,
        with_it: true,
    });
    signs.drivers = vec![driver("new-example")];
    signs
}

fn look(signs: &mut Signs, classes: &[(MemoryClass, f64)]) {
    signs.memory = Some(Memory {
        pid: 7,
        role: signs.job.role.clone(),
        looks: 2,
        cost: 0.1,
        breakdowns: vec![BreakdownGrowth {
            by: By::Mapping,
            title: By::Mapping.to_string(),
            examiner: Examiner::Mappings,
            looks: 2,
            from: Moment {
                seconds: 0.0,
                step: Some(0.0),
            },
            to: Moment {
                seconds: 100.0,
                step: Some(200.0),
            },
            grew: 200.0 * MB,
            parts: classes
                .iter()
                .map(|(class, share)| PartGrowth {
                    class: Some(*class),
                    name: class.name().to_owned(),
                    held: class.is_held(),
                    first: Some(300.0 * MB),
                    last: Some(300.0 * MB + share * 200.0 * MB),
                    grew: share * 200.0 * MB,
                    more: None,
                    share: *share,
                    members: Vec::new(),
                })
                .collect(),
            conclusive: true,
            accounted: 1.0,
            missing: Vec::new(),
        }],
        counted: Vec::new(),
    });
    signs.counts = Some(FirstAndLast {
        first: Counts::default(),
        last: Counts::default(),
    });
    signs.blocks = Some(Blocks::default());
}

/// The same growth, but nobody knows yet whether it ends.
fn undecided(signs: &mut Signs) {
    signs.class = Class::TooEarly;
    signs.growing = true;
}

/// Of the growth, so much touched a block of 1 GB that was there before.
fn reserve(signs: &mut Signs, grew: f64) {
    signs.reserved = Some(ReservedSign {
        pieces: 1,
        grew,
        touched: 300.0 * MB,
        size: 1000.0 * MB,
        name: None,
    });
}

fn climb(first: f64, half: f64, last: f64) -> Option<Climb> {
    Some(Climb { first, half, last })
}

fn counted(signs: &mut Signs, tensors: f64, bytes: f64, graphs: f64) {
    let one = |n: f64, tensors: f64, bytes: f64, graphs: f64| ObjectCount {
        at: at(n),
        tensors,
        host_bytes: bytes,
        with_graph: graphs,
        objects: 1000.0,
        cuda: None,
    };
    signs.objects = Some(ObjectsSign {
        looks: 5,
        span: FirstAndLast {
            first: one(10.0, 100.0, 50.0 * MB, 0.0),
            last: one(200.0, 100.0 + tensors, 50.0 * MB + bytes, graphs),
        },
        held: 190.0 * MB,
    });
}

fn cleaned(signs: &mut Signs, part: &str, calls: u64, freed: f64) {
    let cleaned = Cleaned { calls, freed };
    signs.cleaned.insert(part.to_owned(), cleaned);
}

fn role(name: &str, count: usize, own: f64, grew: f64) -> RoleSign {
    RoleSign {
        role: name.to_owned(),
        count,
        own,
        grew,
        known: true,
        class: Class::Stable,
    }
}

fn around(change: impl Fn(&mut Surroundings)) -> Option<FirstAndLast<Surroundings>> {
    let first = Surroundings {
        at: at(0.0),
        cgroup: Some(Group {
            current: 800.0 * MB,
            anon: Some(500.0 * MB),
            file: Some(100.0 * MB),
            kernel: Some(10.0 * MB),
            only_ours: true,
        }),
        shmem: 0.0,
        page_cache: 0.0,
        dev_shm: Some((0.0, 8e9)),
        stalled: Some(0.0),
        gpu: Some(1000.0 * MB),
    };
    let mut last = first;
    change(&mut last);
    Some(FirstAndLast { first, last })
}

fn cuda(signs: &mut Signs, reserved: f64, allocated: f64, pinned: Option<f64>) {
    counted(signs, 0.0, 0.0, 0.0);
    let bytes = |bytes: f64| Bytes(bytes as u64);
    if let Some(counted) = &mut signs.objects {
        counted.span.first.cuda = Some(Cuda {
            pinned: pinned.map(|_| Bytes::ZERO),
            ..Cuda::default()
        });
        counted.span.last.cuda = Some(Cuda {
            allocated: bytes(allocated),
            reserved: bytes(reserved),
            pinned: pinned.map(bytes),
        });
    }
}

/// Entries whose signature cannot be measured from here: they speak of what would show them, or of
/// what is not judged, and are never candidates.
const NEVER: [&str; 5] = ["P04", "P05", "P17", "P19", "P24"];

fn claims(signs: &Signs, id: &str) -> bool {
    causes()
        .filter(|entry| entry.id == id)
        .any(|entry| matches!(entry.held_against(signs), Matching::Candidate(_)))
}

#[test]
fn every_entry_matches_its_case_and_not_the_near_miss() {
    for case in all_cases() {
        let mut signs = (case.base)();
        (case.fits)(&mut signs);
        assert!(claims(&signs, case.id), "{} does not match", case.id);
        (case.misses)(&mut signs);
        assert!(
            !claims(&signs, case.id),
            "{} matches its near miss",
            case.id
        );
    }
}

#[test]
fn every_entry_has_a_case() {
    for entry in causes() {
        let tested = all_cases().any(|case| case.id == entry.id);
        assert_ne!(tested, NEVER.contains(&entry.id), "{}", entry.id);
        assert!(
            !entry.sources.is_empty() && !entry.fix.is_empty(),
            "{}",
            entry.id
        );
    }
    let mut ids: Vec<&str> = causes().map(|entry| entry.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 48);
    assert_eq!(ids.len(), causes().count());
}

#[test]
fn nothing_is_claimed_of_a_stable_run_whatever_else_was_seen() {
    for case in all_cases() {
        let mut signs = (case.base)();
        (case.fits)(&mut signs);
        signs.class = Class::Stable;
        signs.course.grew = 0.0;
        let matched = matched(&signs);
        // Copies by workers show in no process by itself, so its verdict may be stable.
        let claimed = matched.candidates.iter().map(|c| c.id.as_str());
        let claimed: Vec<&str> = claimed.filter(|id| *id != "P02").collect();
        assert!(claimed.is_empty(), "{}: {claimed:?}", case.id);
    }
}

#[test]
fn a_trainer_that_grows_is_no_claim_by_itself() {
    assert!(matched(&leak()).candidates.is_empty());
}

/// As seen in a worker that leaks batches: 11 open files when it began, 23 later.
#[test]
fn a_dozen_open_files_do_not_hold_megabytes_each() {
    let mut signs = leak();
    let files = |last: f64| climb(11.0, last / 2.0, last);
    signs.files = files(23.0);
    assert!(!claims(&signs, "P42"));
    signs.files = files(800.0);
    assert!(claims(&signs, "P42"));
}

#[test]
fn cycles_are_ruled_out_by_collections_that_free_nothing() {
    let mut signs = leak();
    cleaned(&mut signs, "gc", 31, 0.0);
    let said = matched(&signs).ruled_out;
    let gc = said.iter().find(|s| s.about.starts_with("P25")).unwrap();
    assert_eq!(gc.says, "gc freed nothing in 31 calls");
}

#[test]
fn what_is_seen_of_a_graph_comes_before_the_echo_in_free_memory() {
    let mut signs = leak();
    look(
        &mut signs,
        &[
            (MemoryClass::GlibcHoles, 0.5),
            (MemoryClass::GlibcLive, 0.4),
        ],
    );
    counted(&mut signs, 0.0, 0.0, 0.0);
    signs.blocks = Some(Blocks {
        small: 70.0 * MB,
        large: 0.0,
    });
    let matched = matched(&signs);
    let ids: Vec<&str> = matched.candidates.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids.first(), Some(&"P09"), "{ids:?}");
}

#[test]
fn the_experiment_is_the_same_job_with_one_thing_changed() {
    let mut signs = warm_up();
    let find = |signs: &Signs, id: &str| {
        let found = matched(signs).candidates;
        found.into_iter().find(|c| c.id == id).unwrap()
    };
    assert_eq!(
        find(&signs, "P01").experiment.command.unwrap(),
        "lowtide run -o half -- python train.py --examples 40 --num-workers=2; lowtide check half --baseline base"
    );
    signs.job.command = vec!["python".to_owned(), "train it.py".to_owned()];
    assert_eq!(find(&signs, "P01").experiment.command, None);
    look(&mut signs, &[(MemoryClass::GlibcHoles, 0.9)]);
    assert_eq!(
        find(&signs, "P13").experiment.command.unwrap(),
        "lowtide run -o malloc-arena-max -- env MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 python 'train it.py'; lowtide check malloc-arena-max --baseline base"
    );
}

#[test]
fn objects_that_the_collector_tracks_speak_for_python_objects_and_claim_nothing_alone() {
    let risen = ObjectGrowth {
        per_unit: 3.0,
        low: 2.9,
        high: 3.1,
        unit: "step".to_owned(),
        first: 48_000.0,
        last: 48_600.0,
        says: "objects rise by 3 per step".to_owned(),
    };
    let mut signs = leak();
    signs.object_growth = Some(risen.clone());
    assert!(matched(&signs).candidates.is_empty());
    look(&mut signs, &[(MemoryClass::PythonLive, 0.97)]);
    let with = matched(&signs).candidates.remove(0);
    assert_eq!(with.id, "P38");
    assert!(with.because.contains(&risen.says), "{with:?}");
    signs.object_growth = None;
    let without = matched(&signs).candidates.remove(0);
    assert!(without.score < with.score, "{without:?}");
}
