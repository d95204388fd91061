//! `lowtide explain SOURCE`: the verdict, what the growth is proportional to, where the bytes are, what
//! usually causes that, and the experiment that would confirm it.

use anyhow::Result;

use crate::show::style::Style;
use crate::show::{explain, json, mortem};
use crate::source;
use crate::tell::{print, print_json};

use super::judge::{SaidArgs, exit_code};

/// Say what grows, with what, and why: driver, memory, likely cause, experiment, fix
///
/// Examples:
///   lowtide explain last
///   lowtide explain run2.csv --examples 663 --batch 2 --accumulate 4
///   lowtide explain last --json | jq .explanation.candidates
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExplainArgs {
    /// A run (path, name or `last`), a CSV, an mprof file, a log; `-` is stdin
    source: String,
    /// Print one JSON object: the verdict's, with `explanation`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    said: SaidArgs,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<i32> {
    let judged = source::open(&args.source, &args.said.said())?;
    let how = judged.how.as_deref();
    if args.json {
        let object = json::explained(
            &judged.verdict,
            how,
            judged.mortem.as_ref(),
            &judged.explanation,
        )?;
        print_json(object)?;
    } else {
        let style = Style::of(&std::io::stdout());
        let text = explain::render(&judged.verdict, &judged.explanation, how, style);
        print(&text)?;
        if let Some(found) = &judged.mortem {
            print(&format!("\n{}", mortem::text(found)))?;
        }
    }
    Ok(exit_code(judged.verdict.verdict))
}
