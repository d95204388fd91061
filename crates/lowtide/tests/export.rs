//! The tables of a small recording, in every format.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lowtide::export::{Format, What, export};
use lowtide_core::entry::{Entry, Header};
use lowtide_core::mark::{Mark, Phase};
use lowtide_core::meter::{METERS, Meter, Unit};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{Cgroup, Limit, LimitFrom, Pss, Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::{Recorder, Recording};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

const TRAINER: ProcId = ProcId { pid: 40, start: 7 };
const WORKER: ProcId = ProcId { pid: 41, start: 8 };

fn reading(id: ProcId, anon: u64, pss: Option<Pss>) -> Reading {
    Reading {
        anon: Bytes(anon),
        file: Bytes(20),
        shmem: Bytes(3),
        swap: Bytes(1),
        vsize: Bytes(9000),
        peak: Bytes(700),
        threads: 5,
        cpu: Micros(1_500_000),
        minor_faults: 11,
        pss,
        objects: Some(48_213),
        collections: Some([700, 60, 5]),
        ..Reading::of(id)
    }
}

fn sample(seq: u64, readings: Vec<Reading>) -> Entry {
    Entry::Sample(Sample {
        seq,
        at: Micros(seq * 1_000_000),
        readings,
        tree: TreeSum {
            held: Bytes(500),
            ..TreeSum::default()
        },
        cgroups: ["/job", "/"]
            .map(|path| Cgroup {
                path: path.to_owned(),
                current: Bytes(900),
                max: Some(Bytes(1000)),
                ..Cgroup::default()
            })
            .into(),
        limit: Some(Limit {
            bytes: Bytes(1000),
            from: LimitFrom::Cgroup("/job".to_owned()),
            used: Bytes(900),
        }),
        ..Sample::default()
    })
}

fn recording(dir: &Path) -> PathBuf {
    let header = Header {
        started: Micros(1_700_000_000_000_000),
        ..Header::default()
    };
    let recorder = Recorder::start(dir, header, |notice| panic!("{notice}")).unwrap();
    let look = Pss {
        at: Micros(500_000),
        anon: Bytes(60),
        uss: Bytes(50),
        ..Pss::default()
    };
    let entries = [
        Entry::Member(Member {
            id: TRAINER,
            parent: None,
            facts: Facts {
                argv: ["python", "-c", "print(\"a, b\")"]
                    .map(str::to_owned)
                    .into(),
                ..Facts::default()
            },
            role: Role::Rank { rank: 1, world: 2 },
            why: "RANK is 1".to_owned(),
        }),
        sample(0, vec![reading(TRAINER, 100, None)]),
        Entry::Watch {
            at: Micros(0),
            id: TRAINER,
            why: "the only one".to_owned(),
        },
        Entry::Mark(Mark {
            at: Micros(400_000),
            step: Some(12),
            phase: Some(Phase::Train),
            ..Mark::default()
        }),
        sample(
            1,
            vec![reading(TRAINER, 200, Some(look)), reading(WORKER, 30, None)],
        ),
    ];
    entries.iter().for_each(|entry| recorder.send(entry));
    let path = recorder.path().to_owned();
    recorder.finish(Duration::from_secs(60)).unwrap();
    path
}

fn text(path: &Path, what: What, format: Format) -> String {
    let out = path.with_extension("out");
    let recording = Recording::open(path).unwrap();
    export(recording, what, format, File::create(&out).unwrap()).unwrap();
    std::fs::read_to_string(out).unwrap()
}

fn objects(path: &Path, what: What) -> Vec<Value> {
    text(path, what, Format::Jsonl)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn samples_have_a_row_per_process_with_step_role_and_the_age_of_the_careful_look() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording(dir.path());
    let rows = objects(&path, What::Samples);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["step"], Value::Null);
    assert_eq!(rows[0]["pss_age"], Value::Null);
    assert_eq!(rows[0]["watched"], false, "nothing was watched yet");
    let row = &rows[1];
    for (name, expected) in [
        ("t", Value::from(1.0)),
        ("time", "2023-11-14T22:13:21Z".into()),
        ("step", 12.into()),
        ("phase", "train".into()),
        ("pid", 40.into()),
        ("role", "rank".into()),
        ("rank", 1.into()),
        ("watched", true.into()),
        ("anon", 200.into()),
        ("rss", 223.into()),
        ("held", 204.into()),
        ("cpu", 1.5.into()),
        ("uss", 50.into()),
        ("pss_age", 0.5.into()),
    ] {
        assert_eq!(row[name], expected, "{name}");
    }
    assert_eq!(
        rows[2]["role"],
        Value::Null,
        "nothing is known of the worker"
    );
}

#[test]
fn every_meter_is_a_column_in_its_unit() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording(dir.path());
    let rows = objects(&path, What::Samples);
    let read = reading(TRAINER, 100, None);
    for info in METERS.iter().filter(|info| info.meter != Meter::Memory) {
        let expected = match ((info.get)(&read), info.unit) {
            (None, _) => Value::Null,
            (Some(micros), Unit::Seconds) => (micros as f64 / 1e6).into(),
            (Some(value), Unit::Bytes | Unit::Count(_)) => value.into(),
        };
        assert_eq!(rows[0].get(info.name), Some(&expected), "{}", info.name);
    }
}

#[test]
fn the_other_tables_tell_marks_processes_the_machine_and_cgroups() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording(dir.path());
    let marks = objects(&path, What::Marks);
    assert_eq!((marks.len(), &marks[0]["step"]), (1, &Value::from(12)));
    let processes = objects(&path, What::Processes);
    assert_eq!(processes.len(), 2);
    assert_eq!(processes[0]["command"], "python -c print(\"a, b\")");
    assert_eq!(processes[0]["peak_held"], 204);
    assert_eq!(processes[1]["first_t"], 1.0);
    let node = objects(&path, What::Node);
    assert_eq!(node.len(), 2);
    assert_eq!(node[1]["limit_from"], "cgroup /job");
    assert_eq!(node[1]["tree_held"], 500);
    let cgroups = objects(&path, What::Cgroups);
    assert_eq!(cgroups.len(), 4);
    assert_eq!(cgroups[0]["path"], "/job");
}

fn as_json(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Long(number) => (*number).into(),
        Field::Double(number) => (*number).into(),
        Field::Bool(value) => (*value).into(),
        Field::Str(text) => text.as_str().into(),
        Field::TimestampMicros(micros) => {
            let time = jiff::Timestamp::from_microsecond(*micros).unwrap();
            time.to_string().into()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_table_has_the_same_rows_and_columns_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording(dir.path());
    for what in [
        What::Samples,
        What::Marks,
        What::Processes,
        What::Node,
        What::Cgroups,
    ] {
        let names: Vec<&str> = what.columns().iter().map(|(name, _)| *name).collect();
        let objects = objects(&path, what);
        let csv = text(&path, what, Format::Csv);
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some(names.join(",").as_str()));
        assert_eq!(lines.count(), objects.len());

        let out = dir.path().join("table.parquet");
        let recording = Recording::open(&path).unwrap();
        export(
            recording,
            what,
            Format::Parquet,
            File::create(&out).unwrap(),
        )
        .unwrap();
        let file = SerializedFileReader::new(File::open(&out).unwrap()).unwrap();
        let rows: Vec<_> = file
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), objects.len());
        for (row, object) in rows.iter().zip(&objects) {
            let columns: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
            assert_eq!(columns, names);
            for (name, field) in row.get_column_iter() {
                assert_eq!(as_json(field), object[name], "{name}");
            }
        }
    }
}
