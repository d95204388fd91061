//! `lowtide export`: a run as a table for pandas, DuckDB or a spreadsheet.

use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lowtide_core::entry::Entry;
use lowtide_core::verdict::Lost;
use lowtide_recording::summary::{RunState, Summary};
use lowtide_recording::{Recording, RecordingError, Store};

use crate::export::{Format, What, export};
use crate::show::progress::Progress;
use crate::tell::{Rows, tell};

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
    let mut entries = Entries::of(&path)?;
    let format = args
        .format
        .unwrap_or_else(|| by_ending(args.output.as_deref()));
    let done = match &args.output {
        Some(output) => export(&mut entries, args.what, format, create(output, &path)?)
            .with_context(|| format!("cannot write {}", output.display())),
        None => {
            let stdout = io::stdout();
            if format == Format::Parquet && stdout.is_terminal() {
                bail!("Parquet is not for a terminal; name a file with -o FILE");
            }
            if stdout.is_terminal() {
                // The rows themselves show that something happens.
                entries.progress = None;
                let rows = Rows::to(stdout, format == Format::Jsonl);
                export(&mut entries, args.what, format, rows)
            } else {
                export(&mut entries, args.what, format, stdout)
            }
        }
    };
    match done {
        // The reader has seen enough, as `head` has.
        Err(error) if is_broken_pipe(&error) => return Ok(0),
        done => done?,
    }
    if let Some(lost) = entries.lost(&path)? {
        tell!("note: {}", lost.says);
    }
    Ok(0)
}

/// The entries of a recording, with a bar while there are many, and what is missing between them.
struct Entries {
    recording: Recording,
    progress: Option<Progress>,
    seen: u64,
    ticks: u64,
    damaged: bool,
}

impl Entries {
    fn of(path: &Path) -> Result<Entries, RecordingError> {
        let recording = Recording::open(path)?;
        // A size that cannot be told only makes a bar that stays empty.
        let size = recording.size().unwrap_or(0);
        Ok(Entries {
            recording,
            progress: Some(Progress::new("writing", size)),
            seen: 0,
            ticks: 0,
            damaged: false,
        })
    }

    fn lost(mut self, path: &Path) -> Result<Option<Lost>, RecordingError> {
        let over = Summary::read(path)?.state != RunState::Running;
        self.damaged |= over && self.recording.broken_end()?.is_some();
        Ok(Lost::of(self.ticks, self.damaged, self.seen))
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.recording.next();
        match &entry {
            Some(Ok(Entry::Sample(_))) => self.seen += 1,
            Some(Ok(Entry::Gap { gap, ticks, .. })) => {
                self.ticks = self.ticks.saturating_add(*ticks);
                self.damaged |= gap.is_damage();
            }
            _ => {}
        }
        if let Some(progress) = &mut self.progress {
            progress.at(self.recording.done());
        }
        entry
    }
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
