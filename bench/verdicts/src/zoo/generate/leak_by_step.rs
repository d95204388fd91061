//! Leaks that keep something each step, or each second.

use super::shape::{BEGIN, Pace, Place, Shape};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting, prior};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "leak-by-step",
        leak: true,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("leak-per-step", |setting, random| {
        let height = setting.growth(random);
        Some(from(setting, random, 0.0, height))
    }),
    kind("leak-per-second", per_second),
    kind("leak-late", late),
    kind("leak-slow-under-noise", slow),
    kind("leak-under-buffers", |setting, random| {
        let large = setting.buffers?.bytes > 0.05 * setting.base;
        let height = setting.growth(random);
        large.then(|| from(setting, random, 0.0, height))
    }),
];

/// Keeps about the same each step from an onset on, `height` in all.
pub(super) fn from(setting: &Setting, random: &mut Random, onset: f64, height: f64) -> Shape {
    let pace = Pace::draw(random);
    let left = setting.steps - onset;
    Shape::leaks(Place::Step(onset), move |now| {
        height * pace.at((now.step - onset) / left)
    })
}

/// A thread beside the loop: heartbeats, a poller of counters, a logger.
fn per_second(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let rate = setting.growth(random) / setting.seconds();
    Some(Shape::leaks(BEGIN, move |now| rate * now.seconds))
}

/// Something begins in the middle of the run: a phase, a schedule, a branch that was not taken before.
fn late(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let onset = setting.steps * random.between(0.15, 0.8);
    let height = setting.growth(random);
    Some(from(setting, random, onset, height))
}

/// As little as counts, under the most noise.
fn slow(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let height = setting.base * prior::GROWTH.low * random.log_between(1.0, 2.5);
    Some(Shape {
        noise: random.between(0.006, 0.01),
        ..from(setting, random, 0.0, height)
    })
}
