//! A thousand runs in the quick tests; `simulate` plays millions. A promise that is broken in one of them fails
//! here, with the seeds to tell.

use std::collections::BTreeMap;

use lowtide_simulate::{Fault, play, play_resumable};

const RUNS: u64 = 1000;
#[test]
fn the_guard_keeps_its_promises() {
    let mut broken: BTreeMap<Fault, Vec<u64>> = BTreeMap::new();
    for seed in 0..RUNS {
        for fault in play(seed, false).faults {
            broken.entry(fault).or_default().push(seed);
        }
    }
    assert!(
        broken.is_empty(),
        "cargo run --release -p lowtide-simulate -- --seed N tells one of {broken:?}"
    );
}

/// Runs in which a promise was broken once, by what was wrong.
const MENDED: &[(&str, &[u64])] = &[
    (
        "a save took what stairs had added",
        &[1_000_850, 1_004_269, 1_019_556, 1_020_391],
    ),
    (
        "few looks at steps that go up and down: only the kernel's peaks show the leak",
        &[814, 1_002_607, 1_003_359, 1_007_423, 1_012_827, 1_019_272],
    ),
    (
        "four ticks were taken for dense that left a step's floor out",
        &[1_004_866, 1_010_123],
    ),
    ("floors that a save shows were not believed", &[1_015_265]),
    (
        "a stair that had come before was killed as unheard of",
        &[1_012_017, 1_017_166],
    ),
    (
        "a save of its own before the stop was taken for the answer",
        &[2_016_185, 2_021_906, 2_035_039],
    ),
    (
        "a request that was written late was held against it",
        &[2_063_027],
    ),
    ("steps that became slow were not waited for", &[2_006_621]),
    ("a run at its end was ended", &[2_031_599]),
    (
        "one tick between two that are tight began all anew",
        &[2_005_444],
    ),
    (
        "ranks were torn by a wait that was forgotten too soon",
        &[2_062_048],
    ),
    ("who does not listen was asked ever earlier", &[1_009_945]),
    (
        "a step that stalled before the stop was not waited for",
        &[100_110_678, 100_576_175, 100_618_329],
    ),
];

#[test]
fn what_was_found_stays_mended() {
    for (what, seeds) in MENDED {
        for seed in *seeds {
            let faults = play_resumable(*seed).faults;
            assert!(faults.is_empty(), "{what}: seed {seed}: {faults:?}");
        }
    }
}

#[test]
fn jobs_that_cannot_go_on_are_played_too() {
    let spared = (0..RUNS).filter(|seed| play(*seed, false).spared).count();
    assert!(spared > 10, "{spared}");
}

#[test]
fn a_run_is_the_same_each_time() {
    let (once, again) = (play(7, true), play(7, true));
    assert_eq!(once.story, again.story);
    assert_eq!(once.looks, again.looks);
}
