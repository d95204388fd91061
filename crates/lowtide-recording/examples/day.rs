//! Writes the recording of a day that never was: 25 processes at 1 Hz for 24 hours, with one spike of one
//! second, a slow leak, evaluations, and a process whose name is a script. The page's tests and benches
//! look at it: `cargo run --example day -- FOLDER`.

use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use lowtide_core::entry::{Entry, EventKind, Exit, Header};
use lowtide_core::mark::{Mark, MarkSource, Phase};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{Limit, LimitFrom, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::FILE_NAME;
use lowtide_recording::codec::{Encoder, WriterId};
use lowtide_recording::frame::{Frames, file_head};

const DAY: u64 = 86_400;
const SPIKE_AT: u64 = 51_234;
const MB: u64 = 1_000_000;
const HOSTILE: &str = "<script>alert(1)</script>";

fn at(second: u64) -> Micros {
    Micros(second * 1_000_000)
}

fn id(n: u32) -> ProcId {
    ProcId {
        pid: 4000 + n,
        start: 77 + u64::from(n),
    }
}

fn member(n: u32) -> Entry {
    let (role, argv) = match n {
        0 => (Role::Trainer, vec!["python", "train.py", "--epochs", "24"]),
        1..=4 => (
            Role::LoaderWorker,
            vec!["python", "train.py", "--epochs", "24"],
        ),
        24 => (
            Role::Other,
            vec![HOSTILE, "--title", "</title><img src=x onerror=alert(2)>"],
        ),
        _ => (
            Role::CompileWorker,
            vec!["python", "-m", "torch._inductor.compile_worker"],
        ),
    };
    Entry::Member(Member {
        id: id(n),
        parent: (n > 0).then(|| id(0)),
        facts: Facts {
            argv: argv.into_iter().map(str::to_owned).collect(),
            ..Facts::default()
        },
        role,
        why: format!("process {n} of {HOSTILE}"),
    })
}

fn reading(n: u32, second: u64) -> Reading {
    // Looks random, is the same every time.
    let noise = (second
        .wrapping_mul(2_654_435_761)
        .wrapping_add(u64::from(n) * 97))
        % 4096
        * 4096;
    let spike = if n == 0 && second == SPIKE_AT {
        9000 * MB
    } else {
        0
    };
    let eval = if n == 0 && second % 3600 > 3500 {
        1500 * MB
    } else {
        0
    };
    let anon = match n {
        0 => 6000 * MB + second * 50_000 + noise * 8 + spike + eval,
        1..=4 => 900 * MB + noise,
        _ => 120 * MB,
    };
    Reading {
        anon: Bytes(anon / 4096 * 4096),
        file: Bytes(300 * MB),
        shmem: Bytes(if n < 5 { 64 * MB } else { 0 }),
        vsize: Bytes(20_000 * MB),
        peak: Bytes(anon),
        threads: 12,
        fds: Some(40),
        cpu: Micros(second * 500_000),
        minor_faults: second * 100,
        ..Reading::of(id(n))
    }
}

fn main() -> std::io::Result<()> {
    let folder: PathBuf = std::env::args_os().nth(1).expect("name a folder").into();
    create_dir_all(&folder)?;
    let mut file = BufWriter::new(File::create(folder.join(FILE_NAME))?);
    file.write_all(&file_head())?;
    let mut frames = Frames::default();
    let mut encoder = Encoder::begin(&mut frames, &WriterId::default());
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let header = Header {
        name: name.unwrap_or_default(),
        started: Micros(1_790_000_000_000_000),
        host: HOSTILE.to_owned(),
        kernel: "6.1".to_owned(),
        how: "run".to_owned(),
        command: vec!["python".to_owned(), "train.py".to_owned()],
        cwd: "/home/somebody".to_owned(),
        interval: at(1),
        cores: 64,
        ..Header::default()
    };
    let watch = Entry::Watch {
        at: at(0),
        id: id(0),
        why: "the only process that trains".to_owned(),
    };
    let first = std::iter::once(Entry::Header(header))
        .chain((0..25).map(member))
        .chain([watch]);
    let mut batch = Vec::new();
    for entry in first.chain((0..DAY).flat_map(second)).chain([Entry::End {
        at: at(DAY),
        exit: Some(Exit::Code(0)),
    }]) {
        encoder
            .put(&mut frames, &entry)
            .expect("a sample that can be stored");
        frames.swap_into(&mut batch);
        file.write_all(&batch)?;
        batch.clear();
    }
    frames.close();
    frames.swap_into(&mut batch);
    file.write_all(&batch)?;
    file.flush()
}

fn second(now: u64) -> Vec<Entry> {
    let readings: Vec<Reading> = (0..25).map(|n| reading(n, now)).collect();
    let held: Bytes = readings.iter().map(Reading::held).sum();
    let mark = Mark {
        at: at(now),
        source: MarkSource::Callback,
        step: Some(now / 2),
        total_steps: Some(DAY / 2),
        epoch: Some(now as f64 / 3600.0),
        phase: Some(if now % 3600 > 3500 {
            Phase::Eval
        } else {
            Phase::Train
        }),
        ..Mark::default()
    };
    let sample = Sample {
        seq: now,
        at: at(now),
        readings,
        tree: TreeSum {
            held,
            ..TreeSum::default()
        },
        limit: Some(Limit {
            bytes: Bytes(32_000 * MB),
            from: LimitFrom::Cgroup("/job".to_owned()),
            used: held,
        }),
        ..Sample::default()
    };
    let mut entries = vec![Entry::Mark(mark), Entry::Sample(sample)];
    if now == SPIKE_AT {
        entries.push(Entry::Event {
            at: at(now),
            kind: EventKind::LimitNear,
            text: format!("limit near: {HOSTILE}"),
        });
    }
    entries
}
