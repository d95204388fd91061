//! Runs that somebody looks at: each is read once from its recording, kept as a picture, and read on
//! when it has grown. All of this blocks, so it happens on the readers' threads, in slices: a long recording
//! keeps nobody from another, and is read no further when nobody asks for it any more.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::Result;
use lowtide_core::entry::{Entry, Exit};
use lowtide_core::report::{Detail, Picture, Report};
use lowtide_recording::Recording;
use lowtide_recording::summary::{RunState, Summary};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::show::text::headline;

/// Runs kept open; the one that was not asked for longest goes.
const KEPT: usize = 8;
/// A recording grows once a second: reading on more often finds nothing.
const FRESH: Duration = Duration::from_millis(200);

/// A thread reads so long before it looks whether others wait for it, and whether anybody waits for this.
pub(super) const SLICE: Duration = Duration::from_millis(100);

/// What the stream sends on every tick.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Tick {
    pub state: &'static str,
    pub seconds: f64,
    pub step: Option<u64>,
    pub total_steps: Option<u64>,
    pub verdict: String,
    pub growing: bool,
    pub headline: String,
    /// What the tree holds.
    pub held: u64,
}

pub(crate) struct Open {
    name: String,
    path: PathBuf,
    inner: Mutex<Inner>,
    /// Those who want to read wait here, where they take no thread.
    turn: tokio::sync::Mutex<()>,
    pub ticks: watch::Sender<Option<Tick>>,
    /// A task reads it on for those who follow.
    pub looked_at: AtomicBool,
}

pub(crate) struct Inner {
    name: String,
    recording: Recording,
    pub picture: Picture,
    /// When its end was reached last.
    read_at: Option<Instant>,
    /// Something was read that `report` does not show yet.
    unseen: bool,
    ended: Option<Option<Exit>>,
    pub state: &'static str,
    held: u64,
    /// The report without lines, until something new is read.
    report: Option<Arc<Report>>,
    /// The whole report as JSON, likewise.
    json: Option<Arc<str>>,
}

impl Open {
    fn new(name: String, path: PathBuf) -> Result<Open> {
        Ok(Open {
            inner: Mutex::new(Inner {
                name: name.clone(),
                recording: Recording::open(&path)?,
                picture: Picture::new(Detail::ZOOM),
                read_at: None,
                unseen: false,
                ended: None,
                state: "running",
                held: 0,
                report: None,
                json: None,
            }),
            turn: tokio::sync::Mutex::new(()),
            ticks: watch::Sender::new(None),
            looked_at: AtomicBool::new(false),
            name,
            path,
        })
    }

    /// Asks for something of the run as it is now. Dropped in the middle, it ends with its slice.
    pub(crate) async fn ask<T: Send + 'static>(
        self: Arc<Self>,
        ask: impl FnOnce(&mut Inner) -> T + Send + 'static,
    ) -> Result<T> {
        let _turn = self.turn.lock().await;
        loop {
            let open = Arc::clone(&self);
            if spawn_blocking(move || open.lock().read_on(&open.path)).await?? {
                break;
            }
        }
        let open = Arc::clone(&self);
        Ok(spawn_blocking(move || ask(&mut open.lock())).await?)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    /// Tells those who follow; false when nothing more will come.
    pub(crate) async fn tell(self: Arc<Self>) -> Result<bool> {
        let tick = Arc::clone(&self).ask(Inner::tick).await?;
        let going = tick.state == "running";
        self.ticks.send_if_modified(|last| {
            let news = last.as_ref() != Some(&tick);
            if news {
                *last = Some(tick);
            }
            news
        });
        Ok(going)
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Inner {
    /// Reads on for a while; false when there is more.
    fn read_on(&mut self, path: &std::path::Path) -> Result<bool> {
        if self
            .read_at
            .is_some_and(|at| self.ended.is_some() || at.elapsed() < FRESH)
        {
            return Ok(true);
        }
        let began = Instant::now();
        let mut news = false;
        let (held, ended, picture) = (&mut self.held, &mut self.ended, &mut self.picture);
        let wanted = || began.elapsed() < SLICE;
        let all = self.recording.read_while(wanted, |entry, _| {
            match &entry {
                Entry::Sample(sample) => *held = sample.tree.held.0,
                Entry::End { exit, .. } => *ended = Some(*exit),
                _ => {}
            }
            picture.apply(&entry);
            news = true;
        })?;
        self.unseen |= news;
        if !all {
            return Ok(false);
        }
        let news = std::mem::take(&mut self.unseen);
        self.read_at = Some(Instant::now());
        let state = match self.ended {
            Some(_) => "ended",
            None if !news && self.report.is_some() && self.state == "cut-off" => "cut-off",
            None => match Summary::read(path).map(|summary| summary.state) {
                Ok(RunState::CutOff) => "cut-off",
                _ => "running",
            },
        };
        if news || state != self.state {
            // Nobody will complete what stands at its end.
            if state == "cut-off" && self.state != state {
                let gap = self.recording.broken_end()?;
                gap.iter().for_each(|gap| self.picture.apply(gap));
            }
            self.state = state;
            self.report = None;
            self.json = None;
        }
        Ok(true)
    }

    pub(crate) fn report(&mut self) -> Arc<Report> {
        let (name, picture) = (&self.name, &self.picture);
        let report = self.report.get_or_insert_with(|| {
            let mut report = picture.report_without_lines();
            if report.name.is_empty() {
                // A recording that has only begun does not say its name yet.
                report.name.clone_from(name);
            }
            report.headline = headline(&report.verdict);
            Arc::new(report)
        });
        Arc::clone(report)
    }

    /// The whole report as JSON.
    pub(crate) fn json(&mut self) -> Result<Arc<str>> {
        if let Some(json) = &self.json {
            return Ok(Arc::clone(json));
        }
        let json: Arc<str> = serde_json::to_string(&self.whole())?.into();
        self.json = Some(Arc::clone(&json));
        Ok(json)
    }

    /// The report with its lines, as a file has it.
    pub(crate) fn whole(&mut self) -> Report {
        let report = Report::clone(&self.report());
        self.picture.with_lines(report, Detail::FILE)
    }

    pub(crate) fn tick(&mut self) -> Tick {
        let (state, held) = (self.state, self.held);
        let report = self.report();
        let summary = report.summary.as_ref();
        Tick {
            state,
            seconds: report.to,
            step: summary.and_then(|summary| summary.last_step),
            total_steps: summary.and_then(|summary| summary.total_steps),
            verdict: report.verdict.verdict.to_string(),
            growing: report.verdict.growing,
            headline: report.headline.clone(),
            held,
        }
    }
}

/// The runs that are kept open.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<HashMap<String, (Arc<Open>, Instant)>>);

impl Shelf {
    /// The run, from the shelf or newly opened.
    pub(crate) fn take(&self, name: &str, path: PathBuf) -> Result<Arc<Open>> {
        let mut shelf = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let now = Instant::now();
        if let Some((open, used)) = shelf.get_mut(name) {
            *used = now;
            return Ok(Arc::clone(open));
        }
        // One that is followed is in use, however long ago it was asked for.
        let unused = |open: &Arc<Open>| open.ticks.receiver_count() == 0;
        while shelf.len() >= KEPT {
            let oldest = shelf
                .iter()
                .filter(|(_, (open, _))| unused(open))
                .min_by_key(|(_, (_, used))| *used);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            shelf.remove(&oldest);
        }
        let open = Arc::new(Open::new(name.to_owned(), path)?);
        shelf.insert(name.to_owned(), (Arc::clone(&open), now));
        Ok(open)
    }
}
