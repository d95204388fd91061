//! High-water marks: memory stands where the largest input so far has put it, and inputs grow, by chance or
//! by plan, up to a largest one.

use super::shape::{BEGIN, Place, Shape, stairs};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "high-water",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    // Lengths are cut at a largest one, which comes after about so many steps.
    kind("high-water-stream", |setting, random| {
        let length = setting.store(random);
        let records = Records::draw(random, length, f64::INFINITY);
        records.shape(setting, random, |value| value)
    }),
    // The longest example of the data comes within the first pass.
    kind("high-water-of-data", |setting, random| {
        let records = Records::draw(random, f64::INFINITY, setting.epoch);
        records.shape(setting, random, |value| value)
    }),
    // A pool that hands out powers of two, and keeps them.
    kind("high-water-powers-of-two", |setting, random| {
        let records = Records::draw(random, f64::INFINITY, setting.epoch);
        records.shape(setting, random, |value| value.log2().ceil().exp2())
    }),
    kind("high-water-curriculum-by-epoch", |setting, random| {
        let length = setting.store_of_data(random);
        let stairs = (length / setting.epoch).round();
        (stairs >= 2.0).then(|| curriculum(setting, random, setting.epoch, stairs))?
    }),
    kind("high-water-curriculum-by-step", |setting, random| {
        let stairs = random.log_between(4.0, 200.0).round();
        let length = setting.store(random);
        curriculum(setting, random, length / stairs, stairs)
    }),
    kind("high-water-resizing", |setting, random| {
        let stairs = random.whole(2, 4) as f64;
        let length = setting.store(random);
        curriculum(setting, random, length / stairs, stairs)
    }),
];

/// The largest so far of lengths that are drawn each step: where it rose, and to what.
struct Records {
    rises: Vec<(f64, f64)>,
}

impl Records {
    /// Until the longest that there is, which is met in about `length` steps, or until a step.
    ///
    /// The chance that a length is above the largest so far says when the next is, and where that comes to
    /// stand is even in that chance: no single length need be drawn.
    fn draw(random: &mut Random, length: f64, until: f64) -> Records {
        // Lengths have a tail like `chance^-1/alpha`, or like `-ln chance`.
        let alpha = random.between(1.5, 5.0);
        let pareto = random.happens(0.5);
        let value = |chance: f64| match pareto {
            true => chance.powf(-1.0 / alpha),
            false => 1.0 - chance.ln(),
        };
        let batch = random.log_between(1.0, 64.0).round();
        let cut = (length * batch).recip().min(0.5);
        let (mut step, mut chance) = (0.0, 1.0);
        let mut rises = Vec::new();
        loop {
            step += random.exponential() / (chance * batch);
            if step > until {
                break;
            }
            chance *= random.unit();
            rises.push((step, value(chance.max(cut))));
            if chance <= cut {
                break;
            }
        }
        Records { rises }
    }

    /// Memory above that of the first batch; none where the run sees no rise.
    fn shape(
        self,
        setting: &Setting,
        random: &mut Random,
        bytes: impl Fn(f64) -> f64,
    ) -> Option<Shape> {
        // What the first steps see is the base.
        let first = self.rises.iter().rev().find(|(step, _)| *step <= 2.0);
        let first = bytes(first.or(self.rises.first())?.1);
        let mut levels: Vec<(f64, f64)> = Vec::new();
        for (step, value) in self.rises {
            let above = bytes(value) - first;
            if above > levels.last().map_or(0.0, |level| level.1) {
                levels.push((step, above));
            }
        }
        let seen = levels.iter().rev().find(|(step, _)| *step <= setting.steps);
        let scale = setting.growth(random) / seen?.1;
        levels.iter_mut().for_each(|level| level.1 *= scale);
        let end = Place::Step(levels[levels.len() - 1].0);
        Some(Shape::fills(BEGIN, end, stairs(levels)))
    }
}

/// Inputs grow by plan: so many stairs of so many steps. Memory goes with their length, or its square.
fn curriculum(setting: &Setting, random: &mut Random, steps: f64, count: f64) -> Option<Shape> {
    let power = random.between(1.0, 2.0);
    let level = move |nth: f64| (1.0 + nth).powf(power) - 1.0;
    let seen = (setting.steps / steps).floor().min(count);
    if seen < 1.0 {
        return None;
    }
    let scale = setting.growth(random) / level(seen);
    let end = Place::Step(steps * count);
    Some(Shape::fills(BEGIN, end, move |now| {
        scale * level((now.step / steps).floor().min(count))
    }))
}
