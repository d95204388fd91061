//! How fast the judge is: one long series, and many short ones. Medians of repeated runs on one core.

use std::hint::black_box;
use std::time::Instant;

use lowtide_core::point::{Context, Point};
use lowtide_core::verdict::{Axis, Meter};

use crate::rules::{Question, Rule};
use crate::stats::{Random, median};

const LONG: usize = 1_000_000;
const LONG_RUNS: usize = 9;
const MANY: usize = 100_000;
const MANY_POINTS: usize = 240;
const MANY_RUNS: usize = 3;

/// A start-up, then teeth over a floor that rises or not, with noise: no case is a short cut.
fn series(points: usize, random: &mut Random, leaks: bool) -> Vec<Point> {
    let n = points as f64;
    (0..points)
        .map(|i| {
            let share = i as f64 / n;
            let start = 400e6 * (1.0 - (-share * 20.0).exp());
            let tooth = 50e6 * (share * 37.0).fract();
            let leak = if leaks { 300e6 * share } else { 0.0 };
            Point::new(i as f64, 1e9 + start + tooth + leak + 5e6 * random.unit())
        })
        .collect()
}

pub fn report(judge: &Rule) {
    println!("\nSpeed, one core, medians (build it with --release)");
    let mut random = Random(1);
    let context = Context::default();
    let ask = |points: &[Point]| {
        black_box((judge.ask)(Question {
            points,
            axis: Axis::Time,
            meter: Meter::Held,
            context: &context,
        }))
    };
    let milliseconds = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };

    let long = series(LONG, &mut random, true);
    let times: Vec<f64> = (0..LONG_RUNS)
        .map(|_| milliseconds(&mut || drop(ask(&long))))
        .collect();
    println!(
        "  one series of {LONG} points: {:.1} ms (asked: under 100)",
        median(&times)
    );

    // A hundred different series in turn: they stay in the cache as a collector's would.
    let some: Vec<Vec<Point>> = (0..100)
        .map(|i| series(MANY_POINTS, &mut random, i % 2 == 0))
        .collect();
    let times: Vec<f64> = (0..MANY_RUNS)
        .map(|_| {
            milliseconds(&mut || {
                for i in 0..MANY {
                    ask(&some[i % some.len()]);
                }
            })
        })
        .collect();
    println!(
        "  {MANY} series of {MANY_POINTS} points: {:.2} s (asked: under 5)",
        median(&times) / 1e3
    );
}
