//! Rule "growth ends at the epoch": what is kept once per example has ended with the first pass over the data.

use super::plateau::Plateau;
use crate::judge::decide::Case;
use crate::judge::epoch::Epoch;
use crate::judge::rule::Rule;
use crate::judge::words::{epoch_length, place};
use crate::verdict::{Bound, BoundKind, Certainty, Growth, Verdict};

pub(crate) const RULE: Rule = Rule::named("growth ends at the epoch");

/// Growth that stopped this close to the end of the epoch (as a share of it) stopped with it.
const WITH_THE_EPOCH: f64 = 0.15;

/// Whether growth that stopped at `x` stopped with the epoch, on a line whose points lie so far apart.
pub(crate) fn ended_with(epoch: &Epoch, x: f64, spacing: f64) -> bool {
    (x - epoch.end()).abs() <= (WITH_THE_EPOCH * epoch.steps).max(spacing)
}

impl Case<'_> {
    /// Growth of `slope` a step that ended at `at`, by what it keeps of each example.
    pub(super) fn ends_with_the_epoch(
        &self,
        verdict: &mut Verdict,
        growth: &mut Growth,
        plateau: &Plateau,
        slope: f64,
        epoch: Epoch,
    ) {
        growth.driver = Some("new-example".to_owned());
        growth.per_unit = epoch.examples_per_step.map(|n| slope / n);
        verdict.evidence.push(RULE.says(format!(
            "growth stopped at {}; an epoch is {}",
            place(self.axis, growth.to),
            epoch_length(self.axis, epoch.steps)
        )));
        verdict.bound = Some(Bound {
            kind: BoundKind::Epoch,
            at: Some(epoch.end()),
            bytes: Some(plateau.level),
            certainty: Certainty::Exact,
            why: self.epoch_in_words(epoch),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with_epoch, names};
    use crate::verdict::{BoundKind, Class};

    #[test]
    fn growth_that_stops_with_the_epoch_was_kept_per_example() {
        let stops = |at: f64| look_with_epoch(80.0, 240, move |x| 1000.0 + 10.0 * x.min(at));
        let with_it = stops(80.0);
        assert!(names(&with_it, RULE), "{:#?}", with_it.evidence);
        assert_eq!(with_it.verdict, Class::WarmUp);
        assert_eq!(with_it.bound.unwrap().kind, BoundKind::Epoch);
        assert!(!names(&stops(50.0), RULE));
    }
}
