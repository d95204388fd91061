//! Training jobs that run now, for `ps` and for `attach --find` when there are several.

use std::collections::BTreeMap;
use std::fmt::Write;

use lowtide_core::process::Role;
use lowtide_core::sample::Sample;
use lowtide_core::units::{Bytes, Micros, Share, show_bytes};
use lowtide_sys::find::Job;
use lowtide_sys::sampler::{Options, Sampler};
use serde_json::{Value, json};

use lowtide_core::text::short;

/// A single look may be as careful as it needs to be: it is one, not one a second.
const ONE_LOOK: Share = Share(1.0);

/// What one look at a job's tree shows. None: it ended meanwhile.
fn look(job: &Job) -> Option<Sample> {
    let mut sample = Sample::default();
    let options = Options {
        budget: ONE_LOOK,
        ..Options::new(vec![job.root.pid])
    };
    let mut sampler = Sampler::new(options).ok()?;
    // The first look meets the members, the second has credit for careful readings.
    sampler.tick(Micros(0), &mut sample).ok()?;
    sampler.tick(Micros(1_000_000), &mut sample).ok()?;
    Some(sample)
}

pub fn text(jobs: &[Job]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>8}  {:>9}  {:>9}  {:>9}  JOB",
        "PID", "HELD", "LIMIT", "HEADROOM"
    );
    for job in jobs {
        let sample = look(job);
        let limit = sample.as_ref().and_then(|sample| sample.limit.as_ref());
        let _ = writeln!(
            out,
            "{:>8}  {:>9}  {:>9}  {:>9}  {}",
            job.trainer.pid,
            sample
                .as_ref()
                .map_or(Bytes::ZERO, |sample| sample.tree.held),
            limit.map_or_else(|| "-".to_owned(), |limit| limit.bytes.to_string()),
            limit.map_or_else(|| "-".to_owned(), |limit| show_bytes(headroom(limit))),
            short(&command(job), 60)
        );
        let _ = writeln!(out, "{:>8}  {} ({})", "", roles(job), job.why);
    }
    out
}

pub fn json(jobs: &[Job]) -> Value {
    let jobs: Vec<Value> = jobs
        .iter()
        .map(|job| {
            let sample = look(job);
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
            let limit = sample.as_ref().and_then(|sample| sample.limit.as_ref());
            json!({
                "pid": job.trainer.pid,
                "root": job.root.pid,
                "command": command(job),
                "why": job.why,
                "held": sample.as_ref().map(|sample| sample.tree.held),
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

fn command(job: &Job) -> String {
    let trainer = job.members.iter().find(|member| member.id == job.trainer);
    trainer
        .map(|member| member.facts.argv.join(" "))
        .unwrap_or_default()
}

/// "1 launcher, 2 ranks, 8 loader workers"
fn roles(job: &Job) -> String {
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
