//! `lowtide report SOURCE -o report.html`: one file to send to a colleague.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lowtide_core::report::Detail;
use lowtide_session::failure::Failure;

use crate::commands::judge::SaidArgs;
use crate::show::{markdown, page, png, svg};
use crate::source;

/// Write a run as one page that works offline, or as a chart for an issue
///
/// Examples:
///   lowtide report last -o report.html
///   lowtide report last --format md | gh issue comment 12 -F -
///   lowtide report last -o chart.svg
///   lowtide report last -o chart.png
///   lowtide report run2.csv --examples 663 --batch 2 --accumulate 4 -o run2.html
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReportArgs {
    /// A run (path, name or `last`), a CSV, an mprof file, a log; `-` is stdin
    source: String,
    /// Where to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// [default: by the ending of FILE, else html]
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    said: SaidArgs,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// The page with its data
    Html,
    /// The verdict and its evidence, for an issue
    Md,
    /// The chart
    Svg,
    /// The chart in pixels
    Png,
}

impl Format {
    fn by_ending(output: Option<&Path>) -> Format {
        match output
            .and_then(Path::extension)
            .and_then(|ending| ending.to_str())
        {
            Some("md") => Format::Md,
            Some("svg") => Format::Svg,
            Some("png") => Format::Png,
            _ => Format::Html,
        }
    }
}

pub(crate) fn run(args: &ReportArgs) -> Result<i32> {
    let format = args
        .format
        .unwrap_or_else(|| Format::by_ending(args.output.as_deref()));
    let unreadable = match format {
        Format::Html => Some(("a page is not for a terminal", "report.html")),
        Format::Png => Some(("a picture is not for a terminal", "chart.png")),
        Format::Md | Format::Svg => None,
    };
    if let Some((why, file)) = unreadable
        && args.output.is_none()
        && std::io::stdout().is_terminal()
    {
        return Err(Failure::usage(why)
            .hint(format!("name a file: lowtide report last -o {file}"))
            .into());
    }
    let report = source::report(&args.source, &args.said.said(), Detail::FILE)?;
    let bytes = match format {
        Format::Html => page::file(&report)?.into_bytes(),
        Format::Md => markdown::render(&report).into_bytes(),
        Format::Svg => svg::render(&report).into_bytes(),
        Format::Png => png::render(&report)?,
    };
    write(args.output.as_deref(), &bytes)?;
    Ok(0)
}

fn write(output: Option<&Path>, bytes: &[u8]) -> Result<()> {
    match output {
        Some(path) => {
            std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
        }
        None => Ok(std::io::stdout().lock().write_all(bytes)?),
    }
}
