//! A SOURCE of `judge` and `check`: a recording, or any file with a series in it.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use lowtide_core::judge::judge;
use lowtide_core::mark::Geometry;
use lowtide_core::point::Context;
use lowtide_core::run::Run;
use lowtide_core::series::Series;
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Verdict};

use crate::failure::Failure;
use crate::import;
use crate::recording::{self, Recording, Store};

/// What flags say about a source.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub axis: Option<Axis>,
    pub geometry: Geometry,
    pub limit: Option<Bytes>,
    pub column: Option<String>,
    pub unit: Option<String>,
    /// A bound speaks of steps: an axis that does not say what it counts is steps.
    pub steps_expected: bool,
}

/// A source with its verdict.
pub struct Judged {
    pub verdict: Verdict,
    /// The series that decides it.
    pub series: Series,
    /// How a bare file was read; nothing for a recording.
    pub how: Option<String>,
}

pub fn open(source: &str, said: &Said) -> Result<Judged> {
    match locate(source)? {
        Found::Recording(path) => replay(&path, source, said),
        Found::Bytes(bytes) => from_bytes(&bytes, source, said),
    }
}

enum Found {
    Recording(PathBuf),
    Bytes(Vec<u8>),
}

/// A path wins over a run's name; `-` is stdin.
fn locate(source: &str) -> Result<Found> {
    if source == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .context("cannot read stdin")?;
        return Ok(Found::Bytes(bytes));
    }
    let path = Path::new(source);
    // A pipe (`<(grep RAM log)`) can be read once: it is no recording.
    let readable = path.exists() && !path.is_dir();
    if readable && !(path.is_file() && recording::is_recording(path)) {
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::unseen(format!("cannot read {source}: {error}")).hint("check its permissions")
        })?;
        return Ok(Found::Bytes(bytes));
    }
    if !path.exists() && (source.contains('/') || path.extension().is_some()) {
        return Err(Failure::unseen(format!("there is no file {source}"))
            .hint("check the path; `lowtide runs` lists the runs that are kept")
            .into());
    }
    Ok(Found::Recording(Store::from_env()?.resolve(source)?))
}

fn replay(path: &Path, source: &str, said: &Said) -> Result<Judged> {
    let mut run = Run::new();
    if said.column.is_some() || said.unit.is_some() {
        return Err(
            Failure::usage("--column and --unit are for files; this is a recording")
                .hint("leave them out")
                .into(),
        );
    }
    run.override_with(said.geometry, said.limit, said.axis);
    for entry in Recording::open(path)? {
        run.apply(&entry?);
    }
    let (mut verdict, series) = run.judged();
    verdict.source = source.to_owned();
    Ok(Judged {
        verdict,
        series: series.clone(),
        how: None,
    })
}

/// The verdict on the bytes of a file that is no recording.
pub fn from_bytes(bytes: &[u8], source: &str, said: &Said) -> Result<Judged> {
    let given = said.geometry != Geometry::default();
    let options = import::Options {
        axis: said.axis,
        column: said.column.clone(),
        unit: said.unit.clone(),
        steps_expected: given || said.steps_expected,
        epoch_steps: said.geometry.steps_per_epoch(),
    };
    let imported = import::read(bytes, source, &options).map_err(|error| {
        let failure = Failure::unseen(format!("{source}: {error}"));
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    let mut geometry = imported.geometry.unwrap_or_default();
    if said.geometry.examples.is_some() {
        // The length of an epoch that the log shows would beat the one that the flags give.
        geometry.epoch_steps = None;
    }
    geometry.merge(&said.geometry);
    let context = Context {
        geometry,
        limit: said.limit,
        ..Context::default()
    };
    let track = &imported.track;
    let series = Series::from_points(track.axis, track.meter, &track.points);
    let mut verdict = judge(&series, &context);
    verdict.source = source.to_owned();
    Ok(Judged {
        verdict,
        series,
        how: Some(imported.how),
    })
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
    fn what_cannot_be_read_has_a_hint_and_its_code() {
        let unclear = from_bytes(b"t,a_mb,b_mb\n1,2,3\n2,3,4\n", "x.csv", &Said::default());
        let error = unclear.err().unwrap();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.code(), crate::failure::code::UNREADABLE);
        assert!(error.to_string().contains("x.csv"));
    }
}
