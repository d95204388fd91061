//! What an allocator keeps of what was freed: it comes close to a level, and wanders about it.

use super::shape::{BEGIN, Place, Shape, fading, stairs, wander};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting, prior};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "fragmentation",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("fragmentation-plateau", plateau),
    kind("fragmentation-holes", holes),
    kind("fragmentation-arenas", arenas),
    kind("fragmentation-after-rounds", after_rounds),
];

fn wanders(shape: Shape, setting: &Setting, random: &mut Random, most: f64) -> Shape {
    let deviation = setting.base * random.log_between(0.001, most);
    let lasts = setting.steps * random.log_between(0.003, 0.1);
    let line = wander(random.fork(), deviation, lasts);
    shape.swings(line)
}

fn plateau(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random) / 4.0;
    let shape = fading(setting, random, 0.0, move |step| -(-step / length).exp_m1());
    Some(wanders(shape, setting, random, 0.02))
}

/// Holes of all sizes: small ones are used up soon, large ones late, so that it bends slowly.
fn holes(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    let power = random.between(1.0, 2.5);
    let shape = fading(setting, random, 0.0, move |step| {
        1.0 - (1.0 + 10.0 * step / length).powf(-power)
    });
    Some(wanders(shape, setting, random, 0.015))
}

/// An arena for each thread that allocates, the last of which does so late.
fn arenas(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (count, length) = (random.whole(4, 64), setting.store(random) / 4.0);
    let mut times: Vec<f64> = (0..count).map(|_| length * random.exponential()).collect();
    times.sort_by(f64::total_cmp);
    let seen = times.iter().filter(|step| **step <= setting.steps).count();
    if seen == 0 {
        return None;
    }
    let each = setting.growth(random) / seen as f64;
    let end = Place::Step(times[count - 1]);
    let levels = times.iter().zip(1..);
    let levels = levels.map(|(step, nth)| (*step, each * f64::from(nth)));
    let shape = Shape::fills(BEGIN, end, stairs(levels.collect()));
    Some(wanders(shape, setting, random, 0.01))
}

/// Each evaluation leaves less behind than the one before: the holes of the last one serve.
fn after_rounds(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let rounds = setting.evaluations?;
    let fade: f64 = random.between(0.3, 0.92);
    let share = move |step: f64| 1.0 - fade.powf(rounds.done(step));
    let whole = setting.growth(random) / share(setting.steps);
    let left = prior::NEGLIGIBLE * (setting.base + whole) / whole;
    let last = (left.ln() / fade.ln()).ceil().max(1.0);
    let end = Place::Step(last * rounds.every);
    let begin = Place::Step(rounds.every);
    Some(Shape::fills(begin, end, move |now| whole * share(now.step)))
}
