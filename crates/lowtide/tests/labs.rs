//! Every lab, run for real under `lowtide run`, judged and explained from its recording. The labs mostly
//! sleep, so a few run side by side. What the explanation must find stands in bench/explain/expected.json,
//! which `bench/explain/table.py` prints too.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_testing::Starts;
use serde_json::Value;

/// Labs that run at once: two cores, and most of a lab's time is sleep.
const AT_ONCE: usize = 4;
/// Fifteen teeth, stairs or evaluations of ten steps each, in a time that a test may take.
const SCALE: [&str; 4] = ["--steps", "150", "--seconds", "24"];
/// Often enough to see nearly every step.
const INTERVAL: &str = "100ms";
/// Share of wall time for careful looks (PSS). The usual 0.1 % is made for hours: of 24 seconds it
/// leaves a few looks, which come too late to see when copy-on-read ended.
const BUDGET: &str = "5%";

/// Share of the growth that the looks must account for.
const ACCOUNTED: f64 = 0.9;

struct Lab {
    name: &'static str,
    /// Further arguments of the lab.
    size: &'static [&'static str],
    /// Further arguments of `lowtide judge`.
    judge: &'static [&'static str],
    /// Any of these is right.
    expects: &'static [&'static str],
}

const fn lab(name: &'static str, expects: &'static [&'static str]) -> Lab {
    Lab {
        name,
        size: &[],
        judge: &[],
        expects,
    }
}

/// What leaks: growth that outlasts the epochs, which somebody has to tell. Late growth passes two of its
/// own before the lab ends.
const fn leak(name: &'static str) -> Lab {
    Lab {
        judge: &["--epoch-steps", "25"],
        ..lab(name, &["leak"])
    }
}

const LABS: &[Lab] = &[
    leak("list_leak"),
    leak("malloc_leak"),
    leak("mmap_leak"),
    leak("shm_leak"),
    leak("thread_leak"),
    leak("fd_leak"),
    // A sample that comes late misses a valley by the garbage of a step. At the lab's own 4 MB, more than a tooth leaks,
    // one recording in 25 with a third of its samples gone was too uneven to be called, and rightly so.
    Lab {
        size: &["--garbage", "2"],
        ..leak("gc_saw_leak")
    },
    // Spikes of 150 MB: touching more pages than that takes longer than a step.
    Lab {
        size: &["--size", "0.1"],
        ..leak("eval_spike_leak")
    },
    leak("slow_leak"),
    leak("late_leak"),
    leak("stairs_leak"),
    leak("worker_leak"),
    lab("leak_ends", &["warm-up"]),
    Lab {
        judge: &["--examples", "576", "--batch", "2", "--accumulate", "4"],
        ..lab("first_epoch_cache", &["warm-up"])
    },
    lab("lru_cache", &["warm-up"]),
    lab("replay_buffer", &["warm-up"]),
    lab("fragmentation", &["warm-up"]),
    lab("fork_readers", &["warm-up", "stable"]),
    lab("pymalloc", &["spikes"]),
    // Workers that live for a second are rarely all measured in one careful look, so the tree's
    // sum may stay undecided; it must not be an accusation.
    lab("pool_recreated", &["spikes", "stable", "too-early"]),
    lab("page_cache", &["stable"]),
    lab("stable", &["stable"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

/// What is wrong with the verdict on this lab, if anything.
fn fault(lab: &Lab, recordings: &Path) -> Option<String> {
    let recording = recordings.join(lab.name);
    let run = lowtide(&["run", "--interval", INTERVAL, "--budget", BUDGET, "-o"])
        .arg(&recording)
        .arg("--")
        .arg("python3")
        .arg(folder().join(format!("{}.py", lab.name)))
        .args(SCALE)
        .args(lab.size)
        // Labs that need a file put it where they are started.
        .current_dir(recordings)
        .finish();
    if !run.status.success() {
        return Some(format!("{}: the run failed\n{}", lab.name, shown(&run)));
    }
    let judged = lowtide(&["explain", "--json"])
        .args(lab.judge)
        .arg(&recording)
        .finish();
    let verdict: Value = match serde_json::from_slice(&judged.stdout) {
        Ok(verdict) => verdict,
        Err(error) => return Some(format!("{}: {error}\n{}", lab.name, shown(&judged))),
    };
    let called = verdict["verdict"].as_str().unwrap_or_default();
    if !lab.expects.contains(&called) {
        return Some(format!(
            "{}: called {called}, expected {}\n{verdict:#}",
            lab.name,
            lab.expects.join(" or ")
        ));
    }
    if let Some(fault) = accused_blindly(lab, &recording) {
        return Some(fault);
    }
    let off = misread(&verdict["explanation"], &expected()["labs"][lab.name]);
    off.map(|off| format!("{}: {off}\n{verdict:#}", lab.name))
}

/// Without the length of an epoch a leak of half a minute is growth that nobody can call.
fn accused_blindly(lab: &Lab, recording: &Path) -> Option<String> {
    if lab.expects != ["leak"] {
        return None;
    }
    let judged = lowtide(&["judge", "--json"]).arg(recording).finish();
    let verdict: Value = serde_json::from_slice(&judged.stdout).ok()?;
    (verdict["verdict"] != "too-early")
        .then(|| format!("{}: without an epoch\n{verdict:#}", lab.name))
}

fn expected() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/explain/expected.json");
    let text = std::fs::read(path).expect("bench/explain/expected.json");
    serde_json::from_slice(&text).expect("JSON")
}

/// What is true, or may be, is ruled out by nobody.
fn ruled_out_though_true(explanation: &Value, expected: &Value) -> Option<String> {
    let names = expected["true"].as_array().expect("what is true");
    let is_true = |statement: &&Value| {
        let about = statement["about"].as_str().expect("about");
        let mut names = names.iter().filter_map(Value::as_str);
        names.any(|name| about.starts_with(name))
    };
    let said = explanation["ruled_out"].as_array().expect("ruled out");
    let wrong = said.iter().find(is_true)?;
    Some(format!("rules out {wrong}"))
}

/// What the explanation says otherwise than expected: driver, kind of memory, playbook entry.
fn misread(explanation: &Value, expected: &Value) -> Option<String> {
    let any = |list: &Value, found: &Value| {
        let list = list.as_array().expect("a list of what is right");
        list.contains(found)
    };
    let driver = &explanation["drivers"][0]["name"];
    if !any(&expected["driver"], driver) {
        return Some(format!("grows with {driver}"));
    }
    // The leading breakdown is the one by mapping.
    let memory = &explanation["memory"]["breakdowns"][0];
    if !expected["memory"].is_null() {
        let kind = &memory["parts"][0]["class"];
        let accounted = memory["accounted"].as_f64().unwrap_or(0.0);
        if !any(&expected["memory"], kind) || accounted < ACCOUNTED {
            return Some(format!("bytes in {kind}, {accounted} accounted for"));
        }
    }
    let candidates = explanation["candidates"].as_array().expect("candidates");
    let entries: Vec<&Value> = candidates.iter().map(|c| &c["id"]).collect();
    if let Some(said) = ruled_out_though_true(explanation, expected) {
        return Some(said);
    }
    let wanted = expected["entry"].as_array().expect("entries");
    let found = if wanted.is_empty() {
        entries.is_empty()
    } else {
        entries.iter().take(2).any(|entry| wanted.contains(entry))
    };
    (!found).then(|| format!("entries {entries:?}, expected {wanted:?}"))
}

fn lowtide(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(arguments);
    command
}

fn shown(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
#[ignore = "two minutes of real programs; scripts/test runs it"]
fn every_lab_gets_its_verdict() {
    // Not in /tmp, which may be a tmpfs: a file that is mapped there counts as shared memory.
    let recordings = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(lab) = LABS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(fault) = fault(lab, recordings.path()) {
                        faults.lock().expect("no thread panicked").push(fault);
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panicked");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// A lab that nobody runs, or a row for a lab that is gone, would go unnoticed.
#[test]
fn the_table_has_every_lab() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .expect("labs/")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        // What the labs share, and the one that needs torch (tests/python runs the real stack).
        .filter(|name| name != "lab" && name != "torch_loader")
        .collect();
    found.sort();
    let mut listed: Vec<&str> = LABS.iter().map(|lab| lab.name).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
    let expected = expected();
    let mut explained: Vec<&String> = expected["labs"].as_object().expect("labs").keys().collect();
    explained.sort_unstable();
    assert_eq!(found.iter().collect::<Vec<_>>(), explained);
}
