//! Leaks that keep something with each evaluation, save or epoch, or in blocks: stairs that never end.

use super::shape::{Place, Shape, stairs};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "leak-by-round",
        leak: true,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("leak-per-evaluation", |setting, random| {
        every(setting, random, setting.evaluations?.every)
    }),
    kind("leak-per-save", |setting, random| {
        every(setting, random, setting.saves?.every)
    }),
    kind("leak-per-epoch", |setting, random| {
        every(setting, random, setting.epoch)
    }),
    kind("leak-in-stairs", |setting, random| {
        let length = setting.steps / random.log_between(5.0, 100.0);
        every(setting, random, length)
    }),
];

/// Fewer stairs in a run are no pattern to anybody.
const FEWEST: f64 = 4.0;

/// About as much each time, or of all sizes.
fn every(setting: &Setting, random: &mut Random, steps: f64) -> Option<Shape> {
    let count = (setting.steps / steps).floor();
    if count < FEWEST {
        return None;
    }
    let sigma = random.between(0.0, 0.5) * f64::from(u8::from(random.happens(0.5)));
    let mut sum = 0.0;
    let mut levels: Vec<(f64, f64)> = (1..=count as usize)
        .map(|nth| {
            sum += random.factor(sigma);
            (steps * nth as f64, sum)
        })
        .collect();
    let scale = setting.growth(random) / sum;
    levels.iter_mut().for_each(|level| level.1 *= scale);
    Some(Shape {
        rate: Some(sum * scale / (count * steps)),
        ..Shape::leaks(Place::Step(steps), stairs(levels))
    })
}
