//! Stores that fill: a ring, a bank, a replay buffer. Their room is what ends them.

use super::shape::{BEGIN, Pace, Place, Shape, straight, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "store-fills",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("store-ring", |setting, random| {
        let length = setting.store(random);
        Some(straight(setting, random, 0.0, length))
    }),
    kind("store-beyond-epoch", |setting, random| {
        let length = setting.store(random);
        let fits = length > 1.2 * setting.epoch && length < setting.steps;
        fits.then(|| straight(setting, random, 0.0, length))
    }),
    kind("store-beyond-run", |setting, random| {
        let length = setting.store(random);
        (length > setting.steps).then(|| straight(setting, random, 0.0, length))
    }),
    kind("store-bank-of-variants", |setting, random| {
        let length = setting.store_of_data(random);
        Some(straight(setting, random, 0.0, length))
    }),
    kind("store-replay-after-start", replay),
    kind("store-in-blocks", blocks),
    kind("store-doubles", doubles),
    kind("store-second-later", second),
];

/// Nothing is kept until learning starts.
fn replay(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let begin = setting.steps * random.between(0.01, 0.6);
    let length = setting.store(random);
    let whole = whole(setting, random, |step| {
        ((step - begin) / length).clamp(0.0, 1.0)
    });
    let end = Place::Step(begin + length);
    Some(Shape::fills(Place::Step(begin), end, move |now| {
        whole * ((now.step - begin) / length).clamp(0.0, 1.0)
    }))
}

/// Room is taken a block at a time: stairs.
fn blocks(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    let blocks = random.log_between(3.0, 60.0).round();
    // The first block is there at once, and the last when the one before it is full.
    let share = move |step: f64| (1.0 + (step / length * blocks).floor()).min(blocks) / blocks;
    let whole = whole(setting, random, share);
    let end = Place::Step(length * (blocks - 1.0) / blocks);
    Some(Shape::fills(BEGIN, end, move |now| whole * share(now.step)))
}

/// An array that doubles when it is full, and is touched when it is copied, up to a largest size.
fn doubles(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    let times = random.whole(3, 9) as f64;
    let share = move |step: f64| {
        let filled = (step / length).clamp((-times).exp2(), 1.0);
        (filled.log2() + 1.0).floor().min(0.0).exp2()
    };
    let whole = whole(setting, random, share);
    // Its last doubling is when it is half full.
    let end = Place::Step(length / 2.0);
    Some(Shape::fills(BEGIN, end, move |now| whole * share(now.step)))
}

/// One store is full since long when another begins: averaged weights, a second set of data.
fn second(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let first = setting.store(random);
    let second = setting.store(random);
    let begin = setting.steps * random.between(0.2, 0.7);
    if first > 0.5 * begin {
        return None;
    }
    let height = setting.growth(random);
    let part = random.between(0.2, 0.8);
    let seen = ((setting.steps - begin) / second).min(1.0);
    let pace = Pace::draw(random);
    let end = Place::Step(begin + second);
    Some(Shape::fills(Place::Step(begin), end, move |now| {
        let earlier = (now.step / first).min(1.0);
        let later = pace.at((now.step - begin) / second);
        height * (part * earlier + (1.0 - part) * later / seen)
    }))
}
