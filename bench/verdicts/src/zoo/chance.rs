//! The draws that the zoo needs, on top of the generator that every score shares.

use crate::stats::Random;

pub trait Chance {
    /// Whether something of this probability happens.
    fn happens(&mut self, probability: f64) -> bool;
    fn between(&mut self, low: f64, high: f64) -> f64;
    /// Even on a logarithmic scale.
    fn log_between(&mut self, low: f64, high: f64) -> f64;
    /// Whole numbers, both ends included.
    fn whole(&mut self, low: usize, high: usize) -> usize;
    fn normal(&mut self) -> f64;
    /// With mean 1.
    fn exponential(&mut self) -> f64;
    /// Log-normal with median 1.
    fn factor(&mut self, sigma: f64) -> f64;
    /// A generator of its own for a part, so that what the part draws does not move the rest.
    fn fork(&mut self) -> Random;
}

impl Chance for Random {
    fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn log_between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn whole(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    fn normal(&mut self) -> f64 {
        // Box and Muller's, of which one half is thrown away: no state beside the seed.
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    fn factor(&mut self, sigma: f64) -> f64 {
        (sigma * self.normal()).exp()
    }

    fn fork(&mut self) -> Random {
        let high = self.below(1 << 32) as u64;
        Random(high << 32 | self.below(1 << 32) as u64)
    }
}
