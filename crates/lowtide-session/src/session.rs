//! One job from the moment that it is watched to its end, through all the attempts that a guard makes of it:
//! one that [`run`] has started, or one that [`attach`] has found. It is one loop for both; after its first
//! restart a job that was found is like one that was started.

mod attempt;
mod start;
mod view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use lowtide_core::entry::{EventKind, Exit};
use lowtide_core::postmortem::PostMortem;
use lowtide_core::units::Micros;

use crate::attached::Attached;
use crate::failure::code;
use crate::guard::contained::{contained, tell_failed};
use crate::guard::isolate::Isolated;
use crate::guard::{Guard, Mode, Next, Restart};
use crate::keeper::{Handle, Home, Launch};
use crate::marks::{Request, package};
use crate::monotonic::monotonic_ns;
use crate::watch::{LogFiles, StateFile, Watch, WatchOptions};

use attempt::End;
pub use start::{attach, run};
pub use view::{NoView, View, ViewWish};

/// A job that is over, or that we have left.
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

/// Whose child the job is.
enum Watched {
    Started(Handle),
    Attached(Attached),
}

impl Watched {
    /// Between two attempts: whether a signal within the time wants us to end.
    fn end_within(&mut self, time: Duration) -> bool {
        let asked = match self {
            Watched::Started(handle) => handle.end_within(time),
            Watched::Attached(job) => job.end_within(time),
        };
        asked.unwrap_or(false)
    }

    fn handle(&mut self) -> Option<&mut Handle> {
        match self {
            Watched::Started(handle) => Some(handle),
            Watched::Attached(_) => None,
        }
    }
}

struct Session<'a> {
    options: &'a WatchOptions,
    isolated: Option<&'a Isolated>,
    job: Watched,
    watch: Watch,
    guard: Option<Guard>,
    /// Where a job that was found lives; its next attempts do, too.
    home: Option<Arc<Home>>,
    files: LogFiles,
    state: StateFile,
    /// Where the training loop reaches us.
    folder: Option<PathBuf>,
    /// The package is in that folder, for each Python of the job.
    inside: bool,
    /// When we leave the job.
    until: Option<Micros>,
    view: &'a mut dyn View,
}

impl Session<'_> {
    fn follow(mut self) -> Result<Ended> {
        self.view.opened(&mut self.watch);
        self.begin_guard();
        let attempts = self.attempts();
        self.watch.teller().by_ourselves();
        let (exit, code, mortem) = attempts?;
        self.view.close(self.job.handle(), &mut self.watch);
        if let Watched::Started(_) = self.job {
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

    fn begin_guard(&mut self) {
        let Some(guard) = &self.guard else { return };
        self.watch.guarded(guard.every());
        self.watch.may_stop(guard.plan().mode == Mode::Stop);
    }

    /// All attempts: how the last one ended, the code to end with, and how the job died.
    fn attempts(&mut self) -> Result<(Option<Exit>, i32, Option<PostMortem>)> {
        loop {
            let end = self.attempt()?;
            if end == End::Left {
                self.let_go();
                return Ok((None, 0, None));
            }
            let exit = match end {
                End::Exited(exit) => Some(exit),
                _ => None,
            };
            self.files
                .read(|bytes| self.watch.output(bytes, monotonic_ns()));
            if end != End::TreeGone {
                // The last tick finds those who outlived the job's main process.
                self.watch.tick(Duration::ZERO);
            }
            let watch = &mut self.watch;
            let mortem = contained(|| watch.post_mortem(exit)).unwrap_or_else(|panic| {
                tell_failed(watch, "explained the end", &panic, "it goes on without");
                None
            });
            let Some(guard) = &mut self.guard else {
                return Ok((exit, exit.map_or(0, Exit::code), mortem));
            };
            let restart = match guard.ended(&mut self.watch, exit, mortem.as_ref()) {
                Next::Done(code) => return Ok((exit, code, mortem)),
                Next::Again(restart) => restart,
            };
            let job = &mut self.job;
            let mut end_within = |time| job.end_within(time);
            if !guard.clear(&mut self.watch, &mut end_within, restart.pause) {
                return Ok((exit, code::RESUMABLE, mortem));
            }
            let started = contained(|| self.again(restart));
            if let Err(error) = started.unwrap_or_else(|panic| Err(anyhow!(panic))) {
                let text = format!("guard: cannot start again: {error:#}");
                self.watch.teller().say(&text);
                self.watch.event(EventKind::Guard, text);
                if let Some(guard) = &self.guard {
                    guard.not_started(&self.watch);
                }
                return Ok((exit, code::RESUMABLE, mortem));
            }
        }
    }

    /// Starts the job again: another process tree, the same recording.
    fn again(&mut self, restart: Restart) -> Result<()> {
        let attempt = restart.attempt.number - 1;
        let taken_back = self.watch.page().map_or(Ok(()), |page| {
            page.ask(Request::Nothing)?;
            page.set_attempt(attempt)
        });
        if let Err(error) = taken_back {
            // The next attempt would read the old request, and stop again at once.
            self.folder = None;
            let text = format!("guard: the job is started again without marks: {error:#}");
            self.watch.teller().say(&text);
            self.watch.event(EventKind::Guard, text);
        }
        let words = in_group(self.isolated, &restart.command);
        let home = self.home.clone();
        let launch = launch(
            &words,
            self.folder.as_deref(),
            restart.env,
            home,
            self.inside,
        );
        match &mut self.job {
            Watched::Started(handle) => handle.again(launch)?,
            Watched::Attached(job) => self.job = Watched::Started(job.start(launch)?),
        }
        if let Watched::Started(handle) = &self.job {
            // What it does not have from its former self, it has from us.
            let ours = |number: usize| {
                let home = self.home.as_ref();
                home.is_none_or(|home| home.streams[number].is_none())
            };
            self.files.follow_ours(handle, [ours(1), ours(2)]);
            self.watch.teller().among_output_of(handle, ours(2));
            let sampler = start::sampler(handle, self.options)?;
            self.watch
                .next_attempt(restart.attempt, restart.went, sampler);
        }
        Ok(())
    }

    /// The job goes on without us, and what a guard asked of it is taken back.
    fn let_go(&mut self) {
        if self.guard.is_none() {
            return;
        }
        if let Some(page) = self.watch.page() {
            // A page that cannot be written was not read either.
            let _ = page.ask(Request::Nothing);
        }
        self.watch
            .teller()
            .say("guard: the job is left alone, and nobody guards it any more");
    }
}

/// The command as it is started: by itself, or in the group that was made for it.
fn in_group(isolated: Option<&Isolated>, command: &[String]) -> Vec<String> {
    isolated.map_or_else(|| command.to_vec(), |group| group.command(command))
}

fn launch(
    command: &[String],
    folder: Option<&Path>,
    env: Vec<(OsString, OsString)>,
    home: Option<Arc<Home>>,
    inside: bool,
) -> Launch {
    let before = || std::env::var_os("PYTHONPATH");
    let inside = folder.filter(|_| inside);
    let inside = inside.map(|folder| package::variables(folder, before()));
    let folder = folder.map(|folder| ("LOWTIDE_DIR".into(), folder.into()));
    let ours = folder.into_iter().chain(inside.into_iter().flatten());
    Launch {
        command: command.iter().map(Into::into).collect(),
        env: env.into_iter().chain(ours).collect(),
        home,
    }
}
