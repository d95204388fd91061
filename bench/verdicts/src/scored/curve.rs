//! Accused against found, as the prior is varied: both follow from how long stores are taken to fill.

use lowtide_core::judge::prior::Prior;
use lowtide_core::verdict::Class;

use super::Scored;
use super::drawn::{self, Judge};
use super::table::{accused, found};
use crate::zoo::Drawn;

/// How much longer or shorter harmless growth lasts, in what is believed or in truth.
const FACTORS: [f64; 7] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
/// How sure one has to be.
const SURE: [f64; 5] = [0.8, 0.9, 0.95, 0.97, 0.99];

/// `redrawn` draws the series anew, with stores that take so many times as long.
pub fn print(cases: &[Drawn], prior: Prior, redrawn: impl Fn(f64) -> Vec<Drawn>) {
    println!("\nAccused against found, as the prior is varied (generated series)");
    println!(
        "  {:44}{:>10}{:>10}{:>16}",
        "", "accused", "found", "of all leaks"
    );
    for factor in FACTORS {
        row(
            &format!("believed: stores take {factor} times as long"),
            cases,
            prior.times(factor),
            prior,
        );
    }
    for factor in FACTORS {
        row(
            &format!("true: stores take {factor} times as long"),
            &redrawn(factor),
            prior,
            prior,
        );
    }
    for sure in SURE {
        row(
            &format!("called a leak from {:.0} % on", 100.0 * sure),
            cases,
            Prior { sure, ..prior },
            prior,
        );
    }
}

fn row(name: &str, cases: &[Drawn], by: Prior, published: Prior) {
    let runs: Vec<Scored> = super::each(cases, |case| {
        let mut scored = drawn::score(case, Judge::Ours(&by));
        // Who could be known is the published prior's to say, whoever judges.
        scored.knowable = drawn::knowable(case, &published);
        scored
    });
    let leaks: Vec<&Scored> = runs.iter().filter(|run| run.leak).collect();
    let told = leaks.iter().filter(|run| run.end == Class::Leak).count();
    println!(
        "  {name:44}{:>8.1} %{:>8.1} %{:>14.1} %",
        100.0 * accused(&runs).value(),
        100.0 * found(&runs).value(),
        100.0 * told as f64 / leaks.len().max(1) as f64,
    );
}
