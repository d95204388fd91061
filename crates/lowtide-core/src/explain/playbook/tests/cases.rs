//! For every entry the signs that match it, and the near miss that must not.

use super::*;

/// An entry, what makes it a candidate, and what then makes it none.
pub(super) struct EntryCase {
    pub id: &'static str,
    pub base: fn() -> Signs,
    pub fits: fn(&mut Signs),
    pub misses: fn(&mut Signs),
}

pub(super) const fn case(
    id: &'static str,
    base: fn() -> Signs,
    fits: fn(&mut Signs),
    misses: fn(&mut Signs),
) -> EntryCase {
    EntryCase {
        id,
        base,
        fits,
        misses,
    }
}

pub(super) const CASES: &[EntryCase] = &[
    case(
        "P01",
        warm_up,
        |_| {},
        |s| {
            // Growth ended, but not with the epoch.
            s.course.settled = Some(50.0);
            s.epoch.as_mut().unwrap().with_it = false;
        },
    ),
    case(
        "P02",
        warm_up,
        |s| {
            s.meter = Meter::Pss;
            s.copies = Some(Copies {
                forked: 3,
                unread: 0,
                private: 190.0 * MB,
                taken: MB,
            });
        },
        |s| s.copies.as_mut().unwrap().taken = 180.0 * MB,
    ),
    case(
        "P03",
        leak,
        |s| {
            s.roles = vec![role("loader-worker", 2, 3000.0 * MB, 0.0)];
            s.drivers = vec![driver("worker-start")];
        },
        // As much as the imports of a worker without data.
        |s| s.roles = vec![role("loader-worker", 2, 800.0 * MB, 0.0)],
    ),
    case(
        "P06",
        leak,
        |s| {
            look(s, &[(MemoryClass::Shared, 0.98)]);
            s.shared = vec![("/dev/shm/torch_*".to_owned(), 196.0 * MB)];
        },
        |s| {
            look(
                s,
                &[(MemoryClass::GlibcLive, 0.9), (MemoryClass::Shared, 0.1)],
            )
        },
    ),
    case(
        "P07",
        warm_up,
        |s| {
            s.counted.worker_starts = 8;
            s.drivers = vec![driver("worker-start")];
        },
        // As well explained by steps.
        |s| {
            let tied = Driver {
                tied: true,
                ..driver("step")
            };
            s.drivers.push(tied);
        },
    ),
    case(
        "P08",
        leak,
        |s| {
            look(s, &[(MemoryClass::Shared, 0.9)]);
            s.shared = vec![("/dev/zero (deleted)".to_owned(), 190.0 * MB)];
            s.job.libcuda = true;
        },
        |s| s.job.libcuda = false,
    ),
    case(
        "P08",
        leak,
        |s| cuda(s, 0.0, 0.0, Some(150.0 * MB)),
        |s| cuda(s, 0.0, 0.0, Some(15.0 * MB)),
    ),
    case(
        "P09",
        leak,
        |s| {
            look(s, &[(MemoryClass::GlibcMapped, 0.95)]);
            counted(s, 400.0, 180.0 * MB, 0.0);
        },
        |s| counted(s, 0.0, 0.0, 0.0),
    ),
    case(
        "P09",
        leak,
        // Only the graph knows its tensors: small blocks show it.
        |s| {
            look(
                s,
                &[
                    (MemoryClass::GlibcLive, 0.5),
                    (MemoryClass::GlibcHoles, 0.4),
                ],
            );
            counted(s, 0.0, 0.0, 0.0);
            s.blocks = Some(Blocks {
                small: 80.0 * MB,
                large: 0.0,
            });
        },
        // Not decided: a cache of small things has such blocks too.
        undecided,
    ),
    case(
        "P10",
        leak,
        |s| {
            s.class = Class::Spikes;
            s.course.grew = 0.0;
            s.evaluation = PhaseExcursion {
                seen: 4,
                rise: 300.0 * MB,
                least: 280.0 * MB,
                most: 320.0 * MB,
                kept: MB,
            };
        },
        |s| s.evaluation.rise = 10.0 * MB,
    ),
    case(
        "P11",
        leak,
        |s| {
            s.counted.evaluations = 10;
            s.drivers = vec![driver("evaluation"), driver("step")];
        },
        |s| s.drivers = vec![driver("step")],
    ),
    case(
        "P12",
        leak,
        |s| {
            s.roles = vec![role("loader-worker", 8, 400.0 * MB, 150.0 * MB)];
            s.counted.evaluations = 3;
            s.counted.worker_starts = 8;
            s.counted.later_workers = 4;
        },
        |s| s.roles = vec![role("loader-worker", 4, 400.0 * MB, 150.0 * MB)],
    ),
    case(
        "P13",
        warm_up,
        |s| {
            look(
                s,
                &[
                    (MemoryClass::GlibcHoles, 0.6),
                    (MemoryClass::GlibcLive, 0.3),
                ],
            )
        },
        |s| {
            look(
                s,
                &[
                    (MemoryClass::GlibcLive, 0.65),
                    (MemoryClass::GlibcHoles, 0.31),
                ],
            )
        },
    ),
    case(
        "P14",
        warm_up,
        |s| {
            look(
                s,
                &[(MemoryClass::GlibcFree, 0.6), (MemoryClass::GlibcLive, 0.3)],
            );
            s.blocks = Some(Blocks {
                small: 0.0,
                large: 50.0 * MB,
            });
        },
        |s| s.blocks = Some(Blocks::default()),
    ),
    case(
        "P15",
        leak,
        |s| {
            look(
                s,
                &[
                    (MemoryClass::GlibcLive, 0.3),
                    (MemoryClass::PythonLive, 0.3),
                ],
            );
            s.drivers = vec![driver("recompile")];
            s.counts.as_mut().unwrap().last.code_maps = 40;
            s.counted.slow_steps = 6;
            s.counted.paced = true;
        },
        // Libraries that are loaded late, and steps that something else made slow.
        |s| s.drivers = vec![driver("step")],
    ),
    case(
        "P16",
        leak,
        |s| s.roles = vec![role("compile-worker", 20, 800.0 * MB, 190.0 * MB)],
        |s| s.roles = vec![role("compile-worker", 20, 800.0 * MB, 0.0)],
    ),
    case(
        "P18",
        warm_up,
        |s| {
            s.course.to = 5.0;
            s.course.rises = 1.5;
        },
        |s| s.course.to = 80.0,
    ),
    case(
        "P20",
        leak,
        |s| s.drivers = vec![driver("save")],
        |s| s.drivers = vec![driver("step")],
    ),
    case(
        "P20",
        leak,
        |s| {
            s.save = PhaseExcursion {
                seen: 3,
                rise: 200.0 * MB,
                least: 190.0 * MB,
                most: 210.0 * MB,
                kept: 0.0,
            };
        },
        |s| s.save.kept = 100.0 * MB,
    ),
    case(
        "P21",
        leak,
        |s| {
            s.counted.logs = 20;
            s.drivers = vec![driver("log"), driver("step")];
        },
        |s| s.drivers[1].tied = true,
    ),
    case(
        "P22",
        leak,
        |s| {
            s.course.rate = 20_000.0;
            look(s, &[(MemoryClass::PythonLive, 0.9)]);
        },
        |s| s.course.rate = 4.0 * MB,
    ),
    case(
        "P23",
        leak,
        |s| {
            s.job.role = "loader-worker".to_owned();
            s.job.trains = false;
            s.watched_grew = Some(MB);
        },
        |s| s.job.role = "trainer".to_owned(),
    ),
    case(
        "P25",
        leak,
        |s| cleaned(s, "gc", 30, 30.0 * 50.0 * MB),
        |s| cleaned(s, "gc", 31, 0.0),
    ),
    case(
        "P26",
        leak,
        |s| s.job.argv = "ray::TaskRunner.run".to_owned(),
        |s| s.job.argv = "python train.py".to_owned(),
    ),
    case(
        "P27",
        leak,
        |s| {
            look(
                s,
                &[(MemoryClass::GlibcFree, 0.7), (MemoryClass::GlibcLive, 0.2)],
            );
            s.counts.as_mut().unwrap().last.huge = Bytes(180_000_000);
        },
        // np.zeros that is being filled: huge pages, and in use.
        |s| reserve(s, 190.0 * MB),
    ),
    case(
        "P28",
        leak,
        |s| s.job.env = vec![("PYTHONTRACEMALLOC".to_owned(), "25".to_owned())],
        |s| s.job.env.clear(),
    ),
    case(
        "P29",
        warm_up,
        |s| s.job.role = "loader-worker".to_owned(),
        |s| s.class = Class::Leak,
    ),
    case(
        "P30",
        leak,
        |s| {
            s.levels.as_mut().unwrap().last.swap = 150.0 * MB;
            s.surroundings = around(|last| last.stalled = Some(20.0));
        },
        |s| s.surroundings = around(|_| {}),
    ),
    case(
        "P31",
        leak,
        |s| {
            s.job.role = "other".to_owned();
            s.job.trains = false;
            s.watched_grew = Some(0.0);
        },
        |s| s.watched_grew = Some(190.0 * MB),
    ),
    case(
        "P32",
        leak,
        |s| {
            s.levels.as_mut().unwrap().last.anon = 510.0 * MB;
            s.surroundings = around(|last| last.dev_shm = Some((190.0 * MB, 8e9)));
        },
        // Somebody else's files: the process itself holds the growth.
        |s| s.levels.as_mut().unwrap().last.anon = 700.0 * MB,
    ),
    case(
        "P33",
        leak,
        |s| {
            s.meter = Meter::Gpu;
            s.surroundings = around(|last| last.gpu = Some(1200.0 * MB));
            cuda(s, 190.0 * MB, 2.0 * MB, None);
        },
        |s| cuda(s, 190.0 * MB, 180.0 * MB, None),
    ),
    case(
        "P34",
        leak,
        |s| {
            s.meter = Meter::Gpu;
            s.surroundings = around(|last| last.gpu = Some(1200.0 * MB));
            cuda(s, 10.0 * MB, 10.0 * MB, None);
        },
        |s| cuda(s, 190.0 * MB, 10.0 * MB, None),
    ),
    case(
        "P35",
        leak,
        |s| s.ranks = vec![(0, 190.0 * MB), (1, MB)],
        |s| s.ranks = vec![(0, 190.0 * MB), (1, 180.0 * MB)],
    ),
    case(
        "P36",
        warm_up,
        |s| {
            look(
                s,
                &[(MemoryClass::GlibcFree, 0.6), (MemoryClass::GlibcLive, 0.6)],
            );
            s.job.libcuda = true;
            s.course.to = 5.0;
        },
        |s| s.job.libcuda = false,
    ),
    case(
        "P37",
        leak,
        |s| {
            s.surroundings = around(|last| last.cgroup.as_mut().unwrap().kernel = Some(180.0 * MB));
        },
        |s| s.surroundings = around(|_| {}),
    ),
    case(
        "P38",
        leak,
        |s| look(s, &[(MemoryClass::PythonLive, 0.97)]),
        |s| look(s, &[(MemoryClass::PythonSlack, 0.9)]),
    ),
    case(
        "P39",
        leak,
        |s| look(s, &[(MemoryClass::GlibcLive, 0.97)]),
        // Python knows tensors that explain it.
        |s| counted(s, 400.0, 180.0 * MB, 0.0),
    ),
    case(
        "P40",
        leak,
        |s| look(s, &[(MemoryClass::OtherAnon, 0.97)]),
        |s| s.class = Class::WarmUp,
    ),
    case(
        "P41",
        leak,
        |s| s.threads = climb(8.0, 80.0, 150.0),
        // A pool that starts late, while it is not decided what grows.
        |s| {
            s.threads = climb(8.0, 150.0, 150.0);
            undecided(s);
        },
    ),
    case(
        "P42",
        leak,
        |s| s.files = climb(20.0, 300.0, 600.0),
        |s| s.files = climb(20.0, 25.0, 30.0),
    ),
];
