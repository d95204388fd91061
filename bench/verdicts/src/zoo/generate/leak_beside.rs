//! Leaks beside something harmless, which hides them or takes the blame.

use super::leak_by_step::from;
use super::shape::{BEGIN, Shape, fading, straight, teeth, uneven_teeth};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "leak-beside",
        leak: true,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("leak-under-saw-teeth", under_teeth),
    kind("leak-under-uneven-teeth", under_uneven_teeth),
    kind("leak-left-by-clearing", left),
    kind("leak-beside-first-pass", |setting, random| {
        (setting.epoch < 0.7 * setting.steps).then(|| {
            let pass = straight(setting, random, 0.0, setting.epoch);
            leak(setting, random).beside(pass)
        })
    }),
    kind("leak-beside-fading-warm-up", fading_warm_up),
    kind("leak-beside-store", |setting, random| {
        let length = setting.store(random);
        (length < 0.7 * setting.steps).then(|| {
            let store = straight(setting, random, 0.0, length);
            leak(setting, random).beside(store)
        })
    }),
    kind("leak-beside-expiry", |setting, random| {
        let store = super::expiry::by_age(setting, random)?;
        Some(leak(setting, random).beside(store))
    }),
    kind("leak-beside-workers", |setting, random| {
        let workers = super::workers::persistent(setting, random)?;
        Some(leak(setting, random).beside(workers))
    }),
    kind("leak-beside-vocabulary", |setting, random| {
        let length = setting.store(random);
        let words = super::vocabulary::heaps(setting, random, length);
        Some(leak(setting, random).beside(words))
    }),
    kind("leak-beside-last-evaluations", |setting, random| {
        let pool = super::rounds::pool(setting, random, setting.evaluations?.every);
        Some(leak(setting, random).beside(pool))
    }),
    kind("leak-after-first-pass", after_pass),
    kind("leak-in-one-worker", one_worker),
];

fn leak(setting: &Setting, random: &mut Random) -> Shape {
    let height = setting.growth(random);
    from(setting, random, 0.0, height)
}

fn under_teeth(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let period = random.log_between(3.0, setting.steps / 4.0);
    let height = setting.base * random.log_between(0.03, 1.0);
    Some(leak(setting, random).swings(teeth(period, height)))
}

/// A collector of cycles that runs when it pleases.
fn under_uneven_teeth(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let period = random.log_between(3.0, setting.steps / 6.0);
    let height = setting.base * random.log_between(0.03, 0.6);
    let line = uneven_teeth(random.fork(), period, period, 0.4, height);
    Some(leak(setting, random).swings(line))
}

/// What an epoch collected is cleared with it, but for a part.
fn left(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (epoch, passes) = (setting.epoch, setting.steps / setting.epoch);
    if passes < 4.0 {
        return None;
    }
    let height = setting.growth(random) / passes;
    let part = random.between(0.1, 0.7);
    let leak = Shape::leaks(BEGIN, move |now| height * now.step / epoch);
    // Of each tooth `part` stays: the tooth is that much higher than what it leaves.
    Some(leak.swings(teeth(epoch, height * (1.0 - part) / part)))
}

fn fading_warm_up(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let length = setting.store(random) / 4.0;
    (length < 0.2 * setting.steps).then(|| {
        let warm = fading(setting, random, 0.0, move |step| -(-step / length).exp_m1());
        leak(setting, random).beside(warm)
    })
}

/// The pass ended, and the level stood, when something else begins to leak.
fn after_pass(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (epoch, steps) = (setting.epoch, setting.steps);
    if epoch > 0.4 * steps {
        return None;
    }
    let onset = epoch + (steps - epoch) * random.between(0.05, 0.6);
    let height = setting.growth(random);
    let pass = straight(setting, random, 0.0, epoch);
    Some(from(setting, random, onset, height).beside(pass))
}

/// One of several processes: a small share of the tree, beside others that are never quite still.
fn one_worker(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let workers = random.whole(3, 16) as f64;
    let height = setting.base * random.log_between(0.08, 0.08_f64.max(2.0 / workers));
    Some(Shape {
        shards: workers,
        noise: random.between(0.001, 0.008),
        ..from(setting, random, 0.0, height)
    })
}
