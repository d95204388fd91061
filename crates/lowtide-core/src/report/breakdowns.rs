//! The looks into one process as tables, one for each thing that they were broken down by.

use serde::Serialize;

use crate::look::{By, Examiner, LookWhy, MemoryClass, Part, Said};
use crate::run::{Taken, breakdowns_of};

/// Parts that a table has: classes of memory are fewer, types and shapes are not.
const PARTS: usize = 16;

/// Look by look, what the parts of one breakdown held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakdownTable {
    /// As in [`Line::who`](super::Line::who).
    pub who: String,
    pub by: By,
    /// The same for people.
    pub title: String,
    pub examiner: Examiner,
    pub parts: Vec<PartName>,
    pub looks: Vec<LookRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartName {
    pub name: String,
    /// Of a breakdown by mapping.
    pub class: Option<MemoryClass>,
    /// Counts in anon + shmem + swap.
    pub held: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LookRow {
    /// Seconds.
    pub at: f64,
    pub step: Option<u64>,
    pub why: LookWhy,
    /// anon + shmem + swap of the process.
    pub held: Option<u64>,
    /// Bytes and numbers in the order of [`BreakdownTable::parts`]; null where nobody knows.
    pub bytes: Vec<Option<u64>>,
    pub counts: Vec<Option<u64>>,
    pub missing: Vec<Said>,
}

/// All tables that these looks give; the one by mapping leads.
pub(super) fn tables(who: &str, looks: &[Taken]) -> Vec<BreakdownTable> {
    let table = |(examiner, by): (&Examiner, &By)| {
        let has = |taken: &&Taken| taken.has((examiner, by));
        let of: Vec<&Taken> = looks.iter().filter(has).collect();
        let parts = names(&of, by);
        BreakdownTable {
            who: who.to_owned(),
            by: by.clone(),
            title: by.to_string(),
            examiner: examiner.clone(),
            looks: of.iter().map(|taken| row(taken, by, &parts)).collect(),
            parts,
        }
    };
    breakdowns_of(looks).into_iter().map(table).collect()
}

/// Classes of memory in their order, other parts by what they held at most.
fn names(looks: &[&Taken], by: &By) -> Vec<PartName> {
    let mut found: Vec<(PartName, (u64, u64))> = Vec::new();
    let parts = looks.iter().filter_map(|taken| taken.look.breakdown(by));
    for part in parts.flat_map(|breakdown| &breakdown.parts) {
        let size = (part.bytes.unwrap_or_default().0, part.count.unwrap_or(0));
        match found.iter_mut().find(|(known, _)| known.name == part.name) {
            Some((_, most)) => *most = size.max(*most),
            None => found.push((name(part), size)),
        }
    }
    found.sort_by(|(a, most_a), (b, most_b)| a.class.cmp(&b.class).then(most_b.cmp(most_a)));
    found.truncate(PARTS);
    found.into_iter().map(|(name, _)| name).collect()
}

fn name(part: &Part) -> PartName {
    PartName {
        name: part.name.clone(),
        class: part.class,
        held: part.held,
    }
}

fn row(taken: &Taken, by: &By, parts: &[PartName]) -> LookRow {
    let look = &taken.look;
    let breakdown = look.breakdown(by);
    let is_whole = breakdown.is_none_or(|breakdown| breakdown.rest.is_none());
    // Of a whole breakdown, a part that is not there holds nothing.
    let nothing = is_whole.then_some(0);
    let found = |name: &PartName| breakdown.and_then(|breakdown| breakdown.part(&name.name));
    let bytes = |name| found(name).map_or(nothing, |part| part.bytes.map(|bytes| bytes.0));
    let count = |name| found(name).map_or(nothing, |part| part.count);
    LookRow {
        at: look.at.seconds(),
        step: taken.step,
        why: look.why,
        held: look.held.map(|held| held.0),
        bytes: parts.iter().map(bytes).collect(),
        counts: parts.iter().map(count).collect(),
        missing: look.missing.iter().map(Said::from).collect(),
    }
}
