//! What only the beginning makes: state of the optimizer, compiled code, pools. It comes in a few jumps, or
//! fades.

use super::shape::{BEGIN, Place, Shape, fading, stairs};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "warm-up",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("warm-up-optimizer-state", optimizer),
    kind("warm-up-compiled-shapes", compiled),
    kind("warm-up-recompiled-later", recompiled),
    kind("warm-up-pools", |setting, random| {
        let length = setting.warm_up(random);
        Some(fading(setting, random, 0.0, move |step| {
            -(-step / length).exp_m1()
        }))
    }),
    kind("warm-up-layers-unfrozen", unfrozen),
];

/// All of it with the first step, or with the first of each accumulated group: the moments of Adam.
fn optimizer(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let height = setting.growth(random);
    let pieces = random.whole(1, 4);
    let apart = random.whole(1, 16) as f64;
    let levels = (1..=pieces).map(|nth| (apart * nth as f64, height * nth as f64 / pieces as f64));
    let end = Place::Step(apart * pieces as f64);
    Some(Shape::fills(BEGIN, end, stairs(levels.collect())))
}

/// Each new shape of input is compiled when it first comes, and rare ones come late: so many shapes, each of a
/// chance of its own.
fn compiled(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (count, skew) = (random.whole(4, 60), random.between(0.3, 1.5));
    let length = setting.warm_up(random);
    let mut times: Vec<f64> = (1..=count)
        .map(|rank| length * (rank as f64).powf(skew) * random.exponential())
        .collect();
    times.sort_by(f64::total_cmp);
    jumps(setting, random, &times)
}

/// Up to a limit of recompilations, whenever something new comes: the run has few, far apart.
fn recompiled(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (count, length) = (random.whole(3, 8), setting.store(random));
    let mut times: Vec<f64> = (0..count).map(|_| length * random.unit().powi(2)).collect();
    times.sort_by(f64::total_cmp);
    jumps(setting, random, &times)
}

/// Layers join the training at steps that a schedule names, each with its gradients and moments.
fn unfrozen(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (count, length) = (random.whole(3, 16), setting.store(random));
    let times: Vec<f64> = (1..=count)
        .map(|nth| length * nth as f64 / count as f64)
        .collect();
    jumps(setting, random, &times)
}

/// A jump of about the same size at each of these.
fn jumps(setting: &Setting, random: &mut Random, times: &[f64]) -> Option<Shape> {
    let sigma = random.between(0.0, 0.6);
    let mut sum = 0.0;
    let mut levels: Vec<(f64, f64)> = times
        .iter()
        .map(|step| {
            sum += random.factor(sigma);
            (*step, sum)
        })
        .collect();
    let seen = levels.iter().rev().find(|(step, _)| *step <= setting.steps);
    let scale = setting.growth(random) / seen?.1;
    levels.iter_mut().for_each(|level| level.1 *= scale);
    let (begin, end) = (times[0], times[times.len() - 1]);
    Some(Shape::fills(
        Place::Step(begin),
        Place::Step(end),
        stairs(levels),
    ))
}
