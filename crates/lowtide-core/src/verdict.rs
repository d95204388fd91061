//! The answer, as every view and `--json` shows it. Fields may be added, never renamed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::process::ProcId;

/// The version of the JSON that [`Verdict`] becomes.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub schema: u32,
    /// What was judged: a file or a run's name.
    pub source: String,
    pub verdict: Class,
    /// True for `leak`, none for `too-early`, false otherwise.
    pub leaking: Option<bool>,
    /// Share of such calls that were right on the scored traces; none when too early.
    pub confidence: Option<f64>,
    /// The process that decides it; none for a bare series or for the tree as a whole.
    pub process: Option<ProcessRef>,
    pub meter: Meter,
    pub axis: Axis,
    pub floor: Floor,
    pub rate: Rate,
    pub growth: Option<Growth>,
    pub settled_at: Option<f64>,
    pub plateau: Option<f64>,
    pub predicted_plateau: Option<f64>,
    /// Growth that is real but too slow to matter within ten times the run.
    pub creep: bool,
    pub also: Vec<Class>,
    pub limit: Option<f64>,
    pub headroom: Option<f64>,
    pub oom: Option<Oom>,
    pub decides_at: Option<f64>,
    pub safe_until_then: Option<bool>,
    pub evidence: Vec<Evidence>,
    pub suspects: Vec<Suspect>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    Leak,
    TooEarly,
    WarmUp,
    Spikes,
    Stable,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Class::Leak => "leak",
            Class::TooEarly => "too-early",
            Class::WarmUp => "warm-up",
            Class::Spikes => "spikes",
            Class::Stable => "stable",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRef {
    pub pid: u32,
    #[serde(skip)]
    pub id: Option<ProcId>,
    pub role: String,
    pub command: String,
    pub why: String,
}

/// Which memory a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meter {
    /// anon + shmem + swap: the leak signal.
    Held,
    Anon,
    File,
    Shmem,
    Swap,
    Rss,
    Pss,
    Uss,
    Gpu,
    /// A bare series whose kind is not known.
    Memory,
}

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Meter::Held => "held",
            Meter::Anon => "anon",
            Meter::File => "file",
            Meter::Shmem => "shmem",
            Meter::Swap => "swap",
            Meter::Rss => "rss",
            Meter::Pss => "pss",
            Meter::Uss => "uss",
            Meter::Gpu => "gpu",
            Meter::Memory => "memory",
        })
    }
}

/// What the x of a series counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    Step,
    /// Seconds.
    Time,
    /// Nothing but the order is known.
    Sample,
}

impl Axis {
    pub fn rate_unit(self) -> &'static str {
        match self {
            Axis::Step => "bytes/step",
            Axis::Time => "bytes/s",
            Axis::Sample => "bytes/sample",
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Axis::Step => "step",
            Axis::Time => "time",
            Axis::Sample => "sample",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    pub first: f64,
    pub last: f64,
}

/// The floor's slope after warm-up, with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub unit: String,
    pub per_minute: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    pub from: f64,
    pub to: f64,
    pub bytes: f64,
    /// What the growth is proportional to: `new-example`, `step`, `time`, …
    pub driver: Option<String>,
    pub per_unit: Option<f64>,
}

/// When memory runs out, on the axis, and in seconds from now when the pace is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Oom {
    pub at: f64,
    pub low: f64,
    /// None: it may never come.
    pub high: Option<f64>,
    pub seconds: Option<OomSeconds>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OomSeconds {
    pub at: f64,
    pub low: f64,
    pub high: Option<f64>,
}

/// A rule that had its say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub rule: String,
    pub says: String,
}

/// Who holds what grew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    pub who: String,
    pub share: f64,
    pub says: String,
}
