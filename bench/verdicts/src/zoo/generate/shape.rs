//! What a kind says: what the job keeps, what comes and goes, and the truth of it. Families build their
//! lines from the ones here.

use crate::stats::Random;
use crate::zoo::Setting;
use crate::zoo::chance::Chance;
use crate::zoo::prior;

/// Where a job is, since it began.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub step: f64,
    pub seconds: f64,
}

/// Bytes at a moment. Asked in the order of time, so that it may draw as it goes.
pub type Line = Box<dyn FnMut(Now) -> f64>;

/// A moment of the run, or beyond it, told by what the mechanism is tied to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Step(f64),
    Seconds(f64),
}

pub struct Shape {
    /// Bytes kept above the base, without those that leak.
    pub floor: Line,
    /// Bytes above that which come and go.
    pub swing: Line,
    pub leak: Option<(Place, Line)>,
    /// Bytes that leak per step, where they come in pieces: from a piece to the end of the run says too much
    /// or too little.
    pub rate: Option<f64>,
    /// Harmless growth begins and ends, within the run or beyond.
    pub grows: Option<(Place, Place)>,
    /// The process was resumed at this step, whatever the setting says.
    pub resumed_at: Option<f64>,
    pub shards: f64,
    /// The readings are at least as noisy as this, as a share of the level.
    pub noise: f64,
}

impl Shape {
    /// Keeps nothing.
    pub fn flat() -> Shape {
        Shape {
            floor: Box::new(|_| 0.0),
            swing: Box::new(|_| 0.0),
            leak: None,
            rate: None,
            grows: None,
            resumed_at: None,
            shards: 1.0,
            noise: 0.0,
        }
    }

    /// Grows by itself to an end.
    pub fn fills(begin: Place, end: Place, floor: impl FnMut(Now) -> f64 + 'static) -> Shape {
        Shape {
            floor: Box::new(floor),
            grows: Some((begin, end)),
            ..Shape::flat()
        }
    }

    /// Never ends.
    pub fn leaks(onset: Place, leak: impl FnMut(Now) -> f64 + 'static) -> Shape {
        Shape {
            leak: Some((onset, Box::new(leak))),
            ..Shape::flat()
        }
    }

    /// The same with memory that comes and goes.
    pub fn swings(self, swing: impl FnMut(Now) -> f64 + 'static) -> Shape {
        Shape {
            swing: Box::new(swing),
            ..self
        }
    }

    /// The leak of this beside the harmless growth of another.
    pub fn beside(self, other: Shape) -> Shape {
        Shape {
            leak: self.leak,
            rate: self.rate,
            noise: self.noise.max(other.noise),
            ..other
        }
    }
}

/// The beginning of the run.
pub const BEGIN: Place = Place::Step(0.0);

/// A store that takes up the same share of itself for each share of its length in steps, more or less.
pub fn straight(setting: &Setting, random: &mut Random, begin: f64, length: f64) -> Shape {
    let whole = whole(setting, random, |step| {
        ((step - begin) / length).clamp(0.0, 1.0)
    });
    let pace = Pace::draw(random);
    Shape::fills(
        Place::Step(begin),
        Place::Step(begin + length),
        move |now| whole * pace.at((now.step - begin) / length),
    )
}

/// A store that fades: `share` rises to 1 with steps, however slowly.
pub fn fading(
    setting: &Setting,
    random: &mut Random,
    begin: f64,
    share: impl Fn(f64) -> f64 + 'static,
) -> Shape {
    let whole = whole(setting, random, &share);
    let left = prior::NEGLIGIBLE * (setting.base + whole) / whole;
    let end = when(|step| share(step) >= 1.0 - left);
    Shape::fills(Place::Step(begin), Place::Step(end), move |now| {
        whole * share(now.step)
    })
}

/// What all of a store comes to, so that what the run sees of it is of the usual size.
pub fn whole(setting: &Setting, random: &mut Random, share: impl Fn(f64) -> f64) -> f64 {
    setting.growth(random) / share(setting.steps).max(1e-9)
}

/// The first step at which something that stays true has become true.
pub fn when(is: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while !is(high) && high < 1e15 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if is(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Growth that is not quite even: what is kept comes in all sizes, and those of one source together.
pub struct Pace {
    /// What is there at equal shares of the way; empty for one that is even.
    knots: Vec<f64>,
}

impl Pace {
    const KNOTS: usize = 48;

    pub fn even() -> Pace {
        Pace { knots: Vec::new() }
    }

    /// Half are even.
    pub fn draw(random: &mut Random) -> Pace {
        if random.happens(0.5) {
            Pace::even()
        } else {
            let sigma = random.log_between(0.05, 0.7);
            Pace::uneven(random, sigma)
        }
    }

    pub fn uneven(random: &mut Random, sigma: f64) -> Pace {
        let alike = random.between(0.0, 0.9);
        let (mut walk, mut sum) = (random.normal(), 0.0);
        let mut knots = vec![0.0];
        for _ in 0..Pace::KNOTS {
            walk = alike * walk + (1.0 - alike * alike).sqrt() * random.normal();
            sum += (sigma * walk).exp();
            knots.push(sum);
        }
        knots.iter_mut().for_each(|knot| *knot /= sum);
        Pace { knots }
    }

    /// 0 before the way begins, 1 when it has ended.
    pub fn at(&self, way: f64) -> f64 {
        let way = way.clamp(0.0, 1.0);
        if self.knots.is_empty() {
            return way;
        }
        let place = way * Pace::KNOTS as f64;
        let knot = (place as usize).min(Pace::KNOTS - 1);
        let (low, high) = (self.knots[knot], self.knots[knot + 1]);
        low + (high - low) * (place - knot as f64)
    }
}

/// Levels that hold from their step on, given in order.
pub fn stairs(levels: Vec<(f64, f64)>) -> impl FnMut(Now) -> f64 {
    let mut next = 0;
    move |now| {
        while levels.get(next).is_some_and(|(step, _)| *step <= now.step) {
            next += 1;
        }
        next.checked_sub(1).map_or(0.0, |last| levels[last].1)
    }
}

/// Rises from nothing to `height`, and is given back every `period` steps.
pub fn teeth(period: f64, height: f64) -> impl FnMut(Now) -> f64 {
    move |now| height * (now.step / period).fract()
}

/// Teeth of periods that vary, of which the first is `first` long.
pub fn uneven_teeth(
    mut random: Random,
    first: f64,
    period: f64,
    sigma: f64,
    height: f64,
) -> impl FnMut(Now) -> f64 {
    let (mut from, mut to) = (0.0, first);
    move |now| {
        while now.step >= to {
            from = to;
            to += period * random.factor(sigma);
        }
        height * (now.step - from) / period
    }
}

/// Goes up and down about nothing, and comes back: for levels that are never quite still. Most of it stays
/// within `deviation`; what is alike lasts for `lasts` steps.
pub fn wander(mut random: Random, deviation: f64, lasts: f64) -> impl FnMut(Now) -> f64 {
    let (mut level, mut before) = (0.0, 0.0);
    move |now| {
        let alike = (-(now.step - before) / lasts).exp();
        before = now.step;
        level = alike * level + deviation * (1.0 - alike * alike).sqrt() * random.normal();
        level
    }
}
