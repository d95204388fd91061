//! The bounds of a project: `[check]` in `lowtide.toml`, or `[tool.lowtide.check]` in
//! `pyproject.toml`, in the folder of the command or the nearest one above. Flags win.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum;
use lowtide_sys::regular;
use serde::Deserialize;

use super::{CheckFlags, OnInconclusive};

#[derive(Debug)]
pub(super) struct Config {
    path: PathBuf,
    check: Table,
}

/// The same names as the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Table {
    max_rate: Option<String>,
    settled_by: Option<String>,
    max_swing: Option<String>,
    max_peak: Option<String>,
    min_headroom: Option<String>,
    fits: Option<bool>,
    min_steps: Option<f64>,
    baseline: Option<String>,
    tolerance: Option<String>,
    on_inconclusive: Option<String>,
    junit: Option<PathBuf>,
}

#[derive(Deserialize)]
struct LowtideToml {
    check: Option<Table>,
}

#[derive(Deserialize)]
struct PyProject {
    tool: Option<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    lowtide: Option<LowtideToml>,
}

/// No settings are longer.
const LARGEST: u64 = 16 << 20;

/// The nearest file that has bounds in it.
pub(super) fn find(folder: &Path) -> Result<Option<Config>> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("cannot look for lowtide.toml in {}", folder.display()))?;
    for folder in folder.ancestors() {
        for name in ["lowtide.toml", "pyproject.toml"] {
            let path = folder.join(name);
            let Ok(text) = regular::read_text(&path, LARGEST) else {
                continue;
            };
            if let Some(check) = parse(name, &text).with_context(|| path.display().to_string())? {
                return Ok(Some(Config { path, check }));
            }
        }
    }
    Ok(None)
}

/// A file is meant to be beside the configuration; anything else is a run's name.
fn beside(folder: &Path, baseline: String) -> String {
    let file = folder.join(&baseline);
    if file.exists() {
        file.display().to_string()
    } else {
        baseline
    }
}

fn parse(name: &str, text: &str) -> Result<Option<Table>> {
    if name == "lowtide.toml" {
        let ours: LowtideToml = toml::from_str(text).map_err(|error| in_one_line(&error, text))?;
        return Ok(ours.check);
    }
    let project: PyProject = toml::from_str(text).map_err(|error| in_one_line(&error, text))?;
    Ok(project.tool.and_then(|t| t.lowtide).and_then(|l| l.check))
}

/// Where and what: the library draws the place as a picture of several lines, and messages are one.
fn in_one_line(error: &toml::de::Error, text: &str) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start));
    let place = before.map_or(String::new(), |before| {
        format!("line {}: ", before.matches('\n').count() + 1)
    });
    anyhow!("{place}{}", error.message().replace('\n', ", "))
}

/// What `scripts/fuzz` tries: any file is read, or refused with words.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for name in ["lowtide.toml", "pyproject.toml"] {
        if let Ok(Some(check)) = parse(name, &text) {
            let path = PathBuf::from(name);
            let flags = Config { path, check }.complete(CheckFlags::default());
            assert!(flags.err().is_none_or(|why| !why.to_string().is_empty()));
        }
    }
}

impl Config {
    pub(super) fn complete(self, flags: CheckFlags) -> Result<CheckFlags> {
        let Config { path, check } = self;
        let folder = path.parent().unwrap_or(Path::new("."));
        let fill = || -> Result<CheckFlags> {
            let word = check
                .on_inconclusive
                .map(|word| {
                    OnInconclusive::from_str(&word, false)
                        .map_err(|_| anyhow!("on-inconclusive is `pass` or `fail`, not `{word}`"))
                })
                .transpose()?;
            Ok(CheckFlags {
                max_rate: flags.max_rate.or(read(check.max_rate)?),
                settled_by: flags.settled_by.or(read(check.settled_by)?),
                max_swing: flags.max_swing.or(read(check.max_swing)?),
                max_peak: flags.max_peak.or(read(check.max_peak)?),
                min_headroom: flags.min_headroom.or(read(check.min_headroom)?),
                fits: flags.fits || check.fits.unwrap_or(false),
                min_steps: flags.min_steps.or(check.min_steps),
                // Paths in the file are meant from where the file is.
                baseline: flags.baseline.or(check.baseline.map(|b| beside(folder, b))),
                tolerance: flags.tolerance.or(read(check.tolerance)?),
                on_inconclusive: flags.on_inconclusive.or(word),
                json: flags.json,
                junit: flags.junit.or(check.junit.map(|j| folder.join(j))),
            })
        };
        fill().with_context(|| path.display().to_string())
    }
}

fn read<T>(text: Option<String>) -> Result<Option<T>>
where
    T: FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.map(|text| text.parse().map_err(anyhow::Error::new))
        .transpose()
}
