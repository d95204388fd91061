//! Training jobs that run now, for `ps` and for `attach --find` when there are several.

use std::collections::BTreeMap;
use std::fmt::Write;

use lowtide_core::process::{Member, ProcId, Role};
use lowtide_core::sample::Sample;
use lowtide_core::text::{short, shown};
use lowtide_core::units::{Bytes, show_bytes};
use serde_json::{Value, json};

/// A training job and what one careful sample of its tree shows.
pub(crate) struct SampledJob {
    /// What to attach to.
    pub root: ProcId,
    /// The one to watch.
    pub trainer: ProcId,
    pub why: String,
    pub members: Vec<Member>,
    /// None: it ended meanwhile.
    pub sample: Option<Sample>,
}

pub(crate) fn text(jobs: &[SampledJob]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>8}  {:>9}  {:>9}  {:>9}  JOB",
        "PID", "HELD", "LIMIT", "HEADROOM"
    );
    for job in jobs {
        let sample = job.sample.as_ref();
        let limit = sample.and_then(|sample| sample.limit.as_ref());
        let _ = writeln!(
            out,
            "{:>8}  {:>9}  {:>9}  {:>9}  {}",
            job.trainer.pid,
            sample.map_or(Bytes::ZERO, |sample| sample.tree.held),
            limit.map_or_else(|| "-".to_owned(), |limit| limit.bytes.to_string()),
            limit.map_or_else(|| "-".to_owned(), |limit| show_bytes(headroom(limit))),
            short(&shown(&command(job)), 60)
        );
        let _ = writeln!(out, "{:>8}  {} ({})", "", roles(job), shown(&job.why));
    }
    out
}

pub(crate) fn json(jobs: &[SampledJob]) -> Value {
    let jobs: Vec<Value> = jobs
        .iter()
        .map(|job| {
            let sample = job.sample.as_ref();
            let members: Vec<Value> = job
                .members
                .iter()
                .map(|member| {
                    json!({
                        "pid": member.id.pid,
                        "role": member.role.to_string(),
                        "why": member.why,
                        "command": member.facts.argv.join(" "),
                    })
                })
                .collect();
            let limit = sample.and_then(|sample| sample.limit.as_ref());
            json!({
                "pid": job.trainer.pid,
                "root": job.root.pid,
                "command": command(job),
                "why": job.why,
                "held": sample.map(|sample| sample.tree.held),
                "limit": limit.map(|limit| limit.bytes),
                "limit_from": limit.map(|limit| limit.from.to_string()),
                "headroom": limit.map(headroom),
                "processes": members,
            })
        })
        .collect();
    json!({ "schema": 1, "jobs": jobs })
}

fn headroom(limit: &lowtide_core::sample::Limit) -> f64 {
    limit.bytes.as_f64() - limit.used.as_f64()
}

fn command(job: &SampledJob) -> String {
    let trainer = job.members.iter().find(|member| member.id == job.trainer);
    trainer
        .map(|member| member.facts.argv.join(" "))
        .unwrap_or_default()
}

/// "1 launcher, 2 ranks, 8 loader workers"
fn roles(job: &SampledJob) -> String {
    let mut counts: BTreeMap<&str, (usize, Role)> = BTreeMap::new();
    for member in &job.members {
        counts
            .entry(member.role.name())
            .or_insert((0, member.role))
            .0 += 1;
    }
    let parts: Vec<String> = counts
        .values()
        .map(|(count, role)| {
            let plural = if *count == 1 { "" } else { "s" };
            format!("{count} {}{plural}", role.name().replace('-', " "))
        })
        .collect();
    parts.join(", ")
}
