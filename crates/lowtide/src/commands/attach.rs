//! `lowtide attach`: the same as `run`, for a job that already runs. The job never notices, unless
//! `--guard` has to act.

use std::time::Duration;

use anyhow::Result;
use lowtide_core::units::parse_duration;
use lowtide_session::failure::Failure;
use lowtide_session::guard::{self, takeover::Takeover};
use lowtide_session::keeper::Starter;
use lowtide_session::session;
use lowtide_session::watch::Watch;
use lowtide_sys::find::{TrainingJob, find_training};
use lowtide_sys::proc::Proc;

use crate::commands::common::{WatchArgs, end_of_run, tell_end};
use crate::commands::guard_args::GuardArgs;
use crate::commands::ps::sampled;
use crate::commands::runs::room;
use crate::commands::view::AttachView;
use crate::show;
use crate::tell::{self, print, print_json};

/// Watch a job that already runs
///
/// Examples:
///   lowtide attach 4242
///   lowtide attach --find train.py
///   lowtide attach --find --wait --duration 10m
///   lowtide attach --guard --resume-arg '--resume {checkpoint}' 4242
///
/// A job that prints no steps where they can be read has them read from its own Python objects (Trainer, TRL,
/// Lightning, accelerate, tqdm, DataLoader); nothing is injected. docs/steps.md tells how.
///
/// At a terminal this is a live view: `?` shows its keys, `q` ends it and leaves the job alone.
/// With --guard it is plain lines, and what is read from the job to start it again (command, directory,
/// environment) is kept in memory only.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct AttachArgs {
    /// The process to watch, with all its descendants
    #[arg(required_unless_present = "find", conflicts_with = "find")]
    pid: Option<u32>,
    /// Find a training job on this machine, with TEXT in its command line if given
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    find: Option<String>,
    /// Wait for such a job to start
    #[arg(long, requires = "find")]
    wait: bool,
    /// Stop watching after this long (30s, 10m, 2h)
    #[arg(long, value_parser = parse_duration, conflicts_with = "guard")]
    duration: Option<Duration>,
    /// Print the verdict at the end as one JSON object
    #[arg(long)]
    json: bool,
    /// Plain lines also at a terminal, instead of the live view
    #[arg(long)]
    no_tui: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    guard: GuardArgs,
}

/// How often `--wait` looks for a job: a second is soon enough for a job that runs for hours.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &AttachArgs) -> Result<i32> {
    // Before any thread: signals for us are read from here on.
    let mut starter = Starter::prepare()?;
    let Some(pid) = target(args, &mut starter)? else {
        return Ok(0);
    };
    let options = args.watch.options();
    let guard = if args.guard.is_wanted() {
        take_over(args, pid)?
    } else {
        None
    };
    let wanted = guard.is_none() && !args.no_tui && !args.json && !options.quiet;
    let mut view = AttachView::new(wanted, args.watch.web());
    let ended = session::attach(pid, starter, &options, guard, args.duration, &mut view)?;
    if let Some(watch) = &ended.watch {
        report(args, watch)?;
    }
    tell_end(&ended);
    Ok(ended.code)
}

/// `--guard`: what it takes to start the job again, as an unguarded user would have started it.
fn take_over(args: &AttachArgs, pid: u32) -> Result<Option<(guard::Plan, Takeover)>> {
    let mut takeover = Takeover::read(pid)?;
    let plan = args.guard.plan(&takeover.command, &takeover.home.cwd)?;
    Ok(plan.map(|plan| {
        if let (Some(resume), Some(checkpoint)) = (&plan.resume, &takeover.resumed) {
            resume.undo(&mut takeover.command, checkpoint);
        }
        (plan, takeover)
    }))
}

/// The pid that was given, or the one job that was found. None: the user gave up waiting.
fn target(args: &AttachArgs, starter: &mut Starter) -> Result<Option<u32>> {
    let Some(text) = &args.find else {
        return Ok(args.pid);
    };
    loop {
        match the_one_job(text)? {
            Some(job) => return Ok(Some(job.root.pid)),
            None if args.wait => {}
            None => {
                let hint = "--wait waits for one; `lowtide attach PID` takes any process";
                return Err(no_job(text).hint(hint).into());
            }
        }
        if starter.end_within(LOOK_EVERY)? {
            return Ok(None);
        }
    }
}

/// The only job with this in its command line. Several are shown, and are an error.
pub(crate) fn the_one_job(text: &str) -> Result<Option<TrainingJob>> {
    let text = (!text.is_empty()).then_some(text);
    let mut jobs = find_training(&Proc::at("/proc")?, text)?;
    if jobs.len() > 1 {
        let jobs: Vec<_> = jobs.into_iter().map(sampled).collect();
        tell::lines(&show::jobs::text(&jobs, room(&std::io::stderr())));
        let count = jobs.len();
        return Err(Failure::unseen(format!("{count} training jobs run here"))
            .hint("give the PID, or more of the command line to --find")
            .into());
    }
    Ok(jobs.pop())
}

pub(crate) fn no_job(text: &str) -> Failure {
    let what = match text {
        "" => String::new(),
        text => format!(" with `{text}` in its command"),
    };
    Failure::unseen(format!("no training job{what} runs here"))
}

fn report(args: &AttachArgs, watch: &Watch) -> Result<()> {
    let verdict = watch.run.verdict();
    if args.json {
        print_json(serde_json::to_string(&verdict)?)?;
    } else {
        print(&end_of_run(watch))?;
    }
    Ok(())
}
