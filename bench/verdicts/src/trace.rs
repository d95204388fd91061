//! Traces with known truth: a folder of CSV files with an `index.jsonl`, or of recordings with a
//! `truth.jsonl`. Read by every section.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point};
use lowtide_core::units::Bytes;
use lowtide_core::verdict::{Axis, Class, Meter};
use serde::Deserialize;

use crate::corpus;

/// Fewer points than this and a trace is scored apart: too early is right for most of them.
pub const SHORT: usize = 12;
/// Fewer points than this and nothing is asked of anybody.
pub const FEWEST: usize = 5;

pub struct Trace {
    pub name: String,
    pub label: Class,
    /// Verdicts that are right on the whole of it: the label, and caution where that is all that a line
    /// can give.
    pub right: Vec<Class>,
    pub sure: Confidence,
    pub group: String,
    pub why: String,
    pub axis: Axis,
    pub meter: Meter,
    pub points: Vec<Point>,
    pub context: Context,
    /// Where steady growth ended, when the program that was recorded says so: an accusation before
    /// is one that no series could have avoided.
    pub grows_until: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    High,
    Medium,
    Low,
}

impl Trace {
    /// Labels of low confidence are to look at, not to score.
    pub fn counts(&self) -> bool {
        self.sure != Confidence::Low && self.points.len() >= FEWEST
    }

    /// Has an answer: leak or not.
    pub fn decided(&self) -> bool {
        self.counts() && self.label != Class::TooEarly
    }

    pub fn leaks(&self) -> bool {
        self.label == Class::Leak
    }

    pub fn short(&self) -> bool {
        self.points.len() < SHORT
    }
}

#[derive(Deserialize)]
struct Line {
    file: String,
    verdict: Class,
    confidence: Confidence,
    axis: String,
    meter: String,
    group: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    context: Geometry,
    /// Bytes, or a size as people write it.
    limit: Option<Limit>,
    grows_until: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Limit {
    Number(f64),
    Text(String),
}

/// The corpus, and the folders that `LOWTIDE_TRACES` names (with colons between them).
pub fn folders() -> Vec<PathBuf> {
    let given = std::env::var_os("LOWTIDE_TRACES").unwrap_or_default();
    let given = std::env::split_paths(&given).filter(|path| !path.as_os_str().is_empty());
    std::iter::once(corpus::ours()).chain(given).collect()
}

/// All traces of a folder. One without any is an error: it would be judged by doing nothing.
pub fn load(folder: &Path) -> anyhow::Result<Vec<Trace>> {
    if folder.join(corpus::TRUTH).exists() {
        let cases = corpus::load(folder)?;
        return Ok(cases.iter().map(corpus::Case::trace).collect());
    }
    let index = folder.join("index.jsonl");
    let text = fs::read_to_string(&index).with_context(|| {
        format!(
            "{}: expected the index of a folder of traces",
            index.display()
        )
    })?;
    let traces = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let line: Line = serde_json::from_str(line)
                .with_context(|| format!("{}: cannot read `{line}`", index.display()))?;
            trace(folder, line)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    if traces.is_empty() {
        bail!("{} names no trace", index.display());
    }
    Ok(traces)
}

fn trace(folder: &Path, line: Line) -> anyhow::Result<Trace> {
    let path = folder.join(&line.file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let points = points(&text).with_context(|| path.display().to_string())?;
    let limit = match line.limit {
        None => None,
        Some(Limit::Number(bytes)) => Some(Bytes(bytes as u64)),
        Some(Limit::Text(text)) => Some(text.parse()?),
    };
    let mut geometry = line.context;
    if line.axis == "epoch" {
        // Each point is one pass over the data.
        geometry.epoch_steps = Some(1.0);
    }
    Ok(Trace {
        name: line.file.trim_end_matches(".csv").to_owned(),
        label: line.verdict,
        right: vec![line.verdict],
        sure: line.confidence,
        group: line.group,
        why: line.why,
        axis: match line.axis.as_str() {
            "step" | "epoch" | "iteration" => Axis::Step,
            "second" => Axis::Time,
            "sample" => Axis::Sample,
            other => bail!("{}: unknown axis `{other}`", line.file),
        },
        meter: match line.meter.as_str() {
            "held" => Meter::Held,
            "rss" => Meter::Rss,
            "pss" => Meter::Pss,
            "gpu" => Meter::Gpu,
            _ => Meter::Memory,
        },
        points,
        context: Context {
            geometry,
            limit,
            ..Context::default()
        },
        grows_until: line.grows_until,
    })
}

fn points(text: &str) -> anyhow::Result<Vec<Point>> {
    let mut lines = text.lines();
    if lines.next() != Some("t,value_mb") {
        bail!("expected the header `t,value_mb`");
    }
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (x, megabytes) = line.split_once(',').context("expected two columns")?;
            Ok(Point::new(x.parse()?, megabytes.parse::<f64>()? * 1e6))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_nothing_to_judge_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(load(&folder.path().join("missing")).is_err());
        for index in ["index.jsonl", corpus::TRUTH] {
            assert!(load(folder.path()).is_err(), "no {index}");
            fs::write(folder.path().join(index), "\n").unwrap();
            let error = load(folder.path()).err().unwrap().to_string();
            assert!(error.contains("names no"), "{error}");
            fs::remove_file(folder.path().join(index)).unwrap();
        }
        let lost = r#"{"run":"lost","leak":false,"says":["stable"]}"#;
        fs::write(folder.path().join(corpus::TRUTH), lost).unwrap();
        assert!(load(folder.path()).is_err());
    }

    #[test]
    fn megabytes_become_bytes() {
        let read = points("t,value_mb\n10,5552\n20,7159.5\n").unwrap();
        assert_eq!(
            read,
            [Point::new(10.0, 5.552e9), Point::new(20.0, 7.1595e9)]
        );
        assert!(points("step,mb\n1,2\n").is_err());
        assert!(points("t,value_mb\n1\n").is_err());
    }
}
