//! When reading has to end: after so much work, or, on a machine that others keep busy, after so much time.

use std::time::{Duration, Instant};

use lowtide_core::units::Micros;

use crate::sampler::processor_time;

/// On a machine that others keep busy, work takes this many times as long: it still ends, before what is
/// read belongs to different minutes.
const BUSY: u32 = 5;

/// A limit on the work of one thread, that which makes it.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    processor: Micros,
    wall: Instant,
}

impl Deadline {
    /// `within` is time on a processor.
    pub fn after(within: Duration) -> Deadline {
        let work = u64::try_from(within.as_micros()).unwrap_or(u64::MAX);
        Deadline {
            processor: Micros(processor_time().0.saturating_add(work)),
            wall: Instant::now() + within * BUSY,
        }
    }

    /// For a few words, which need no limit: a century.
    pub fn none() -> Deadline {
        Deadline::after(Duration::from_secs(100 * 365 * 86_400 / u64::from(BUSY)))
    }

    pub fn is_over(self) -> bool {
        processor_time() >= self.processor || Instant::now() >= self.wall
    }
}
