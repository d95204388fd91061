//! A day of a busy tree fits in the room that was promised.

use lowtide_core::entry::Entry;
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{
    Basis, Cgroup, Limit, LimitFrom, Node, Pressure, Pss, Reading, Sample, TreeSum,
};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};

const PROCESSES: u32 = 25;
const DAY: u64 = 86_400;
/// What issue 2 asks for.
const ROOM: usize = 25_000_000;

/// Numbers that look random and are the same every time (xorshift64).
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn once_in(&mut self, ticks: u64) -> bool {
        self.below(ticks) == 0
    }

    /// A size moves up or down by up to so many pages, and not below zero.
    fn shake(&mut self, size: &mut Bytes, pages: u64) {
        let up = self.below(2 * pages + 1) * 4096;
        size.0 = (size.0 + up).saturating_sub(pages * 4096);
    }
}

struct Tree {
    noise: Noise,
    sample: Sample,
}

impl Tree {
    fn new() -> Tree {
        let reading = |n: u32| Reading {
            anon: Bytes(3_000_000_000 / u64::from(n + 1) / 4096 * 4096),
            file: Bytes(400 << 20),
            shmem: Bytes(64 << 20),
            vsize: Bytes(20 << 30),
            peak: Bytes(4 << 30),
            threads: 40,
            fds: Some(60),
            ..Reading::of(ProcId {
                pid: 40_000 + n,
                start: 918_273_645 + u64::from(n),
            })
        };
        let pressure = Some(Pressure::default());
        let cgroup = |path: &str| Cgroup {
            path: path.to_owned(),
            current: Bytes(20 << 30),
            max: Some(Bytes(32 << 30)),
            anon: Some(Bytes(18 << 30)),
            file: Some(Bytes(2 << 30)),
            shmem: Some(Bytes(64 << 20)),
            kernel: Some(Bytes(300_000_123)),
            swap: Some(Bytes::ZERO),
            oom_kills: Some(0),
            limit_hits: Some(0),
            pressure,
            ..Cgroup::default()
        };
        Tree {
            noise: Noise(0x1234_5678_9abc_def1),
            sample: Sample {
                readings: (0..PROCESSES).map(reading).collect(),
                node: Node {
                    total: Bytes(64 << 30),
                    available: Bytes(40 << 30),
                    page_cache: Bytes(10 << 30),
                    shmem: Bytes(1 << 30),
                    pressure,
                    dev_shm: Some((Bytes(64 << 20), Bytes(32 << 30))),
                    ..Node::default()
                },
                cgroups: ["/", "/user.slice", "/user.slice/job"].map(cgroup).into(),
                limit: Some(Limit {
                    bytes: Bytes(32 << 30),
                    from: LimitFrom::Cgroup("/user.slice/job".to_owned()),
                    used: Bytes(20 << 30),
                }),
                ..Sample::default()
            },
        }
    }

    /// The next second: every process works, allocates and faults, the machine around it too.
    fn tick(&mut self, seq: u64) -> &Sample {
        let Tree { noise, sample } = self;
        sample.seq = seq;
        sample.late = Micros(60 + noise.below(200));
        sample.at = Micros(seq * 1_000_000 + sample.late.0);
        for (n, reading) in sample.readings.iter_mut().enumerate() {
            // Nine in ten move every tick; the trainer moves by megabytes.
            if noise.below(10) == 0 {
                continue;
            }
            noise.shake(&mut reading.anon, if n == 0 { 4000 } else { 100 });
            reading.cpu.0 += noise.below(100) * 10_000;
            reading.minor_faults += noise.below(3000);
            if noise.once_in(20) {
                noise.shake(&mut reading.file, 50);
            }
            if noise.once_in(20) {
                noise.shake(&mut reading.vsize, 5000);
            }
            if noise.once_in(60) {
                reading.threads = 30 + noise.below(20) as u32;
                reading.fds = Some(50 + noise.below(30) as u32);
            }
        }
        // The budget allows a careful look every few seconds.
        if seq.is_multiple_of(4) {
            let at = sample.at;
            let count = sample.readings.len() as u64;
            let reading = &mut sample.readings[(seq / 4 % count) as usize];
            reading.pss = Some(Pss {
                at,
                cost: Micros(3000 + noise.below(3000)),
                anon: Bytes(reading.anon.0 / 2 + noise.below(1 << 20)),
                file: Bytes(noise.below(100 << 20)),
                shmem: Bytes(noise.below(10 << 20)),
                swap: Bytes::ZERO,
                uss: Bytes(reading.anon.0 / 3 + noise.below(1 << 20)),
                rss_anon: reading.anon,
            });
        }
        let looks = sample.readings.iter().filter_map(|r| r.pss);
        sample.tree = TreeSum {
            held: sample.readings.iter().map(Reading::held).sum(),
            basis: Basis::Pss {
                oldest: sample
                    .at
                    .since(looks.map(|p| p.at).min().unwrap_or_default()),
                unread: 0,
            },
        };
        let node = &mut sample.node;
        for size in [&mut node.available, &mut node.page_cache] {
            noise.shake(size, 3000);
        }
        for cgroup in &mut sample.cgroups {
            noise.shake(&mut cgroup.current, 3000);
            cgroup
                .anon
                .iter_mut()
                .for_each(|size| noise.shake(size, 3000));
            cgroup
                .file
                .iter_mut()
                .for_each(|size| noise.shake(size, 100));
            cgroup
                .kernel
                .iter_mut()
                .for_each(|size| size.0 += noise.below(3000));
        }
        // Memory is short now and then.
        if noise.once_in(10) {
            let some_avg10 = noise.below(3000) as f32 / 100.0;
            for pressure in sample.cgroups.iter_mut().map(|c| &mut c.pressure) {
                let pressure = pressure.get_or_insert_default();
                pressure.some_avg10 = some_avg10;
                pressure.some_total.0 += noise.below(100_000);
            }
            node.pressure = sample.cgroups[0].pressure;
        }
        if let Some(limit) = &mut sample.limit {
            limit.used = sample.cgroups[2].current;
        }
        sample
    }
}

#[test]
fn a_noisy_day_of_25_processes_stays_under_25_mb() {
    let mut tree = Tree::new();
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    let mut batch = Vec::new();
    let mut size = file_head().len();
    for seq in 0..DAY {
        // A step a second, as the job's output tells it.
        let mark = Mark {
            at: Micros(seq * 1_000_000 + 400_000 + tree.noise.below(100_000)),
            source: MarkSource::Output,
            step: Some(seq),
            total_steps: Some(DAY),
            epoch: Some((seq / 10) as f64 / 100.0),
            ..Mark::default()
        };
        encoder.put(&mut frames, &Entry::Mark(mark)).unwrap();
        let sample = Entry::Sample(tree.tick(seq).clone());
        encoder.put(&mut frames, &sample).unwrap();
        frames.swap_into(&mut batch);
        size += batch.len();
    }
    println!(
        "{DAY} ticks of {PROCESSES} processes: {:.1} MB, {:.0} bytes a tick",
        size as f64 / 1e6,
        size as f64 / DAY as f64
    );
    assert!(size < ROOM, "{size} bytes");
}

#[test]
fn a_tick_in_which_nothing_moves_costs_a_few_bytes_however_many_processes() {
    let mut tree = Tree::new();
    let mut sample = tree.tick(0).clone();
    sample.readings = (0..1000)
        .map(|n| Reading {
            id: ProcId { pid: n, start: 1 },
            ..sample.readings[0]
        })
        .collect();
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    let mut batch = Vec::new();
    for seq in 0..3 {
        sample.seq = seq;
        sample.at.0 += 1_000_000;
        if let Basis::Pss { oldest, .. } = &mut sample.tree.basis {
            oldest.0 += 1_000_000;
        }
        encoder
            .put(&mut frames, &Entry::Sample(sample.clone()))
            .unwrap();
        frames.swap_into(&mut batch);
    }
    assert!(batch.len() < 32, "{} bytes", batch.len());
}
