//! A recording as tables that other tools read: CSV, JSON lines, Parquet. One row per process per
//! sample, per mark, per process, per cgroup, per part of a look: [`rows`] and `looks` make them from
//! entries, [`table`] and [`parquet`] write them.

mod holders;
mod looks;
pub mod parquet;
pub mod rows;
pub mod table;

use std::io::Write;

use anyhow::Result;
use lowtide_core::entry::Entry;

pub use rows::What;
use table::{Csv, JsonLines, Table};

use lowtide_recording::RecordingError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Csv,
    Jsonl,
    Parquet,
}

/// Writes one table of a recording.
pub fn export(
    entries: impl Iterator<Item = Result<Entry, RecordingError>>,
    what: What,
    format: Format,
    out: impl Write + Send + 'static,
) -> Result<()> {
    let columns = what.columns();
    let mut table: Box<dyn Table> = match format {
        Format::Csv => Box::new(Csv::begin(&columns, out)?),
        Format::Jsonl => Box::new(JsonLines::begin(&columns, out)),
        Format::Parquet => Box::new(parquet::Parquet::begin(&columns, out)?),
    };
    rows::fill(entries, what, table.as_mut())?;
    table.finish()
}
