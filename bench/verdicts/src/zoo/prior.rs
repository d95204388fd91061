//! How long harmless stores take to fill, and how much is kept: every number that the generated series
//! draw from. Lengths are scaled by the `prior_scale` of [`super::draw`]; sizes are not.

use crate::stats::Random;
use crate::zoo::chance::Chance;

/// A store that holds so many steps: rings, queues, caches with a cap, curricula by step.
pub const STORE_STEPS: LogNormal = LogNormal {
    median: 1500.0,
    sigma: 1.8,
};

/// A store that holds so many passes over the data: banks of variants, curricula by epoch. (A first pass
/// is one epoch exactly, whatever the scale.)
pub const STORE_EPOCHS: LogNormal = LogNormal {
    median: 2.5,
    sigma: 0.8,
};

/// A store that holds the last so many evaluations, saves or epochs.
pub const STORE_ROUNDS: LogUniform = LogUniform {
    low: 2.0,
    high: 40.0,
};

/// A store whose entries live so many seconds.
pub const EXPIRY_SECONDS: LogNormal = LogNormal {
    median: 300.0,
    sigma: 1.5,
};

/// What only the first steps make: state of the optimizer, compiled code, pools of an allocator.
pub const START_STEPS: LogNormal = LogNormal {
    median: 40.0,
    sigma: 1.2,
};

/// Growth over the run, as a share of the base: of leaks, and of stores too, so that size tells nothing.
pub const GROWTH: LogUniform = LogUniform {
    low: 0.08,
    high: 4.0,
};

/// Growth that fades has ended when what is left to come is less than this share of the final level.
pub const NEGLIGIBLE: f64 = 0.005;

#[derive(Clone, Copy, Debug)]
pub struct LogNormal {
    pub median: f64,
    /// Of the natural logarithm.
    pub sigma: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct LogUniform {
    pub low: f64,
    pub high: f64,
}

impl LogNormal {
    pub fn draw(&self, random: &mut Random) -> f64 {
        self.median * (self.sigma * random.normal()).exp()
    }
}

impl LogUniform {
    pub fn draw(&self, random: &mut Random) -> f64 {
        random.log_between(self.low, self.high)
    }
}
