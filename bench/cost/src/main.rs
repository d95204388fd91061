//! What watching costs: `bench-cost PID SECONDS [PERCENT]` ticks once a second, with that budget for
//! careful looks, and prints one JSON object at the end. `bench/cost` runs it next to other tools.

use std::time::{Duration, Instant};

use lowtide_core::sample::Sample;
use lowtide_core::units::{Micros, Share};
use lowtide_sys::sampler::{Options, Sampler};

fn main() {
    let arguments: Vec<u32> = std::env::args()
        .skip(1)
        .map(|argument| {
            argument
                .parse()
                .expect("usage: bench-cost PID SECONDS [PERCENT]")
        })
        .collect();
    let (pid, seconds, percent) = match arguments[..] {
        [pid, seconds] => (pid, seconds, None),
        [pid, seconds, percent] => (pid, seconds, Some(percent)),
        _ => panic!("usage: bench-cost PID SECONDS [PERCENT]"),
    };
    let mut options = Options::new(vec![pid]);
    if let Some(percent) = percent {
        options.budget = Share(f64::from(percent) / 100.0);
    }
    let mut sampler = Sampler::new(options).expect("the process exists");
    let mut sample = Sample::default();
    let began = Instant::now();
    let mut first = None;
    let mut steady = None;
    for tick in 0..=seconds {
        let due = Duration::from_secs(u64::from(tick));
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        let now = Micros(began.elapsed().as_micros() as u64);
        sampler.tick(now, &mut sample).expect("/proc can be listed");
        if tick == 0 {
            first = Some(sampler.spent());
        }
        // Start-up (first looks, facts) is told apart from the steady state.
        if tick == seconds / 2 {
            steady = Some(sampler.spent());
        }
    }
    let (first, half, all) = (first.unwrap(), steady.unwrap(), sampler.spent());
    let ticks = (all.ticks - half.ticks).max(1);
    println!(
        "{{\"processes\": {}, \"ticks\": {}, \"first_us\": {}, \"all_us\": {}, \"locked_us\": {}, \"steady_us_per_tick\": {}, \"steady_locked_us_per_tick\": {}, \"rss_kb\": {}, \"held\": {}, \"basis\": \"{:?}\"}}",
        sample.readings.len(),
        all.ticks,
        first.cpu.0,
        all.cpu.0,
        all.locked.0,
        (all.cpu.0 - half.cpu.0) / ticks,
        (all.locked.0 - half.locked.0) / ticks,
        own_rss(),
        sample.tree.held.0,
        sample.tree.basis,
    );
}

fn own_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}
