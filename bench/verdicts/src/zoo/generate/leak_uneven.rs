//! Leaks whose pace changes: faster, in bursts, ever slower without an end.

use super::shape::{BEGIN, Pace, Place, Shape, stairs};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "leak-uneven",
        leak: true,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("leak-accelerating", |setting, random| {
        let power = random.between(1.4, 3.0);
        Some(bent(setting, random, power))
    }),
    // Distinct things of a stream that never repeats, kept without a cap.
    kind("leak-fading-without-end", |setting, random| {
        let power = random.between(0.6, 0.85);
        Some(bent(setting, random, power))
    }),
    kind("leak-in-bursts", bursts),
    kind("leak-on-and-off", on_and_off),
    kind("leak-changes-pace", changes),
    kind("leak-of-all-sizes", |setting, random| {
        let sigma = random.between(0.7, 1.3);
        let (height, pace) = (setting.growth(random), Pace::uneven(random, sigma));
        let steps = setting.steps;
        Some(Shape::leaks(BEGIN, move |now| {
            height * pace.at(now.step / steps)
        }))
    }),
];

fn bent(setting: &Setting, random: &mut Random, power: f64) -> Shape {
    let (height, steps) = (setting.growth(random), setting.steps);
    Shape::leaks(BEGIN, move |now| height * (now.step / steps).powf(power))
}

/// A rare path keeps much when it is taken: errors with their tracebacks, outliers, retries.
fn bursts(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let mean = setting.steps / random.log_between(8.0, 80.0);
    let sigma = random.between(0.3, 1.2);
    let (mut step, mut sum, mut levels) = (0.0, 0.0, Vec::new());
    loop {
        step += mean * random.exponential();
        if step > setting.steps {
            break;
        }
        sum += random.factor(sigma);
        levels.push((step, sum));
    }
    if levels.len() < 4 {
        return None;
    }
    let scale = setting.growth(random) / sum;
    levels.iter_mut().for_each(|level| level.1 *= scale);
    let first = levels[0].0;
    Some(Shape {
        rate: Some(sum * scale / setting.steps),
        ..Shape::leaks(Place::Step(first), stairs(levels))
    })
}

/// Another phase of the training keeps more, or less, of the same.
fn changes(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let at = setting.steps * random.between(0.2, 0.8);
    let times = random.log_between(2.0, 10.0);
    let (before, after) = if random.happens(0.5) {
        (1.0, times)
    } else {
        (times, 1.0)
    };
    let kept = move |step: f64| before * step.min(at) + after * (step - at).max(0.0);
    let scale = setting.growth(random) / kept(setting.steps);
    Some(Shape::leaks(BEGIN, move |now| scale * kept(now.step)))
}

/// Only one of two alternating phases leaks.
fn on_and_off(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let cycles = random.log_between(3.0, 30.0).floor();
    let (period, on) = (setting.steps / cycles, random.between(0.15, 0.6));
    let each = setting.growth(random) / cycles;
    Some(Shape::leaks(BEGIN, move |now| {
        let cycle = (now.step / period).floor();
        each * (cycle + ((now.step / period - cycle) / on).min(1.0))
    }))
}
