//! `lowtide run -- CMD…`: starts a job through the keeper, watches it, and ends with its code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use lowtide_core::entry::Exit;
use lowtide_core::postmortem::PostMortem;
use lowtide_core::units::Cap;
use lowtide_sys::sampler::{Options, Sampler};

use crate::commands::common::{MARKS_EVERY, WatchArgs};
use crate::commands::view::RunView;
use crate::failure::{Failure, code};
use crate::guard::args::GuardArgs;
use crate::guard::isolate::{Isolated, Isolation};
use crate::guard::{self, Guard, Next, Restart};
use crate::keeper::{self, Event, Handle, Job};
use crate::marks::{Inbox, Request};
use crate::show;
use crate::watch::{Follow, Plan, StateFile, Ticker, Watch, WatchOptions};

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

/// A job that is over.
pub struct Ended {
    /// None: it could not be watched, and ran all the same.
    pub watch: Option<Watch>,
    pub exit: Exit,
    /// What `run` ends with.
    pub code: i32,
    /// How the job died, if it did.
    pub mortem: Option<PostMortem>,
    /// What the guard did.
    pub guarded: Option<String>,
}

pub fn run(args: &RunArgs) -> Result<i32> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let plan = args.guard.plan(&args.command, &cwd)?;
    let options = WatchOptions {
        view: args.tui,
        ..args.watch.options()
    };
    let isolated = match (args.isolate, options.limit) {
        (true, Some(Cap::Bytes(limit))) => Some(Isolation::here(limit)?),
        (true, _) => return Err(Failure::usage("--isolate needs --limit as a size").into()),
        (false, _) => None,
    };
    let ended = watch_command(&args.command, &options, plan, isolated.as_ref())?;
    if let Some(watch) = &ended.watch {
        watch.teller().block(&show::end_of_run(watch));
        if let Some(guarded) = &ended.guarded {
            watch
                .teller()
                .block(&format!("  {:<10} {guarded}", "guard"));
        }
        if let Some(found) = &ended.mortem {
            watch.teller().block(&show::mortem::text(found));
        }
    }
    Ok(ended.code)
}

/// Runs a command to its end and watches it; with a plan, guards it.
pub fn watch_command(
    command: &[String],
    options: &WatchOptions,
    guard: Option<guard::Plan>,
    isolated: Option<&Isolated>,
) -> Result<Ended> {
    let plan = Plan::new(options, "run", command)?;
    let inbox = Inbox::open(&format!("watcher-{}", std::process::id())).ok();
    let folder = inbox.as_ref().map(|inbox| inbox.folder().to_owned());
    let guard = guard.map(|plan| Guard::new(plan, command));
    let words = in_group(isolated, command);
    let mut handle = match keeper::start(job(&words, folder.as_deref(), Vec::new())) {
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
                exit,
                code: exit.code(),
                mortem: None,
                guarded: None,
            });
        }
    };
    Follower {
        files: Follow::of(&handle),
        state: StateFile::new(Path::new("."), command, SystemTime::now()),
        folder,
        view: RunView::new(options.view),
        options,
        isolated,
        handle,
        watch,
        guard,
    }
    .follow()
}

/// The command as it is started: by itself, or in the group that was made for it.
fn in_group(isolated: Option<&Isolated>, command: &[String]) -> Vec<String> {
    isolated.map_or_else(|| command.to_vec(), |group| group.command(command))
}

fn job(command: &[String], folder: Option<&Path>, env: Vec<(OsString, OsString)>) -> Job {
    let folder = folder.map(|folder| ("LOWTIDE_DIR".into(), folder.into()));
    Job {
        command: command.iter().map(Into::into).collect(),
        env: env.into_iter().chain(folder).collect(),
    }
}

fn sampler(handle: &Handle, options: &WatchOptions) -> Result<Sampler> {
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
    Ok(look_at(vec![handle.pid()]).or_else(|_| look_at(Vec::new()))?)
}

fn see_to_its_end(handle: &mut Handle) -> Result<Exit> {
    loop {
        if let Some(Event::Exited(exit)) = handle.next(None).context("lost sight of the job")? {
            return Ok(exit);
        }
    }
}

/// Follows a job to its end, through all its attempts.
struct Follower<'a> {
    options: &'a WatchOptions,
    isolated: Option<&'a Isolated>,
    handle: Handle,
    watch: Watch,
    guard: Option<Guard>,
    files: Follow,
    state: StateFile,
    /// Where the training loop reaches us.
    folder: Option<PathBuf>,
    view: RunView,
}

impl Follower<'_> {
    fn follow(mut self) -> Result<Ended> {
        if let Some(guard) = &self.guard {
            self.watch.guarded(guard.every());
            if guard.plan().resume.is_none() {
                self.watch.teller().say(
                    "guard: how this job resumes is not known; it will be stopped in time, not started again",
                );
                self.watch
                    .teller()
                    .hint("say it with --resume-arg '--resume {checkpoint}'");
            }
        }
        let (exit, code, mortem) = loop {
            let exit = self.attempt()?;
            self.files.read(|bytes| self.watch.output(bytes));
            // The last look finds those who outlived the job's main process.
            self.watch.tick(Duration::ZERO);
            let mortem = self.watch.post_mortem(exit);
            let Some(guard) = &mut self.guard else {
                break (exit, exit.code(), mortem);
            };
            let restart = match guard.ended(&mut self.watch, exit, mortem.as_ref()) {
                Next::Done(code) => break (exit, code, mortem),
                Next::Again(restart) => restart,
            };
            if !guard.clear(&mut self.watch, &mut self.handle, restart.pause) {
                break (exit, code::RESUMABLE, mortem);
            }
            if let Err(error) = self.again(restart) {
                self.watch
                    .teller()
                    .say(&format!("guard: cannot start again: {error:#}"));
                break (exit, code::RESUMABLE, mortem);
            }
        };
        self.view.end(&mut self.handle, &mut self.watch);
        self.watch.leftovers();
        if let Some(problem) = self.watch.finish(Some(exit)) {
            self.watch.teller().say(&problem);
        }
        Ok(Ended {
            guarded: self.guard.as_ref().map(Guard::summary),
            watch: Some(self.watch),
            exit,
            code,
            mortem,
        })
    }

    /// Starts the job again: another process tree, the same recording.
    fn again(&mut self, restart: Restart) -> Result<()> {
        if let Some(page) = self.watch.page() {
            page.ask(Request::Nothing)?;
            page.set_attempt(restart.attempt.number - 1)?;
        }
        let words = in_group(self.isolated, &restart.command);
        let job = job(&words, self.folder.as_deref(), restart.env);
        self.handle.again(job)?;
        let sampler = sampler(&self.handle, self.options)?;
        self.watch.next_attempt(restart.attempt, sampler);
        Ok(())
    }

    /// One attempt, from its start to the end of its main process.
    fn attempt(&mut self) -> Result<Exit> {
        let watch = &mut self.watch;
        self.view.begin(&mut self.handle, watch);
        let mut ticker = Ticker::from_the_start(self.options.interval);
        loop {
            if ticker.wait().is_zero() {
                self.files.read(|bytes| watch.output(bytes));
                watch.tick(ticker.take());
                if let Some(mark) = self.state.look(watch.now()) {
                    watch.mark(mark);
                }
                if let (Some(guard), Some(outcome)) = (&mut self.guard, watch.outcome()) {
                    guard.turn(watch, &outcome);
                    if let Some(within) = outcome.look_within {
                        ticker.soon(Duration::from_micros(within.0));
                    }
                }
            }
            watch.take_marks();
            self.view.turn(&mut self.handle, watch);
            let pause = ticker.wait().min(MARKS_EVERY);
            let event = self
                .handle
                .next(Some(Instant::now() + pause))
                .context("lost sight of the job")?;
            match event {
                None => {}
                Some(Event::Dropped(bytes)) => self.view.dropped(bytes),
                Some(Event::Signal(signal)) => {
                    if let Some(guard) = &mut self.guard {
                        guard.heard(signal);
                    }
                }
                Some(Event::Output { bytes, .. }) => {
                    self.view.output(&bytes);
                    watch.output(&bytes);
                }
                Some(Event::Screen(ours)) => self.view.screen(ours, &mut self.handle, watch),
                Some(Event::Keys(bytes)) => self.view.keys(bytes),
                Some(Event::Stopped) => {
                    watch.job_stopped(true);
                    self.view.resume();
                }
                Some(Event::Continued) => watch.job_stopped(false),
                Some(Event::KeeperLost) => {
                    self.view.end(&mut self.handle, watch);
                    watch
                        .teller()
                        .say("the keeper is dead, the job lost its terminal");
                }
                Some(Event::Exited(exit)) => return Ok(exit),
            }
        }
    }
}
