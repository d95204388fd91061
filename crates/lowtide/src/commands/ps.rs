//! `lowtide ps`: one look, now, at the training jobs of this machine.

use std::io::Write;

use anyhow::Result;
use lowtide_sys::find::find_training;
use lowtide_sys::proc::Proc;

use crate::show;

/// Show the training jobs of this machine once: roles, memory, limit, headroom
#[derive(clap::Args, Debug)]
pub struct PsArgs {
    /// Only jobs with TEXT in the trainer's command line; any framework or none counts then
    text: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &PsArgs) -> Result<i32> {
    let jobs = find_training(&Proc::at("/proc")?, args.text.as_deref())?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", show::jobs::json(&jobs))?;
    } else if jobs.is_empty() {
        eprintln!("lowtide: no training job runs here");
        eprintln!(
            "hint: `lowtide ps TEXT` finds jobs by their command line, without looking for a framework"
        );
    } else {
        write!(out, "{}", show::jobs::text(&jobs))?;
    }
    Ok(0)
}
