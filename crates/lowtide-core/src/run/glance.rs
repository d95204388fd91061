//! A run in one line, for lists: the verdict, what grows, how fast and in whom. The watcher keeps it
//! beside the recording, so that a list of many runs reads no recording through.

use serde::{Deserialize, Serialize};

use crate::explain::Explanation;
use crate::judge::words::{pace, place};
use crate::look::By;
use crate::process::ProcId;
use crate::units::{Micros, show_bytes};
use crate::verdict::{Class, Rate, Verdict};

use super::{Run, Subject};

/// A kind of memory is named as what grows when most of the growth is its own.
const MOST: f64 = 0.5;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Glance {
    /// How far the run had come.
    pub at: Micros,
    pub verdict: Class,
    pub growing: bool,
    /// `leak +524 kB/step in trainer 4647 · Python objects`, `stable 1.48 GB`.
    pub says: String,
    /// What grows; none where nothing does.
    pub grows: Option<Grows>,
    /// Where the line that decides rests, or its low-water mark now.
    pub level: f64,
    /// The process that is watched.
    pub watched: Option<ProcId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grows {
    /// `trainer 4647`, `all loader-worker processes`, `the whole tree`.
    pub who: String,
    /// When that is one process.
    pub pid: Option<u32>,
    pub rate: Rate,
    /// The kind of memory that most of it is, when two looks have told.
    pub what: Option<String>,
}

impl Run {
    /// The run at a glance. As costly as an explanation: not for every tick.
    pub fn glance(&self) -> Glance {
        let (verdict, _, subject, explanation) = self.decided_and_explained();
        let rises = verdict.verdict == Class::Leak
            || verdict.is_open_growth()
            || (verdict.is_under_way() && verdict.growing);
        let grows = rises.then(|| self.grows(&verdict, subject, &explanation));
        Glance {
            at: self.last_at,
            verdict: verdict.verdict,
            growing: verdict.growing,
            says: says(&verdict, grows.as_ref()),
            grows,
            level: level(&verdict),
            watched: self.watched.as_ref().map(|(id, _)| *id),
        }
    }

    fn grows(&self, verdict: &Verdict, subject: Subject, explanation: &Explanation) -> Grows {
        let pid = match subject {
            Subject::Process(id) => Some(id.pid),
            Subject::Role(_) | Subject::Tree | Subject::Gpu => None,
        };
        let named = verdict.process.as_ref();
        let who = match subject {
            Subject::Process(id) => match named {
                Some(process) => format!("{} {}", process.role, process.pid),
                None => format!("process {id}"),
            },
            Subject::Role(role) => format!("all {role} processes"),
            Subject::Tree => "the whole tree".to_owned(),
            Subject::Gpu => "GPU memory".to_owned(),
        };
        Grows {
            who,
            pid,
            rate: verdict.rate.clone(),
            what: pid.and_then(|pid| kind(explanation, pid)),
        }
    }
}

/// The kind of memory that makes most of the growth of this very process.
fn kind(explanation: &Explanation, pid: u32) -> Option<String> {
    let memory = explanation.memory.as_ref().filter(|it| it.pid == pid)?;
    let growth = memory.by(&By::Mapping).filter(|it| it.conclusive)?;
    let parts = growth.parts.iter().filter(|part| part.held);
    let largest = parts.max_by(|a, b| a.share.total_cmp(&b.share))?;
    (largest.share >= MOST).then(|| largest.name.clone())
}

fn level(verdict: &Verdict) -> f64 {
    verdict.plateau.unwrap_or(verdict.floor.last)
}

fn says(verdict: &Verdict, grows: Option<&Grows>) -> String {
    let rises = |grows: &Grows| {
        let what = grows.what.as_ref();
        let what = what.map_or(String::new(), |what| format!(" · {what}"));
        let rate = pace(verdict.axis, grows.rate.value);
        format!("+{rate} in {}{what}", grows.who)
    };
    let level = show_bytes(level(verdict));
    let text = match (verdict.verdict, grows) {
        (Class::Leak, Some(grows)) => format!("leak {}", rises(grows)),
        (Class::TooEarly, Some(grows)) => format!("growing, not decided {}", rises(grows)),
        (Class::WarmUp, grows) if verdict.is_under_way() => {
            let who = grows.map_or(String::new(), |grows| format!(" in {}", grows.who));
            let end = verdict.predicted_plateau;
            let end = end.map_or(String::new(), |end| {
                format!(", ends at {}", show_bytes(end))
            });
            format!("warm-up under way{who}{end}")
        }
        (Class::WarmUp, _) => {
            let ended = verdict.settled_at.map(|at| place(verdict.axis, at));
            let ended = ended.map_or(String::new(), |at| format!(" ended at {at}"));
            format!("warm-up{ended}, now {level}")
        }
        (Class::Spikes, _) => format!("spikes over {level}"),
        (Class::Stable, _) => format!("stable {level}"),
        // Nothing was measured yet.
        (Class::TooEarly, _) if verdict.floor.last == 0.0 => "too early to say".to_owned(),
        (Class::TooEarly | Class::Leak, _) => format!("too early to say, {level}"),
    };
    match verdict.creep {
        true => format!("{text}, creeps"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::Geometry;
    use crate::run::guarded::GuardedJob;

    fn run(geometry: Geometry, megabytes: impl Fn(u64) -> f64) -> Run {
        let mut job = GuardedJob::new();
        job.steps(0..400, geometry, megabytes);
        job.run
    }

    #[test]
    fn what_grows_is_named_with_its_rate() {
        let grows = run(Geometry::default(), |step| 500.0 + step as f64);
        let glance = grows.glance();
        let found = glance.grows.as_ref().unwrap();
        assert_eq!(glance.verdict, Class::TooEarly);
        assert!(found.pid.is_some(), "{found:?}");
        assert_eq!(
            glance.says,
            format!("growing, not decided +1.00 MB/step in {}", found.who)
        );
        let epoch = Geometry {
            epoch_steps: Some(100.0),
            ..Geometry::default()
        };
        let leak = run(epoch, |step| 500.0 + step as f64).glance();
        assert!(
            leak.says.starts_with("leak +1.00 MB/step in "),
            "{}",
            leak.says
        );
    }

    #[test]
    fn what_rests_says_where() {
        let flat = run(Geometry::default(), |_| 500.0).glance();
        assert_eq!(flat.says, "stable 500 MB");
        assert_eq!(
            (flat.grows, flat.level.round() as u64 / 1_000_000),
            (None, 500)
        );
        let filled = run(Geometry::default(), |step| 500.0 + step.min(100) as f64).glance();
        assert!(
            filled.says.starts_with("warm-up ended at step "),
            "{}",
            filled.says
        );
        assert!(filled.says.ends_with(", now 600 MB"), "{}", filled.says);
        let begun = Run::new().glance();
        assert_eq!(begun.says, "too early to say");
        assert!(begun.watched.is_none());
    }
}
