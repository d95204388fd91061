//! Plays many runs, or tells one:
//!
//!     cargo run --release -p lowtide-simulate -- --runs 10000000
//!     cargo run --release -p lowtide-simulate -- --seed 42

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Parser;
use lowtide_simulate::{Fault, Outcome, play};

/// Seeds that are named for each kind of fault.
const NAMED: usize = 8;
/// Runs that a thread takes at once.
const BATCH: u64 = 1000;

#[derive(Parser)]
#[command(about)]
struct Options {
    /// How many runs to play.
    #[arg(long, default_value_t = 100_000)]
    runs: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Tell the run of this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// As many as there are cores.
    #[arg(long)]
    threads: Option<usize>,
}

#[derive(Default)]
struct Sum {
    runs: u64,
    finished: u64,
    stops: u64,
    lost: u64,
    lost_known: u64,
    repeated: u64,
    looks: u64,
    faults: BTreeMap<Fault, Vec<u64>>,
    counts: BTreeMap<Fault, u64>,
}

impl Sum {
    fn add(&mut self, seed: u64, run: &Outcome) {
        self.runs += 1;
        self.finished += u64::from(run.finished);
        self.stops += u64::from(run.stops);
        self.lost += u64::from(run.lost);
        self.lost_known += u64::from(run.lost_known);
        self.repeated += run.repeated;
        self.looks += run.looks;
        for fault in &run.faults {
            *self.counts.entry(*fault).or_default() += 1;
            let seeds = self.faults.entry(*fault).or_default();
            if seeds.len() < NAMED {
                seeds.push(seed);
            }
        }
    }

    fn join(&mut self, other: Sum) {
        self.runs += other.runs;
        self.finished += other.finished;
        self.stops += other.stops;
        self.lost += other.lost;
        self.lost_known += other.lost_known;
        self.repeated += other.repeated;
        self.looks += other.looks;
        for (fault, count) in other.counts {
            *self.counts.entry(fault).or_default() += count;
        }
        for (fault, seeds) in other.faults {
            let known = self.faults.entry(fault).or_default();
            known.extend(seeds);
            known.sort_unstable();
            known.truncate(NAMED);
        }
    }
}

fn main() {
    let options = Options::parse();
    if let Some(seed) = options.seed {
        let run = play(seed, true);
        print!("{}", run.story.as_deref().unwrap_or_default());
        println!("{:?}", Outcome { story: None, ..run });
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(cores).max(1);
    let next = AtomicU64::new(options.from);
    let end = options.from.saturating_add(options.runs);
    let began = Instant::now();
    let mut sum = Sum::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(&next, end)))
            .collect();
        for worker in workers {
            sum.join(worker.join().expect("a run panicked"));
        }
    });
    println!(
        "{} runs from seed {} in {:.0} s, {} looks: {} ran to their end, {} stops as asked, {} attempts lost ({} of willing jobs that were known) with {} steps",
        sum.runs,
        options.from,
        began.elapsed().as_secs_f64(),
        sum.looks,
        sum.finished,
        sum.stops,
        sum.lost,
        sum.lost_known,
        sum.repeated
    );
    for (fault, seeds) in &sum.faults {
        println!(
            "{fault:?}: {} times, for instance --seed {seeds:?}",
            sum.counts[fault]
        );
    }
    if sum.faults.is_empty() {
        println!("no promise was broken");
    } else {
        std::process::exit(1);
    }
}

fn work(next: &AtomicU64, end: u64) -> Sum {
    let mut sum = Sum::default();
    loop {
        let from = next.fetch_add(BATCH, Ordering::Relaxed);
        if from >= end {
            return sum;
        }
        for seed in from..end.min(from + BATCH) {
            sum.add(seed, &play(seed, false));
        }
    }
}
