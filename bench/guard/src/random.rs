//! Chance from a seed: SplitMix64, which is short, fast and the same everywhere.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        // Neighbouring seeds are as far apart as any.
        let mut random = Random(seed ^ 0x6c6f_7774_6964_6521);
        Random(random.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Another stream, which this one's further use does not change.
    pub(crate) fn fork(&mut self) -> Random {
        Random(self.next())
    }

    /// From 0 up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Each order of magnitude is as likely as any other.
    pub(crate) fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub(crate) fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Waiting times without memory: mostly short, now and then long.
    pub(crate) fn wait(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Around 1, never below 0; `spread` is about the share by which it differs.
    pub(crate) fn around(&mut self, spread: f64) -> f64 {
        // The sum of three is close enough to a bell.
        let bell = self.unit() + self.unit() + self.unit() - 1.5;
        (bell * 2.0 * spread).exp()
    }
}
