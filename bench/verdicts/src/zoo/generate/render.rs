//! Puts a setting and what the kind keeps into points, as a sampler would have read them.

use std::f64::consts::TAU;

use lowtide_core::mark::Geometry;
use lowtide_core::point::{Context, Point, Round, RoundKind};
use lowtide_core::verdict::Axis;

use super::setting::{BufferKind, Buffers, Rounds, Setting, Tail};
use super::shape::{Now, Pace, Place, Shape};
use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::{Drawn, Kind, prior};

/// Settings that may be drawn until one suits a kind.
const TRIES: usize = 20_000;
/// Fewer points than this are no series to judge.
const FEWEST: f64 = 200.0;
/// A watch keeps so many happenings of one kind; of more it keeps every second one, and so on.
const HAPPENINGS: usize = 128;

/// A case, with what its points hide.
pub(crate) struct Rendered {
    pub(crate) drawn: Drawn,
    /// What is kept in all at each point, without noise and without what comes and goes.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only tests look under the noise")
    )]
    pub(crate) floor: Vec<f64>,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only tests look under the noise")
    )]
    pub(crate) setting: Setting,
}

pub(crate) fn render(kind: &Kind, seed: u64, prior_scale: f64) -> Rendered {
    let mut random = Random(seed);
    let (mut setting, mut shape) = (0..TRIES)
        .find_map(|_| {
            let setting = Setting::draw(&mut random.fork(), prior_scale);
            let shape = (kind.draw)(&setting, &mut random.fork())?;
            let often = believed(kind, &setting, &shape);
            random.happens(often).then_some((setting, shape))
        })
        .unwrap_or_else(|| panic!("no setting suits {}", kind.name));
    if let Some(step) = shape.resumed_at {
        (setting.resumed_at, setting.resumed) = (step, random.happens(0.5));
    }
    let grid = Grid::draw(&setting, &mut random);

    let mut readings = Readings::new(&setting, &shape, &grid, random);
    let mut floor = Vec::with_capacity(grid.nows.len());
    let mut points = Vec::with_capacity(grid.nows.len());
    for now in &grid.nows {
        let leaked = shape.leak.as_mut().map_or(0.0, |(_, line)| line(*now));
        let kept = (shape.floor)(*now) + leaked;
        let level = readings.base(*now) + kept;
        floor.push(setting.base + kept);
        let bytes = readings.read(*now, level, (shape.swing)(*now));
        points.push(Point {
            seconds: (setting.axis == Axis::Step).then_some(now.seconds),
            ..Point::new(grid.x_at(*now), bytes)
        });
    }

    let truth = Truth::new(&setting, &mut shape, &grid);
    let drawn = Drawn {
        kind: kind.name,
        family: kind.family,
        seed,
        leak: kind.leak,
        onset: truth.onset,
        settles: truth.settles,
        fills_in: truth.fills_in,
        rate: truth.rate,
        axis: setting.axis,
        points,
        context: context(&setting, &shape, &grid),
        knows_epochs: setting.knows_epochs,
        seconds_per_step: setting.seconds_per_step,
    };
    Rendered {
        drawn,
        floor,
        setting,
    }
}

/// Kinds whose lengths follow from the run or from the epoch, not from the prior.
const BY_THE_RUN: [&str; 8] = [
    "store-beyond",
    "store-second",
    "expiry-late",
    "trap-",
    "queue-rollouts-get-longer",
    "high-water-curriculum",
    "high-water-resizing",
    "saw-tooth-",
];

/// How often harmless growth of this length is: as often as the published prior has it. Such kinds are thinned by that, else
/// days of growth that is given back would be as common as minutes.
fn believed(kind: &Kind, setting: &Setting, shape: &Shape) -> f64 {
    let Some((begin, end)) = shape.grows else {
        return 1.0;
    };
    let step = |place: Place| match place {
        Place::Step(step) => step,
        Place::Seconds(seconds) => seconds / setting.seconds_per_step,
    };
    let steps = step(end) - step(begin);
    let seconds = steps * setting.seconds_per_step / setting.prior_scale;
    let prior = prior::PUBLISHED;
    if kind.family == "first-pass" {
        return prior.epoch_seconds.longer_than(seconds);
    }
    if kind.leak || !BY_THE_RUN.iter().any(|name| kind.name.starts_with(name)) {
        return 1.0;
    }
    let own = prior.store_seconds.longer_than(seconds);
    if !setting.knows_epochs {
        return own;
    }
    let passes = prior
        .passes
        .longer_than(steps / setting.epoch / setting.prior_scale);
    let tied = prior::tied_to_data();
    tied * passes + (1.0 - tied) * own
}

/// The moments that were read.
struct Grid {
    axis: Axis,
    resumed_at: f64,
    seconds_per_step: f64,
    nows: Vec<Now>,
}

impl Grid {
    /// Even on the axis; on the other one the pace of the job shows.
    fn draw(setting: &Setting, random: &mut Random) -> Grid {
        let (steps, seconds) = (setting.steps, setting.seconds());
        let axis = setting.axis;
        let whole = if axis == Axis::Step { steps } else { seconds };
        let each = match axis {
            Axis::Step => {
                let wanted = steps / setting.points as f64;
                let rarer = wanted.ceil();
                if steps / rarer < FEWEST {
                    wanted.floor().max(1.0)
                } else {
                    rarer
                }
            }
            _ => seconds / setting.points as f64,
        };
        let count = (whole / each + 1e-9).floor() as usize;
        let slow = if random.happens(0.5) {
            let sigma = random.log_between(0.02, 0.4);
            Pace::uneven(random, sigma)
        } else {
            Pace::even()
        };
        let (mut sum, mut before) = (0.0, 0.0);
        let sums: Vec<f64> = (1..=count)
            .map(|nth| {
                let there = slow.at(nth as f64 / count as f64);
                sum += (there - before) * random.factor(setting.pace);
                before = there;
                sum
            })
            .collect();
        let nows = sums.iter().enumerate().map(|(nth, other)| {
            let along = each * (nth + 1) as f64;
            let other = other / sum * along_other(axis, each * count as f64, setting);
            match axis {
                Axis::Step => Now {
                    step: along,
                    seconds: other,
                },
                _ => Now {
                    step: other,
                    seconds: along,
                },
            }
        });
        Grid {
            axis,
            resumed_at: setting.resumed_at,
            seconds_per_step: setting.seconds_per_step,
            nows: nows.collect(),
        }
    }

    fn x_at(&self, now: Now) -> f64 {
        match self.axis {
            Axis::Step => self.resumed_at + now.step,
            _ => now.seconds,
        }
    }

    fn end(&self) -> Now {
        self.nows[self.nows.len() - 1]
    }

    /// Both sides of a place: between points by a straight line, beyond the run at its mean pace.
    fn now(&self, place: Place) -> Now {
        let key = |now: &Now| match place {
            Place::Step(_) => now.step,
            Place::Seconds(_) => now.seconds,
        };
        let (Place::Step(at) | Place::Seconds(at)) = place;
        let after = self.nows.partition_point(|now| key(now) < at);
        let begin = Now {
            step: 0.0,
            seconds: 0.0,
        };
        let low = after.checked_sub(1).map_or(begin, |nth| self.nows[nth]);
        let Some(high) = self.nows.get(after) else {
            let pace = self.seconds_per_step;
            let (steps, seconds) = match place {
                Place::Step(_) => (at - low.step, (at - low.step) * pace),
                Place::Seconds(_) => ((at - low.seconds) / pace, at - low.seconds),
            };
            return Now {
                step: low.step + steps,
                seconds: low.seconds + seconds,
            };
        };
        let share = (at - key(&low)) / (key(high) - key(&low));
        Now {
            step: low.step + (high.step - low.step) * share,
            seconds: low.seconds + (high.seconds - low.seconds) * share,
        }
    }

    fn x(&self, place: Place) -> f64 {
        self.x_at(self.now(place))
    }
}

/// How far the run gets on the axis that is not read evenly.
fn along_other(axis: Axis, along: f64, setting: &Setting) -> f64 {
    match axis {
        Axis::Step => along * setting.seconds_per_step,
        _ => along / setting.seconds_per_step,
    }
}

/// What stands between the level and the reading.
struct Readings<'a> {
    setting: &'a Setting,
    sigma: f64,
    /// Steps from one point to the next.
    gap: f64,
    phase: f64,
    before: f64,
    random: Random,
}

impl Readings<'_> {
    fn new<'a>(
        setting: &'a Setting,
        shape: &Shape,
        grid: &Grid,
        mut random: Random,
    ) -> Readings<'a> {
        Readings {
            setting,
            sigma: setting.noise.sigma.max(shape.noise),
            gap: grid.end().step / grid.nows.len() as f64,
            phase: TAU * random.unit(),
            before: random.normal(),
            random,
        }
    }

    /// The level of a job that keeps nothing.
    fn base(&self, now: Now) -> f64 {
        let Some(start) = self.setting.start.filter(|start| now.step < start.steps) else {
            return self.setting.base;
        };
        let there = (now.step / start.steps * start.stairs).floor() / start.stairs;
        self.setting.base * (start.from + (1.0 - start.from) * there)
    }

    fn read(&mut self, now: Now, level: f64, swing: f64) -> f64 {
        let setting = self.setting;
        let noise = &setting.noise;
        let turns = now.step / (noise.wave * setting.steps);
        let drift = noise.drift * (TAU * turns + self.phase).sin();
        let shaken = level * (1.0 + drift + self.sigma * self.shake()) + swing;
        let above = setting.buffers.map_or(0.0, |buffers| self.buffer(buffers))
            + setting
                .evaluations
                .map_or(0.0, |rounds| self.spike(rounds, now))
            + setting.saves.map_or(0.0, |rounds| self.spike(rounds, now));
        ((shaken + above) / setting.quantum).round().max(1.0) * setting.quantum
    }

    /// Of deviation 1.
    fn shake(&mut self) -> f64 {
        let normal = self.random.normal();
        match self.setting.noise.tail {
            Tail::Gauss => normal,
            // Student's with three degrees of freedom, which is as heavy as has a deviation.
            Tail::Heavy => {
                let sum: f64 = (0..3).map(|_| self.random.normal().powi(2)).sum();
                (normal / sum.sqrt()).clamp(-20.0, 20.0)
            }
            Tail::Correlated(alike) => {
                self.before = alike * self.before + (1.0 - alike * alike).sqrt() * normal;
                self.before
            }
        }
    }

    fn buffer(&mut self, buffers: Buffers) -> f64 {
        let random = &mut self.random;
        buffers.bytes
            * match buffers.kind {
                BufferKind::Even => random.unit(),
                BufferKind::Mostly => random.unit().powi(4),
                BufferKind::Either => f64::from(u8::from(random.happens(0.5))),
            }
    }

    fn spike(&mut self, rounds: Rounds, now: Now) -> f64 {
        let since = now.step - rounds.done(now.step) * rounds.every;
        // A round that is shorter than the gap between points is seen now and then.
        let seen = since < rounds.takes
            || since < self.gap && self.random.happens(rounds.takes / self.gap);
        if rounds.done(now.step) < 1.0 || !seen {
            return 0.0;
        }
        rounds.spike * self.random.between(0.3, 1.0)
    }
}

struct Truth {
    onset: Option<f64>,
    settles: Option<f64>,
    fills_in: Option<f64>,
    rate: Option<f64>,
}

impl Truth {
    fn new(setting: &Setting, shape: &mut Shape, grid: &Grid) -> Truth {
        let end = grid.end();
        if let Some((onset, line)) = &mut shape.leak {
            // Lines are asked in the order of time, and this one was asked at the end already: the leak
            // stands at nothing until its onset, by what a leak is.
            let x = grid.x(*onset);
            let per_unit = match setting.axis {
                Axis::Step => 1.0,
                _ => setting.seconds_per_step,
            };
            let rate = match shape.rate {
                Some(rate) => rate / per_unit,
                None => line(end) / (grid.x_at(end) - x),
            };
            return Truth {
                onset: Some(x),
                settles: None,
                fills_in: None,
                rate: Some(rate),
            };
        }
        let start = setting.start.map_or(0.0, |start| start.steps);
        let start = grid.x(Place::Step(start));
        let (settles, fills_in) = match shape.grows {
            None => (start, None),
            Some((begin, end)) => {
                let (begin, end) = (grid.x(begin), grid.x(end));
                (end.max(start), Some(end - begin))
            }
        };
        Truth {
            onset: None,
            settles: Some(settles).filter(|x| *x <= grid.x_at(end)),
            fills_in,
            rate: None,
        }
    }
}

/// What a watch knew at the end of the run.
fn context(setting: &Setting, shape: &Shape, grid: &Grid) -> Context {
    let on_steps = setting.axis == Axis::Step;
    let last = grid.end().step;
    let places = |every: f64, before: f64| {
        let first = (before / every).floor() + 1.0;
        (0..)
            .map(move |nth| (first + f64::from(nth)) * every - before)
            .take_while(move |step| *step <= last)
    };
    let known = |every: f64, before: f64| {
        let mut kept: Vec<f64> = places(every, before).collect();
        while kept.len() > HAPPENINGS {
            kept = kept.into_iter().step_by(2).collect();
        }
        kept.into_iter().map(|step| grid.x(Place::Step(step)))
    };
    let mut rounds = Vec::new();
    let kinds = [
        (RoundKind::Evaluation, setting.evaluations),
        (RoundKind::Save, setting.saves),
    ];
    for (kind, printed) in kinds {
        // Of more than it keeps, a watch gives none to the judge: growth between those left would be theirs.
        let kept = |rounds: &Rounds| rounds.known && last / rounds.every < HAPPENINGS as f64;
        if let Some(printed) = printed.filter(kept) {
            rounds.extend(known(printed.every, 0.0).map(|x| Round { kind, x }));
        }
    }
    let mut epoch_ends = Vec::new();
    if setting.prints_epochs {
        epoch_ends.extend(known(setting.epoch, setting.resumed_at));
    }
    Context {
        geometry: Geometry {
            epoch_steps: (setting.knows_epochs && on_steps).then_some(setting.epoch),
            ..Geometry::default()
        },
        marked: on_steps,
        first_step: on_steps.then(|| grid.x_at(grid.nows[0])),
        resumed: setting.resumed,
        total_steps: setting
            .knows_total
            .then_some(setting.resumed_at + setting.steps),
        shards: shape.shards,
        epoch_ends,
        rounds,
        ..Context::default()
    }
}
