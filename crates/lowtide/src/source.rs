//! A SOURCE of `judge`, `explain` and `check`: a recording, or any file with a series in it.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use lowtide_core::entry::{Entry, Exit};
use lowtide_core::explain::{self, Explanation};
use lowtide_core::judge::judge;
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Track};
use lowtide_core::postmortem::PostMortem;
use lowtide_core::report::{Detail, Picture, Report};
use lowtide_core::run::Run;
use lowtide_core::series::Series;
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Verdict};
use lowtide_recording::codec::newer_text;
use lowtide_recording::summary::{RunState, Summary};
use lowtide_recording::{Recording, Store, is_recording};
use lowtide_session::failure::Failure;

use crate::glances::keep_judged;
use crate::import::{self, Feed, ImportError, Imported, Who};
use crate::show::progress::Progress;
use crate::show::text::headline;
use crate::tell::tell;

/// What flags say about a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub axis: Option<Axis>,
    pub geometry: Geometry,
    /// Steps of the whole run.
    pub total_steps: Option<u64>,
    pub limit: Option<Bytes>,
    pub column: Option<String>,
    pub unit: Option<String>,
    /// Which of a file's processes, or which of its names.
    pub pid: Option<u32>,
    pub name: Option<String>,
    /// A bound speaks of steps: an axis that does not say what it counts is steps.
    pub steps_expected: bool,
}

impl Said {
    /// Nothing that would change the verdict on a recording.
    fn is_nothing(&self) -> bool {
        let told = self.axis.is_some() || self.total_steps.is_some() || self.limit.is_some();
        !told && self.geometry == Geometry::default()
    }
}

/// A source with its verdict.
pub(crate) struct Judged {
    pub verdict: Verdict,
    /// The series that decides it.
    pub series: Series,
    /// How a bare file was read; nothing for a recording.
    pub how: Option<String>,
    pub explanation: Explanation,
    /// How the job died, for a recording of one that did.
    pub mortem: Option<PostMortem>,
}

pub(crate) fn open(source: &str, said: &Said) -> Result<Judged> {
    match locate(source)? {
        Located::Recording(path) => replay(&path, source, said),
        Located::Text(mut feed) => from_feed(&mut feed, source, said),
    }
}

/// One of the series of a file, with its verdict.
pub(crate) struct Listed {
    pub who: Who,
    pub verdict: Verdict,
    pub how: String,
}

/// Every series of a file, each judged by itself.
pub(crate) fn open_all(source: &str, said: &Said) -> Result<Vec<Listed>> {
    match locate(source)? {
        Located::Recording(_) => Err(Failure::usage("--all is for files; this is a recording")
            .hint(format!("`lowtide explain {source}` tells of its processes"))
            .into()),
        Located::Text(mut feed) => all_from_feed(&mut feed, source, said),
    }
}

fn all_from_feed(feed: &mut Feed<'_>, source: &str, said: &Said) -> Result<Vec<Listed>> {
    let options = import::Options {
        all: true,
        ..options(said)
    };
    let read = import::read_all(feed, source, &options).map_err(|e| refused(source, e))?;
    let listed = |imported: Imported| {
        let who = imported.who.clone();
        let understood = Understood::from(imported, said);
        Listed {
            who,
            verdict: understood.verdict(source),
            how: understood.how,
        }
    };
    Ok(read.into_iter().map(listed).collect())
}

enum Located {
    Recording(PathBuf),
    Text(Feed<'static>),
}

/// A path wins over a run's name; `-` is stdin.
fn locate(source: &str) -> Result<Located> {
    let unreadable = |error: std::io::Error| {
        Failure::unseen(format!("cannot read {source}: {error}")).hint("check its permissions")
    };
    if source == "-" {
        let stdin = rustix::io::dup(std::io::stdin()).context("cannot read stdin")?;
        let feed = Feed::file(File::from(stdin)).context("cannot read stdin")?;
        return Ok(Located::Text(feed));
    }
    let path = Path::new(source);
    let readable = path.exists() && !path.is_dir();
    if readable && !is_recording(path) {
        // A pipe (`<(grep RAM log)`, or one with a name) is read as stdin is.
        let file = File::open(path).map_err(unreadable)?;
        return Ok(Located::Text(Feed::file(file).map_err(unreadable)?));
    }
    if !path.exists() && (source.contains('/') || path.extension().is_some()) {
        return Err(Failure::unseen(format!("there is no file {source}"))
            .hint("check the path; `lowtide runs` lists the runs that are kept")
            .into());
    }
    Ok(Located::Recording(Store::from_env()?.resolve(source)?))
}

/// Everything that a view can show of a source.
pub(crate) fn report(source: &str, said: &Said, detail: Detail) -> Result<Report> {
    let mut report = match locate(source)? {
        Located::Recording(path) => {
            let mut picture = Picture::of(told_run(said)?, detail);
            each_entry(&path, |entry| picture.apply(entry))?;
            let mut report = picture.report(detail);
            if report.name.is_empty() {
                report.name = source.to_owned();
            }
            report
        }
        Located::Text(mut feed) => {
            let read = Understood::of(&mut feed, source, said)?;
            let verdict = read.verdict(source);
            let epoch_steps = read.context.geometry.steps_per_epoch();
            let mut report = Report::of_series(&read.track, &read.series, verdict, epoch_steps);
            let found = explain::of_series(&report.verdict, &read.series, &read.context);
            report.explanation = Some(found);
            report.read = Some(read.how);
            report
        }
    };
    report.headline = headline(&report.verdict);
    Ok(report)
}

/// Hands over a recording, entry by entry, with a bar while it takes long.
fn each_entry(path: &Path, mut take: impl FnMut(&Entry)) -> Result<()> {
    let mut recording = Recording::open(path)?;
    // A size that cannot be told only makes a bar that stays empty.
    let mut progress = Progress::new("reading", recording.size().unwrap_or(0));
    recording.read_on(|entry, position| {
        take(&entry);
        progress.at(position);
    })?;
    drop(progress);
    if Summary::read(path)?.state != RunState::Running
        && let Some(gap) = recording.broken_end()?
    {
        take(&gap);
    }
    if recording.skipped() > 0 {
        let skipped = newer_text(recording.skipped());
        tell!("note: {skipped}; that lowtide may say more");
    }
    Ok(())
}

/// A run that knows what the flags say.
fn told_run(said: &Said) -> Result<Run> {
    let of_a_file = said.column.is_some() || said.unit.is_some();
    if of_a_file || said.pid.is_some() || said.name.is_some() {
        return Err(Failure::usage(
            "--column, --unit, --pid and --name are for files; this is a recording",
        )
        .hint("leave them out")
        .into());
    }
    let mut run = Run::new();
    run.override_with(said.geometry, said.total_steps, said.limit, said.axis);
    Ok(run)
}

fn replay(path: &Path, source: &str, said: &Said) -> Result<Judged> {
    let mut run = told_run(said)?;
    each_entry(path, |entry| run.apply(entry))?;
    let (mut verdict, series, explanation) = run.explained();
    verdict.source = source.to_owned();
    let summary = Summary::read(path)?;
    // What flags say holds for this answer, and not for lists.
    if said.is_nothing() {
        keep_judged(path, &summary, &run.glance());
    }
    let mortem = match summary.state {
        // Nobody saw the end: what the recording holds has to tell.
        RunState::CutOff => run.explain_end(None, None),
        RunState::Ended(exit) if exit != Some(Exit::Code(0)) => run.post_mortem().cloned(),
        _ => None,
    };
    Ok(Judged {
        verdict,
        series: series.clone(),
        how: None,
        explanation,
        mortem,
    })
}

#[cfg(any(test, fuzzing))]
pub(crate) fn from_bytes(bytes: &[u8], source: &str, said: &Said) -> Result<Judged> {
    from_feed(&mut Feed::bytes(bytes), source, said)
}

/// The verdict on a file that is no recording.
fn from_feed(feed: &mut Feed<'_>, source: &str, said: &Said) -> Result<Judged> {
    let read = Understood::of(feed, source, said)?;
    let verdict = read.verdict(source);
    Ok(Judged {
        explanation: explain::of_series(&verdict, &read.series, &read.context),
        verdict,
        series: read.series,
        how: Some(read.how),
        mortem: None,
    })
}

/// A bare file, understood.
struct Understood {
    track: Track,
    series: Series,
    context: Context,
    how: String,
}

/// What the flags say about a file.
fn options(said: &Said) -> import::Options {
    let given = said.geometry != Geometry::default() || said.total_steps.is_some();
    import::Options {
        axis: said.axis,
        column: said.column.clone(),
        unit: said.unit.clone(),
        steps_expected: given || said.steps_expected,
        epoch_steps: said.geometry.steps_per_epoch(),
        limit: said.limit.map(Bytes::as_f64),
        pid: said.pid,
        name: said.name.clone(),
        all: false,
    }
}

fn refused(source: &str, error: ImportError) -> Failure {
    let failure = Failure::unseen(format!("{source}: {error}"));
    match error.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

impl Understood {
    fn of(feed: &mut Feed<'_>, source: &str, said: &Said) -> Result<Understood> {
        let read = import::read(feed, source, &options(said));
        let imported = read.map_err(|error| refused(source, error))?;
        Ok(Understood::from(imported, said))
    }

    fn from(imported: Imported, said: &Said) -> Understood {
        let mut geometry = imported.geometry.unwrap_or_default();
        if said.geometry.examples.is_some() {
            // The length of an epoch that the log shows would beat the one that the flags give.
            geometry.epoch_steps = None;
        }
        geometry.merge(&said.geometry);
        let context = Context {
            told: said.geometry.steps_per_epoch().is_some(),
            geometry,
            limit: said.limit,
            total_steps: said
                .total_steps
                .or(imported.total_steps)
                .map(|total| total as f64),
            ..Context::default()
        };
        let track = imported.track;
        Understood {
            series: Series::from_points(track.axis, track.meter, &track.points),
            track,
            context,
            how: imported.how,
        }
    }

    fn verdict(&self, source: &str) -> Verdict {
        let mut verdict = judge(&self.series, &self.context);
        verdict.source = source.to_owned();
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_beat_what_the_log_says() {
        let log: String = (1..=40)
            .map(|step| format!("Step {step}: RAM {} MB\n", 1000 + 50 * step))
            .collect();
        let log = format!("Num examples = 8 | Batch size per device = 2\n{log}");
        let short = from_bytes(log.as_bytes(), "x", &Said::default()).unwrap();
        let said = Said {
            geometry: Geometry {
                examples: Some(663),
                ..Geometry::default()
            },
            ..Said::default()
        };
        let long = from_bytes(log.as_bytes(), "x", &said).unwrap();
        assert_ne!(short.verdict.decides_at, long.verdict.decides_at);
        assert!(long.verdict.decides_at.is_some_and(|at| at > 300.0));
    }

    #[test]
    fn the_number_of_steps_is_printed_or_said() {
        let total = |log: &str, said: Option<u64>| {
            let said = Said {
                total_steps: said,
                ..Said::default()
            };
            let read = Understood::of(&mut Feed::bytes(log.as_bytes()), "x", &said).unwrap();
            read.context.total_steps
        };
        let log = |total: &str| -> String {
            (1..=40)
                .map(|step| format!("step {step}{total}: RAM {} MB\n", 1000 + 50 * step))
                .collect()
        };
        assert_eq!(total(&log("/249"), None), Some(249.0));
        assert_eq!(total(&log("/249"), Some(500)), Some(500.0));
        assert_eq!(total(&log(""), None), None);
        assert_eq!(total(&log(""), Some(500)), Some(500.0));
        // For a recording, too.
        let said = Said {
            total_steps: Some(500),
            ..Said::default()
        };
        assert_eq!(told_run(&said).unwrap().total_steps(), Some(500));
    }

    #[test]
    fn what_cannot_be_read_has_a_hint_and_its_code() {
        let unclear = from_bytes(b"t,a_mb,b_mb\n1,2,3\n2,3,4\n", "x.csv", &Said::default());
        let error = unclear.err().unwrap();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.code(), lowtide_session::failure::code::UNREADABLE);
        assert!(error.to_string().contains("x.csv"));
    }
}
