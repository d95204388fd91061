//! How a session comes to be: by starting a job through the keeper, or by finding one that runs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use lowtide_core::entry::Exit;
use lowtide_core::units::Micros;
use lowtide_sys::sampler::{Options, Sampler};

use super::{Ended, Session, View, Watched, in_group, launch};
use crate::attached::Attached;
use crate::failure::Failure;
use crate::guard::isolate::Isolated;
use crate::guard::takeover::Takeover;
use crate::guard::{self, Guard};
use crate::keeper::{self, Event, Handle, Starter};
use crate::marks::Inbox;
use crate::monotonic::Moment;
use crate::watch::{LogFiles, Plan, StateFile, Teller, Watch, WatchOptions};

/// Runs a command to its end and watches it; with a plan, guards it.
pub fn run(
    command: &[String],
    options: &WatchOptions,
    guard: Option<guard::Plan>,
    isolated: Option<&Isolated>,
    view: &mut dyn View,
) -> Result<Ended> {
    let plan = Plan::new(options, "run", command)?;
    let inbox = opened(Inbox::open(), plan.teller());
    let folder = inbox.as_ref().map(|inbox| inbox.folder().to_owned());
    let inside = options.inside && has_package(inbox.as_ref(), plan.teller());
    let guard = guard.map(|plan| Guard::new(plan, command, Moment::now()));
    let words = in_group(isolated, command);
    let first = launch(&words, folder.as_deref(), Vec::new(), None, inside);
    let mut handle = match keeper::start(first) {
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
    let mut files = LogFiles::default();
    files.follow_ours(&handle, [true, true]);
    teller.among_output_of(&handle, true);
    Session {
        files,
        state: StateFile::new(Some(Path::new(".")), command, Moment::now()),
        folder,
        inside,
        options,
        isolated,
        job: Watched::Started(handle),
        watch,
        guard,
        home: None,
        until: None,
        view,
    }
    .follow()
}

/// Watches a job that runs already, for so long at most. With a plan and what it takes to start it again, it is
/// guarded: once the guard has started it again, all is as under [`run`]. `starter` reads our signals.
pub fn attach(
    pid: u32,
    starter: Starter,
    options: &WatchOptions,
    guard: Option<(guard::Plan, Takeover)>,
    duration: Option<Duration>,
    view: &mut dyn View,
) -> Result<Ended> {
    let unseen = |error: lowtide_sys::Error| {
        Failure::unseen(format!("cannot watch {pid}: {error}"))
            .hint("`lowtide ps` lists the training jobs of this machine")
    };
    let sampler = Sampler::new(Options {
        budget: options.budget,
        limit: options.limit,
        ..Options::new(vec![pid])
    });
    let sampler = sampler.map_err(unseen)?;
    let job = Attached::find(pid, starter).map_err(unseen)?;
    let inbox = Inbox::open_where(job.runtime.clone());
    let inbox = opened(inbox, &Teller::new(options.quiet));
    let folder = inbox.as_ref().map(|inbox| inbox.folder().to_owned());
    // Without the words that an earlier guard had added.
    let command = guard
        .as_ref()
        .map_or(&job.command, |(_, takeover)| &takeover.command);
    let plan = Plan::new(options, "attach", command)?.since(job.began);
    let watch = Watch::start(plan, inbox, sampler)?;
    let isolated = guard.as_ref().and_then(|_| Isolated::found(pid));
    let state = StateFile::new(job.cwd.as_deref(), command, Moment::of(job.began));
    let (guard, home) = match guard {
        Some((plan, takeover)) => {
            let since = Moment::of(takeover.since(job.began));
            let guard = Guard::new(plan, &takeover.command, since);
            (Some(guard), Some(takeover.home))
        }
        None => (None, None),
    };
    Session {
        files: LogFiles::default(),
        state,
        folder,
        inside: false,
        options,
        isolated: isolated.as_ref(),
        job: Watched::Attached(job),
        watch,
        guard,
        home,
        until: duration.map(|duration| Micros(duration.as_micros() as u64)),
        view,
    }
    .follow()
}

/// A job is watched without marks too, but the user hears that the loop cannot reach us.
fn opened(inbox: Result<Inbox>, teller: &Teller) -> Option<Inbox> {
    let (inbox, said) = match inbox {
        Ok(mut inbox) => {
            let said = inbox.elsewhere();
            (Some(inbox), said)
        }
        Err(error) => (
            None,
            Some(format!(
                "the training loop cannot reach us, so neither its marks nor a guard's requests work: {error:#}"
            )),
        ),
    };
    if let Some(said) = said {
        teller.say(&said);
        teller.hint("set XDG_RUNTIME_DIR to a folder of yours alone, for the job and for lowtide");
    }
    inbox
}

/// Whether the package is there for the job; it runs without being looked at from inside, too.
fn has_package(inbox: Option<&Inbox>, teller: &Teller) -> bool {
    let Some(inbox) = inbox else { return false };
    let put = inbox.put_package();
    if let Err(error) = &put {
        teller.say(&format!("the job is not looked at from inside: {error:#}"));
    }
    put.is_ok()
}

pub(super) fn sampler(handle: &Handle, options: &WatchOptions) -> Result<Sampler> {
    let watch_tree = |roots: Vec<u32>| {
        Sampler::new(Options {
            subreaper: Some(handle.keeper_pid()),
            helpers: handle.own_pids().chain([std::process::id()]).collect(),
            budget: options.budget,
            limit: options.limit,
            ..Options::new(roots)
        })
    };
    // A job may be over before the first tick; its children may not.
    Ok(watch_tree(vec![handle.pid()]).or_else(|_| watch_tree(Vec::new()))?)
}

fn see_to_its_end(handle: &mut Handle) -> Result<Exit> {
    loop {
        if let Some(Event::Exited(exit)) = handle.next(None).context("lost sight of the job")? {
            return Ok(exit);
        }
    }
}
