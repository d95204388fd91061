//! `lowtide run -- CMD…`: starts a job through the keeper, watches it, and ends with its code.

use anyhow::Result;
use lowtide_core::units::Cap;
use lowtide_session::failure::Failure;
use lowtide_session::guard::isolate::Isolation;
use lowtide_session::session;

use crate::commands::common::{WatchArgs, end_of_run, tell_end};
use crate::commands::guard_args::GuardArgs;
use crate::commands::view::RunView;

/// Start a job, watch its memory, and end with its exit code
///
/// Examples:
///   lowtide run -- python train.py --epochs 3
///   lowtide run --tui -- python train.py
///   lowtide run -o night1 -- torchrun --nproc_per_node 2 train.py
///   lowtide run --guard --resume-arg '--resume {checkpoint}' -- python train.py
///   lowtide run --guard=stop --checkpoints runs/exp1 -- python train.py
///   lowtide run --on leak 'notify-send "$LOWTIDE_TEXT"' -- python train.py
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    guard: GuardArgs,
    /// Put the job into a cgroup of its own with the limit of --limit, where that is permitted
    #[arg(long, requires = "limit", help_heading = "Guard")]
    isolate: bool,
    /// Have each Python of the job look at itself, where it may not be read from outside
    #[arg(long)]
    inside: bool,
    /// Show a live view with the job's output in a pane; `q` leaves it, and the job goes on
    #[arg(long)]
    tui: bool,
    /// The job and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(args: &RunArgs) -> Result<i32> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let plan = args.guard.plan(&args.command, &cwd)?;
    let mut options = args.watch.options();
    options.inside = args.inside;
    let isolated = match (args.isolate, options.limit) {
        (true, Some(Cap::Bytes(limit))) => Some(Isolation::here(limit)?),
        (true, _) => return Err(Failure::usage("--isolate needs --limit as a size").into()),
        (false, _) => None,
    };
    let mut view = RunView::new(args.tui, args.watch.web());
    let ended = session::run(&args.command, &options, plan, isolated.as_ref(), &mut view)?;
    if let Some(watch) = &ended.watch {
        watch.teller().block(&end_of_run(watch));
    }
    tell_end(&ended);
    Ok(ended.code)
}
