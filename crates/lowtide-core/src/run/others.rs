//! What others take of the memory that the same limit covers: other jobs of the machine, other processes
//! of the cgroup. It is told apart from the job's own growth, so that nobody blames the job for it.

use std::collections::VecDeque;

use crate::sample::Limit;
use crate::stats;
use crate::units::Bytes;

/// Two minutes of it, a point every two seconds.
const KEPT: usize = 60;
const SECONDS_APART: f64 = 2.0;
/// A pace needs this many points.
const LEAST: usize = 8;
/// And is worth telling from this share of the limit a minute on.
const WORTH_TELLING: f64 = 0.01;

#[derive(Clone, Debug, Default)]
pub(super) struct Others(VecDeque<(f64, f64)>);

impl Others {
    pub(super) fn push(&mut self, seconds: f64, limit: &Limit, own: Bytes) {
        if self
            .0
            .back()
            .is_some_and(|(last, _)| seconds - last < SECONDS_APART)
        {
            return;
        }
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        let others = limit.used.as_f64() - own.as_f64();
        self.0.push_back((seconds, others.max(0.0)));
    }

    /// What they take in a minute, when that is surely something.
    pub(super) fn per_minute(&self, limit: &Limit) -> Option<f64> {
        if self.0.len() < LEAST {
            return None;
        }
        let (xs, ys): (Vec<f64>, Vec<f64>) = self.0.iter().copied().unzip();
        let (slope, low, _) = stats::slope_interval(&xs, &ys, 0.0)?;
        let minute = slope * 60.0;
        (low > 0.0 && minute >= WORTH_TELLING * limit.bytes.as_f64()).then_some(minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::LimitFrom;

    fn limit(used: f64) -> Limit {
        Limit {
            bytes: Bytes(25_000_000_000),
            from: LimitFrom::Node,
            used: Bytes(used as u64),
        }
    }

    #[test]
    fn what_others_take_is_told_apart() {
        let mut others = Others::default();
        for tick in 0..120 {
            let second = f64::from(tick);
            let own = Bytes(1_000_000_000 + tick as u64 * 10_000_000);
            let used = own.as_f64() + 2e9 + second * 2e9 / 60.0;
            others.push(second, &limit(used), own);
        }
        let minute = others.per_minute(&limit(0.0)).unwrap();
        assert!((minute / 2e9 - 1.0).abs() < 0.01, "{minute}");
    }

    #[test]
    fn own_growth_is_nobody_elses() {
        let mut others = Others::default();
        for tick in 0..120 {
            let own = Bytes(1_000_000_000 + tick as u64 * 100_000_000);
            others.push(f64::from(tick), &limit(own.as_f64() + 2e9), own);
        }
        assert_eq!(others.per_minute(&limit(0.0)), None);
    }
}
