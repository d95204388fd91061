//! Caches that put out the least used: by keys of which few are asked for often, they fill ever more slowly,
//! until their cap.

use super::shape::{BEGIN, Place, Shape, wander, when, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "lru",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("lru-skewed", |setting, random| {
        let skew = random.between(0.6, 1.4);
        Some(capped(setting, random, Keys::new(skew)))
    }),
    kind("lru-even-keys", |setting, random| {
        Some(capped(setting, random, Keys::new(0.0)))
    }),
    kind("lru-by-bytes", by_bytes),
    kind("lru-never-full", never_full),
];

/// Keys by weight `rank^-skew`, in classes of ranks: how many different ones are seen after so many asked.
#[derive(Clone)]
pub(super) struct Keys {
    /// How many, and the chance of each, as shares.
    classes: Vec<(f64, f64)>,
}

impl Keys {
    const CLASSES: usize = 24;
    /// Ranks in the whole: beyond this, only the tail's slope matters.
    const RANKS: f64 = 1e5;

    pub(super) fn new(skew: f64) -> Keys {
        let edge = |nth: usize| Keys::RANKS.powf(nth as f64 / Keys::CLASSES as f64);
        let mut classes: Vec<(f64, f64)> = (0..Keys::CLASSES)
            .map(|nth| {
                let (low, high) = (edge(nth), edge(nth + 1));
                ((high - low) / Keys::RANKS, (low * high).sqrt().powf(-skew))
            })
            .collect();
        let sum: f64 = classes.iter().map(|(many, chance)| many * chance).sum();
        classes.iter_mut().for_each(|class| class.1 /= sum);
        Keys { classes }
    }

    /// Share of the keys that were seen when `asked` times as many as there are keys were asked for.
    pub(super) fn seen(&self, asked: f64) -> f64 {
        let seen = |(many, chance): &(f64, f64)| many * -(-asked * chance).exp_m1();
        self.classes.iter().map(seen).sum()
    }
}

/// Full after a length of the prior; how much of the keys that is, is drawn.
fn capped(setting: &Setting, random: &mut Random, keys: Keys) -> Shape {
    let length = setting.store(random);
    let room = random.between(0.1, 0.9);
    let asked = when(|asked| keys.seen(asked) >= room);
    let share = move |step: f64| (keys.seen(asked * step / length) / room).min(1.0);
    let whole = whole(setting, random, &share);
    Shape::fills(BEGIN, Place::Step(length), move |now| {
        whole * share(now.step)
    })
}

/// At its cap it puts out as many bytes as come in, and entries are of all sizes: it is never quite still.
fn by_bytes(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let skew = random.between(0.0, 1.2);
    let shape = capped(setting, random, Keys::new(skew));
    let jitter = setting.base * random.log_between(0.001, 0.01);
    let lasts = setting.steps * random.log_between(0.001, 0.02);
    let line = wander(random.fork(), jitter, lasts);
    Some(shape.swings(line))
}

/// The cap is larger than all that is asked for: the keys end, or hardly come any more.
fn never_full(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let skew = random.between(0.3, 1.2);
    let keys = Keys::new(skew);
    let most = when(|asked| keys.seen(asked) >= 0.95);
    let length = setting.store(random);
    Some(super::shape::fading(setting, random, 0.0, move |step| {
        keys.seen(most * step / length)
    }))
}
