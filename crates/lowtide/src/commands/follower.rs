//! Follows a job to its end, through all the attempts that a guard makes of it: one that `run` has
//! started, or one that `attach --guard` has found. After its first restart that one is the same.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lowtide_core::entry::Exit;
use lowtide_core::postmortem::PostMortem;
use lowtide_session::failure::code;
use lowtide_session::guard::found::{Found, Heard};
use lowtide_session::guard::isolate::Isolated;
use lowtide_session::guard::{Guard, Next, Restart};
use lowtide_session::keeper::{Event, Handle, Home, Job};
use lowtide_session::marks::Request;
use lowtide_session::watch::{Follow, StateFile, Ticker, Watch, WatchOptions};
use lowtide_sys::sampler::{Options, Sampler};

use crate::commands::common::MARKS_EVERY;
use crate::commands::view::RunView;
use crate::show;

/// A job that is over.
pub struct Ended {
    /// None: it could not be watched, and ran all the same.
    pub watch: Option<Watch>,
    /// What `run` ends with.
    pub code: i32,
    /// How the job died, if it did.
    pub mortem: Option<PostMortem>,
    /// What the guard did.
    pub guarded: Option<String>,
}

impl Ended {
    /// Says what the guard did and how the job died.
    pub fn tell(&self) {
        let Some(watch) = &self.watch else { return };
        if let Some(guarded) = &self.guarded {
            watch
                .teller()
                .block(&format!("  {:<10} {guarded}", "guard"));
        }
        if let Some(found) = &self.mortem {
            watch.teller().block(&show::mortem::text(found));
        }
    }
}

/// The job: started by us, or by somebody else.
pub enum Held {
    Started(Handle),
    Found(Found),
}

/// How an attempt ended.
enum End {
    Exited(Exit),
    /// Only its parent knows how.
    Vanished,
    /// It did not: the user ended us.
    Left,
}

/// The command as it is started: by itself, or in the group that was made for it.
pub fn in_group(isolated: Option<&Isolated>, command: &[String]) -> Vec<String> {
    isolated.map_or_else(|| command.to_vec(), |group| group.command(command))
}

pub fn job(
    command: &[String],
    folder: Option<&Path>,
    env: Vec<(OsString, OsString)>,
    home: Option<Arc<Home>>,
) -> Job {
    let folder = folder.map(|folder| ("LOWTIDE_DIR".into(), folder.into()));
    Job {
        command: command.iter().map(Into::into).collect(),
        env: env.into_iter().chain(folder).collect(),
        home,
    }
}

pub fn sampler(handle: &Handle, options: &WatchOptions) -> Result<Sampler> {
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

pub struct Follower<'a> {
    pub options: &'a WatchOptions,
    pub isolated: Option<&'a Isolated>,
    pub held: Held,
    pub watch: Watch,
    pub guard: Option<Guard>,
    pub files: Follow,
    pub state: StateFile,
    /// Where the training loop reaches us.
    pub folder: Option<PathBuf>,
    pub view: RunView,
}

impl Follower<'_> {
    pub fn follow(mut self) -> Result<Ended> {
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
        let home = match &self.held {
            Held::Found(found) => Some(found.home.clone()),
            Held::Started(_) => None,
        };
        let (exit, code, mortem) = loop {
            let exit = match self.attempt()? {
                End::Exited(exit) => Some(exit),
                End::Vanished => None,
                End::Left => {
                    self.let_go();
                    break (None, 0, None);
                }
            };
            self.files.read(|bytes| self.watch.output(bytes));
            // The last look finds those who outlived the job's main process.
            self.watch.tick(Duration::ZERO);
            let mortem = self.watch.post_mortem(exit);
            let Some(guard) = &mut self.guard else {
                break (exit, exit.map_or(0, Exit::code), mortem);
            };
            let restart = match guard.ended(&mut self.watch, exit, mortem.as_ref()) {
                Next::Done(code) => break (exit, code, mortem),
                Next::Again(restart) => restart,
            };
            let held = &mut self.held;
            let mut signal_within = |time| match held {
                Held::Started(handle) => handle.signal_within(time).ok().flatten(),
                Held::Found(found) => found.signal_within(time).ok().flatten(),
            };
            if !guard.clear(&mut self.watch, &mut signal_within, restart.pause) {
                break (exit, code::RESUMABLE, mortem);
            }
            if let Err(error) = self.again(restart, home.clone()) {
                self.watch
                    .teller()
                    .say(&format!("guard: cannot start again: {error:#}"));
                break (exit, code::RESUMABLE, mortem);
            }
        };
        if let Held::Started(handle) = &mut self.held {
            self.view.end(handle, &mut self.watch);
            self.watch.leftovers();
        }
        if let Some(problem) = self.watch.finish(exit) {
            self.watch.teller().say(&problem);
        }
        Ok(Ended {
            guarded: self.guard.as_ref().map(Guard::summary),
            watch: Some(self.watch),
            code,
            mortem,
        })
    }

    /// Starts the job again: another process tree, the same recording.
    fn again(&mut self, restart: Restart, home: Option<Arc<Home>>) -> Result<()> {
        if let Some(page) = self.watch.page() {
            page.ask(Request::Nothing)?;
            page.set_attempt(restart.attempt.number - 1)?;
        }
        let words = in_group(self.isolated, &restart.command);
        let job = job(&words, self.folder.as_deref(), restart.env, home.clone());
        match &mut self.held {
            Held::Started(handle) => handle.again(job)?,
            Held::Found(found) => self.held = Held::Started(found.start(job)?),
        }
        if let Held::Started(handle) = &self.held {
            // What it does not have from its former self, it has from us.
            let ours = |number: usize| {
                home.as_ref()
                    .is_none_or(|home| home.streams[number].is_none())
            };
            self.files.follow_ours(handle, [ours(1), ours(2)]);
            let sampler = sampler(handle, self.options)?;
            self.watch.next_attempt(restart.attempt, sampler);
        }
        Ok(())
    }

    /// The job goes on without us, and what was asked of it is taken back.
    fn let_go(&mut self) {
        if let Some(page) = self.watch.page() {
            // A page that cannot be written was not read either.
            let _ = page.ask(Request::Nothing);
        }
        self.watch
            .teller()
            .say("guard: the job is left alone, and nobody guards it any more");
    }

    /// One attempt, from its start to the end of its main process.
    fn attempt(&mut self) -> Result<End> {
        match self.held {
            Held::Started(_) => self.attempt_of_ours(),
            Held::Found(_) => self.attempt_found(),
        }
    }

    fn attempt_found(&mut self) -> Result<End> {
        let mut ticker = Ticker::new(self.options.interval);
        loop {
            self.look(&mut ticker);
            let Held::Found(found) = &mut self.held else {
                return Ok(End::Vanished);
            };
            match found.next(ticker.wait().min(MARKS_EVERY))? {
                None => {}
                Some(Heard::Ended) => return Ok(End::Vanished),
                Some(Heard::Signal(_)) => return Ok(End::Left),
            }
        }
    }

    /// Looks at the job when that is due, and has the guard act on what is seen.
    fn look(&mut self, ticker: &mut Ticker) {
        let watch = &mut self.watch;
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
    }

    fn attempt_of_ours(&mut self) -> Result<End> {
        if let Held::Started(handle) = &mut self.held {
            self.view.begin(handle, &self.watch);
        }
        let mut ticker = Ticker::from_the_start(self.options.interval);
        loop {
            self.look(&mut ticker);
            let Held::Started(handle) = &mut self.held else {
                return Ok(End::Vanished);
            };
            let watch = &mut self.watch;
            self.view.turn(handle, watch);
            let pause = ticker.wait().min(MARKS_EVERY);
            let event = handle
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
                Some(Event::Screen(ours)) => self.view.screen(ours, handle, watch),
                Some(Event::Keys(bytes)) => self.view.keys(bytes),
                Some(Event::Stopped) => {
                    watch.job_stopped(true);
                    self.view.resume();
                }
                Some(Event::Continued) => watch.job_stopped(false),
                Some(Event::KeeperLost) => {
                    self.view.end(handle, watch);
                    watch
                        .teller()
                        .say("the keeper is dead, the job lost its terminal");
                }
                Some(Event::Exited(exit)) => return Ok(End::Exited(exit)),
            }
        }
    }
}
