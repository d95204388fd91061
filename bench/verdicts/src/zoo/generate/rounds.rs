//! What evaluations, saves and epochs leave: pools of the last few, stagings, trimmed logs.

use super::setting::Rounds;
use super::shape::{BEGIN, Place, Shape, stairs};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Kind, Setting};

const fn kind(name: &'static str, draw: fn(&Setting, &mut Random) -> Option<Shape>) -> Kind {
    Kind {
        name,
        family: "rounds",
        leak: false,
        draw,
    }
}

pub(super) const KINDS: &[Kind] = &[
    kind("rounds-last-evaluations", |setting, random| {
        Some(pool(setting, random, setting.evaluations?.every))
    }),
    kind("rounds-last-saves", |setting, random| {
        Some(pool(setting, random, setting.saves?.every))
    }),
    kind("rounds-last-epochs", |setting, random| {
        let passes = setting.steps / setting.epoch;
        (passes >= 3.0).then(|| pool(setting, random, setting.epoch))
    }),
    kind("rounds-best-evaluations", best),
    kind("rounds-first-evaluation-stays", first),
    kind("rounds-staged-checkpoint", |setting, random| {
        staged(setting, random, setting.saves?)
    }),
    kind("rounds-save-held-for-a-while", held),
    kind("rounds-trimmed-log", trimmed),
];

/// The last so many are kept.
pub(super) fn pool(setting: &Setting, random: &mut Random, every: f64) -> Shape {
    let room = setting.pool(random);
    let seen = (setting.steps / every).floor().clamp(1.0, room);
    let each = setting.growth(random) / seen;
    let end = Place::Step(room * every);
    Shape::fills(Place::Step(every), end, move |now| {
        each * (now.step / every).floor().min(room)
    })
}

/// The best so many: one that is better than the last joins, and when there are enough, the worst goes.
fn best(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let rounds = setting.evaluations?;
    let room = setting.pool(random).min(1e4);
    let least = random.between(0.1, 0.5);
    let (mut nth, mut levels) = (0.0, Vec::new());
    while (levels.len() as f64) < room {
        nth += 1.0;
        // The first evaluations are mostly better than what was.
        if random.happens(least + (1.0 - least) / nth) {
            levels.push((nth * rounds.every, levels.len() as f64 + 1.0));
        }
    }
    let seen = levels.iter().rev().find(|(step, _)| *step <= setting.steps);
    let scale = setting.growth(random) / seen?.1;
    levels.iter_mut().for_each(|level| level.1 *= scale);
    let (begin, end) = (levels[0].0, levels[levels.len() - 1].0);
    Some(Shape::fills(
        Place::Step(begin),
        Place::Step(end),
        stairs(levels),
    ))
}

/// Data, a loader, metrics of the evaluation: made once, never given back.
fn first(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let at = setting.evaluations?.every;
    let height = setting.growth(random);
    let at_once = stairs(vec![(at, height)]);
    Some(Shape::fills(Place::Step(at), Place::Step(at), at_once))
}

/// A copy on the host that the next save writes over; two, where one is written while the next is made.
fn staged(setting: &Setting, random: &mut Random, saves: Rounds) -> Option<Shape> {
    let copies = random.whole(1, 2);
    let each = setting.growth(random) / copies as f64;
    let levels = (1..=copies).map(|nth| (saves.every * nth as f64, each * nth as f64));
    let end = Place::Step(saves.every * copies as f64);
    Some(Shape::fills(
        Place::Step(saves.every),
        end,
        stairs(levels.collect()),
    ))
}

/// Written in the background: the copy is there until that is done.
fn held(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let saves = setting.saves?;
    let (height, part) = (setting.growth(random), random.between(0.05, 0.9));
    Some(Shape::flat().swings(move |now| {
        let since = now.step / saves.every - saves.done(now.step);
        let writes = saves.done(now.step) >= 1.0 && since < part;
        if writes { height } else { 0.0 }
    }))
}

/// Cut to a part when it is full: teeth that stand on what is left.
fn trimmed(setting: &Setting, random: &mut Random) -> Option<Shape> {
    let (length, left) = (setting.store(random), random.between(0.1, 0.8));
    let height = setting.growth(random) / (setting.steps / length).min(1.0);
    let (base, tooth) = (left * length, (1.0 - left) * length);
    let floor = move |step: f64| height * (step / length).min(left);
    Some(
        Shape::fills(BEGIN, Place::Step(length), move |now| floor(now.step)).swings(move |now| {
            let above = (now.step - base).max(0.0) % tooth;
            height * above / length
        }),
    )
}
