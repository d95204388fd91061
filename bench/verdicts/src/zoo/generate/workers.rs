//! Workers of a loader: each keeps what it saw, and sees another part of the data in each pass.

use super::shape::{BEGIN, Place, Shape, fading, teeth, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "workers",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("workers-persistent", persistent),
    kind("workers-copy-on-write", copies),
    kind("workers-made-anew", anew),
    kind("workers-pool-of-evaluation", pool),
];

fn count(random: &mut Random) -> f64 {
    random.log_between(2.0, 17.0).floor()
}

/// A pass brings each of N workers a part that is new to it but for what it has: 1 - 1/N of the pass before.
pub(super) fn persistent(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let workers = count(random);
    let fade = 1.0 - 1.0 / workers;
    let epoch = setting.epoch;
    let shape = fading(setting, random, 0.0, move |step| {
        let passes = (step / epoch).floor();
        let (left, part) = (fade.powf(passes), step / epoch - passes);
        1.0 - left + left * part / workers
    });
    Some(Shape {
        shards: workers,
        ..shape
    })
}

/// Forked workers copy the pages whose counts they write: most soon, since a page holds many objects, and all
/// with the first pass at the latest.
fn copies(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let bend = random.log_between(0.5, 6.0);
    let share = move |step: f64| (-bend * (step / epoch).min(1.0)).exp_m1() / (-bend).exp_m1();
    let whole = whole(setting, random, share);
    let shards = count(random);
    Some(Shape {
        shards,
        ..Shape::fills(BEGIN, Place::Step(epoch), move |now| {
            whole * share(now.step)
        })
    })
}

/// Not persistent: what they kept goes with them at the end of the epoch.
fn anew(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    let height = whole(setting, random, |step| (step / epoch).min(1.0));
    let shape = Shape::fills(BEGIN, Place::Step(epoch), |_| 0.0);
    Some(Shape {
        shards: count(random),
        ..shape.swings(teeth(epoch, height))
    })
}

/// The first evaluation starts workers of its own, which stay.
fn pool(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let first = setting.evaluations?.every;
    let height = setting.growth(random);
    Some(Shape::fills(
        Place::Step(first),
        Place::Step(first),
        move |now| if now.step < first { 0.0 } else { height },
    ))
}
