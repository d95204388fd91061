//! The only place of the program that reads clocks for a run: time is data everywhere else.

use std::time::Duration;

use jiff::Timestamp;
use lowtide_core::entry::Header;
use lowtide_core::units::{Micros, Share};

use crate::monotonic::monotonic_ns;

/// A run's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started_ns: u64,
    timestamp: Timestamp,
}

impl Clock {
    pub fn start() -> Clock {
        Clock {
            started_ns: monotonic_ns(),
            timestamp: Timestamp::now(),
        }
    }

    pub fn now(&self) -> Micros {
        self.at(monotonic_ns())
    }

    /// The time of the run at a reading of the monotonic clock.
    pub(crate) fn at(&self, monotonic_ns: u64) -> Micros {
        Micros(monotonic_ns.saturating_sub(self.started_ns) / 1000)
    }

    pub(crate) fn started_ns(&self) -> u64 {
        self.started_ns
    }

    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }
}

/// Ticks more often than this would cost more than they tell.
const SHORTEST: Duration = Duration::from_millis(10);

/// When the next tick is due. A late tick does not shift the ones after it, and ticks that were
/// missed altogether (a suspended machine) are left out, not made up for.
pub(crate) struct Ticker {
    interval: u64,
    /// Ticks come this often until then.
    early: (u64, u64),
    due: u64,
}

/// A job that is over in seconds is judged by few ticks: the first minute gets twice as many.
const EARLY: Duration = Duration::from_millis(500);
const EARLY_UNTIL: Duration = Duration::from_secs(60);

impl Ticker {
    pub(crate) fn new(interval: Duration) -> Ticker {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let now = monotonic_ns();
        Ticker {
            interval: nanos(interval.max(SHORTEST)),
            early: (u64::MAX, now),
            due: now,
        }
    }

    /// For a job that begins now: more ticks at first.
    pub(crate) fn from_the_start(interval: Duration) -> Ticker {
        let ticker = Ticker::new(interval);
        let early = ticker.interval.min(EARLY.as_nanos() as u64);
        let until = ticker.due.saturating_add(EARLY_UNTIL.as_nanos() as u64);
        Ticker {
            early: (early, until),
            ..ticker
        }
    }

    /// Brings the next tick forward.
    pub(crate) fn soon(&mut self, within: Duration) {
        let nanos = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        self.due = self.due.min(monotonic_ns().saturating_add(nanos));
    }

    /// How long to wait; zero when a tick is due.
    pub(crate) fn wait(&self) -> Duration {
        Duration::from_nanos(self.due.saturating_sub(monotonic_ns()))
    }

    /// Takes the tick that is due; returns how late it is.
    pub(crate) fn take(&mut self) -> Duration {
        let now = monotonic_ns();
        let late = now.saturating_sub(self.due);
        let (early, until) = self.early;
        let interval = if now < until { early } else { self.interval };
        let missed = interval.saturating_mul(1 + late / interval);
        self.due = self.due.saturating_add(missed);
        Duration::from_nanos(late)
    }
}

fn masked(command: &[String]) -> Vec<String> {
    let mut command = command.to_vec();
    lowtide_sys::proc::mask::arguments(&mut command);
    command
}

/// What the recording says of itself, apart from its name.
pub(super) fn header(
    how: &str,
    command: &[String],
    clock: &Clock,
    interval: Duration,
    budget: Share,
) -> Header {
    let uname = rustix::system::uname();
    Header {
        name: String::new(),
        started: Micros(clock.timestamp.as_microsecond().max(0) as u64),
        host: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        how: how.to_owned(),
        command: masked(command),
        cwd: std::env::current_dir()
            .map(|dir| dir.display().to_string())
            .unwrap_or_default(),
        interval: Micros(interval.as_micros() as u64),
        budget,
        lowtide: env!("CARGO_PKG_VERSION").to_owned(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        clock_ticks: rustix::param::clock_ticks_per_second(),
    }
}
