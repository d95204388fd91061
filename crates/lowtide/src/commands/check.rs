//! `lowtide check SOURCE`: bounds for CI. Flags, then `lowtide.toml` or `pyproject.toml`, say what is
//! asked; core answers; the answer goes to stdout, to JUnit and to GitHub.

mod config;

#[cfg(any(test, fuzzing))]
pub(crate) use config::fuzz as fuzz_config;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use lowtide_core::check::{
    Criteria, Headroom, JudgedSeries, Outcome, RateBound, SettleBound, check, overall,
};
use lowtide_core::units::{Bytes, Share, parse_duration};
use lowtide_core::verdict::Axis;
use lowtide_session::failure::Failure;
use lowtide_session::session::{self, Ended, NoView};
use lowtide_session::watch::{LookInside, WatchOptions};

use crate::commands::judge::SaidArgs;
use crate::show::check::{self as view, Checked};
use crate::show::style::Style;
use crate::source::{self, Judged, Said};
use crate::tell::{print, print_json, tell};

/// Pass or fail a run by bounds, for CI
///
/// Examples:
///   lowtide check last --settled-by step:90 --max-swing 500MB --min-steps 120
///   lowtide check --max-rate 100kB/step --junit leaks.xml -- python train.py --steps 200
///   lowtide check last --fits --limit 32GB
///   lowtide check new.csv --baseline old.csv
#[derive(clap::Args, Clone, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckArgs {
    /// A run (path, name or `last`), a CSV, an mprof file, a log; `-` is stdin
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub source: Option<String>,
    #[command(flatten)]
    pub said: SaidArgs,
    #[command(flatten)]
    pub asked: CheckFlags,
    /// With CMD: where its recording goes
    #[arg(short = 'o', long = "output", value_name = "DIR", requires = "command")]
    pub output: Option<PathBuf>,
    /// With CMD: time between two ticks
    #[arg(short, long, value_parser = parse_duration, default_value = "1s")]
    pub interval: Duration,
    /// A command to run, watch and check instead, after `--`
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// What is asked of the run, and where the answer goes.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CheckFlags {
    /// The floor may rise by so much (1MB/step, 1MB/min); without it a leak fails
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<RateBound>,
    /// Growth has ended there (step:90, time:10min)
    #[arg(long, value_name = "PLACE")]
    pub settled_by: Option<SettleBound>,
    /// From there on (or from where growth ended) memory stays within so much
    #[arg(long, value_name = "SIZE")]
    pub max_swing: Option<Bytes>,
    /// Memory never exceeds this
    #[arg(long, value_name = "SIZE")]
    pub max_peak: Option<Bytes>,
    /// So much is left below the limit at the peak (2GB, 10%)
    #[arg(long, value_name = "SIZE")]
    pub min_headroom: Option<Headroom>,
    /// The run needs less than the limit until its end; growth that goes on, or whose end is only
    /// predicted, leaves that open
    #[arg(long)]
    pub fits: bool,
    /// Fewer steps than this leave the check open
    #[arg(long, value_name = "N")]
    pub min_steps: Option<f64>,
    /// Another source: neither level nor rate may be higher than its own
    #[arg(long, value_name = "OTHER")]
    pub baseline: Option<String>,
    /// How much above the baseline still counts as equal [default: 5%]
    #[arg(long, value_name = "SHARE", requires = "baseline")]
    pub tolerance: Option<Share>,
    /// What a check that stays open counts as [default: exit code 3]
    #[arg(long, value_enum, value_name = "WORD")]
    pub on_inconclusive: Option<OnInconclusive>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write JUnit XML there
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnInconclusive {
    Pass,
    Fail,
}

pub(crate) fn run(args: &CheckArgs) -> Result<i32> {
    let asked = args.asked.clone().completed(Path::new("."))?;
    let said = Said {
        steps_expected: asked.speaks_of_steps(),
        ..args.said.said()
    };
    match &args.source {
        Some(source) => {
            let baseline = baseline(&asked, &said)?;
            finish(&asked, &source::open(source, &said)?, baseline.as_ref())
        }
        None => run_and_check(args, &asked, &said),
    }
}

/// A job that fails cannot be passed by its memory: its code is told, and ours says that it was no run to judge.
fn run_and_check(args: &CheckArgs, asked: &CheckFlags, said: &Said) -> Result<i32> {
    let options = WatchOptions {
        interval: args.interval,
        budget: WatchOptions::BUDGET,
        limit: None,
        output: args.output.clone(),
        hooks: Vec::new(),
        quiet: true,
        looks: LookInside::On,
        inside: false,
        probe: false,
        no_command: false,
    };
    // Before the job: afterwards `last` is the job itself, and a typing error would cost its time.
    let baseline = baseline(asked, said)?;
    // With --json stdout holds one object and nothing else: what the job prints goes to stderr.
    let stdout = rustix::io::dup(std::io::stdout())?;
    if asked.json {
        rustix::stdio::dup2_stdout(std::io::stderr())?;
    }
    let ended = session::run(&args.command, &options, None, None, &mut NoView);
    rustix::stdio::dup2_stdout(&stdout)?;
    let Ended { watch, code, .. } = ended.map_err(|error| match error.downcast::<Failure>() {
        Ok(failure) => failure.as_unseen().into(),
        Err(error) => error,
    })?;
    let unseen =
        |message: String| Failure::unseen(message).hint("lowtide run -- CMD shows what happens");
    if code != 0 {
        return Err(unseen(format!("the job ended with code {code}")).into());
    }
    let Some(mut watch) = watch else {
        return Err(unseen("the job could not be watched".to_owned()).into());
    };
    watch
        .run
        .override_with(said.geometry, said.total_steps, said.limit, said.axis);
    let (verdict, series, explanation) = watch.run.explained();
    let judged = Judged {
        verdict,
        series: series.clone(),
        how: None,
        explanation,
        mortem: None,
    };
    finish(asked, &judged, baseline.as_ref())
}

fn baseline(asked: &CheckFlags, said: &Said) -> Result<Option<Judged>> {
    let other = asked.baseline.as_ref();
    other.map(|other| source::open(other, said)).transpose()
}

impl CheckFlags {
    /// Fills what the flags leave open from the configuration file in or above `folder`.
    pub(crate) fn completed(self, folder: &Path) -> Result<CheckFlags> {
        let completed = match config::find(folder) {
            Ok(Some(config)) => config.complete(self),
            Ok(None) => Ok(self),
            Err(error) => Err(error),
        };
        completed.map_err(|error| {
            Failure::usage(format!("{error:#}"))
                .hint("its keys are the names of check's flags: lowtide check --help")
                .into()
        })
    }

    /// Bounds on steps say what the axis of a bare table counts.
    fn speaks_of_steps(&self) -> bool {
        self.min_steps.is_some()
            || self.settled_by.is_some_and(|b| b.axis == Axis::Step)
            || self.max_rate.is_some_and(|b| b.per == Axis::Step)
    }

    pub(crate) fn criteria(&self) -> Criteria {
        Criteria {
            max_rate: self.max_rate,
            settled_by: self.settled_by,
            max_swing: self.max_swing,
            max_peak: self.max_peak,
            min_headroom: self.min_headroom,
            fits: self.fits,
            min_steps: self.min_steps,
            tolerance: self.tolerance,
        }
    }
}

/// Checks a judged source, however it came to be, writes every answer and gives the exit code.
pub(crate) fn finish(
    asked: &CheckFlags,
    judged: &Judged,
    baseline: Option<&Judged>,
) -> Result<i32> {
    let findings = check(&asked.criteria(), subject(judged), baseline.map(subject));
    let outcome = overall(&findings);
    tell(
        asked,
        &Checked {
            verdict: &judged.verdict,
            how: judged.how.as_deref(),
            findings: &findings,
            outcome,
        },
    )?;
    Ok(exit_code(outcome, asked.on_inconclusive))
}

fn subject(judged: &Judged) -> JudgedSeries<'_> {
    JudgedSeries {
        series: &judged.series,
        verdict: &judged.verdict,
    }
}

/// 0 passed, 1 failed, 3 inconclusive unless the user says what that counts as.
fn exit_code(outcome: Outcome, on_inconclusive: Option<OnInconclusive>) -> i32 {
    match (outcome, on_inconclusive) {
        (Outcome::Pass, _) | (Outcome::Inconclusive, Some(OnInconclusive::Pass)) => 0,
        (Outcome::Fail, _) | (Outcome::Inconclusive, Some(OnInconclusive::Fail)) => 1,
        (Outcome::Inconclusive, None) => 3,
    }
}

fn tell(asked: &CheckFlags, checked: &Checked) -> Result<()> {
    if asked.json {
        print_json(view::json(checked)?)?;
    } else {
        let terminal = std::io::stdout().is_terminal();
        let width = terminal.then(|| Style::of(&std::io::stdout()).width);
        print(&view::text(checked, width))?;
    }
    // Annotations are read from stdout and stderr alike; stdout may be JSON for another program.
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true") {
        let annotations = view::annotations(checked);
        for line in annotations.lines() {
            tell!("{line}");
        }
    }
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|p| !p.is_empty()) {
        let path = PathBuf::from(path);
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| file.write_all(view::summary(checked).as_bytes()))
            .with_context(|| format!("cannot write the job summary {}", path.display()))?;
    }
    if let Some(path) = &asked.junit {
        std::fs::write(path, view::junit(checked))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
