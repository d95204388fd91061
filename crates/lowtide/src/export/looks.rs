//! Rows of what was seen inside processes, and of what the training loop sent: looks with every
//! breakdown that they have, clean-ups, logged numbers, records.

use anyhow::Result;
use lowtide_core::entry::{Cleanup, Entry};
use lowtide_core::look::{Breakdown, Look, LookWhy, Missing, Part};

use super::table::ColumnType::{Bool, Float, Int, Text, Time};
use super::table::{Cell, Column, Table};

pub(crate) const LOOKS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("pid", Int),
    ("start", Int),
    ("examiner", Text),
    ("why", Text),
    ("process_held", Int),
    ("missing", Text),
    ("by", Text),
    ("part", Text),
    ("member", Text),
    ("held", Bool),
    ("count", Int),
    ("bytes", Int),
];

pub(crate) const CLEANUPS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("pid", Int),
    ("part", Text),
    ("freed", Float),
];

pub(crate) const LOGS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("pid", Int),
    ("name", Text),
    ("value", Float),
];

pub(crate) const RECORDS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("pid", Int),
    ("json", Text),
];

/// The columns that every table over time begins with.
type When = [Cell<'static>; 4];

/// One row a part, and one for each member that it names.
pub(crate) fn look(when: When, look: &Look, table: &mut dyn Table) -> Result<()> {
    let missing: Vec<&str> = look.missing.iter().map(Missing::kind).collect();
    let missing = missing.join(" ");
    let mut head: Vec<Cell> = when.to_vec();
    head.extend([
        Cell::from(look.id.pid),
        look.id.start.into(),
        look.examiner.name().into(),
        why(look.why).into(),
        look.held.into(),
        (!missing.is_empty()).then_some(&missing).into(),
    ]);
    for breakdown in &look.breakdowns {
        for part in &breakdown.parts {
            rows(&head, breakdown, part, table)?;
        }
        // Those that were too many to name: a sum of them must not come out short.
        if let Some(rest) = breakdown.rest {
            let rest = Part::new("(others)", rest.count, rest.bytes);
            rows(&head, breakdown, &rest, table)?;
        }
    }
    Ok(())
}

fn rows(head: &[Cell], breakdown: &Breakdown, part: &Part, table: &mut dyn Table) -> Result<()> {
    let mut row = |member: Cell, count: Cell, bytes: Cell| {
        let by = [
            Cell::from(breakdown.by.name()),
            (&part.name).into(),
            member,
            part.held.into(),
            count,
            bytes,
        ];
        table.row(&[head, &by].concat())
    };
    row(Cell::Missing, part.count.into(), part.bytes.into())?;
    for member in &part.members {
        let (count, bytes) = (member.count.into(), member.bytes.into());
        row((&member.name).into(), count, bytes)?;
    }
    Ok(())
}

fn why(why: LookWhy) -> &'static str {
    match why {
        LookWhy::Start => "start",
        LookWhy::Due => "due",
        LookWhy::Verdict => "verdict",
        LookWhy::Guard => "guard",
        LookWhy::Asked => "asked",
        LookWhy::Other => "other",
    }
}

pub(crate) fn cleanup(when: When, cleanup: &Cleanup, table: &mut dyn Table) -> Result<()> {
    for (part, freed) in &cleanup.freed {
        let own = [Cell::from(cleanup.pid), part.into(), (*freed as f64).into()];
        table.row(&[&when[..], &own].concat())?;
    }
    Ok(())
}

/// What else the training loop sent.
pub(crate) fn sent(when: When, entry: &Entry, table: &mut dyn Table) -> Result<()> {
    match entry {
        Entry::Log { pid, values, .. } => {
            for (name, value) in values {
                let own = [Cell::from(*pid), name.into(), (*value).into()];
                table.row(&[&when[..], &own].concat())?;
            }
            Ok(())
        }
        Entry::Record { pid, json, .. } => {
            let own = [Cell::from(*pid), json.into()];
            table.row(&[&when[..], &own].concat())
        }
        _ => Ok(()),
    }
}
