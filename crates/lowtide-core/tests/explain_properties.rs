//! Whatever a run was told, explaining it does not panic, claims nothing of a stable run but copies by
//! workers, and gives shares and scores that are shares.

use std::collections::BTreeMap;

use lowtide_core::entry::{Cleanup, Entry};
use lowtide_core::look::{
    Breakdown, By, Examiner, Layout, Look, LookWhy, MemoryClass, Objects, Part, PartMember, Rest,
};
use lowtide_core::mark::{Geometry, Mark, MarkSource, Phase};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::run::Run;
use lowtide_core::sample::{Pss, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_core::verdict::Class;
use proptest::prelude::*;

const ROLES: [Role; 6] = [
    Role::Trainer,
    Role::LoaderWorker,
    Role::CompileWorker,
    Role::Rank { rank: 0, world: 2 },
    Role::Logger,
    Role::Other,
];
const KINDS: [MemoryClass; 7] = [
    MemoryClass::PythonLive,
    MemoryClass::GlibcLive,
    MemoryClass::GlibcFree,
    MemoryClass::GlibcHoles,
    MemoryClass::OtherAnon,
    MemoryClass::Shared,
    MemoryClass::FileClean,
];

/// A look from inside, with what a sender may write.
fn counted(at: Micros, id: ProcId, b: u64, c: u64) -> Look {
    let parts = |name: &str| {
        vec![Part::new(
            name,
            Some(b),
            c.is_multiple_of(3).then_some(Bytes(c)),
        )]
    };
    Look {
        held: Some(Bytes(c)),
        breakdowns: vec![
            Breakdown::new(By::Device, parts("cpu")),
            Breakdown {
                by: By::TensorGroup,
                parts: parts("cpu float32[3]"),
                rest: Some(Rest::default()),
            },
            Breakdown::new(By::Other("colour".to_owned()), parts("red")),
        ],
        objects: Some(Objects {
            tracked: b,
            with_graph: c,
            cuda: None,
        }),
        ..Look::new(at, id, LookWhy::Due, Examiner::Callback)
    }
}

/// One thing that a run may be told, from four numbers.
fn entry(now: u64, (what, a, b, c): (u8, u64, u64, u64)) -> Entry {
    let at = Micros(now);
    let pid = (a % 4) as u32;
    let id = ProcId { pid, start: 1 };
    let size = |n: u64| Bytes(n % 4_000_000_000);
    match what % 12 {
        0 => Entry::Member(Member {
            id,
            parent: Some(ProcId { pid: 0, start: 1 }),
            facts: Facts {
                libtorch: b % 2 == 0,
                libcuda: b % 3 == 0,
                forked: b % 5 == 0,
                ..Facts::default()
            },
            role: ROLES[(c % 6) as usize],
            why: String::new(),
        }),
        1 => Entry::Watch {
            at,
            id,
            why: String::new(),
        },
        2 => Entry::Gone { id, at },
        3 => match c % 4 {
            0 => Entry::Look(counted(at, id, b, c)),
            1 => Entry::Cleanup(Cleanup {
                at,
                pid,
                freed: BTreeMap::from([
                    ("gc".to_owned(), b as i64),
                    ("trim".to_owned(), -(c as i64)),
                ]),
            }),
            2 => Entry::Log {
                at,
                pid,
                values: BTreeMap::new(),
            },
            _ => Entry::Record {
                at,
                pid,
                json: r#"{"tensors":7}"#.to_owned(),
            },
        },
        4 => Entry::Look(Look {
            held: (c % 5 != 0).then_some(size(b)),
            breakdowns: vec![Breakdown::new(
                By::Mapping,
                vec![Part::of_class(
                    KINDS[(b % 7) as usize],
                    size(c),
                    vec![PartMember::new(
                        ["80 B blocks", "blocks of 1.02 kB to 1.15 kB", "no name"]
                            [(c % 3) as usize],
                        b,
                        size(b),
                    )],
                )],
            )],
            layout: Some(Layout::default()),
            ..Look::new(at, id, LookWhy::Due, Examiner::Mappings)
        }),
        5 | 6 => Entry::Mark(Mark {
            at,
            source: MarkSource::Callback,
            step: Some(b % 500),
            epoch: (c % 3 == 0).then_some(b as f64 / 7.0),
            phase: [
                None,
                Some(Phase::Train),
                Some(Phase::Eval),
                Some(Phase::Save),
            ][(c % 4) as usize],
            geometry: (c % 7 == 0).then_some(Geometry {
                examples: Some(b),
                batch: Some(c % 3),
                ..Geometry::default()
            }),
            ..Mark::default()
        }),
        _ => {
            let reading = |pid: u32, anon: u64| Reading {
                anon: size(anon),
                file: size(c),
                shmem: size(b % 1000),
                swap: Bytes(c % 2),
                vsize: Bytes(1 << 40),
                peak: Bytes(1),
                threads: (b % 100) as u32,
                fds: Some((c % 100) as u32),
                gpu: (c % 9 == 0).then(|| size(b)),
                pss: (c % 2 == 0).then(|| Pss {
                    uss: size(c),
                    ..Pss::default()
                }),
                ..Reading::of(ProcId { pid, start: 1 })
            };
            Entry::Sample(Sample {
                seq: now,
                at,
                readings: (0..4)
                    .map(|pid| reading(pid, b.wrapping_add(u64::from(pid).wrapping_mul(c))))
                    .collect(),
                tree: TreeSum {
                    held: size(b),
                    ..TreeSum::default()
                },
                ..Sample::default()
            })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn explaining_never_panics_and_shares_are_shares(
        told in proptest::collection::vec(any::<(u8, u64, u64, u64)>(), 0..400),
        rises in any::<bool>(),
    ) {
        let mut run = Run::new();
        for (n, mut one) in told.into_iter().enumerate() {
            if rises {
                // Growth, so that there is something to explain.
                one.2 = n as u64 * 5_000_000 + one.2 % 1_000_000;
            }
            run.apply(&entry(n as u64 * 1_000_000, one));
        }
        let (verdict, _, explanation) = run.explained();
        for driver in &explanation.drivers {
            prop_assert!((0.0..=1.0).contains(&driver.explains));
            prop_assert!(driver.low <= driver.high);
        }
        for candidate in &explanation.candidates {
            prop_assert!((0.5..=1.0).contains(&candidate.score));
            prop_assert!(!candidate.because.is_empty());
            prop_assert!(verdict.verdict != Class::Stable || candidate.id == "P02");
        }
        if let Some(memory) = &explanation.memory {
            for growth in &memory.breakdowns {
                prop_assert!((0.0..=1.0).contains(&growth.accounted));
            }
        }
        for suspect in &verdict.suspects {
            prop_assert!((0.0..=1.0).contains(&suspect.share));
        }
        prop_assert!(serde_json::to_string(&explanation).is_ok());
    }
}
