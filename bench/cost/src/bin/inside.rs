//! What reading a training loop's own objects costs: `inside PID [READS]` prints one JSON object; `inside PID follow SECONDS`
//! reads twice a second, as `lowtide` does, and prints nothing.

use std::time::{Duration, Instant};

use lowtide_census::Follower;
use lowtide_core::process::ProcId;
use lowtide_sys::proc::Proc;

/// Longer than any search that is worth measuring.
const WITHIN: Duration = Duration::from_secs(60);
const SEARCHES: usize = 5;
const READS: usize = 2000;
/// As often as the program does.
const EVERY: Duration = Duration::from_millis(500);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |nth: usize| arguments.get(nth).and_then(|word| word.parse::<u64>().ok());
    let pid = number(0).expect("usage: inside PID [READS], inside PID follow SECONDS") as u32;
    let proc = Proc::at("/proc").expect("/proc can be listed");
    let mut follower = match Follower::open(proc, ProcId { pid, start: 0 }) {
        Ok(follower) => follower,
        Err(refusal) => panic!("{refusal}"),
    };
    match arguments.get(1).map(String::as_str) {
        Some("follow") => follow(&mut follower, number(2).expect("seconds")),
        _ => measure(
            &mut follower,
            number(1).map_or(READS, |reads| reads as usize),
        ),
    }
}

fn follow(follower: &mut Follower, seconds: u64) {
    let began = Instant::now();
    follower.search(WITHIN).expect("it can be read");
    while began.elapsed() < Duration::from_secs(seconds) && follower.read().is_ok() {
        std::thread::sleep(EVERY);
    }
}

fn measure(follower: &mut Follower, reads: usize) {
    let mut searches = Vec::new();
    let mut objects = 0;
    for _ in 0..SEARCHES {
        let searched = follower.search(WITHIN).expect("it can be read");
        searches.push(searched.cost.0 as f64);
        objects = searched.objects;
    }
    let first = follower.read().expect("it can be read");
    let inside = &first.inside;
    let counts = !inside.trainers.is_empty() || !inside.passes.is_empty();
    assert!(counts, "there is a loop to be read: {first:?}");
    let mut each: Vec<f64> = (0..reads)
        .map(|_| {
            let began = Instant::now();
            let now = follower.read().expect("it can be read");
            std::hint::black_box(now);
            began.elapsed().as_nanos() as f64 / 1000.0
        })
        .collect();
    println!(
        "{{\"objects\": {objects}, \"search_us\": {:.0}, \"read_us\": {:.1}, \"read_p99_us\": {:.1}}}",
        at(&mut searches, 0.5),
        at(&mut each, 0.5),
        at(&mut each, 0.99),
    );
}

fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share) as usize]
}
