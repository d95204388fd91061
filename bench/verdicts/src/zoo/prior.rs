//! How long harmless stores take to fill, and how much is kept: every number that the generated series
//! draw from. Lengths are scaled by the `prior_scale` of [`super::draw`]; sizes are not.

use lowtide_core::judge::prior::{Length, Prior};

use crate::stats::Random;
use crate::zoo::chance::Chance;

/// How long stores of a size of their own take to fill by the clock, those that are tied to the data in passes over it, and
/// pools of results in rounds: what is published (`zoo/prior`), which the judge believes too. That it should not be true is
/// what the scale is for.
pub const PUBLISHED: Prior = Prior::PUBLISHED;

/// Of the stores in jobs with epochs, so many are tied to the data: by the published odds.
pub fn tied_to_data() -> f64 {
    let odds = PUBLISHED.odds;
    odds.passes / (odds.passes + odds.store_beside_epochs)
}

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

/// One length of a published distribution.
pub fn draw(length: Length, random: &mut Random) -> f64 {
    length.at(random.normal())
}
