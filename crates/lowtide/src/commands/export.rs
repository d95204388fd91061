//! `lowtide export`: a run as a table for pandas, DuckDB or a spreadsheet.

use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lowtide_core::entry::Entry;
use lowtide_recording::{Recording, RecordingError, Store};

use crate::export::{Format, What, export};
use crate::show::progress::Progress;

/// Write a run as a table: CSV, JSON lines or Parquet
#[derive(clap::Args, Debug)]
pub(crate) struct ExportArgs {
    /// A recording: path, name, the beginning of a name, or `last`
    run: String,
    /// [default: by the ending of FILE, else csv]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Where to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Which table
    #[arg(long, value_enum, default_value = "samples")]
    what: What,
}

pub(crate) fn run(args: &ExportArgs) -> Result<i32> {
    let path = Store::from_env()?.resolve(&args.run)?;
    let recording = Recording::open(&path)?;
    let format = args
        .format
        .unwrap_or_else(|| by_ending(args.output.as_deref()));
    let done = match &args.output {
        Some(output) => export(
            through(recording, "writing"),
            args.what,
            format,
            create(output, &path)?,
        )
        .with_context(|| format!("cannot write {}", output.display())),
        None => {
            let stdout = io::stdout();
            if format == Format::Parquet && stdout.is_terminal() {
                bail!("Parquet is not for a terminal; name a file with -o FILE");
            }
            if stdout.is_terminal() {
                // The rows themselves show that something happens.
                export(recording, args.what, format, stdout)
            } else {
                export(through(recording, "writing"), args.what, format, stdout)
            }
        }
    };
    match done {
        // The reader has seen enough, as `head` has.
        Err(error) if is_broken_pipe(&error) => Ok(0),
        done => done.map(|()| 0),
    }
}

/// The entries of a recording, with a bar while there are many.
fn through(
    mut recording: Recording,
    what: &str,
) -> impl Iterator<Item = Result<Entry, RecordingError>> {
    // A size that cannot be told only makes a bar that stays empty.
    let mut progress = Progress::new(what, recording.size().unwrap_or(0));
    std::iter::from_fn(move || {
        let entry = recording.next();
        progress.at(recording.done());
        entry
    })
}

fn by_ending(output: Option<&Path>) -> Format {
    match output.and_then(Path::extension).and_then(|e| e.to_str()) {
        Some("parquet") => Format::Parquet,
        Some("jsonl" | "ndjson" | "json") => Format::Jsonl,
        _ => Format::Csv,
    }
}

fn create(output: &Path, recording: &Path) -> Result<File> {
    let same = fs::canonicalize(output)
        .is_ok_and(|out| fs::canonicalize(recording).is_ok_and(|recording| out == recording));
    if same {
        bail!(
            "{} is the recording itself; name another file",
            output.display()
        );
    }
    File::create(output).with_context(|| format!("cannot create {}", output.display()))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}
