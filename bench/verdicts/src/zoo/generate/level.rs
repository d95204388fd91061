//! Jobs that keep nothing: the level stands, wanders or falls.

use super::shape::{Now, Shape, wander};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "level-flat",
        family: "level",
        leak: false,
        draw: |_, _| Some(Shape::flat()),
    },
    Kind {
        name: "level-wanders",
        family: "level",
        leak: false,
        draw: wanders,
    },
    Kind {
        name: "level-falls",
        family: "level",
        leak: false,
        draw: falls,
    },
    Kind {
        name: "level-evaluation-spikes",
        family: "level",
        leak: false,
        draw: |setting, _| {
            let rounds = setting.evaluations?;
            (rounds.spike > 0.1 * setting.base).then(Shape::flat)
        },
    },
];

/// Batches of all sizes, seen through an allocator that gives back slowly.
fn wanders(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let deviation = setting.base * random.log_between(0.005, 0.05);
    let lasts = setting.steps * random.log_between(0.001, 0.03);
    let mut line = wander(random.fork(), deviation, lasts);
    Some(Shape::flat().swings(move |now| line(now).abs()))
}

/// What the start needed (weights that were read twice, a first compile) is given back in the run.
fn falls(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let height = setting.base * random.log_between(0.05, 1.0);
    let at = setting.steps * random.between(0.02, 0.8);
    let slowly = random.happens(0.5);
    let floor = move |now: Now| match slowly {
        true => height * (-3.0 * now.step / at).exp(),
        false if now.step < at => height,
        false => 0.0,
    };
    Some(Shape {
        floor: Box::new(floor),
        ..Shape::flat()
    })
}
