//! Saw-teeth of every period: memory is given back at once, by a collector, a flush or the end of an epoch.

use super::shape::{BEGIN, Place, Shape, teeth, uneven_teeth, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "saw-tooth",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("saw-tooth-any-period", |setting, random| {
        let period = random.log_between(2.0, setting.steps);
        Some(even(setting, random, period))
    }),
    kind("saw-tooth-per-epoch", |setting, random| {
        Some(even(setting, random, setting.epoch))
    }),
    kind("saw-tooth-per-evaluation", |setting, random| {
        Some(even(setting, random, setting.evaluations?.every))
    }),
    kind("saw-tooth-collector", collector),
    kind("saw-tooth-by-time", by_time),
    kind("saw-tooth-few", |setting, random| {
        let period = setting.steps * random.between(0.25, 0.8);
        Some(even(setting, random, period))
    }),
    kind("saw-tooth-two-periods", two),
];

fn even(setting: &Setting, random: &mut Random, period: f64) -> Shape {
    let height = whole(setting, random, |step| (step / period).min(1.0));
    Shape::fills(BEGIN, Place::Step(period), |_| 0.0).swings(teeth(period, height))
}

/// A collector that runs after so much garbage: its periods vary with what a step leaves.
fn collector(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let period = random.log_between(3.0, setting.steps / 2.0);
    let sigma = random.between(0.1, 0.5);
    let first = period * random.factor(sigma);
    let height = setting.growth(random).min(setting.base);
    let shape = Shape::fills(BEGIN, Place::Step(first), |_| 0.0);
    Some(shape.swings(uneven_teeth(random.fork(), first, period, sigma, height)))
}

/// A timer flushes.
fn by_time(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let period = setting.expiry(random);
    let height = setting.growth(random) / (setting.seconds() / period).min(1.0);
    let shape = Shape::fills(BEGIN, Place::Seconds(period), |_| 0.0);
    Some(shape.swings(move |now| height * (now.seconds / period).fract()))
}

/// Small teeth on large ones: what a small one gives back is not all.
fn two(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let long = random.log_between(20.0, setting.steps);
    let short = long / random.log_between(4.0, 40.0);
    let height = random.between(0.1, 0.6) * setting.base;
    let mut small = teeth(short, height);
    let mut shape = even(setting, random, long);
    let mut large = std::mem::replace(&mut shape.swing, Box::new(|_| 0.0));
    Some(shape.swings(move |now| large(now) + small(now)))
}
