//! What is kept once per example, from the first step on or from a later one, told from growth that goes on: shapes
//! made from seeds, with noise, gaps and epochs of 10 to 300 steps, for 1.2 to 4.2 times as long as growth has to go on
//! until it is surely a leak, judged at sixty moments of each.

use lowtide_core::judge::judge;
use lowtide_core::judge::prior::{Lasted, Prior};
use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point};
use lowtide_core::series::Series;
use lowtide_core::verdict::{Axis, Class, Meter};

const RUNS: u64 = 200;
const MOMENTS: usize = 60;
const MB: f64 = 1e6;

/// Numbers from a seed (xorshift), from 0 to 1.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(2_654_435_761));
        (0..9).for_each(|_| {
            random.next();
        });
        random
    }

    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Steps, in epochs of so many and without a clock.
fn surely_leaks_after(epoch: f64) -> f64 {
    let lasted = |steps: f64| Lasted {
        told: false,
        epochs: Some(steps / epoch),
        steps: Some(steps),
        seconds: None,
    };
    Prior::PUBLISHED.sure_after(lasted).unwrap()
}

/// How many of the runs are called a leak at any moment. `shape` is told the epochs since the run began and those
/// after which something begins to be kept, and says how much of it is there.
fn accused(shape: impl Fn(f64, f64) -> f64) -> u64 {
    (0..RUNS).filter(|seed| is_accused(*seed, &shape)).count() as u64
}

fn is_accused(seed: u64, shape: impl Fn(f64, f64) -> f64) -> bool {
    let mut random = Random::new(seed);
    let epoch = (10.0 * 30f64.powf(random.next())).round();
    let steps = (surely_leaks_after(epoch) * (1.2 + 3.0 * random.next())) as u64;
    let size = 50.0 * 20f64.powf(random.next());
    let noise = 0.02 * size * random.next();
    let (begins, gaps) = (3.0 * random.next(), 0.7 * random.next());
    let mut points = Vec::new();
    for step in 0..steps {
        let x = step as f64;
        let held = 1000.0 + size * shape(x / epoch, begins) + noise * random.next();
        if random.next() >= gaps {
            points.push(Point::new(x, MB * held));
        }
    }
    let context = Context {
        geometry: Geometry {
            epoch_steps: Some(epoch),
            ..Geometry::default()
        },
        ..Context::default()
    };
    let mut series = Series::new(Axis::Step, Meter::Held);
    let every = (points.len() / MOMENTS).max(1);
    points.iter().enumerate().any(|(at, point)| {
        series.push(*point);
        let asked = at % every == 0 || at + 1 == points.len();
        asked && judge(&series, &context).verdict == Class::Leak
    })
}

#[test]
fn a_first_pass_is_never_accused() {
    assert_eq!(accused(|epochs, _| epochs.min(1.0)), 0);
}

#[test]
fn a_pass_that_began_later_is_never_accused() {
    assert_eq!(
        accused(|epochs, begins| (epochs - begins).clamp(0.0, 1.0)),
        0
    );
}

#[test]
fn a_store_that_fades_is_never_accused() {
    let fills = |epochs: f64| 1.0 - (-epochs.max(0.0)).exp();
    assert_eq!(accused(|epochs, _| fills(epochs)), 0);
    assert_eq!(accused(|epochs, begins| fills(epochs - begins)), 0);
}

/// Runs are longer than growth has to go on: nearly all of them show it, and most if it began later.
#[test]
fn growth_that_goes_on_is_found() {
    let found = accused(|epochs, _| epochs);
    assert!(found >= RUNS * 95 / 100, "{found} of {RUNS}");
    let found = accused(|epochs, begins| (epochs - begins).max(0.0));
    assert!(found >= RUNS * 75 / 100, "{found} of {RUNS}");
}
