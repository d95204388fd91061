//! Looks into real processes, against what they say of themselves or what was planted in them.

#[path = "../common/job.rs"]
mod job;
mod python;

use std::time::Duration;

use job::Job;
use lowtide_core::look::{Look, LookWhy};
use lowtide_core::process::ProcId;
use lowtide_core::sample::Gap;
use lowtide_core::units::Micros;
use lowtide_sys::look;
use lowtide_sys::proc::{Proc, stat};

/// More time than any look here needs.
const LONG: Duration = Duration::from_secs(60);

fn try_look(pid: u32, within: Duration) -> Result<Look, Gap> {
    let proc = Proc::at("/proc").unwrap();
    let mut buffer = Vec::new();
    proc.read(pid, "stat", &mut buffer).unwrap();
    let start = stat::parse(&buffer).unwrap().start;
    let options = look::Options {
        at: Micros(0),
        why: LookWhy::Due,
        within,
    };
    look::take(&proc, ProcId { pid, start }, options)
}

fn look_into(job: &Job) -> Look {
    try_look(job.pid(), LONG).unwrap()
}

/// What the parts say the process holds.
fn sum(look: &Look) -> f64 {
    let parts = look.parts.iter().filter(|part| part.kind.is_held());
    parts.map(|part| part.bytes.as_f64()).sum()
}

fn near(value: f64, truth: f64, share: f64) -> bool {
    (value - truth).abs() <= truth * share
}
