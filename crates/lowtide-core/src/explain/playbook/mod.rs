//! The playbook: known causes of growth, each with a signature that can be measured. An entry is data
//! and one small function from the signs to what was seen of its signature. One file a family.
//!
//! The first sign of a signature is its key: without it the entry is not a candidate. A sign that is
//! contradicted rules the entry out; one that only speaks against it leaves it untested, and so does a sign of one
//! process while others grow as well; one that was not measured lowers its score. A key that something
//! commoner and harmless has too is no claim: the entry is untested then, with what would part them.

mod data;
mod experiment;
mod gpu;
mod handles;
mod heap;
mod loaders;
mod machine;
mod phases;
mod pools;
mod sign;
#[cfg(test)]
mod tests;
mod torch;

pub(crate) use pools::owner;
pub(crate) use sign::Sign;

use crate::units::show_bytes;
use crate::verdict::Class;

use super::signs::Signs;
use super::{Candidate, Statement};
use experiment::Trial;

/// Less than half of a signature is no claim.
const LEAST_SCORE: f64 = 0.5;
/// Copies that no process shows by itself are worth a word from this share of the level on.
const UNSEEN: f64 = 0.2;
/// Entries whose signs come from all processes. What is measured on one process rules nothing out while others of
/// another kind carry a part of the growth.
const OF_THE_TREE: [&str; 3] = ["P02", "P16", "P23"];
/// Candidates that are told, at most.
const MOST: usize = 4;

pub(crate) struct KnownCause {
    pub id: &'static str,
    pub title: &'static str,
    pub cause: &'static str,
    pub fix: &'static str,
    pub sources: &'static [&'static str],
    /// What people call it when they blame it; then it is said too when it is ruled out or untested.
    pub blamed: Option<&'static str>,
    /// Speaks of growth that no process shows by itself.
    pub unseen: bool,
    /// Speaks of excursions, not of a floor that grows.
    pub spike: bool,
    pub signature: fn(&Signs) -> Vec<Sign>,
    pub experiment: Trial,
}

/// All of it, in the order of the table.
pub(crate) fn causes() -> impl Iterator<Item = &'static KnownCause> {
    data::CAUSES
        .iter()
        .chain(loaders::CAUSES)
        .chain(torch::CAUSES)
        .chain(gpu::CAUSES)
        .chain(phases::CAUSES)
        .chain(heap::CAUSES)
        .chain(pools::CAUSES)
        .chain(handles::CAUSES)
        .chain(machine::CAUSES)
}

#[derive(Default)]
pub(crate) struct Matched {
    pub candidates: Vec<Candidate>,
    pub ruled_out: Vec<Statement>,
    pub untested: Vec<Statement>,
}

pub(crate) fn matched(signs: &Signs) -> Matched {
    let mut matched = Matched::default();
    let mut candidates: Vec<(bool, Candidate)> = Vec::new();
    for entry in causes() {
        match entry.held_against(signs) {
            Matching::Candidate(candidate) => {
                // What an evaluation takes on top is true, and no cause of a floor that grows.
                candidates.push((signs.growing && entry.spike, candidate));
            }
            Matching::RuledOut(statement) => matched.ruled_out.push(statement),
            Matching::Untested(statement) => matched.untested.push(statement),
            Matching::Nothing => {}
        }
    }
    candidates.sort_by(|(beside_a, a), (beside_b, b)| {
        let score = b.score.total_cmp(&a.score);
        let seen = b.because.len().cmp(&a.because.len());
        score.then(beside_a.cmp(beside_b)).then(seen)
    });
    let candidates = candidates.into_iter().map(|(_, candidate)| candidate);
    matched.candidates = candidates.take(MOST).collect();
    matched
}

enum Matching {
    Candidate(Candidate),
    RuledOut(Statement),
    Untested(Statement),
    Nothing,
}

impl KnownCause {
    /// Whether there is anything that it could explain.
    fn asked(&self, signs: &Signs) -> bool {
        if self.spike {
            return signs.class != Class::Stable;
        }
        if self.unseen {
            let copied = signs.copies.map_or(0.0, |copies| copies.copied());
            return signs.course.grew > 0.0 || copied >= UNSEEN * signs.course.level;
        }
        signs.course.grew > 0.0 && signs.class != Class::Stable
    }

    fn held_against(&self, signs: &Signs) -> Matching {
        if !self.asked(signs) {
            return Matching::Nothing;
        }
        let signature = (self.signature)(signs);
        let say = |says: &str| Statement {
            about: match self.blamed {
                Some(name) => format!("{} {name}", self.id),
                None => format!("{} {}", self.id, self.title),
            },
            says: says.to_owned(),
        };
        let seen: Vec<String> = signature.iter().filter_map(Sign::seen).collect();
        let key = matches!(signature.first(), Some(Sign::Seen(_)));
        if let Some(against) = signature.iter().find_map(Sign::not) {
            let measured = OF_THE_TREE.contains(&self.id) || signs.is_of_the_process();
            return match self.blamed.is_some() || (key && seen.len() > 1) {
                true if measured => Matching::RuledOut(say(against)),
                true => Matching::Untested(say(&format!(
                    "{against}; but other processes grew by {} meanwhile",
                    show_bytes(signs.beside)
                ))),
                false => Matching::Nothing,
            };
        }
        if let Some(doubt) = signature.iter().find_map(Sign::doubt) {
            return match self.blamed {
                Some(_) => Matching::Untested(say(doubt)),
                None => Matching::Nothing,
            };
        }
        let score = seen.len() as f64 / signature.len().max(1) as f64;
        if key && score >= LEAST_SCORE {
            return Matching::Candidate(Candidate {
                id: self.id.to_owned(),
                title: self.title.to_owned(),
                score,
                because: seen,
                cause: self.cause.to_owned(),
                experiment: self.experiment.on(signs),
                fix: self.fix.to_owned(),
                sources: self.sources.iter().map(|s| (*s).to_owned()).collect(),
            });
        }
        if let Some(Sign::Open(says)) = signature.first() {
            return Matching::Untested(say(says));
        }
        let missing = signature.iter().find_map(Sign::unknown);
        match missing {
            Some(missing) if self.blamed.is_some() => Matching::Untested(say(missing)),
            _ => Matching::Nothing,
        }
    }
}
