//! Recordings of jobs whose truth is known: a folder with a `truth.jsonl`, a line for each of them. The one
//! in this repository is `corpus/`; `corpus/record` makes such a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use lowtide_core::entry::Entry;
use lowtide_core::explain::Explanation;
use lowtide_core::judge::prior::Prior;
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point};
use lowtide_core::run::Run;
use lowtide_core::units::Micros;
use lowtide_core::verdict::{Axis, Class, Meter, Verdict};
use lowtide_recording::FILE_NAME;
use lowtide_recording::Recording;
use lowtide_recording::codec::newer_text;
use serde::Deserialize;

use crate::trace::{Confidence, Trace};

/// Where a folder says what is true of its recordings.
pub const TRUTH: &str = "truth.jsonl";
/// Asked so many times on the way, but not more often than once in the first of these, and not less often
/// than once in the second.
const MOMENTS: u64 = 100;
const OFTENEST: Micros = Micros(1_000_000);
const RAREST: Micros = Micros(5_000_000);

/// The corpus of this repository.
pub fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// What is true of a recording, by what its job does.
#[derive(Clone, Debug, Deserialize)]
pub struct Truth {
    pub run: String,
    /// In words.
    #[serde(default)]
    pub what: String,
    pub leak: bool,
    /// What is true of its growth, or may be, as `explain` names it: none of that may be ruled out.
    #[serde(default)]
    pub causes: Vec<String>,
    /// What the user would tell on the command line.
    #[serde(default)]
    pub told: Geometry,
    /// What may be said at the end by somebody who knows what is told.
    pub says: Vec<Class>,
    /// What may be said at no moment at all.
    #[serde(default)]
    pub never: Vec<Class>,
    /// The step from which on it leaks; from the first one on without it.
    pub onset: Option<f64>,
    /// The step at which growth ends.
    pub settles: Option<f64>,
    /// Bytes per step, from the onset on.
    pub rate: Option<f64>,
    /// What the tree holds once growth has ended, in bytes.
    pub plateau: Option<f64>,
    /// The mechanism, and what of it this is.
    #[serde(default)]
    pub family: String,
    #[serde(default)]
    pub kind: String,
    /// Steps that harmless growth takes in all, also beyond the run.
    pub fills_in: Option<f64>,
    /// Onset and end again, in seconds since the program began.
    pub onset_seconds: Option<f64>,
    pub settles_seconds: Option<f64>,
    /// Whether its floor still grew at the end.
    #[serde(default)]
    pub ends_growing: bool,
    /// What the job prints, of `steps` and `epochs`.
    #[serde(default)]
    pub prints: Vec<String>,
    /// Real time, or faster than life.
    #[serde(default)]
    pub pace: String,
}

pub struct Case {
    pub truth: Truth,
    pub entries: Vec<Entry>,
}

/// One answer on the way.
pub struct Moment {
    pub seconds: f64,
    pub step: Option<f64>,
    pub verdict: Verdict,
}

/// What was said of causes at one moment.
pub struct Explained {
    pub moment: Moment,
    pub explanation: Explanation,
}

impl Explained {
    fn of(run: &Run) -> Explained {
        let (verdict, _, explanation) = run.explained();
        Explained {
            moment: Moment {
                seconds: run.last_at().seconds(),
                step: run.step().map(|step| step as f64),
                verdict,
            },
            explanation,
        }
    }
}

/// All recordings of a folder. One without any is an error: it would be judged by doing nothing.
pub fn load(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let index = folder.join(TRUTH);
    let text = fs::read_to_string(&index).with_context(|| {
        format!(
            "{}: expected what is true of a folder of recordings",
            index.display()
        )
    })?;
    let cases = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let truth: Truth = serde_json::from_str(line)
                .with_context(|| format!("{}: cannot read `{line}`", index.display()))?;
            let entries = read(&recording(folder, &truth.run))?;
            Ok(Case { truth, entries })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    if cases.is_empty() {
        bail!("{} names no recording", index.display());
    }
    Ok(cases)
}

/// `NAME.lowtide`, or the folder of a run.
fn recording(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(format!("{name}.lowtide"));
    if file.exists() {
        return file;
    }
    folder.join(name).join(FILE_NAME)
}

/// Every entry of a recording: one that this lowtide cannot read would be judged without it.
pub fn read(path: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut recording = Recording::open(path).with_context(|| path.display().to_string())?;
    let entries = recording.by_ref().collect::<Result<_, _>>()?;
    if recording.skipped() > 0 {
        bail!("{}: {}", path.display(), newer_text(recording.skipped()));
    }
    Ok(entries)
}

impl Case {
    pub fn length(&self) -> Micros {
        let samples = self.entries.iter().rev();
        let last = samples.filter_map(|entry| match entry {
            Entry::Sample(sample) => Some(sample.at),
            _ => None,
        });
        last.max().unwrap_or_default()
    }

    /// What was said on the way: folded entry by entry, as it was while the job ran. The last answer is
    /// the one on the whole recording.
    pub fn moments(&self, told: Geometry) -> Vec<Moment> {
        self.moments_by(Prior::PUBLISHED, told)
    }

    /// The same by another prior.
    pub fn moments_by(&self, prior: Prior, told: Geometry) -> Vec<Moment> {
        let every = (self.length().0 / MOMENTS).clamp(OFTENEST.0, RAREST.0);
        let mut run = told_run(told);
        run.judge_by(prior);
        let mut moments = Vec::new();
        let mut due = 0;
        for entry in &self.entries {
            run.apply(entry);
            if matches!(entry, Entry::Sample(_)) && run.last_at().0 >= due {
                moments.push(moment(&run));
                due = run.last_at().0 + every;
            }
        }
        moments.push(moment(&run));
        moments
    }

    /// What was said of causes on the way, so many times.
    pub fn explained(&self, told: Geometry, times: u64) -> Vec<Explained> {
        let every = (self.length().0 / times.max(1)).max(OFTENEST.0);
        let mut run = told_run(told);
        let mut explained = Vec::new();
        let mut due = every;
        for entry in &self.entries {
            run.apply(entry);
            if matches!(entry, Entry::Sample(_)) && run.last_at().0 >= due {
                explained.push(Explained::of(&run));
                due = run.last_at().0 + every;
            }
        }
        explained.push(Explained::of(&run));
        explained
    }

    /// What is said of the whole recording.
    pub fn end(&self, told: Geometry) -> Moment {
        let mut run = told_run(told);
        self.entries.iter().for_each(|entry| run.apply(entry));
        moment(&run)
    }

    /// The bare line of what the tree held, by step: what a script that prints memory would have logged.
    pub fn trace(&self) -> Trace {
        let mut step = None;
        let mut points = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Mark(mark) => step = mark.step.or(step),
                Entry::Sample(sample) => points.extend(step.map(|step| Point {
                    seconds: Some(sample.at.seconds()),
                    ..Point::new(step as f64, sample.tree.held.as_f64())
                })),
                _ => {}
            }
        }
        let truth = &self.truth;
        Trace {
            name: truth.run.clone(),
            label: match truth.leak {
                true => Class::Leak,
                false => truth.says[0],
            },
            right: truth.says.clone(),
            sure: Confidence::High,
            group: truth.run.clone(),
            why: truth.what.clone(),
            axis: Axis::Step,
            meter: Meter::Held,
            points,
            context: Context {
                told: true,
                geometry: truth.told,
                ..Context::default()
            },
            grows_until: truth.settles,
        }
    }
}

fn told_run(told: Geometry) -> Run {
    let mut run = Run::new();
    run.override_with(told, None, None, None);
    run
}

fn moment(run: &Run) -> Moment {
    let verdict = run.verdict();
    Moment {
        seconds: run.last_at().seconds(),
        step: run.step().map(|step| step as f64),
        verdict,
    }
}
