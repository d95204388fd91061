//! Harmless, but for long like a leak: cleared at a boundary that is far away, trimmed later, rotated.

use super::shape::{BEGIN, Pace, Place, Shape, teeth, whole};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "trap",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("trap-cleared-each-epoch", cleared),
    kind("trap-trimmed-later", trimmed),
    kind("trap-rotates", rotates),
    kind("trap-phase-ends", phase),
    kind("trap-collected-until-evaluation", until_evaluation),
];

/// Losses with their graphs, outputs of each step: cleared with the epoch, of which the run has few.
fn cleared(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let epoch = setting.epoch;
    if !(0.15..1.0).contains(&(epoch / setting.steps)) {
        return None;
    }
    let (height, pace) = (setting.growth(random), Pace::draw(random));
    let shape = Shape::fills(BEGIN, Place::Step(epoch), |_| 0.0);
    Some(shape.swings(move |now| height * pace.at((now.step / epoch).fract())))
}

/// Somebody looks after a while and cuts it to a size, which it keeps from then on.
fn trimmed(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let at = setting.store(random);
    if !(0.15..0.95).contains(&(at / setting.steps)) {
        return None;
    }
    let (height, left) = (setting.growth(random), random.between(0.02, 0.7));
    let pace = Pace::draw(random);
    Some(Shape::fills(BEGIN, Place::Step(at), move |now| {
        if now.step < at {
            height * pace.at(now.step / at)
        } else {
            height * left
        }
    }))
}

/// A buffer that is written out and begun again when it is full.
fn rotates(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random);
    if !(0.15..3.0).contains(&(length / setting.steps)) {
        return None;
    }
    let height = whole(setting, random, |step| (step / length).min(1.0));
    let shape = Shape::fills(BEGIN, Place::Step(length), |_| 0.0);
    Some(shape.swings(teeth(length, height)))
}

/// The first phase of a training collects, and its end gives all back: exploration, warm-up of statistics.
fn phase(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let end = setting.steps * random.between(0.15, 0.9);
    let (height, pace) = (setting.growth(random), Pace::draw(random));
    Some(Shape::fills(BEGIN, Place::Step(end), move |now| {
        if now.step < end {
            height * pace.at(now.step / end)
        } else {
            0.0
        }
    }))
}

/// Metrics pile up until they are computed, with an evaluation that comes rarely.
fn until_evaluation(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let every = setting.evaluations?.every;
    if every < 0.15 * setting.steps {
        return None;
    }
    let height = setting.growth(random);
    let shape = Shape::fills(BEGIN, Place::Step(every), |_| 0.0);
    Some(shape.swings(teeth(every, height)))
}
