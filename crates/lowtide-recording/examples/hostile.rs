//! Writes recordings that were made to keep their reader busy, each of a few megabytes with right checksums:
//! `cargo run --release --example hostile -- FOLDER`, then `time lowtide judge FOLDER/…`.

use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use lowtide_core::entry::{Attempt, Entry, EventKind, Header};
use lowtide_core::mark::Mark;
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{Cgroup, Gap, GapWhy, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};

const SIZE: usize = 12 << 20;

fn id(n: u32) -> ProcId {
    ProcId { pid: n, start: 1 }
}

fn sample(seq: u64, processes: u32) -> Sample {
    let readings = (1..=processes).map(|n| Reading {
        anon: Bytes(4096),
        ..Reading::of(id(n))
    });
    Sample {
        seq,
        at: Micros(seq * 1_000_000),
        readings: readings.collect(),
        tree: TreeSum {
            held: Bytes(4096 * u64::from(processes)),
            ..TreeSum::default()
        },
        ..Sample::default()
    }
}

fn member(n: u32) -> Entry {
    Entry::Member(Member {
        id: id(n),
        parent: None,
        facts: Facts::default(),
        role: Role::Other,
        why: String::new(),
    })
}

fn header() -> Entry {
    Entry::Header(Header::default())
}

/// The frames of entries, each lot in a frame of its own.
fn encoded(lots: &[Vec<Entry>]) -> Vec<Vec<u8>> {
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    let mut made = Vec::new();
    for lot in lots {
        for entry in lot {
            encoder.put(&mut frames, entry).expect("it fits");
        }
        let mut bytes = Vec::new();
        frames.swap_into(&mut bytes);
        made.push(bytes);
    }
    made
}

/// Some frames, and then the last few again and again: differences stay the same.
fn repeated(samples: impl IntoIterator<Item = Sample>, first: Vec<Entry>, again: usize) -> Vec<u8> {
    let samples = samples
        .into_iter()
        .map(|sample| vec![Entry::Sample(sample)]);
    let lots: Vec<Vec<Entry>> = std::iter::once(first).chain(samples).collect();
    let frames = encoded(&lots);
    let mut bytes = file_head().to_vec();
    frames.iter().for_each(|frame| bytes.extend(frame));
    let rest = frames[frames.len() - again..].concat();
    while bytes.len() < SIZE {
        bytes.extend(&rest);
    }
    bytes
}

/// As many entries as fit.
fn many(entry: impl Fn(u32) -> Entry) -> Vec<u8> {
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    encoder.put(&mut frames, &header()).expect("it fits");
    let mut nth = 0;
    while frames.len() < SIZE {
        nth += 1;
        encoder.put(&mut frames, &entry(nth)).expect("it fits");
    }
    let mut bytes = Vec::new();
    frames.swap_into(&mut bytes);
    [&file_head()[..], &bytes].concat()
}

fn at(n: u32) -> Micros {
    Micros(u64::from(n) * 1000)
}

fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let begin = |count: u32| -> Vec<Entry> {
        std::iter::once(header())
            .chain((1..=count).map(member))
            .collect()
    };
    let steady = |change: &dyn Fn(&mut Sample)| {
        let samples = (0..4).map(|seq| {
            let mut sample = sample(seq, 3);
            change(&mut sample);
            sample
        });
        repeated(samples.collect::<Vec<_>>(), begin(3), 1)
    };
    let gap = |n: u32| Gap {
        who: Some(id(n)),
        what: "status".to_owned(),
        why: GapWhy::Denied,
    };
    vec![
        // A hundred thousand processes that do nothing, in ever so many ticks; known ones, and others.
        (
            "idle",
            repeated((0..4).map(|seq| sample(seq, 100_000)), begin(4000), 1),
        ),
        // One of them comes and goes.
        (
            "churn",
            repeated(
                (0..6).map(|seq| sample(seq, 100_000 - (seq % 2) as u32)),
                begin(100),
                2,
            ),
        ),
        (
            "gaps",
            steady(&|sample| sample.gaps = (0..50_000).map(gap).collect()),
        ),
        (
            "long-name",
            steady(&|sample| {
                sample.cgroups = vec![Cgroup {
                    path: "x".repeat(1 << 20),
                    ..Cgroup::default()
                }];
            }),
        ),
        ("members", many(member)),
        ("descending", many(|n| member(u32::MAX - n))),
        (
            "come-and-go",
            many(|n| match n % 2 {
                0 => member(u32::MAX - n),
                _ if n < 9000 => member(n),
                _ => Entry::Gone {
                    id: id(u32::MAX - n + 1),
                    at: at(n),
                },
            }),
        ),
        (
            "attempts",
            many(|n| match n {
                ..4000 => member(n),
                _ => Entry::Attempt(Attempt {
                    at: at(n),
                    number: n,
                    checkpoint: None,
                    step: None,
                    repeated: 0,
                    why: String::new(),
                }),
            }),
        ),
        (
            "marks",
            many(|n| {
                Entry::Mark(Mark {
                    at: at(n),
                    step: Some(u64::from(n % 7)),
                    ..Mark::default()
                })
            }),
        ),
        (
            "events",
            many(|n| Entry::Event {
                at: at(n),
                kind: EventKind::Info,
                text: String::new(),
            }),
        ),
        // A length that fits stands at every offset.
        (
            "lengths",
            [
                &file_head()[..],
                &encoded(&[begin(1)])[0],
                &[0, 0, 8].repeat(SIZE / 3),
            ]
            .concat(),
        ),
    ]
}

fn put(folder: &Path, name: &str, bytes: &[u8], size: Option<u64>) -> std::io::Result<()> {
    let path = folder.join(format!("{name}.lowtide"));
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(bytes)?;
    let file = file.into_inner()?;
    size.map_or(Ok(()), |size| file.set_len(size))
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("lowtide-hostile"));
    create_dir_all(&folder)?;
    for (name, bytes) in kinds() {
        put(&folder, name, &bytes, None)?;
    }
    // Nothing, and much of it.
    let whole = encoded(&[vec![header()]]).concat();
    put(
        &folder,
        "sparse",
        &[&file_head()[..], &whole].concat(),
        Some(20 << 30),
    )
}
