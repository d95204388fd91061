//! `lowtide attach`: the same as `run`, for a job that already runs. The job never notices, unless
//! `--guard` has to act.

use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::Result;
use lowtide_core::units::{Micros, parse_duration};
use lowtide_session::failure::Failure;
use lowtide_session::guard::Guard;
use lowtide_session::guard::found::Found;
use lowtide_session::guard::isolate::Isolated;
use lowtide_session::keeper::Stand;
use lowtide_session::marks::Inbox;
use lowtide_session::watch::{Follow, Plan, StateFile, Ticker, Watch, WatchOptions};
use lowtide_sys::find::find_training;
use lowtide_sys::inherited::endings;
use lowtide_sys::proc::Proc;
use lowtide_sys::sampler::{Options, Sampler};
use lowtide_sys::sigwait::{SignalSet, Signals, stop_here};
use rustix::process::Signal;

use crate::commands::common::{MARKS_EVERY, WatchArgs, end_of_run, poll};
use crate::commands::follower::{Follower, Held};
use crate::commands::guard_args::GuardArgs;
use crate::commands::ps::sampled;
use crate::commands::view::{self, RunView};
use crate::show;
use crate::show::tui::{Keyboard, Stage, Wish};

/// Watch a job that already runs
///
/// Examples:
///   lowtide attach 4242
///   lowtide attach --find train.py
///   lowtide attach --find --wait --duration 10m
///   lowtide attach --guard --resume-arg '--resume {checkpoint}' 4242
///
/// At a terminal this is a live view: `?` shows its keys, `q` ends it and leaves the job alone.
/// With --guard it is plain lines, and what is read from the job to start it again (command, directory,
/// environment) is kept in memory only.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct AttachArgs {
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

pub fn run(args: &AttachArgs) -> Result<i32> {
    if args.guard.guard {
        return guard(args);
    }
    // They end our watching; the job does not hear of them.
    let ours = endings();
    ours.block()?;
    // The view sets the terminal's modes, also from the background.
    SignalSet::from_iter([Signal::TTOU.as_raw()]).block()?;
    let mut signals = Signals::of(ours)?;
    let mut wait = || -> Result<bool> {
        poll(&[&signals], LOOK_EVERY)?;
        Ok(signals.arrived()?.is_some())
    };
    let Some(pid) = target(args, &mut wait)? else {
        return Ok(0);
    };
    let options = args.watch.options();
    let sampler = sampler(pid, &options)?;
    let plan = Plan::new(&options, "attach", &command_line(pid))?;
    let clock = plan.clock();
    let inbox = Inbox::open().ok();
    let mut watch = Watch::start(plan, inbox, sampler)?;
    view::open_page(args.watch.web, &watch);
    let mut view = open_view(args, &mut watch);
    let mut ticker = Ticker::new(options.interval);
    let end = args
        .duration
        .map(|duration| Micros(duration.as_micros() as u64));
    loop {
        let timeout = ticker.wait();
        if timeout.is_zero() {
            if !watch.tick(ticker.take()) {
                break;
            }
            continue;
        }
        if end.is_some_and(|end| clock.now() >= end) {
            break;
        }
        let keyboard = view.as_ref().filter(|view| view.take_keys());
        let mut sources: Vec<&dyn AsFd> = vec![&signals];
        let stdin = std::io::stdin();
        sources.extend(keyboard.map(|_| &stdin as &dyn AsFd));
        poll(&sources, timeout.min(MARKS_EVERY))?;
        watch.take_marks();
        if signals.arrived()?.is_some() {
            break;
        }
        match view.as_ref().and_then(Stage::wish) {
            Some(Wish::Quit) => break,
            Some(Wish::Stop) => stop(view.as_ref())?,
            Some(Wish::JobSize { .. }) | None => {}
        }
    }
    view::close(view.take(), &mut watch);
    if let Some(problem) = watch.finish(None) {
        watch.teller().say(&problem);
    }
    report(args, &watch)?;
    Ok(0)
}

fn sampler(pid: u32, options: &WatchOptions) -> Result<Sampler> {
    let sampler = Sampler::new(Options {
        budget: options.budget,
        limit: options.limit,
        ..Options::new(vec![pid])
    });
    Ok(sampler.map_err(|error| {
        Failure::unseen(format!("cannot watch {pid}: {error}"))
            .hint("`lowtide ps` lists the training jobs of this machine")
    })?)
}

/// `--guard`: takes the job over. It is watched as it is; once the guard has started it again, all is as
/// under `run --guard`.
fn guard(args: &AttachArgs) -> Result<i32> {
    let mut stand = Stand::take()?;
    let mut wait = || -> Result<bool> {
        let signal = stand.signal_within(LOOK_EVERY)?;
        Ok(signal.is_some_and(|signal| endings().contains(signal)))
    };
    let Some(pid) = target(args, &mut wait)? else {
        return Ok(0);
    };
    let mut found = Found::take(pid, stand)?;
    let cwd = found.home.cwd.clone();
    let Some(plan) = args.guard.plan(&found.command, &cwd)? else {
        return Ok(0);
    };
    if let (Some(resume), Some(checkpoint)) = (&plan.resume, &found.resumed) {
        resume.undo(&mut found.command, checkpoint);
    }
    let options = args.watch.options();
    let sampler = sampler(pid, &options)?;
    let isolated = Isolated::found(pid);
    let inbox = Inbox::open_where(found.runtime()).ok();
    let mut files = Follow::default();
    found.printed_to().for_each(|path| files.add(&path));
    let folder = inbox.as_ref().map(|inbox| inbox.folder().to_owned());
    let watch = Watch::start(
        Plan::new(&options, "attach", &found.command)?,
        inbox,
        sampler,
    )?;
    view::open_page(args.watch.web, &watch);
    let ended = Follower {
        files,
        folder,
        watch,
        state: StateFile::new(&cwd, &found.command, found.began),
        guard: Some(Guard::new(plan, &found.command, found.since())),
        view: RunView::new(false),
        options: &options,
        isolated: isolated.as_ref(),
        held: Held::Found(found),
    }
    .follow()?;
    if let Some(watch) = &ended.watch {
        report(args, watch)?;
    }
    ended.tell();
    Ok(ended.code)
}

/// The live view, where there is a terminal for it.
fn open_view(args: &AttachArgs, watch: &mut Watch) -> Option<Stage> {
    let wanted = !args.no_tui && !args.json && !args.watch.options().quiet;
    if !wanted || !Stage::is_possible() {
        return None;
    }
    view::open(Keyboard::Own, watch)
}

/// Ctrl-Z: the shell gets its terminal as it was, and `fg` goes on.
fn stop(view: Option<&Stage>) -> Result<()> {
    if let Some(stage) = view {
        stage.pause();
        stop_here()?;
        stage.resume();
    }
    Ok(())
}

/// For the recording's header; masked like every command line.
fn command_line(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The pid that was given, or the one job that was found. None: the user gave up waiting, as `wait` says.
fn target(args: &AttachArgs, wait: &mut dyn FnMut() -> Result<bool>) -> Result<Option<u32>> {
    let Some(text) = &args.find else {
        return Ok(args.pid);
    };
    loop {
        let jobs = find_training(
            &Proc::at("/proc")?,
            (!text.is_empty()).then_some(text.as_str()),
        )?;
        match jobs.as_slice() {
            [job] => return Ok(Some(job.root.pid)),
            [] if args.wait => {}
            [] => {
                let what = if text.is_empty() {
                    String::new()
                } else {
                    format!(" with `{text}` in its command")
                };
                return Err(Failure::unseen(format!("no training job{what} runs here"))
                    .hint("--wait waits for one; `lowtide attach PID` takes any process")
                    .into());
            }
            _ => {
                let jobs: Vec<_> = jobs.into_iter().map(sampled).collect();
                let (count, list) = (jobs.len(), show::jobs::text(&jobs));
                let message = format!("{count} training jobs run here:\n{list}");
                return Err(Failure::unseen(message)
                    .hint("give the PID, or more of the command line to --find")
                    .into());
            }
        }
        if wait()? {
            return Ok(None);
        }
    }
}

fn report(args: &AttachArgs, watch: &Watch) -> Result<()> {
    let verdict = watch.run.verdict();
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&verdict)?)?;
    } else {
        write!(out, "{}", end_of_run(watch))?;
    }
    Ok(())
}
