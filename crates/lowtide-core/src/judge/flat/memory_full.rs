//! Rule "memory is full": the floor stopped because there is nothing left to take.

use crate::judge::decide::Case;
use crate::judge::ending::Ending;
use crate::judge::epoch::Epoch;
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::would_change;
use crate::units::show_bytes;
use crate::verdict::Verdict;

pub(crate) const RULE: Rule = Rule::named("memory is full");

/// From this share of the limit on, reclaim and swapping flatten any curve.
const FULL: f64 = 0.95;

pub(crate) fn is_full(level: f64, limit: Option<f64>) -> bool {
    limit.is_some_and(|limit| level >= FULL * limit)
}

impl Case<'_> {
    /// What it was before it stopped decides; `grew` is that, where it was steady.
    pub(in crate::judge) fn full(
        &self,
        mut verdict: Verdict,
        (whole, before): (&FloorLine, &FloorLine),
        grew: Option<&Tail>,
        epoch: Option<Epoch>,
    ) -> Verdict {
        verdict.evidence.push(RULE.says(format!(
            "the floor stopped at {}, within {:.0} % of the limit: that is no plateau",
            show_bytes(verdict.floor.last),
            100.0 * (1.0 - FULL)
        )));
        if let Some(tail) = grew
            && let Ending::Passed { says, surely } = self.ending((whole, before), tail, epoch)
        {
            verdict.evidence.push(says);
            return self.leak(verdict, whole, tail, surely);
        }
        verdict.safe_until_then = Some(false);
        verdict
            .evidence
            .push(would_change::by("the same run with more memory"));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{is_held_back_by, look_with};
    use crate::point::Context;
    use crate::units::Bytes;
    use crate::verdict::{Axis, Class};

    #[test]
    fn a_plateau_at_the_limit_is_none() {
        let under = |limit: u64| {
            let context = Context {
                limit: Some(Bytes(limit)),
                ..Context::default()
            };
            look_with(&context, Axis::Time, 1000, |x| 1000.0 + 2.0 * x.min(500.0))
        };
        is_held_back_by(&under(2_050_000_000), RULE);
        assert_eq!(under(4_000_000_000).verdict, Class::WarmUp);
    }
}
