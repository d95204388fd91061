//! What grows, with what, and why: the value that `lowtide explain`, the page and the report show.

use serde::{Deserialize, Serialize};

use crate::look::Kind;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What the growth may be proportional to, best first. Empty: nothing grew.
    pub drivers: Vec<Driver>,
    /// Where the bytes are. None: no two looks into the process.
    pub memory: Option<Memory>,
    /// Entries of the playbook whose signature was measured, best first. Empty: unknown, or benign.
    pub candidates: Vec<Candidate>,
    pub ruled_out: Vec<Statement>,
    /// Not contradicted and not shown, with what would show it.
    pub untested: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// `step`, `new-example`, `evaluation`, `save`, `log`, `recompile`, `shape`, `worker-start`,
    /// `file-bytes`, `time`.
    pub name: String,
    /// Bytes per unit with a 95 % interval.
    pub per_unit: f64,
    pub low: f64,
    pub high: f64,
    /// Units seen while it grew.
    pub units: f64,
    /// Share of the growth's variation that it explains.
    pub explains: f64,
    /// How much better than the next one (ratio of unexplained variation); none for the last.
    pub margin: Option<f64>,
    /// Cannot be told from the first one by this data.
    pub tied: bool,
    /// Where on the axis the tie will be broken.
    pub parts_at: Option<f64>,
    pub says: String,
}

/// First look against last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub pid: u32,
    pub role: String,
    /// Seconds of the run at which the two looks were taken, and the steps if known.
    pub from: Moment,
    pub to: Moment,
    /// Growth of anon + shmem + swap between the two.
    pub grew: f64,
    /// Largest growth first.
    pub parts: Vec<PartGrowth>,
    /// Share of the growth that the parts account for, 0 to 1.
    pub accounted: f64,
    pub incomplete: Vec<String>,
    /// What all looks cost, in seconds of CPU.
    pub cost: f64,
    pub looks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    pub seconds: f64,
    pub step: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartGrowth {
    pub kind: Kind,
    pub name: String,
    pub first: f64,
    pub last: f64,
    pub grew: f64,
    /// Of the growth of anon + shmem + swap.
    pub share: f64,
    /// The members that grew most, in words: `80 B blocks: +299,964, 24 MB`.
    pub members: Vec<String>,
}

/// A playbook entry that fits what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// `P01`, …
    pub id: String,
    pub title: String,
    /// 0 to 1: how much of its signature was measured.
    pub score: f64,
    /// The measured signature, each in words with its numbers.
    pub because: Vec<String>,
    pub cause: String,
    pub experiment: Experiment,
    pub fix: String,
    pub sources: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub says: String,
    /// To paste into a shell today; none where only a change of code can tell.
    pub command: Option<String>,
    /// What to expect if this is the cause.
    pub expect: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The playbook entry or cause it speaks of.
    pub about: String,
    pub says: String,
}
