//! The clock that all processes of a machine share: marks, output and samples are put in order by it.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds. The Python package sends it too.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A moment that the times of files are compared with. They are the wall clock's, and that may be set while a
/// job runs: what is written after it was set back looks older than the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    wall: SystemTime,
    monotonic_ns: u64,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment {
            wall: SystemTime::now(),
            monotonic_ns: monotonic_ns(),
        }
    }

    /// A moment of which the wall clock's time is known, by that clock as it is now.
    pub(crate) fn of(wall: SystemTime) -> Moment {
        let now = Moment::now();
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let monotonic_ns = match now.wall.duration_since(wall) {
            Ok(age) => now.monotonic_ns.saturating_sub(nanos(age)),
            Err(ahead) => now.monotonic_ns.saturating_add(nanos(ahead.duration())),
        };
        Moment { wall, monotonic_ns }
    }

    /// No file that was written since shows an earlier time: by the clock as it was then, or as it is now.
    pub(crate) fn earliest(&self) -> SystemTime {
        self.earliest_seen_at(Moment::now())
    }

    fn earliest_seen_at(&self, now: Moment) -> SystemTime {
        let Some(age) = now.monotonic_ns.checked_sub(self.monotonic_ns) else {
            return self.wall;
        };
        let todays = now.wall.checked_sub(Duration::from_nanos(age));
        self.wall.min(todays.unwrap_or(SystemTime::UNIX_EPOCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// At this second of the monotonic clock, while the wall clock shows so many hours.
    fn moment(second: u64, hours: u32) -> Moment {
        Moment {
            wall: SystemTime::UNIX_EPOCH + HOUR * hours + Duration::from_secs(second),
            monotonic_ns: second * 1_000_000_000,
        }
    }

    #[test]
    fn a_clock_that_is_set_makes_nothing_too_old() {
        let begin = moment(100, 5);
        assert_eq!(begin.earliest_seen_at(moment(160, 5)), begin.wall);
        let set_back = begin.earliest_seen_at(moment(160, 2));
        assert_eq!(set_back, moment(100, 2).wall);
        // What was written before it was set forward still counts.
        assert_eq!(begin.earliest_seen_at(moment(160, 9)), begin.wall);
    }

    #[test]
    fn a_moment_is_as_long_ago_as_its_time_says() {
        let ago = Moment::of(SystemTime::now() - Duration::from_secs(1));
        let passed = monotonic_ns() - ago.monotonic_ns;
        assert!(passed >= 1_000_000_000, "{passed}");
    }
}
