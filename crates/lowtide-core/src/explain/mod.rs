//! What grows, with what, and why: the value that `lowtide explain`, the page and the report show.
//!
//! Computed on demand from what a run remembers, or from a bare series: the signs are gathered, the
//! growth is laid against every count that was kept (`driver`), the looks are compared (`memory`), and
//! the playbook says which known causes fit, which are ruled out, and which nobody has tested.

mod counts;
mod driver;
mod gather;
mod held;
mod hook;
mod lengths;
mod memory;
mod objects;
mod playbook;
mod seen;
mod signs;
mod statements;

use serde::{Deserialize, Serialize};

use crate::judge::words::percent;
use crate::look::{By, Examiner, MemoryClass, Said};
use crate::point::Context;
use crate::run::Run;
use crate::series::Series;
use crate::units::show_bytes;
use crate::verdict::{Suspect, Verdict};

use signs::Signs;

/// Kinds of memory that are named as suspects, from this share of the growth on.
const SUSPECT: f64 = 0.1;

/// The explanation of a verdict on a bare series.
pub fn of_series(verdict: &Verdict, series: &Series, context: &Context) -> Explanation {
    explain(gather::of_series(verdict, series, context))
}

/// The explanation of a run's verdict, and who holds what grew. `series` are what was judged, and what of it was taken:
/// processes that share memory grow where they share less of it, too.
pub(crate) fn of_run(
    run: &Run,
    verdict: &Verdict,
    series: (&Series, &Series),
    context: &Context,
) -> (Explanation, Vec<Suspect>) {
    let signs = gather::of_run(run, verdict, series, context);
    let mut suspects = suspects(&signs, verdict);
    suspects.extend(others(run, &signs, verdict));
    (explain(signs), suspects)
}

fn explain(signs: Signs) -> Explanation {
    let matched = playbook::matched(&signs);
    let mut ruled_out = statements::ruled_out(&signs);
    ruled_out.extend(matched.ruled_out);
    let mut untested = statements::untested(&signs);
    untested.extend(matched.untested);
    // Two ways may lead to one statement: it is said once.
    for statements in [&mut ruled_out, &mut untested] {
        let mut said: Vec<Statement> = Vec::new();
        statements.retain(|one| {
            let new = !said.contains(one);
            said.extend(new.then(|| one.clone()));
            new
        });
    }
    Explanation {
        candidates: matched.candidates,
        ruled_out,
        untested,
        drivers: signs.drivers,
        memory: signs.memory,
        held: signs.held,
        holders: signs.holders,
        objects: signs.object_growth,
    }
}

/// Who holds what came, by two censuses.
fn holders(signs: &Signs) -> impl Iterator<Item = Suspect> {
    let lines = signs.held.iter().flat_map(|held| &held.lines);
    let lines = lines.filter(|line| line.share >= SUSPECT && !line.holders.is_empty());
    lines.map(|line| Suspect {
        who: line.holders.join(" and "),
        share: (line.share * line.held).clamp(0.0, 1.0),
        says: line.says.clone(),
    })
}

/// The process first, then the holders and the kinds of memory in it.
fn suspects(signs: &Signs, verdict: &Verdict) -> Vec<Suspect> {
    let Some(process) = verdict.process.as_ref().filter(|_| signs.course.grew > 0.0) else {
        return Vec::new();
    };
    let mut suspects = Vec::new();
    let own = signs
        .levels
        .map(|levels| levels.last.held() - levels.first.held());
    if let (Some(own), Some(tree)) = (own, signs.tree_grew.filter(|tree| *tree > 0.0)) {
        suspects.push(Suspect {
            who: format!("{} (pid {})", process.role, process.pid),
            share: (own / tree).clamp(0.0, 1.0),
            says: format!(
                "grew by {} of the tree's {}",
                show_bytes(own),
                show_bytes(tree)
            ),
        });
    }
    suspects.extend(holders(signs));
    let grown = signs.memory_that_grew();
    let parts = grown.into_iter().flat_map(|grown| &grown.parts);
    suspects.extend(
        parts
            .filter(|part| part.held && part.share >= SUSPECT)
            .map(|part| Suspect {
                who: part.name.clone(),
                share: part.share.clamp(0.0, 1.0),
                says: format!(
                    "{} more, {} of the growth{}",
                    show_bytes(part.grew),
                    percent(part.share),
                    part.members
                        .first()
                        .map_or(String::new(), |member| format!(" ({member})"))
                ),
            }),
    );
    suspects
}

/// Every other process that carries a part of the tree's growth, after the one that is named and its memory.
fn others(run: &Run, signs: &Signs, verdict: &Verdict) -> Vec<Suspect> {
    let named = verdict.process.as_ref().and_then(|process| process.id);
    let Some(tree) = signs
        .tree_grew
        .filter(|tree| *tree > 0.0 && signs.course.grew > 0.0)
    else {
        return Vec::new();
    };
    let growers = run.growers(signs.course.from).into_iter();
    growers
        .filter(|(track, grew)| Some(track.member.id) != named && *grew >= SUSPECT * tree)
        .map(|(track, grew)| Suspect {
            who: format!("{} (pid {})", track.member.role, track.member.id.pid),
            share: (grew / tree).clamp(0.0, 1.0),
            says: format!("grew by {} too", show_bytes(grew)),
        })
        .collect()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What the growth may be proportional to, best first. Empty: nothing grew.
    pub drivers: Vec<Driver>,
    /// Where the bytes are. None: no two looks into the process.
    pub memory: Option<Memory>,
    /// Who holds what came. None: no two censuses of the process, or nothing grew.
    #[serde(default)]
    pub held: Option<Held>,
    /// Holders that became longer while they were read on every tick; the most bytes first.
    #[serde(default)]
    pub holders: Vec<HolderGrowth>,
    /// The objects that Python's collector tracks, where they rise steadily while it grows.
    #[serde(default)]
    pub objects: Option<ObjectGrowth>,
    /// Entries of the playbook whose signature was measured, best first. Empty: unknown, or benign.
    pub candidates: Vec<Candidate>,
    pub ruled_out: Vec<Statement>,
    /// Not contradicted and not shown, with what would show it.
    pub untested: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// `step`, `new-example`, `evaluation`, `save`, `excursion`, `log`, `recompile`, `shape`,
    /// `worker-start`, `file-bytes`, `time`.
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

/// Where the bytes of the process that grew are, by the looks into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub pid: u32,
    pub role: String,
    /// All looks into it, and what they cost in seconds of CPU.
    pub looks: usize,
    pub cost: f64,
    /// All that two looks of one examiner were broken down by; the one by mapping leads.
    pub breakdowns: Vec<BreakdownGrowth>,
    /// Blocks and tensors of one size that became more, largest growth first.
    #[serde(default)]
    pub counted: Vec<CountGrowth>,
}

impl Memory {
    pub fn by(&self, by: &By) -> Option<&BreakdownGrowth> {
        self.breakdowns.iter().find(|growth| growth.by == *by)
    }
}

/// An early census of Python's objects against a late one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// All that were taken of the process.
    pub censuses: usize,
    pub from: Moment,
    pub to: Moment,
    /// Growth of anon + shmem + swap between the two.
    pub grew: f64,
    /// What Python's objects, with what lies behind them, explain of that, 0 to 1; none where the two do not tell.
    pub explained: Option<f64>,
    /// The one to look at first comes first.
    pub lines: Vec<HeldLine>,
    /// What to know before they are believed.
    pub notes: Vec<String>,
}

/// Objects that became more, and who holds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldLine {
    /// `+1,203 x Tensor cpu float32 [64, 64] (+19.7 MB), 1.00 a step, held by train.CACHE (list, 412 -> 1,615)`.
    pub says: String,
    /// How much came, with what came along.
    pub bytes: f64,
    /// Of the growth of anon + shmem + swap, 0 to 1.
    pub share: f64,
    /// Who holds it, the most of it first. Empty: nobody was found.
    pub holders: Vec<String>,
    /// How much of what came they hold, 0 to 1.
    pub held: f64,
    /// From a root to the first of them.
    pub path: Vec<String>,
    /// What may end it, and which code may touch it, as candidates.
    pub facts: Vec<String>,
}

/// How a holder became longer, read on every tick since a census named it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HolderGrowth {
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Its length at the first reading and at the last.
    pub first: u64,
    pub last: u64,
    /// Slots that were filled then, where it had empty ones and has fewer now.
    pub filled: Option<[u64; 2]>,
    /// Items per unit with a 95 % interval; none where it fell, or began anew.
    pub per_unit: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// `step`, or `minute` where steps are not known.
    pub unit: String,
    pub readings: u64,
    /// Steps and seconds between the first reading and the last.
    pub steps: Option<f64>,
    pub seconds: f64,
    /// Times that it had fewer items than before.
    pub falls: u64,
    /// Times that nothing was left of what it had before.
    pub renewals: u64,
    /// Times that it was not there, or could not be told.
    pub absences: u64,
    /// What came, if each item is worth what the census found on average.
    pub bytes: Option<f64>,
    pub says: String,
    /// What may end it, and which code may touch it, as candidates.
    pub facts: Vec<String>,
}

/// How the objects that Python's collector tracks became more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectGrowth {
    /// More per unit with a 95 % interval.
    pub per_unit: f64,
    pub low: f64,
    pub high: f64,
    /// `step`, or `minute` where steps are not known.
    pub unit: String,
    /// By the first and the last full collection while it grew.
    pub first: f64,
    pub last: f64,
    pub says: String,
}

impl ObjectGrowth {
    /// `objects rise by 3 per step`
    pub fn in_short(&self) -> String {
        objects::in_short(self.per_unit, &self.unit)
    }
}

/// Things of one size that became more between two looks, set against what the growth goes with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountGrowth {
    /// `blocks of 131,072 B`, `Python objects of 81 to 96 B`, `tensors float32[64x512]`.
    pub name: String,
    pub more: i64,
    /// Bytes of one, as its allocator or the callback counts them.
    pub each: f64,
    /// What it is counted by: the name of a driver.
    pub driver: String,
    /// Units between the looks.
    pub units: f64,
    /// How many more per unit, with an interval; none where the looks leave too much open.
    pub per_unit: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The shape of tensors that have this size, where somebody counted such.
    pub shape: Option<String>,
    pub says: String,
}

/// An early look against a late one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreakdownGrowth {
    pub by: By,
    /// The same for people.
    pub title: String,
    pub examiner: Examiner,
    /// Looks that had it.
    pub looks: usize,
    /// Seconds of the run at which the two looks were taken, and the steps if known.
    pub from: Moment,
    pub to: Moment,
    /// Growth of anon + shmem + swap between the two.
    pub grew: f64,
    /// Largest growth first.
    pub parts: Vec<PartGrowth>,
    /// Shares of the growth can be told: something grew, both looks are whole, and it was between
    /// them. Else all of them are 0.
    pub conclusive: bool,
    /// Share of the growth that the parts account for, 0 to 1.
    pub accounted: f64,
    /// What the two looks could not see.
    pub missing: Vec<Said>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    pub seconds: f64,
    pub step: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartGrowth {
    pub name: String,
    /// Of a breakdown by mapping.
    pub class: Option<MemoryClass>,
    /// Counts in anon + shmem + swap.
    pub held: bool,
    /// Bytes; none where only a number is known.
    pub first: Option<f64>,
    pub last: Option<f64>,
    pub grew: f64,
    /// How many more there are; none where nobody counted.
    pub more: Option<i64>,
    /// Of the growth of anon + shmem + swap, 0 to 1; 0 where it shrank.
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
    /// What is changed about the job, for a program that carries it out.
    pub changes: Vec<Change>,
    /// The same to paste into a shell today; none where a shell cannot change it.
    pub command: Option<String>,
    /// What to expect if this is the cause.
    pub expect: String,
}

/// One thing that an experiment changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// An environment variable of the job; empty is as good as not set.
    Env { name: String, value: String },
    /// A flag of its command, as spelled there.
    Flag {
        name: String,
        from: String,
        to: String,
    },
    /// An argument in its code or configuration, by its usual name; `to` is a value, `half`, `twice` or `small`.
    Setting { name: String, to: String },
    /// A file of its cgroup.
    Cgroup { file: String, to: String },
    /// A callback of the Python package for its trainer.
    Hook { callback: String },
    /// Its code: only the words of the experiment say what.
    Code,
    /// Nothing: it is looked at with another tool, by this command where one is enough.
    Probe { command: Vec<String> },
}

impl Change {
    /// `NAME=value`, for `env`.
    pub(crate) fn assignment(&self) -> Option<String> {
        match self {
            Change::Env { name, value } => Some(format!("{name}={value}")),
            _ => None,
        }
    }
}

impl Experiment {
    /// Variables to set, where the job's command is not known and so no line can be made of them.
    pub fn to_set(&self) -> Vec<String> {
        let set = self.changes.iter().filter_map(Change::assignment);
        set.filter(|_| self.command.is_none()).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The playbook entry or cause it speaks of.
    pub about: String,
    pub says: String,
}
