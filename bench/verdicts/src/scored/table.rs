//! The score by family, with intervals by bootstrap over families: runs of one mechanism are not independent.

use std::collections::BTreeMap;

use super::Scored;
use crate::stats::{Random, median, quantile};

const RESAMPLES: usize = 2000;
const SEED: u64 = 14;

/// Who was accused or found, of whom.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub hits: usize,
    pub of: usize,
}

impl Share {
    pub fn add(&mut self, hit: bool) {
        self.hits += usize::from(hit);
        self.of += 1;
    }

    pub fn value(self) -> f64 {
        self.hits as f64 / self.of as f64
    }

    fn shown(self) -> String {
        match self.of {
            0 => "-".to_owned(),
            of => format!("{} of {of}", self.hits),
        }
    }
}

/// Harmless runs that were accused at any moment.
pub fn accused<'a>(runs: impl IntoIterator<Item = &'a Scored>) -> Share {
    let mut share = Share::default();
    let harmless = runs.into_iter().filter(|run| !run.leak);
    harmless.for_each(|run| share.add(run.accused.is_some()));
    share
}

/// Leaks that were told at the end, of those that could be known.
pub fn found<'a>(runs: impl IntoIterator<Item = &'a Scored>) -> Share {
    use lowtide_core::verdict::Class;
    let mut share = Share::default();
    let leaks = runs.into_iter().filter(|run| run.leak && run.knowable);
    leaks.for_each(|run| share.add(run.end == Class::Leak));
    share
}

/// Leaks that were called one before they began.
pub fn too_soon<'a>(runs: impl IntoIterator<Item = &'a Scored>) -> Share {
    let mut share = Share::default();
    let leaks = runs.into_iter().filter(|run| run.leak);
    leaks.for_each(|run| share.add(run.accused.is_some()));
    share
}

/// Leaks that were called calm at the end.
pub fn missed<'a>(runs: impl IntoIterator<Item = &'a Scored>) -> Share {
    let mut share = Share::default();
    let leaks = runs.into_iter().filter(|run| run.leak && run.knowable);
    leaks.for_each(|run| share.add(run.missed));
    share
}

fn by_family(runs: &[Scored]) -> BTreeMap<&str, Vec<&Scored>> {
    let mut families: BTreeMap<&str, Vec<&Scored>> = BTreeMap::new();
    for run in runs {
        families.entry(&run.family).or_default().push(run);
    }
    families
}

/// The same share with other families: its 95 % interval.
pub fn interval(runs: &[Scored], of: fn(Vec<&Scored>) -> Share) -> (f64, f64) {
    let families: Vec<Vec<&Scored>> = by_family(runs).into_values().collect();
    let mut random = Random(SEED);
    let values: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn =
                (0..families.len()).flat_map(|_| families[random.below(families.len())].clone());
            of(drawn.collect()).value()
        })
        .collect();
    (quantile(&values, 0.025), quantile(&values, 0.975))
}

/// Both scores side by side: fitted with all families, and each without its own.
pub fn print(title: &str, with: &[Scored], without: &[Scored]) {
    println!("\n{title}");
    println!(
        "  {:24}{:>6}{:>16}{:>16}{:>16}{:>16}{:>12}",
        "family", "runs", "accused", "left out", "leaks found", "left out", "called calm"
    );
    let left_out = by_family(without);
    for (family, runs) in by_family(with) {
        let out = left_out.get(family).cloned().unwrap_or_default();
        println!(
            "  {family:24}{:>6}{:>16}{:>16}{:>16}{:>16}{:>12}",
            runs.len(),
            accused(runs.iter().copied()).shown(),
            accused(out.iter().copied()).shown(),
            found(runs.iter().copied()).shown(),
            found(out.iter().copied()).shown(),
            missed(out.iter().copied()).shown(),
        );
    }
    for (name, runs) in [("all families fitted", with), ("family left out", without)] {
        summary(name, runs);
    }
    worst(without);
}

fn shown(runs: &[Scored], of: fn(Vec<&Scored>) -> Share) -> String {
    let share = of(runs.iter().collect());
    let (low, high) = interval(runs, of);
    format!(
        "{} = {:.1} % [{:.1}, {:.1}]",
        share.shown(),
        100.0 * share.value(),
        100.0 * low,
        100.0 * high
    )
}

/// One line of totals.
pub fn summary(name: &str, runs: &[Scored]) {
    println!(
        "  {name}: accused {}; leaks called before they began {}; leaks found {}, called calm {}",
        shown(runs, |runs| accused(runs)),
        too_soon(runs).shown(),
        shown(runs, |runs| found(runs)),
        missed(runs).shown(),
    );
    let answers = |leak: bool| -> Vec<f64> {
        let those = runs
            .iter()
            .filter(|run| run.leak == leak && (run.knowable || !leak));
        those.filter_map(|run| run.answered).collect()
    };
    let rates: Vec<(bool, f64)> = runs.iter().filter_map(|run| run.rate).collect();
    let mut rate = Share::default();
    rates.iter().for_each(|(held, _)| rate.add(*held));
    let widths: Vec<f64> = rates.iter().map(|(_, width)| *width).collect();
    let mut outlook = Share::default();
    outlook.hits = runs.iter().map(|run| run.outlook.held).sum();
    outlook.of = runs.iter().map(|run| run.outlook.asked).sum();
    let ranges: Vec<f64> = runs
        .iter()
        .flat_map(|run| run.outlook.widths.clone())
        .collect();
    if outlook.of == 0 {
        println!(
            "    median seconds to the right answer: leaks {:.0} ({} answered), others {:.0}",
            median(&answers(true)),
            answers(true).len(),
            median(&answers(false)),
        );
        return;
    }
    println!(
        "    median seconds to the right answer: leaks {:.0} ({} answered), others {:.0}; rate held in {} = {:.3} (median width {:.0} %); outlook held in {} = {:.3} (median width {:.0} %)",
        median(&answers(true)),
        answers(true).len(),
        median(&answers(false)),
        rate.shown(),
        rate.value(),
        100.0 * median(&widths),
        outlook.shown(),
        outlook.value(),
        100.0 * median(&ranges),
    );
}

/// By name: who is accused most, and whose leaks are found least.
fn worst(runs: &[Scored]) {
    let families = by_family(runs);
    let most = families
        .iter()
        .map(|(family, runs)| (family, accused(runs.iter().copied())))
        .filter(|(_, share)| share.of > 0)
        .max_by(|a, b| a.1.value().total_cmp(&b.1.value()));
    let least = families
        .iter()
        .map(|(family, runs)| (family, found(runs.iter().copied())))
        .filter(|(_, share)| share.of > 0)
        .min_by(|a, b| a.1.value().total_cmp(&b.1.value()));
    if let Some((family, share)) = most {
        println!(
            "  worst family, harmless: {family}, accused {}",
            share.shown()
        );
    }
    if let Some((family, share)) = least {
        println!("  worst family, leaks: {family}, found {}", share.shown());
    }
    let mut kinds: BTreeMap<&str, Share> = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.leak) {
        kinds
            .entry(&run.kind)
            .or_default()
            .add(run.accused.is_some());
    }
    for (kind, share) in kinds.iter().filter(|(_, share)| share.hits > 0) {
        println!("    accused {kind}: {}", share.shown());
    }
    let mut kinds: BTreeMap<&str, Share> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.leak && run.knowable) {
        kinds
            .entry(&run.kind)
            .or_default()
            .add(run.end == lowtide_core::verdict::Class::Leak);
    }
    for (kind, share) in kinds.iter().filter(|(_, share)| share.hits < share.of) {
        println!("    found {kind}: {}", share.shown());
    }
    let mut kinds: BTreeMap<&str, Share> = BTreeMap::new();
    for run in runs {
        if let Some((held, _)) = run.rate {
            kinds.entry(&run.kind).or_default().add(held);
        }
    }
    for (kind, share) in kinds.iter().filter(|(_, share)| share.hits < share.of) {
        println!("    rate held {kind}: {}", share.shown());
    }
}
