//! Prints the score.
//!
//! `cargo run --release -p lowtide-verdicts -- [SECTION…] [--traces FOLDER]…`

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use lowtide_verdicts::{corpus, founding, outlook, prefixes, ramp, rules, score, speed, trace};

#[derive(Parser)]
#[command(about = "Score lowtide's verdicts, next to the rules people use today")]
struct Options {
    /// What to print; everything but `speed` when none is named
    sections: Vec<Section>,
    /// Further folders, with an index.jsonl or a truth.jsonl; the corpus comes first
    #[arg(long, value_name = "FOLDER")]
    traces: Vec<PathBuf>,
    /// Leave the rules of today out
    #[arg(long)]
    alone: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Precision, recall, F1, accuracy, cover, over-claims on whole traces
    Score,
    /// What each rule said on the way
    Prefixes,
    /// Labels against classes
    Confusion,
    /// Traces under 12 points
    Short,
    /// The calls that differ from the label
    Wrong,
    /// The runs of the founding story, and what is asked of them
    Founding,
    /// Straight ramps added to logs free of leaks
    Ramp,
    /// What each run was said to need on the way, against what it needed
    Outlook,
    /// A million points; a hundred thousand series
    Speed,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let wanted = |section: Section| {
        options.sections.contains(&section)
            || (options.sections.is_empty() && section != Section::Speed)
    };
    let mut all = vec![rules::LOWTIDE];
    if !options.alone {
        all.extend(rules::TODAY);
    }
    let judge = &all[0];
    if options.sections != [Section::Speed] {
        for folder in [corpus::ours()].iter().chain(&options.traces) {
            let traces = trace::load(folder)?;
            println!("\n== {} ({} traces)", folder.display(), traces.len());
            if wanted(Section::Score) {
                score::table("Whole traces of 12 points or more", &all, &traces, |t| {
                    !t.short()
                });
                score::table("Whole traces of 5 points or more", &all, &traces, |_| true);
            }
            if wanted(Section::Prefixes) {
                prefixes::table(&all, judge, &traces);
            }
            if wanted(Section::Confusion) {
                score::confusion(judge, &traces);
            }
            if wanted(Section::Short) {
                score::short(judge, &traces);
            }
            if wanted(Section::Wrong) {
                score::wrong(judge, &traces);
            }
            if wanted(Section::Founding) {
                founding::report(&traces);
            }
            if wanted(Section::Outlook) {
                outlook::table(&traces);
            }
            if wanted(Section::Ramp) {
                ramp::table(&all, judge, &traces);
            }
        }
    }
    if wanted(Section::Speed) {
        speed::report(judge);
    }
    Ok(())
}
