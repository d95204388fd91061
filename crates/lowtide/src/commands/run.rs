//! `lowtide run -- CMD…`: starts a job through the keeper, watches it, and ends with its code.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use lowtide_core::entry::{EventKind, Exit};
use lowtide_sys::sampler::{Options, Sampler};

use crate::commands::common::{MARKS_EVERY, WatchArgs};
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
    /// None: it could not be watched, and ran all the same.
    pub watch: Option<Watch>,
    pub exit: Exit,
}

pub fn run(args: &RunArgs) -> Result<i32> {
    let ended = watch_command(&args.command, &args.watch.options())?;
    if let Some(watch) = &ended.watch {
        watch.teller().block(&show::end_of_run(watch));
    }
    Ok(ended.exit.code())
}

/// Runs a command to its end and watches it.
pub fn watch_command(command: &[String], options: &WatchOptions) -> Result<Ended> {
    let plan = Plan::new(options, "run", command)?;
    let inbox = Inbox::open(&format!("watcher-{}", std::process::id())).ok();
    let job = Job {
        command: command.iter().map(Into::into).collect(),
        env: inbox
            .iter()
            .map(|inbox| ("LOWTIDE_DIR".into(), inbox.folder().into()))
            .collect(),
    };
    let mut handle = match keeper::start(job) {
        Ok(handle) => handle,
        Err(error) => {
            plan.abandon();
            let (code, hint) = (i32::from(error.code()), error.hint());
            return Err(Failure::new(code, error.to_string()).hint(hint).into());
        }
    };
    // From here on the job runs: whatever fails on our side, it runs to its end.
    let teller = plan.teller().clone();
    let watch = match start_watch(plan, inbox, &handle, options) {
        Ok(watch) => watch,
        Err(error) => {
            teller.say(&format!("the job runs without being watched: {error:#}"));
            let exit = see_to_its_end(&mut handle)?;
            return Ok(Ended { watch: None, exit });
        }
    };
    follow(command, options, handle, watch)
}

fn start_watch(
    plan: Plan,
    inbox: Option<Inbox>,
    handle: &Handle,
    options: &WatchOptions,
) -> Result<Watch> {
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
    Watch::start(plan, inbox, sampler)
}

fn see_to_its_end(handle: &mut Handle) -> Result<Exit> {
    loop {
        if let Some(Event::Exited(exit)) = handle.next(None).context("lost sight of the job")? {
            return Ok(exit);
        }
    }
}

fn follow(
    command: &[String],
    options: &WatchOptions,
    mut handle: Handle,
    mut watch: Watch,
) -> Result<Ended> {
    let mut files = Follow::of(&handle);
    let mut state = StateFile::new(Path::new("."), command, SystemTime::now());
    let mut ticker = Ticker::from_the_start(options.interval);
    let exit = loop {
        if ticker.wait().is_zero() {
            files.read(|bytes| watch.output(bytes));
            watch.tick(ticker.take());
            if let Some(mark) = state.look(watch.now()) {
                watch.mark(mark);
            }
        }
        watch.take_marks();
        let pause = ticker.wait().min(MARKS_EVERY);
        let event = handle
            .next(Some(Instant::now() + pause))
            .context("lost sight of the job")?;
        match event {
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
    let watch = Some(watch);
    Ok(Ended { watch, exit })
}
