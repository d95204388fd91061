//! How a job looks from outside, whatever it keeps: drawn first, for every case.

use lowtide_core::verdict::Axis;

use crate::stats::Random;
use crate::zoo::chance::Chance;
use crate::zoo::prior;

const STEPS: (f64, f64) = (300.0, 200_000.0);
const SECONDS_PER_STEP: (f64, f64) = (0.05, 5.0);
/// Ten minutes to three days.
const RUN_SECONDS: (f64, f64) = (600.0, 259_200.0);
const BASE: (f64, f64) = (0.5e9, 40e9);
const POINTS: (f64, f64) = (200.0, 3000.0);
const SHORTEST_EPOCH: f64 = 8.0;
const LARGEST_NOISE: f64 = 0.01;
const LARGEST_DRIFT: f64 = 0.003;
const LONGEST_START: f64 = 0.03;
const LAST_OF_START: f64 = 20.0;

pub struct Setting {
    pub axis: Axis,
    /// Steps in the run.
    pub steps: f64,
    pub seconds_per_step: f64,
    /// How much the pace of single points varies, of the logarithm.
    pub pace: f64,
    /// Steps in a pass over the data.
    pub epoch: f64,
    /// The step that the process began with, at the end of an epoch: others than 0 were resumed.
    pub resumed_at: f64,
    /// The watch saw it being started again.
    pub resumed: bool,
    pub knows_epochs: bool,
    /// The ends of epochs are printed when they come.
    pub prints_epochs: bool,
    pub knows_total: bool,
    /// The level once the job runs, without what the kind keeps.
    pub base: f64,
    /// Points that the series shall have, about.
    pub points: usize,
    pub noise: Noise,
    /// Momentary buffers that points stand above the floor.
    pub buffers: Option<Buffers>,
    pub evaluations: Option<Rounds>,
    pub saves: Option<Rounds>,
    pub start: Option<Start>,
    /// Readings are multiples of this: pages, or what a log prints.
    pub quantum: f64,
    pub prior_scale: f64,
}

/// Noise of the readings and of the floor itself, as shares of the level.
pub struct Noise {
    pub sigma: f64,
    pub tail: Tail,
    /// A slow wave, and its length in runs.
    pub drift: f64,
    pub wave: f64,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Tail {
    Gauss,
    /// Now and then far off.
    Heavy,
    /// A reading is like the one before.
    Correlated(f64),
}

#[derive(Clone, Copy)]
pub struct Buffers {
    pub bytes: f64,
    pub kind: BufferKind,
}

#[derive(Clone, Copy, PartialEq)]
pub enum BufferKind {
    /// Anything from nothing up to its size.
    Even,
    /// Mostly small.
    Mostly,
    /// There or not.
    Either,
}

/// Evaluations or saves.
#[derive(Clone, Copy)]
pub struct Rounds {
    /// Steps from one to the next; the first comes after as many.
    pub every: f64,
    /// How high memory stands above the floor meanwhile, and for how many steps' time.
    pub spike: f64,
    pub takes: f64,
    /// The job prints them.
    pub known: bool,
}

/// The level before the job runs: libraries are loaded, the model is built.
#[derive(Clone, Copy)]
pub struct Start {
    /// Steps' time until all is there.
    pub steps: f64,
    /// Share of the base that is there at once.
    pub from: f64,
    pub stairs: f64,
}

impl Setting {
    pub fn draw(random: &mut Random, prior_scale: f64) -> Setting {
        let axis = if random.happens(0.75) {
            Axis::Step
        } else {
            Axis::Time
        };
        let (steps, seconds_per_step) = loop {
            let steps = random.log_between(STEPS.0, STEPS.1).round();
            let seconds = random.log_between(SECONDS_PER_STEP.0, SECONDS_PER_STEP.1);
            if (RUN_SECONDS.0..=RUN_SECONDS.1).contains(&(steps * seconds)) {
                break (steps, seconds);
            }
        };
        let base = random.log_between(BASE.0, BASE.1);
        let most = if axis == Axis::Step {
            POINTS.1.min(steps)
        } else {
            POINTS.1
        };
        let knows_epochs = random.happens(0.5);
        // Loading is over before the first steps are.
        let longest_start = match axis {
            Axis::Step => (LONGEST_START * steps).min(LAST_OF_START),
            _ => LONGEST_START * steps,
        };
        let epoch = epoch(random, steps);
        let resumed_at = if random.happens(0.06) {
            (epoch * random.whole(1, 8) as f64).ceil()
        } else {
            0.0
        };
        Setting {
            axis,
            steps,
            seconds_per_step,
            pace: random.between(0.0, 0.3),
            epoch,
            resumed_at,
            resumed: resumed_at > 0.0 && random.happens(0.5),
            knows_epochs,
            prints_epochs: knows_epochs && (axis == Axis::Time || random.happens(0.5)),
            knows_total: axis == Axis::Step && random.happens(0.7),
            base,
            points: random.log_between(POINTS.0, most) as usize,
            noise: Noise::draw(random),
            buffers: random.happens(0.5).then(|| Buffers {
                bytes: base * random.log_between(0.003, 0.3),
                kind: match random.below(3) {
                    0 => BufferKind::Even,
                    1 => BufferKind::Mostly,
                    _ => BufferKind::Either,
                },
            }),
            evaluations: random
                .happens(0.55)
                .then(|| Rounds::draw(random, steps, base)),
            saves: random
                .happens(0.45)
                .then(|| Rounds::draw(random, steps, base)),
            start: random.happens(0.4).then(|| Start {
                steps: longest_start * random.unit(),
                from: random.between(0.1, 0.9),
                stairs: random.whole(1, 12) as f64,
            }),
            quantum: match random.below(10) {
                0 => 1e7,
                1 => 1e6,
                _ => 4096.0,
            },
            prior_scale,
        }
    }

    /// Growth over the run, in bytes.
    pub fn growth(&self, random: &mut Random) -> f64 {
        self.base * prior::GROWTH.draw(random)
    }

    /// Length in steps of a store: in a job with epochs mostly tied to the data, else of a size of its own.
    pub fn store(&self, random: &mut Random) -> f64 {
        if self.knows_epochs && random.happens(prior::tied_to_data()) {
            return self.store_of_data(random).max(2.0);
        }
        let seconds = prior::draw(prior::PUBLISHED.store_seconds, random) * self.prior_scale;
        (seconds / self.seconds_per_step).max(2.0)
    }

    /// Length in steps of a store that is tied to the data.
    pub fn store_of_data(&self, random: &mut Random) -> f64 {
        prior::draw(prior::PUBLISHED.passes, random) * self.prior_scale * self.epoch
    }

    /// How many rounds a pool holds.
    pub fn pool(&self, random: &mut Random) -> f64 {
        (prior::draw(prior::PUBLISHED.rounds, random) * self.prior_scale)
            .round()
            .max(1.0)
    }

    /// Seconds that an entry lives.
    pub fn expiry(&self, random: &mut Random) -> f64 {
        prior::EXPIRY_SECONDS.draw(random) * self.prior_scale
    }

    /// Length of what only the first steps make.
    pub fn warm_up(&self, random: &mut Random) -> f64 {
        (prior::START_STEPS.draw(random) * self.prior_scale).max(1.0)
    }

    pub fn seconds(&self) -> f64 {
        self.steps * self.seconds_per_step
    }
}

/// Most runs are of several epochs; some are of one, and some end before the first does.
fn epoch(random: &mut Random, steps: f64) -> f64 {
    match random.unit() {
        u if u < 0.08 => steps,
        u if u < 0.14 => (steps * random.log_between(1.0, 8.0)).round(),
        // The last batch of a pass is smaller, or shared with the next: a length need not be whole.
        u if u < 0.35 => random.log_between(SHORTEST_EPOCH, steps),
        _ => random.log_between(SHORTEST_EPOCH, steps).round(),
    }
}

impl Noise {
    fn draw(random: &mut Random) -> Noise {
        Noise {
            // Small noise is as common as large: some jobs are still, to the page.
            sigma: LARGEST_NOISE * random.unit().powi(2),
            tail: match random.below(6) {
                0 => Tail::Heavy,
                1 => Tail::Correlated(random.between(0.5, 0.97)),
                _ => Tail::Gauss,
            },
            drift: LARGEST_DRIFT * random.unit() * f64::from(u8::from(random.happens(0.5))),
            wave: random.between(0.1, 1.0),
        }
    }
}

impl Rounds {
    fn draw(random: &mut Random, steps: f64, base: f64) -> Rounds {
        let every = random
            .log_between((steps / 200.0).max(5.0), steps / 3.0)
            .round();
        Rounds {
            every,
            spike: if random.happens(0.7) {
                base * random.log_between(0.02, 0.8)
            } else {
                0.0
            },
            takes: every * random.log_between(0.002, 0.15),
            known: random.happens(0.5),
        }
    }

    /// Rounds that are over at a step.
    pub fn done(&self, step: f64) -> f64 {
        (step / self.every).floor()
    }
}
