//! Queues and rollouts: what waits to be used, sent or written.

use super::shape::{BEGIN, Place, Shape, straight, teeth, wander, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "queue",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("queue-fills", fills),
    kind("queue-falls-behind-later", |setting, random| {
        let begin = setting.steps * random.between(0.1, 0.7);
        let length = setting.store(random);
        Some(straight(setting, random, begin, length))
    }),
    kind("queue-up-and-down", up_and_down),
    kind("queue-rollouts-flushed", flushed),
    kind("queue-rollouts-get-longer", longer),
];

/// The producer is a little faster: it is full after a while, and stays so, give or take what is taken out.
fn fills(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    let jitter = setting.base * random.log_between(0.0005, 0.005);
    let line = wander(random.fork(), jitter, length / 10.0);
    Some(straight(setting, random, 0.0, length).swings(line))
}

/// Neither side is faster: a walk between empty and full.
fn up_and_down(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let height = setting.base * random.log_between(0.05, 0.6);
    let lasts = setting.steps * random.log_between(0.001, 0.05);
    let mut line = wander(random.fork(), 0.5 * height, lasts);
    Some(Shape::flat().swings(move |now| line(now).abs().min(height)))
}

/// Collected for an update of the policy, and dropped with it.
fn flushed(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let period = setting.store(random);
    let height = whole(setting, random, |step| (step / period).min(1.0));
    let shape = Shape::fills(BEGIN, Place::Step(period), |_| 0.0);
    Some(shape.swings(teeth(period, height)))
}

/// The policy learns to write more, up to what it may: what a batch of rollouts takes follows, in an S.
fn longer(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    // Of one much longer than the run, nothing is seen.
    if length > 5.0 * setting.steps {
        return None;
    }
    let share = move |step: f64| {
        let way = (step / length).min(1.0);
        way * way * (3.0 - 2.0 * way)
    };
    let whole = whole(setting, random, share);
    let period = length / random.log_between(10.0, 200.0);
    let mut tooth = teeth(period, random.between(0.1, 0.5));
    let shape = Shape::fills(BEGIN, Place::Step(length), move |now| {
        whole * share(now.step)
    });
    Some(shape.swings(move |now| whole * share(now.step) * tooth(now)))
}
