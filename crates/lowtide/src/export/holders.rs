//! Rows of what was in holders, on every tick since a census named them.

use anyhow::Result;
use lowtide_core::followed::{Followed, Lengths};

use super::table::ColumnType::{Bool, Float, Int, Text, Time};
use super::table::{Cell, Column, Table};

pub(crate) const HOLDERS: &[Column] = &[
    ("t", Float),
    ("time", Time),
    ("step", Int),
    ("phase", Text),
    ("pid", Int),
    ("start", Int),
    ("holder", Text),
    ("kind", Text),
    ("length", Int),
    ("capacity", Int),
    ("filled", Int),
    ("renewed", Bool),
];

/// One row a holder that was there. Readings whose names are lost have none.
pub(crate) fn lengths(
    when: [Cell<'static>; 4],
    named: Option<&Followed>,
    lengths: &Lengths,
    table: &mut dyn Table,
) -> Result<()> {
    let names = named.filter(|named| named.list == lengths.list);
    let names = names.iter().flat_map(|named| &named.holders);
    for (holder, reading) in names.zip(&lengths.readings) {
        let Some(reading) = reading else { continue };
        let mut row: Vec<Cell> = when.to_vec();
        row.extend([
            Cell::from(lengths.id.pid),
            lengths.id.start.into(),
            holder.name.as_str().into(),
            holder.kind.as_str().into(),
            reading.length.into(),
            reading.capacity.into(),
            reading.filled.into(),
            reading.renewed.into(),
        ]);
        table.row(&row)?;
    }
    Ok(())
}
