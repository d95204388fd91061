//! Two censuses of Python's heap against each other: what grew, by how much a step, and who holds it. Fed by
//! `lowtide census diff` with two looks that have a [`PythonHeap`](crate::look::PythonHeap); the views show the
//! sentences that are made here.
//!
//! `groups` says which groups of objects changed, `holders` which holders did and whose growth explains a group's,
//! `tables` takes the growth of containers themselves apart from that of objects, `lines` puts all together, the leak
//! first, and `words` says it.

mod facts;
mod groups;
mod holders;
mod lines;
mod tables;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;

use crate::look::{Holder, Look, Missing};
use crate::process::ProcId;
use crate::units::{Bytes, Micros};

pub use facts::facts;
pub use words::count_of;

/// What differs between two censuses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    pub from: Moment,
    pub to: Moment,
    /// Else it is a difference, and no growth.
    pub same_process: bool,
    /// Between the two, where both tell them and they go on.
    pub steps: Option<u64>,
    /// Between the two, where they are of one process and the second is later.
    pub seconds: Option<f64>,
    /// What to know before the rest is read.
    pub notes: Vec<String>,
    /// The one to look at first comes first.
    pub grew: Vec<Growth>,
    /// Most bytes first.
    pub shrank: Vec<Growth>,
}

/// One census, in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    pub id: ProcId,
    pub at: Micros,
    pub step: Option<u64>,
    pub objects: Option<u64>,
    pub bytes: Option<Bytes>,
}

/// One line of a diff: objects of one group, or a holder of which nobody knows what it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The line for people.
    pub says: String,
    #[serde(flatten)]
    pub group: Change,
    pub rate: Option<Rate>,
    /// Who holds what came, the most of it first.
    pub holders: Vec<HolderChange>,
    /// How much of what came they hold, 0 to 1.
    pub held: f64,
    /// What came with it, held by the same: the dictionaries around the tensors.
    pub with: Vec<Change>,
}

/// How many and how much more, or less, there is of something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What the breakdown that it is a part of is by.
    pub by: crate::look::By,
    pub name: String,
    /// None where only bytes are known.
    pub count: Option<i64>,
    /// None where only a number is known.
    pub bytes: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    pub per: Per,
    pub count: Option<f64>,
    pub bytes: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    Step,
    Minute,
}

/// A holder as it is now, and as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HolderChange {
    #[serde(flatten)]
    pub now: Holder,
    /// None where the first census did not name it: it is new, or was too small.
    pub was: Option<Was>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Was {
    pub length: Option<u64>,
    pub keeps: Bytes,
}

/// What differs between `a` and `b`, which was taken later.
pub fn diff(a: &Look, b: &Look) -> Diff {
    let (from, to) = (moment(a), moment(b));
    let same_process = from.id == to.id;
    let steps = from.step.zip(to.step);
    let steps = steps.and_then(|(from, to)| to.checked_sub(from));
    let steps = steps.filter(|steps| same_process && *steps > 0);
    let seconds = to.at.since(from.at).seconds();
    let seconds = (same_process && seconds > 0.0).then_some(seconds);
    let pace = Pace { steps, seconds };
    let holders = holders::changes(a, b);
    let (grew, mut shrank) = groups::changes(a, b);
    let apart = tables::apart(grew, &holders);
    shrank.extend(apart.shrank);
    Diff {
        notes: notes(a, b, &from, &to, steps),
        same_process,
        steps,
        seconds,
        grew: lines::grown(apart.grew, apart.tables, holders, pace),
        shrank: lines::shrunk(shrank, pace),
        from,
        to,
    }
}

fn moment(look: &Look) -> Moment {
    let heap = look.heap.as_ref();
    Moment {
        id: look.id,
        at: look.at,
        step: heap.and_then(|heap| heap.step),
        objects: heap.map(|heap| heap.objects),
        bytes: heap.map(|heap| heap.bytes),
    }
}

fn notes(a: &Look, b: &Look, from: &Moment, to: &Moment, steps: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if from.id != to.id {
        let other = match from.id.pid == to.id.pid {
            true => format!(
                "two processes that had the pid {} one after the other",
                to.id
            ),
            false => format!("two processes, {} and {}", from.id, to.id),
        };
        notes.push(format!(
            "these are {other}: they differ, which is no growth"
        ));
    } else if to.at < from.at {
        notes.push("the second census was taken before the first".to_owned());
    } else if steps.is_none() && to.at > from.at {
        notes.push("steps are not known for both: rates are per minute".to_owned());
    }
    let cut = |look: &Look| look.missing.iter().any(Missing::is_cut_short);
    for (look, which) in [(a, "first"), (b, "second")] {
        if cut(look) {
            notes.push(format!(
                "the {which} census was cut short: what it did not read may look like growth or loss"
            ));
        }
    }
    notes
}

/// What rates are told by.
#[derive(Clone, Copy)]
struct Pace {
    steps: Option<u64>,
    seconds: Option<f64>,
}

impl Pace {
    fn rate(self, count: Option<i64>, bytes: Option<i64>) -> Option<Rate> {
        let (per, units) = match (self.steps, self.seconds) {
            (Some(steps), _) => (Per::Step, steps as f64),
            (None, Some(seconds)) => (Per::Minute, seconds / 60.0),
            (None, None) => return None,
        };
        let rate = |of: Option<i64>| of.map(|of| of as f64 / units);
        Some(Rate {
            per,
            count: rate(count),
            bytes: rate(bytes),
        })
    }
}
