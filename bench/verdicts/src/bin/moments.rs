//! What lowtide said of recorded jobs whose truth is known, at every moment of each: the recording is
//! folded again entry by entry, as it was while the job ran, and judged on the way.
//!
//! `cargo run --release -p lowtide-verdicts --bin moments -- [FOLDER]`
//!
//! The folder holds recordings and a `truth.jsonl` (see `corpus.rs`); the corpus without one. Nothing is told
//! that the job does not print, unless `--told` gives what the truth says a user would tell. A run is accused
//! if any moment says `leak` while there is none.

use std::path::PathBuf;

use clap::Parser;
use lowtide_core::mark::Geometry;
use lowtide_core::verdict::Class;
use lowtide_verdicts::corpus::{self, Moment, Truth};

/// The outlook is scored from this share of a run on.
const FROM: f64 = 0.1;

#[derive(Parser)]
#[command(about = "What lowtide says at every moment of recorded jobs whose truth is known")]
struct Options {
    /// [default: the corpus]
    folder: Option<PathBuf>,
    /// Tell it what a user of that job would
    #[arg(long)]
    told: bool,
    /// Only this one
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Print the whole answer at this moment too
    #[arg(long, value_name = "SECONDS", requires = "run")]
    at: Option<f64>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let folder = options.folder.unwrap_or_else(corpus::ours);
    let mut total = Total::default();
    for case in corpus::load(&folder)? {
        let truth = &case.truth;
        if options.run.as_ref().is_some_and(|run| *run != truth.run) {
            continue;
        }
        let told = match options.told {
            true => truth.told,
            false => Geometry::default(),
        };
        let moments = case.moments(told);
        let needed = moments
            .last()
            .and_then(|last| last.verdict.outlook.as_ref());
        let peak = needed.map_or(0.0, |outlook| outlook.needs.value);
        total.add(truth, &moments, peak);
        let asked = options.at.and_then(|at| {
            let next = moments.iter().find(|moment| moment.seconds >= at);
            next.or(moments.last())
        });
        if let Some(moment) = asked {
            println!("{}", serde_json::to_string_pretty(&moment.verdict)?);
        }
    }
    total.print();
    Ok(())
}

#[derive(Default)]
struct Total {
    harmless: usize,
    accused: usize,
    leaks: usize,
    told: usize,
    held: usize,
    asked: usize,
    runs_held: usize,
    runs: usize,
    widths: Vec<f64>,
}

impl Total {
    fn add(&mut self, truth: &Truth, moments: &[Moment], peak: f64) {
        let called = moments.iter().find(|m| m.verdict.verdict == Class::Leak);
        match truth.leak {
            true => {
                self.leaks += 1;
                self.told += usize::from(called.is_some());
            }
            false => {
                self.harmless += 1;
                self.accused += usize::from(called.is_some());
            }
        }
        let kind = if truth.leak { "leak" } else { "harmless" };
        println!("{} ({kind}) {}", truth.run, truth.what);
        println!("    {}", spans(moments));
        if let Some(called) = called {
            let wrong = if truth.leak { "" } else { "  WRONG" };
            println!("    called a leak from {:.0} s on{wrong}", called.seconds);
        }
        if let (Some(rate), Some(last)) = (truth.rate, moments.last()) {
            let told = &last.verdict.rate;
            println!(
                "    rate {:.0} ({:.0} to {:.0}), truth {rate:.0}",
                told.value, told.low, told.high
            );
        }
        self.outlook(moments, peak);
    }

    fn outlook(&mut self, moments: &[Moment], peak: f64) {
        let end = moments.last().map_or(0.0, |last| last.seconds);
        let asked: Vec<(f64, f64, f64)> = moments
            .iter()
            .filter(|m| m.seconds >= FROM * end && m.seconds < end)
            .filter_map(|m| {
                // Where the number of steps is not known it speaks of an hour, not of this run.
                let outlook = m.verdict.outlook.as_ref().filter(|o| o.ends_at.is_some())?;
                Some((m.seconds, outlook.needs.low, outlook.needs.high))
            })
            .collect();
        // Rounding is no miss.
        let holds =
            |(_, low, high): &&(f64, f64, f64)| *low <= 1.001 * peak && *high >= 0.999 * peak;
        let held = asked.iter().filter(holds).count();
        let mut widths: Vec<f64> = asked
            .iter()
            .map(|(_, low, high)| (high - low) / peak)
            .collect();
        if asked.is_empty() {
            println!(
                "    needed {:.0} MB; no outlook until its last step",
                peak / 1e6
            );
            return;
        }
        println!(
            "    needed {:.0} MB; the outlook held that in {held} of {} answers, median width {:.0} %",
            peak / 1e6,
            asked.len(),
            100.0 * middle(&mut widths)
        );
        if let Some((seconds, low, high)) = asked.iter().find(|one| !holds(one)) {
            println!(
                "    first miss at {seconds:.0} s: {:.0} to {:.0} MB",
                low / 1e6,
                high / 1e6
            );
        }
        self.held += held;
        self.asked += asked.len();
        self.runs += 1;
        self.runs_held += usize::from(held as f64 >= 0.92 * asked.len() as f64);
        self.widths.extend(widths);
    }

    fn print(mut self) {
        println!(
            "\naccused {} of {} harmless; told {} of {} leaks; the outlook held in {} of {} answers = {:.3} (median width {:.0} %), in 92 % of them or more in {} of {} runs",
            self.accused,
            self.harmless,
            self.told,
            self.leaks,
            self.held,
            self.asked,
            self.held as f64 / self.asked.max(1) as f64,
            100.0 * middle(&mut self.widths),
            self.runs_held,
            self.runs,
        );
    }
}

/// `too-early 0 s, growing 21 s, warm-up 300 s`; what stood for one answer only is marked.
fn spans(moments: &[Moment]) -> String {
    let mut spans: Vec<(String, f64, usize)> = Vec::new();
    for moment in moments {
        let word = match moment.verdict.is_under_way() {
            true => "warm-up under way".to_owned(),
            false => moment.verdict.word(),
        };
        match spans.last_mut() {
            Some((last, _, many)) if *last == word => *many += 1,
            _ => spans.push((word, moment.seconds, 1)),
        }
    }
    let told: Vec<String> = spans
        .iter()
        .map(|(word, since, many)| {
            let once = if *many == 1 { "!" } else { "" };
            format!("{word}{once} {since:.0} s")
        })
        .collect();
    told.join(", ")
}

fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
