//! `lowtide run -- CMD…`: starts a job through the keeper, watches it, and ends with its code.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use lowtide_core::entry::Exit;
use lowtide_core::units::Cap;
use lowtide_session::failure::Failure;
use lowtide_session::guard::isolate::{Isolated, Isolation};
use lowtide_session::guard::{self, Guard};
use lowtide_session::keeper::{self, Event, Handle};
use lowtide_session::marks::Inbox;
use lowtide_session::watch::{Follow, Plan, StateFile, Watch, WatchOptions};

use crate::commands::common::{WatchArgs, end_of_run};
use crate::commands::follower::{Ended, Follower, Held, in_group, job, sampler};
use crate::commands::guard_args::GuardArgs;
use crate::commands::view::{self, RunView, Shown};

/// Start a job, watch its memory, and end with its exit code
///
/// Examples:
///   lowtide run -- python train.py --epochs 3
///   lowtide run --tui -- python train.py
///   lowtide run -o night1 -- torchrun --nproc_per_node 2 train.py
///   lowtide run --guard --resume-arg '--resume {checkpoint}' -- python train.py
///   lowtide run --on leak 'notify-send "$LOWTIDE_TEXT"' -- python train.py
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    guard: GuardArgs,
    /// Put the job into a cgroup of its own with the limit of --limit, where that is permitted
    #[arg(long, requires = "limit", help_heading = "Guard")]
    isolate: bool,
    /// Show a live view with the job's output in a pane; `q` leaves it, and the job goes on
    #[arg(long)]
    tui: bool,
    /// The job and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub fn run(args: &RunArgs) -> Result<i32> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let plan = args.guard.plan(&args.command, &cwd)?;
    let options = args.watch.options();
    let shown = Shown {
        tui: args.tui,
        web: args.watch.web,
    };
    let isolated = match (args.isolate, options.limit) {
        (true, Some(Cap::Bytes(limit))) => Some(Isolation::here(limit)?),
        (true, _) => return Err(Failure::usage("--isolate needs --limit as a size").into()),
        (false, _) => None,
    };
    let ended = watch_command(&args.command, &options, shown, plan, isolated.as_ref())?;
    if let Some(watch) = &ended.watch {
        watch.teller().block(&end_of_run(watch));
    }
    ended.tell();
    Ok(ended.code)
}

/// Runs a command to its end and watches it; with a plan, guards it.
pub fn watch_command(
    command: &[String],
    options: &WatchOptions,
    shown: Shown,
    guard: Option<guard::Plan>,
    isolated: Option<&Isolated>,
) -> Result<Ended> {
    let plan = Plan::new(options, "run", command)?;
    let inbox = Inbox::open().ok();
    let folder = inbox.as_ref().map(|inbox| inbox.folder().to_owned());
    let guard = guard.map(|plan| Guard::new(plan, command, SystemTime::now()));
    let words = in_group(isolated, command);
    let mut handle = match keeper::start(job(&words, folder.as_deref(), Vec::new(), None)) {
        Ok(handle) => handle,
        Err(error) => {
            plan.abandon();
            let (code, hint) = (i32::from(error.code()), error.hint());
            return Err(Failure::new(code, error.to_string()).hint(hint).into());
        }
    };
    // From here on the job runs: whatever fails on our side, it runs to its end.
    let teller = plan.teller().clone();
    let started = sampler(&handle, options).and_then(|sampler| Watch::start(plan, inbox, sampler));
    let watch = match started {
        Ok(watch) => watch,
        Err(error) => {
            teller.say(&format!("the job runs without being watched: {error:#}"));
            let exit = see_to_its_end(&mut handle)?;
            return Ok(Ended {
                watch: None,
                code: exit.code(),
                mortem: None,
                guarded: None,
            });
        }
    };
    view::open_page(shown.web, &watch);
    let mut files = Follow::default();
    files.follow_ours(&handle, [true, true]);
    Follower {
        files,
        state: StateFile::new(Path::new("."), command, SystemTime::now()),
        folder,
        view: RunView::new(shown.tui),
        options,
        isolated,
        held: Held::Started(handle),
        watch,
        guard,
    }
    .follow()
}

fn see_to_its_end(handle: &mut Handle) -> Result<Exit> {
    loop {
        if let Some(Event::Exited(exit)) = handle.next(None).context("lost sight of the job")? {
            return Ok(exit);
        }
    }
}
