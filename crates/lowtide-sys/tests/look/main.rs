//! Looks into real processes, against what they say of themselves or what was planted in them.

#[path = "../common/job.rs"]
mod job;

mod glibc;
mod odd;
mod python;
mod reserved;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use job::Job;
use lowtide_core::look::{By, Examine, Layout, Look, LookWhy, Options, Part};
use lowtide_core::process::ProcId;
use lowtide_core::sample::Gap;
use lowtide_core::units::{Bytes, Micros};
use lowtide_sys::look::MappingExaminer;
use lowtide_sys::proc::{Proc, stat};
use lowtide_testing::Starts;

/// More time than any look here needs.
const LONG: Duration = Duration::from_secs(60);

/// The programs of `target.c`, compiled once per set of flags and test process.
fn built(flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/look/target.c");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("look-target{}", flags.concat()));
    // Tests run side by side: each builds under a name of its own, and the last one stays.
    let own = tempfile::NamedTempFile::new_in(folder)
        .unwrap()
        .into_temp_path();
    let status = Command::new("cc")
        .args(["-O1", "-pthread", "-o"])
        .arg(&own)
        .arg(source)
        .args(flags)
        .ends();
    assert!(status.success());
    own.persist(&program).unwrap();
    program
}

fn target(which: &str) -> Job {
    Job::start(Command::new(built(&[])).arg(which))
}

fn id(pid: u32) -> ProcId {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap();
    let start = stat::parse(&stat).unwrap().start;
    ProcId { pid, start }
}

fn try_look(id: ProcId, within: Duration) -> Result<Look, Gap> {
    let proc = Proc::at("/proc").unwrap();
    let options = Options {
        at: Micros(0),
        why: LookWhy::Due,
        within,
    };
    MappingExaminer { proc }.examine(id, options)
}

fn look_into(job: &Job) -> Look {
    try_look(id(job.pid()), LONG).unwrap()
}

/// What the parts say the process holds.
fn sum(look: &Look) -> f64 {
    let parts = parts(look).iter().filter(|part| part.held);
    parts.filter_map(|part| part.bytes).map(Bytes::as_f64).sum()
}

fn parts(look: &Look) -> &[Part] {
    &look.breakdown(&By::Mapping).unwrap().parts
}

fn held(look: &Look) -> f64 {
    look.held.unwrap().as_f64()
}

fn layout(look: &Look) -> &Layout {
    look.layout.as_ref().unwrap()
}

fn near(value: f64, truth: f64, share: f64) -> bool {
    (value - truth).abs() <= truth * share
}
