//! What is said of a run's levels: an interpreter's start is no part of its loop.

use super::guarded::GuardedJob;
use super::*;
use crate::mark::Geometry;

const MB: f64 = 1e6;

/// Nine megabytes, then torch, and ten seconds later the first step at 800 MB.
fn with_start_up(steps: bool) -> Run {
    let mut job = GuardedJob::new();
    job.silent(0..10, |second| if second < 5 { 9.0 } else { 400.0 });
    if steps {
        job.steps(0..200, Geometry::default(), |_| 800.0);
    } else {
        job.silent(10..210, |_| 800.0);
    }
    job.run
}

#[test]
fn the_least_is_that_of_the_loop() {
    let run = with_start_up(true);
    let summary = run.summary();
    let held = summary.watched.unwrap().held;
    for spread in [held, summary.tree] {
        let Spread {
            min,
            mean,
            max,
            floor_first,
            floor_last,
        } = spread;
        for level in [min, mean, max, floor_first, floor_last] {
            assert!((800.0 * MB..801.0 * MB).contains(&level), "{spread:?}");
        }
    }
    let track = run.watched().unwrap().0;
    assert!(run.least(track) >= 800.0 * MB);
    assert_eq!(track.held.min, 9.0 * MB, "which was seen all the same");
}

/// Nobody counts steps: the loop begins where growth ended.
#[test]
fn without_steps_the_least_is_that_of_the_plateau() {
    let held = with_start_up(false).summary().watched.unwrap().held;
    assert_eq!((held.min, held.floor_first), (800.0 * MB, 800.0 * MB));
    assert_eq!(held.mean, 800.0 * MB);
}

/// What loading took for a moment was needed, and stays the most.
#[test]
fn the_most_is_that_of_the_whole_run() {
    let mut job = GuardedJob::new();
    job.silent(0..10, |_| 1500.0);
    job.steps(0..100, Geometry::default(), |_| 800.0);
    let held = job.run.summary().watched.unwrap().held;
    assert_eq!((held.min, held.max), (800.0 * MB, 1500.0 * MB));
}
