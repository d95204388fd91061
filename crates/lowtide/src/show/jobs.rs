//! Training jobs that run now, for `ps` and for `attach --find` when there are several.

use std::collections::BTreeMap;
use std::fmt::Write;

use lowtide_core::process::{Member, ProcId, Role};
use lowtide_core::run::Glance;
use lowtide_core::sample::Sample;
use lowtide_core::text::{short, shown};
use lowtide_core::units::{Bytes, show_bytes};
use serde_json::{Value, json};

/// What stands before a job's command.
const FACTS: usize = 43;

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
    /// The newest run that watches it.
    pub watching: Option<Watching>,
}

/// A run that goes on, and what it says of its job.
#[derive(Clone, Debug)]
pub(crate) struct Watching {
    pub name: String,
    pub glance: Glance,
}

impl Watching {
    /// A run watches one process of a job, by pid and start: another job may have the pid later.
    pub(crate) fn is_of(&self, members: &[Member]) -> bool {
        let watched = self.glance.watched;
        members.iter().any(|member| Some(member.id) == watched)
    }
}

/// A job has three lines: what it holds, who it is, and what becomes of its memory.
pub(crate) fn text(jobs: &[SampledJob], room: usize) -> String {
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
            short(&shown(&command(job)), 60.min(room.saturating_sub(FACTS)))
        );
        let says = match &job.watching {
            Some(run) => format!("{} (run {})", shown(&run.glance.says), shown(&run.name)),
            None => format!("not watched: lowtide attach {}", job.root.pid),
        };
        for line in [format!("{} ({})", roles(job), shown(&job.why)), says] {
            let _ = writeln!(out, "{:>8}  {}", "", short(&line, room.saturating_sub(10)));
        }
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
                "run": job.watching.as_ref().map(|run| &run.name),
                "verdict": job.watching.as_ref().map(|run| run.glance.verdict),
                "growing": job.watching.as_ref().map(|run| run.glance.growing),
                "says": job.watching.as_ref().map(|run| &run.glance.says),
                "grows": job.watching.as_ref().map(|run| &run.glance.grows),
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

#[cfg(test)]
mod tests {
    use lowtide_core::process::Facts;
    use lowtide_core::run::Run;

    use super::*;

    fn job(watched: Option<ProcId>) -> SampledJob {
        let id = ProcId {
            pid: 4647,
            start: 9,
        };
        let mut glance = Run::new().glance();
        glance.says = "leak +524 kB/step in trainer 4647 · Python small objects".to_owned();
        glance.watched = watched;
        let watching = Watching {
            name: "night1".to_owned(),
            glance,
        };
        let members = vec![Member {
            id,
            parent: None,
            facts: Facts {
                argv: vec!["python".to_owned(), "train.py".to_owned(), "x".repeat(90)],
                ..Facts::default()
            },
            role: Role::Trainer,
            why: String::new(),
        }];
        SampledJob {
            root: id,
            trainer: id,
            why: "the only process that trains".to_owned(),
            watching: Some(watching).filter(|run| run.is_of(&members)),
            members,
            sample: None,
        }
    }

    #[test]
    fn a_watched_job_has_its_verdict_and_another_says_how_to_get_one() {
        let watched = job(Some(ProcId {
            pid: 4647,
            start: 9,
        }));
        let text = text(&[watched], 80);
        assert!(
            text.contains("leak +524 kB/step in trainer 4647 · Python"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        // The pid belonged to another process then.
        let other = job(Some(ProcId {
            pid: 4647,
            start: 8,
        }));
        assert!(super::text(&[other], 80).contains("not watched: lowtide attach 4647"));
        let value = json(&[job(None)]);
        assert_eq!(value["jobs"][0]["says"], Value::Null);
        let value = json(&[job(Some(ProcId {
            pid: 4647,
            start: 9,
        }))]);
        assert_eq!(value["jobs"][0]["run"], "night1");
    }
}
