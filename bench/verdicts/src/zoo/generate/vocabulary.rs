//! Caches of words: distinct ones come by Heaps' law, ever more rarely.

use super::shape::{BEGIN, Place, Shape, stairs, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "vocabulary",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("vocabulary-capped", |setting, random| {
        let length = setting.store(random);
        Some(heaps(setting, random, length))
    }),
    // The same texts come again in the next pass: no new words.
    kind("vocabulary-of-data", |setting, random| {
        Some(heaps(setting, random, setting.epoch))
    }),
    kind("vocabulary-long-words", long_words),
];

pub(super) fn heaps(setting: &Setting, random: &mut Random, length: f64) -> Shape {
    let power = random.between(0.5, 0.7);
    let share = move |step: f64| (step / length).min(1.0).powf(power);
    let whole = whole(setting, random, share);
    Shape::fills(BEGIN, Place::Step(length), move |now| {
        whole * share(now.step)
    })
}

/// A cache of so many entries, of which a few are very long: its level is made by those.
fn long_words(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    let (power, count) = (random.between(0.5, 0.7), random.whole(15, 80));
    let sigma = random.between(1.0, 1.8);
    let mut sum = 0.0;
    let mut levels: Vec<(f64, f64)> = (1..=count)
        .map(|nth| {
            sum += random.factor(sigma);
            (length * (nth as f64 / count as f64).powf(1.0 / power), sum)
        })
        .collect();
    let seen = levels.iter().rev().find(|(step, _)| *step <= setting.steps);
    let scale = setting.growth(random) / seen?.1;
    levels.iter_mut().for_each(|level| level.1 *= scale);
    Some(Shape::fills(BEGIN, Place::Step(length), stairs(levels)))
}
