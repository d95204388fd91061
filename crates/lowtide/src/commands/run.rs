//! `lowtide run -- CMD…`: starts a job through the keeper, watches it, and ends with its code.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use lowtide_core::entry::{EventKind, Exit};
use lowtide_sys::sampler::{Options, Sampler};

use crate::commands::common::WatchArgs;
use crate::failure::Failure;
use crate::keeper::{self, Event, Handle, Job};
use crate::marks::Inbox;
use crate::show;
use crate::watch::{Follow, Plan, StateFile, Ticker, Watch, WatchOptions};

/// Start a job, watch its memory, and end with its exit code
///
/// Examples:
///   lowtide run -- python train.py --epochs 3
///   lowtide run -o night1 -- torchrun --nproc_per_node 2 train.py
///   lowtide run --on leak 'notify-send "$LOWTIDE_TEXT"' -- python train.py
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    #[command(flatten)]
    watch: WatchArgs,
    /// The job and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// A job that is over.
pub struct Ended {
    pub watch: Watch,
    pub exit: Exit,
}

pub fn run(args: &RunArgs) -> Result<i32> {
    let Ended { watch, exit } = watch_command(&args.command, &args.watch.options())?;
    watch.teller().block(&show::end_of_run(&watch));
    Ok(exit.code())
}

/// Runs a command to its end and watches it.
pub fn watch_command(command: &[String], options: &WatchOptions) -> Result<Ended> {
    let plan = Plan::new(options, "run", command)?;
    let inbox = Inbox::open(&format!("watcher-{}", std::process::id())).ok();
    let (mut handle, mut watch) = start(plan, inbox, command, options)?;
    let mut files = Follow::of(&handle);
    let mut state = StateFile::new(Path::new("."), command, SystemTime::now());
    let mut ticker = Ticker::new(options.interval);
    let exit = loop {
        if ticker.wait().is_zero() {
            watch.tick(ticker.take());
            files.read(|bytes| watch.output(bytes));
            if let Some(mark) = state.look(watch.now()) {
                watch.mark(mark);
            }
        }
        match handle
            .next(Some(Instant::now() + ticker.wait()))
            .context("lost sight of the job")?
        {
            None | Some(Event::Signal(_) | Event::Dropped(_)) => {}
            Some(Event::Output { bytes, .. }) => watch.output(&bytes),
            Some(Event::Stopped) => {
                watch.event(EventKind::JobStopped, "the job was stopped".to_owned())
            }
            Some(Event::Continued) => {
                watch.event(EventKind::JobContinued, "the job goes on".to_owned())
            }
            Some(Event::KeeperLost) => watch
                .teller()
                .say("the keeper is dead, the job lost its terminal"),
            Some(Event::Exited(exit)) => break exit,
        }
    };
    files.read(|bytes| watch.output(bytes));
    // The last look finds those who outlived the job's main process.
    watch.tick(Duration::ZERO);
    watch.leftovers();
    if let Some(problem) = watch.finish(Some(exit)) {
        watch.teller().say(&problem);
    }
    Ok(Ended { watch, exit })
}

fn start(
    plan: Plan,
    inbox: Option<Inbox>,
    command: &[String],
    options: &WatchOptions,
) -> Result<(Handle, Watch)> {
    let job = Job {
        command: command.iter().map(Into::into).collect(),
        env: inbox
            .iter()
            .map(|inbox| ("LOWTIDE_DIR".into(), inbox.folder().into()))
            .collect(),
    };
    let handle = match keeper::start(job) {
        Ok(handle) => handle,
        Err(error) => {
            plan.abandon();
            let (code, hint) = (i32::from(error.code()), error.hint());
            return Err(Failure::new(code, error.to_string()).hint(hint).into());
        }
    };
    let look_at = |roots: Vec<u32>| {
        Sampler::new(Options {
            subreaper: Some(handle.keeper_pid()),
            helpers: handle.own_pids().chain([std::process::id()]).collect(),
            budget: options.budget,
            limit: options.limit,
            ..Options::new(roots)
        })
    };
    // A job may be over before the first look; its children may not.
    let sampler = look_at(vec![handle.pid()]).or_else(|_| look_at(Vec::new()))?;
    let watch = Watch::start(plan, inbox, sampler)?;
    Ok((handle, watch))
}
