//! Real process trees for tests: small Python programs that say when they are ready.

mod job;

pub(crate) use job::Job;
use lowtide_core::sample::Sample;
use lowtide_core::units::Micros;
use lowtide_sys::sampler::{Change, Options, Sampler};

/// A sampler with a clock of its own: one second per tick.
pub(crate) struct Eye {
    pub sampler: Sampler,
    pub sample: Sample,
    pub changes: Vec<Change>,
    now: Micros,
}

impl Eye {
    pub(crate) fn on(options: Options) -> Eye {
        Eye {
            sampler: Sampler::new(options).unwrap(),
            sample: Sample::default(),
            changes: Vec::new(),
            now: Micros(0),
        }
    }

    pub(crate) fn tick(&mut self) -> &Sample {
        self.now = Micros(self.now.0 + 1_000_000);
        let changes = self.sampler.tick(self.now, &mut self.sample).unwrap();
        self.changes.extend(changes);
        &self.sample
    }

    /// Ticks until something is so; the clock of the sampler moves on, the test does not sleep.
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&Sampler, &Sample) -> bool) {
        for _ in 0..100_000 {
            self.tick();
            if done(&self.sampler, &self.sample) {
                return;
            }
        }
        panic!("never came: {what}");
    }
}
