//! The first pass over the data: what an example needs is kept when it is first seen, and no longer grows
//! when all have been.

use super::shape::{BEGIN, Pace, Place, Shape, straight, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "first-pass",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("first-pass-dict", dict),
    kind("first-pass-lazy-list", lazy_list),
    kind("first-pass-shuffled", |setting, random| {
        (setting.epoch <= 0.9 * setting.steps)
            .then(|| straight(setting, random, 0.0, setting.epoch))
    }),
    kind("first-pass-sorted", sorted),
    kind("first-pass-single-epoch", single),
    kind("first-pass-resumed", resumed),
];

/// A dict by index: entries of one size, and a table that doubles beside them.
fn dict(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let whole = whole(setting, random, |step| (step / epoch).min(1.0));
    let table = random.between(0.0, 0.1);
    Some(Shape::fills(BEGIN, Place::Step(epoch), move |now| {
        let seen = (now.step / epoch).min(1.0);
        // The table has room for a power of two of entries, the last of which holds all.
        let room = (seen.max(1e-6).log2().ceil()).exp2();
        whole * ((1.0 - table) * seen + table * room)
    }))
}

/// Elements that are decoded in their place: all sizes, those of one source together.
fn lazy_list(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let whole = whole(setting, random, |step| (step / epoch).min(1.0));
    let sigma = random.log_between(0.2, 1.0);
    let pace = Pace::uneven(random, sigma);
    Some(Shape::fills(BEGIN, Place::Step(epoch), move |now| {
        whole * pace.at(now.step / epoch)
    }))
}

/// Long examples first, or last.
fn sorted(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let power = random.log_between(1.3, 3.0);
    let longest_first = random.happens(0.5);
    let share = move |step: f64| {
        let seen = (step / epoch).min(1.0);
        if longest_first {
            1.0 - (1.0 - seen).powf(power)
        } else {
            seen.powf(power)
        }
    };
    let whole = whole(setting, random, share);
    Some(Shape::fills(BEGIN, Place::Step(epoch), move |now| {
        whole * share(now.step)
    }))
}

/// The run is over before the first pass is, with it, or soon after.
fn single(setting: &Setting, random: &mut Random) -> Option<Shape> {
    (setting.epoch >= 0.9 * setting.steps).then(|| straight(setting, random, 0.0, setting.epoch))
}

/// Begun in the middle of an epoch: its rest is new, and in the next pass those that the rest did not have,
/// anywhere in it.
fn resumed(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let done = random.between(0.05, 0.95);
    let rest = (epoch * (1.0 - done)).round();
    let missing = 1.0 - rest / epoch;
    let share = move |step: f64| {
        let next = ((step - rest) / epoch).clamp(0.0, 1.0);
        step.min(rest) / epoch + missing * next
    };
    let whole = whole(setting, random, share);
    let end = Place::Step(rest + epoch);
    let before = random.whole(0, 5) as f64;
    Some(Shape {
        resumed_at: Some((before * epoch + epoch - rest).ceil()),
        ..Shape::fills(BEGIN, end, move |now| whole * share(now.step))
    })
}
