//! A thousand runs in the quick tests; `simulate` plays millions. A promise that is broken in more of them than
//! is known today fails here, with the seeds to tell.

use std::collections::BTreeMap;

use lowtide_simulate::{Fault, play};

const RUNS: u64 = 1000;
/// What is known: in seed 814 the limit is met, because looks as few and as late as there show too little.
const KNOWN: u64 = 1;

#[test]
fn the_guard_keeps_its_promises() {
    let mut broken: BTreeMap<Fault, Vec<u64>> = BTreeMap::new();
    for seed in 0..RUNS {
        for fault in play(seed, false).faults {
            broken.entry(fault).or_default().push(seed);
        }
    }
    let count: usize = broken.values().map(Vec::len).sum();
    assert!(
        count as u64 <= KNOWN,
        "cargo run --release -p lowtide-simulate -- --seed N tells one of {broken:?}"
    );
}

#[test]
fn a_run_is_the_same_each_time() {
    let (once, again) = (play(7, true), play(7, true));
    assert_eq!(once.story, again.story);
    assert_eq!(once.looks, again.looks);
}
