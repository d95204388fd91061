//! The score of the zoo, on the repository alone: real processes and generated series, by family, each family left out of
//! what was fitted.
//!
//! `cargo run --release -p lowtide-verdicts --bin zoo`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use lowtide_core::judge::prior::Prior;
use lowtide_core::mark::Geometry;
use lowtide_verdicts::corpus::{self, Case};
use lowtide_verdicts::rules;
use lowtide_verdicts::scored::drawn::{self, Judge};
use lowtide_verdicts::scored::folds::Folds;
use lowtide_verdicts::scored::{self, Scored, calibration, curve, diagram, real, table};
use lowtide_verdicts::zoo::{self, Drawn};

#[derive(Parser)]
#[command(about = "Score lowtide's verdicts by mechanism, each family left out of what was fitted")]
struct Options {
    /// Recordings with a truth.jsonl instead of the zoo's own
    folder: Option<PathBuf>,
    /// Generated series of each kind
    #[arg(long, default_value_t = 60)]
    per_kind: usize,
    #[arg(long, default_value_t = 14)]
    seed: u64,
    /// Only the recordings
    #[arg(long)]
    recorded: bool,
    /// Only families or kinds whose name holds this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Draw confidence said against right, as SVG
    #[arg(long, value_name = "FILE")]
    diagram: Option<PathBuf>,
    /// Leave out the rules of today and the curve, which take minutes
    #[arg(long)]
    short: bool,
    /// Print every run that went wrong, with what was said of it
    #[arg(long)]
    wrong: bool,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let folds = Folds::read()?;
    let wanted =
        |kind: &str, family: &str| kind.contains(&options.only) || family.contains(&options.only);

    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/recordings");
    let mut recorded = corpus::load(options.folder.as_deref().unwrap_or(&ours))?;
    recorded.retain(|case| wanted(&case.truth.kind, &case.truth.family));
    let mut processes = Vec::new();
    for told in [false, true] {
        let geometry = |case: &Case| {
            if told {
                case.truth.told
            } else {
                Geometry::default()
            }
        };
        let score = |prior: fn(&Folds, &str) -> Prior| {
            scored::each(&recorded, |case| {
                real::score(case, prior(&folds, &case.truth.family), geometry(case))
            })
        };
        let with = score(|_, _| Prior::PUBLISHED);
        let without = score(Folds::without);
        let title = match told {
            false => "Recorded processes, judged by what they print",
            true => "The same, told how long an epoch is where the job has epochs",
        };
        table::print(title, &with, &without);
        wrong(&options, &without);
        processes.extend(with);
    }
    if options.recorded {
        return Ok(());
    }

    let mut cases = zoo::draw(options.per_kind, options.seed, 1.0);
    cases.retain(|case| wanted(case.kind, case.family));
    let by = |prior: fn(&Folds, &str) -> Prior| {
        scored::each(&cases, |case| {
            drawn::score(case, Judge::Ours(&prior(&folds, case.family)))
        })
    };
    let with = by(|_, _| Prior::PUBLISHED);
    let without = by(Folds::without);
    table::print("Generated series", &with, &without);
    wrong(&options, &without);
    let rows = calibration::print(&with, &processes);
    if let Some(path) = &options.diagram {
        fs::write(path, diagram::svg(&rows))?;
    }
    if options.short {
        return Ok(());
    }
    beside_the_rules_of_today(&cases);
    curve::print(&cases, Prior::PUBLISHED, |scale| {
        zoo::draw(options.per_kind / 2, options.seed, scale)
    });
    Ok(())
}

fn beside_the_rules_of_today(cases: &[Drawn]) {
    println!("\nThe rules people use, on every third of the same series");
    let some: Vec<Drawn> = cases.iter().step_by(3).cloned().collect();
    for rule in &rules::TODAY {
        let runs: Vec<Scored> = scored::each(&some, |case| drawn::score(case, Judge::Today(rule)));
        table::summary(rule.name, &runs);
    }
}

fn wrong(options: &Options, runs: &[Scored]) {
    for run in runs.iter().filter(|run| options.wrong && run.is_wrong()) {
        let (what, said) = match run.accused {
            Some(at) => (format!("accused at {at:.0} s"), &run.because),
            None => (format!("called {}", run.end), &run.last),
        };
        println!("  {} {what}: {said}", run.name);
    }
}
