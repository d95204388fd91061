//! Entries that expire: as many are there as come in during a life.

use super::shape::{BEGIN, Now, Place, Shape, wander};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting, prior};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "expiry",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("expiry-by-age", by_age),
    kind("expiry-by-steps", by_steps),
    kind("expiry-of-any-age", any_age),
    kind("expiry-swept", swept),
    kind("expiry-late", |setting, random| {
        let life = setting.expiry(random);
        let share = life / setting.seconds();
        (0.25..4.0)
            .contains(&share)
            .then(|| aged(setting, random, life))
    }),
];

pub(super) fn by_age(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let life = setting.expiry(random);
    Some(aged(setting, random, life))
}

/// All live as long: straight, then as many go as come.
fn aged(setting: &Setting, random: &mut Random, life: f64) -> Shape {
    let seen = (setting.seconds() / life).min(1.0);
    let height = setting.growth(random) / seen;
    // How many come in a life varies with the pace of the job.
    let jitter = height.min(setting.base) * random.log_between(0.0005, 0.005);
    let line = wander(random.fork(), jitter, life / setting.seconds_per_step);
    Shape::fills(BEGIN, Place::Seconds(life), move |now| {
        height * (now.seconds / life).min(1.0)
    })
    .swings(line)
}

/// The age is counted in steps: a store of experience that is dropped when it is too old.
fn by_steps(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let life = setting.store(random);
    Some(super::shape::straight(setting, random, 0.0, life))
}

/// Lives of all lengths, whose mean is drawn.
fn any_age(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let mean = setting.expiry(random) / 3.0;
    let share = move |seconds: f64| -(-seconds / mean).exp_m1();
    let height = setting.growth(random) / share(setting.seconds());
    let left = prior::NEGLIGIBLE * (setting.base + height) / height;
    let end = Place::Seconds(-mean * left.min(1.0).ln());
    Some(Shape::fills(BEGIN, end, move |now: Now| {
        height * share(now.seconds)
    }))
}

/// What expired goes only when somebody sweeps, every so often.
fn swept(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let life = setting.expiry(random);
    let every = life * random.log_between(0.1, 3.0);
    let seen = (setting.seconds() / life).min(1.0);
    let height = setting.growth(random) / seen;
    // The first sweep that finds something old leaves a life's worth; teeth stand on that.
    let first = (life / every).ceil() * every;
    let per_second = height / life;
    Some(
        Shape::fills(BEGIN, Place::Seconds(first), move |now| {
            height * (now.seconds / life).min(1.0)
        })
        .swings(move |now| {
            let since = if now.seconds < first {
                now.seconds - life
            } else {
                (now.seconds - first) % every
            };
            per_second * since.max(0.0)
        }),
    )
}
