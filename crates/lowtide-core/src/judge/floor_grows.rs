//! Rule "floor grows": the end of the line rises, materially, and fast enough to matter. What is missing
//! before that is steady ([`super::steady`]) and what is known of its end ([`super::ending`]) make the
//! verdict.

use super::decide::Case;
use super::ending::Ending;
use super::epoch::Epoch;
use super::flat::floor_is_flat::HORIZON;
use super::line::FloorLine;
use super::rule::Rule;
use super::steady::Lacking;
use super::tail::Tail;
use super::words::{pace, place};
use super::{limit, would_change};
use crate::units::show_bytes;
use crate::verdict::{Evidence, Growth, Verdict};

pub(super) const RULE: Rule = Rule::named("floor grows");

/// Growth of the tail below this share of the level is not material.
pub(crate) const MATERIAL: f64 = 0.01;
/// Nor is growth below this many times the noise of the floor: 13 minutes of a process that warms up
/// under heavy saw-teeth looked straight at 5 times.
const MATERIAL_NOISE: f64 = 8.0;
/// Seconds for which growth is looked ahead at least before it is called creep: an hour is the least that
/// somebody trains for who asks.
const LEAST_RUN: f64 = 3_600.0;
/// Evidence lines about what is missing, at most: the first ones weigh most.
const MOST_MISSING: usize = 3;

/// The least growth of an end of the line that is material.
pub(crate) fn material(tail: &Tail) -> f64 {
    (MATERIAL * tail.level.abs()).max(MATERIAL_NOISE * tail.noise)
}

impl Case<'_> {
    /// The end of the line rises, materially, and fast enough to matter within ten times the run.
    pub(super) fn grows(&self, whole: &FloorLine, tail: &Tail) -> bool {
        tail.low > 0.0 && tail.growth() >= material(tail) && !self.is_creep(whole, tail)
    }

    /// Real, but too slow to matter within ten times the run, or an hour: what was watched for a minute is
    /// no run.
    pub(super) fn is_creep(&self, whole: &FloorLine, tail: &Tail) -> bool {
        let hour = limit::pace(self.series).map_or(0.0, |pace| LEAST_RUN / pace);
        let horizon = (HORIZON * whole.span()).max(hour);
        let slope = tail.slope.min(tail.newer);
        let meets_limit = self
            .limit
            .is_some_and(|limit| limit - tail.level_end < slope * horizon);
        slope * horizon < tail.level_end.abs() && !meets_limit
    }

    /// The verdict on growth: a leak, a warm-up whose end is known, or open.
    pub(super) fn growing(
        &self,
        mut verdict: Verdict,
        (whole, line): (&FloorLine, &FloorLine),
        tail: &Tail,
        epoch: Option<Epoch>,
        missing: Lacking,
    ) -> Verdict {
        self.tell_growth(&mut verdict, whole, tail);
        verdict.growing = true;
        verdict.steady = missing.is_nothing();
        if let Some(reserve) = self.touched() {
            return self.under_way(verdict, reserve);
        }
        if let Some(epoch) = epoch.filter(|epoch| tail.to < epoch.seen_at()) {
            return self.within_epoch(verdict, whole, tail, epoch);
        }
        let (says, decides_at) = match (self.ending((whole, line), tail, epoch), verdict.steady) {
            (Ending::Passed { says, surely }, true) => {
                verdict.evidence.push(says);
                return self.leak(verdict, whole, tail, surely);
            }
            (Ending::Open { says, decides_at }, true) => (vec![says], decides_at),
            (Ending::Passed { .. }, false) => (missing.says, missing.decides_at),
            // A clearer shape decides nothing while no end is known.
            (Ending::Open { decides_at: at, .. }, false) => {
                let both = missing.decides_at.zip(at).map(|(a, b)| a.max(b));
                (missing.says, both)
            }
        };
        verdict.evidence.extend(says.into_iter().take(MOST_MISSING));
        verdict.decides_at = decides_at;
        verdict.safe_until_then = self.safe(whole, tail, decides_at);
        verdict.evidence.push(would_end_it(epoch));
        verdict
    }

    /// How much since when and how fast, and when memory runs out at that pace.
    fn tell_growth(&self, verdict: &mut Verdict, whole: &FloorLine, tail: &Tail) {
        verdict.evidence.push(RULE.says(format!(
            "{} since {}: {} (95 % interval {} to {})",
            show_bytes(tail.growth()),
            place(self.axis, tail.from),
            pace(self.axis, tail.slope),
            pace(self.axis, tail.low),
            pace(self.axis, tail.high)
        )));
        verdict.growth = Some(Growth {
            from: tail.from,
            to: tail.to,
            bytes: tail.growth(),
            driver: Some(self.axis.to_string()),
            per_unit: Some(tail.slope),
        });
        if let Some(limit) = self.limit {
            let crest = limit::newest_crest(whole);
            let last = self.series.buckets().last().map_or(tail.to, |b| b.last);
            let oom = limit::forecast(tail, (last, crest), limit, limit::pace(self.series));
            verdict.oom = oom.filter(|oom| self.end().is_none_or(|end| oom.at <= end));
        }
    }
}

fn would_end_it(epoch: Option<Epoch>) -> Evidence {
    would_change::by(match epoch {
        Some(_) => {
            "a floor that stays level makes it a warm-up; growth that outlasts some epochs a leak"
        }
        None => {
            "a first pass over the data or a store that fills looks the same; a floor that stays level makes it a warm-up; the length of an epoch would decide it sooner (printed by the job, or told to `lowtide judge --epoch-steps N`)"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look, names};
    use crate::verdict::{Axis, Class};

    #[test]
    fn creep_is_told_and_not_an_alarm() {
        let verdict = look(Axis::Time, 2000, |x| 1000.0 + 0.015 * x);
        assert_eq!(verdict.verdict, Class::Stable, "{:#?}", verdict.evidence);
        assert!(verdict.creep && !names(&verdict, RULE));
        assert!((verdict.rate.value / 0.015e6 - 1.0).abs() < 0.05);
        let fast = look(Axis::Time, 2000, |x| 1000.0 + 0.15 * x);
        assert!(!fast.creep && names(&fast, RULE), "{:#?}", fast.evidence);
    }

    /// Half a percent of the level, however straight, is nobody's growth.
    #[test]
    fn growth_below_one_percent_is_not_material() {
        let verdict = look(Axis::Step, 100, |x| 1000.0 + 0.05 * x);
        assert!(!names(&verdict, RULE), "{:#?}", verdict.evidence);
    }
}
