//! A look goes from the recording into every view with all that it was broken down by: also what nobody
//! makes yet, and what this version has no name for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lowtide_core::entry::{Cleanup, Entry, Header};
use lowtide_core::look::{
    Breakdown, By, Examiner, Look, LookWhy, MemoryClass, Missing, Part, PartMember,
};
use lowtide_core::mark::{Mark, MarkSource};
use lowtide_core::process::{Facts, Member, ProcId, Role};
use lowtide_core::sample::{Reading, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use lowtide_recording::Recorder;
use serde_json::Value;

const LOWTIDE: &str = env!("CARGO_BIN_EXE_lowtide");
const TRAINER: ProcId = ProcId { pid: 40, start: 7 };
const MB: u64 = 1_000_000;

fn sample(step: u64) -> Entry {
    let anon = Bytes((300 + 2 * step) * MB);
    Entry::Sample(Sample {
        seq: step,
        at: Micros(step * 1_000_000),
        readings: vec![Reading {
            anon,
            vsize: Bytes(9000 * MB),
            ..Reading::of(TRAINER)
        }],
        tree: TreeSum {
            held: anon,
            ..TreeSum::default()
        },
        ..Sample::default()
    })
}

/// By mapping, by holder, and by something of the future.
fn look(step: u64) -> Entry {
    let grown = 2 * step * MB;
    let parts = vec![
        Part::of_class(MemoryClass::PythonLive, Bytes(100 * MB + grown), vec![]),
        Part::of_class(MemoryClass::GlibcLive, Bytes(200 * MB), vec![]),
    ];
    let mut cache = Part::new("train.CACHE (list)", Some(step), Some(Bytes(grown)));
    cache.members.push(PartMember::new(
        "Tensor float32[500000]",
        step,
        Bytes(grown),
    ));
    let tide = Part::new("spring tide", Some(3 * step), None);
    Entry::Look(Look {
        held: Some(Bytes(300 * MB + grown)),
        missing: vec![Missing::FreeThreaded],
        breakdowns: vec![
            Breakdown::new(By::Mapping, parts),
            Breakdown::new(By::Holder, vec![cache]),
            Breakdown::new(By::Other("moon-phase".to_owned()), vec![tide]),
        ],
        ..Look::new(
            Micros(step * 1_000_000),
            TRAINER,
            LookWhy::Due,
            Examiner::Other("core-file".to_owned()),
        )
    })
}

fn recording(dir: &Path) -> PathBuf {
    let recorder = Recorder::start(dir, Header::default(), |notice| panic!("{notice}")).unwrap();
    recorder.send(&Entry::Member(Member {
        id: TRAINER,
        parent: None,
        facts: Facts::default(),
        role: Role::Trainer,
        why: "the only one".to_owned(),
    }));
    recorder.send(&Entry::Watch {
        at: Micros(0),
        id: TRAINER,
        why: "the only one".to_owned(),
    });
    for step in 1..=240 {
        recorder.send(&Entry::Mark(Mark {
            at: Micros(step * 1_000_000),
            source: MarkSource::Callback,
            step: Some(step),
            ..Mark::default()
        }));
        recorder.send(&sample(step));
        if [10, 120, 230].contains(&step) {
            recorder.send(&look(step));
        }
    }
    recorder.send(&Entry::Cleanup(Cleanup {
        at: Micros(240_000_000),
        pid: TRAINER.pid,
        freed: [("gc".to_owned(), -4096)].into(),
    }));
    recorder.send(&Entry::Record {
        at: Micros(240_000_000),
        pid: TRAINER.pid,
        json: r#"{"a":1}"#.to_owned(),
    });
    let path = recorder.path().to_owned();
    recorder.finish(Duration::from_secs(60)).unwrap();
    path
}

fn lowtide(arguments: &[&str], recording: &Path) -> String {
    let done = Command::new(LOWTIDE)
        .arg(arguments[0])
        .arg(recording)
        .args(&arguments[1..])
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(
        matches!(done.status.code(), Some(0 | 1 | 3)),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

fn rows(what: &str, recording: &Path) -> Vec<Value> {
    let text = lowtide(&["export", "--what", what, "--format", "jsonl"], recording);
    let row = |line: &str| serde_json::from_str(line).unwrap();
    text.lines().map(row).collect()
}

#[test]
fn every_breakdown_is_shown_by_every_view() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording(dir.path());

    let text = lowtide(&["explain"], &path);
    for expected in [
        "by mapping, seen by core file, step 10 to step 230: 440 MB more, 100 % of it",
        "by holder, seen by core file, step 10 to step 230",
        "train.CACHE (list)",
        "Tensor float32[500000]: +220, 440 MB",
        "by moon phase, seen by core file",
        "spring tide",
        "+660",
        "not seen: Python without the GIL",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }

    let json: Value = serde_json::from_str(&lowtide(&["explain", "--json"], &path)).unwrap();
    let memory = &json["explanation"]["memory"];
    let by: Vec<&str> = memory["breakdowns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["by"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["mapping", "holder", "moon-phase"], "{memory:#}");
    let holder = &memory["breakdowns"][1];
    assert_eq!(holder["parts"][0]["grew"], 440e6);
    assert_eq!(holder["parts"][0]["share"], 1.0);
    assert_eq!(holder["missing"][0]["kind"], "free-threaded");

    let page = dir.path().join("r.html");
    lowtide(&["report", "-o", page.to_str().unwrap()], &path);
    let html = std::fs::read_to_string(page).unwrap();
    let (_, data) = html.split_once(r#"id="report">"#).unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let report: Value = serde_json::from_str(data).unwrap();
    let tables = report["breakdowns"].as_array().unwrap();
    let by: Vec<&Value> = tables.iter().map(|table| &table["by"]).collect();
    assert_eq!(by, ["mapping", "holder", "moon-phase"]);
    assert_eq!(tables[1]["looks"][2]["bytes"][0], 460 * MB);
    assert_eq!(tables[2]["looks"][2]["counts"][0], 690);
    assert_eq!(tables[2]["looks"][2]["bytes"][0], Value::Null);

    let markdown = dir.path().join("r.md");
    lowtide(&["report", "-o", markdown.to_str().unwrap()], &path);
    let markdown = std::fs::read_to_string(markdown).unwrap();
    assert!(
        markdown.contains("- **bytes by holder**: train.CACHE (list) 440 MB more"),
        "{markdown}"
    );

    let exported = rows("looks", &path);
    // Two classes, a holder with its member, a phase of the moon; three looks.
    assert_eq!(exported.len(), 3 * 5);
    let last = &exported[14];
    assert_eq!(
        (&last["by"], &last["part"]),
        (&"moon-phase".into(), &"spring tide".into())
    );
    assert_eq!(
        (&last["count"], &last["bytes"]),
        (&690.into(), &Value::Null)
    );
    assert_eq!(last["missing"], "free-threaded");
}

#[test]
fn what_the_loop_sent_is_exported() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording(dir.path());
    let records = rows("records", &path);
    assert_eq!(
        (records.len(), &records[0]["json"]),
        (1, &r#"{"a":1}"#.into())
    );
    let cleanups = rows("cleanups", &path);
    assert_eq!(
        (&cleanups[0]["part"], &cleanups[0]["freed"]),
        (&"gc".into(), &(-4096.0).into())
    );
}
