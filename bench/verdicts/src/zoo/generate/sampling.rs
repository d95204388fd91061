//! Examples drawn with replacement, and kept when they are seen: the last ones take long to come.

use super::lru::Keys;
use super::shape::{Shape, fading, when};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "sampling",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("sampling-even", |setting, random| {
        let epoch = setting.epoch;
        Some(fading(setting, random, 0.0, move |step| {
            -(-step / epoch).exp_m1()
        }))
    }),
    kind("sampling-skewed", |setting, random| {
        let keys = Keys::new(random.between(0.2, 1.0));
        let epoch = setting.epoch;
        Some(fading(setting, random, 0.0, move |step| {
            keys.seen(step / epoch)
        }))
    }),
    kind("sampling-balanced", balanced),
    kind("sampling-touched-pages", touched),
];

/// Classes are drawn evenly though one is much larger: the rare ones are soon all seen.
fn balanced(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let rare = random.log_between(0.02, 0.4);
    Some(fading(setting, random, 0.0, move |step| {
        let seen = |part: f64| part * -(-0.5 * step / epoch / part).exp_m1();
        seen(rare) + seen(1.0 - rare)
    }))
}

/// A table that was reserved whole, of which rows are written at random: a page is there when the first of
/// its rows is.
fn touched(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    let skew = random.between(0.0, 0.8);
    let keys = Keys::new(skew);
    let most = when(|asked| keys.seen(asked) >= 0.95);
    Some(fading(setting, random, 0.0, move |step| {
        keys.seen(most * step / length)
    }))
}
