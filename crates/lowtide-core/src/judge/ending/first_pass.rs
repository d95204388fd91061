//! Rule "first pass over the data": whatever is kept once per example grows until every example was seen
//! once. Before the end of the first epoch could be seen ([`Epoch::seen_at`]) such growth is never called a
//! leak: it is open, with what it comes to if it ends with the epoch.

use super::Ending;
use super::outlasts_epoch::outlasts;
use crate::judge::decide::Case;
use crate::judge::epoch::{Epoch, SEEN};
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::steady::Lack;
use crate::judge::tail::Tail;
use crate::judge::words::{epoch_length, place};
use crate::judge::would_change;
use crate::units::show_bytes;
use crate::verdict::{Axis, Bound, BoundKind, Verdict};

pub(crate) const RULE: Rule = Rule::named("first pass over the data");

/// Growth within the first epoch proves nothing: it has to go on after its end.
pub(crate) fn unless_it_outlasts(
    axis: Axis,
    line: &FloorLine,
    tail: &Tail,
    epoch: Epoch,
) -> Option<Lack> {
    let goes_on = outlasts(line, tail.from, epoch.end(), epoch);
    (tail.from < epoch.end() && !goes_on).then(|| Lack {
        says: RULE.says(format!(
            "the epoch ended at {}; growth after it is not shown",
            place(axis, epoch.end())
        )),
        decides_at: Some(epoch.seen_at().max(tail.to + SEEN * epoch.steps)),
    })
}

/// Growth that may be a first pass, or a later one that began with it, or that of a store somewhat larger than the data,
/// until `needed`.
pub(crate) fn nothing_has_passed_it(axis: Axis, tail: &Tail, epoch: Epoch, needed: f64) -> Ending {
    Ending::Open {
        says: RULE.says(format!(
            "it grows since {}; an epoch is {}, and a pass or a store that is somewhat larger may last until {}",
            place(axis, tail.from),
            epoch_length(axis, epoch.steps),
            place(axis, needed)
        )),
        decides_at: Some(needed.max(tail.to + SEEN * epoch.steps)),
    }
}

impl Case<'_> {
    pub(in crate::judge) fn within_epoch(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        tail: &Tail,
        epoch: Epoch,
    ) -> Verdict {
        let ahead = (epoch.filled_at - tail.to).max(0.0);
        // From the tail's own line, not from its newest point: that window is still open, and what a
        // step holds for a moment is no floor.
        let newest = match ahead > 0.0 {
            true => tail.level_end,
            // The epoch is over: what stands there now is what it came to.
            false => self.fine.ys.last().copied().unwrap_or(tail.level_end),
        };
        let plateau = newest + tail.slope * ahead;
        if epoch.passes > 1.0 {
            return self.shared_passes(verdict, whole, tail, epoch);
        }
        verdict.predicted_plateau = Some(plateau);
        verdict.bound = Some(Bound {
            kind: BoundKind::Epoch,
            at: Some(epoch.end()),
            bytes: Some(plateau),
            certainty: epoch.certainty(self.context, tail.to),
            why: self.epoch_in_words(epoch),
        });
        verdict.decides_at = Some(epoch.seen_at());
        verdict.safe_until_then = self
            .limit
            .map(|limit| newest + tail.high.max(tail.slope) * ahead < limit);
        if let (Some(growth), Some(examples)) = (&mut verdict.growth, epoch.examples_per_step) {
            growth.driver = Some("new-example".to_owned());
            growth.per_unit = Some(tail.slope / examples);
        }
        let per_example = epoch
            .examples_per_step
            .map(|n| format!(", {} per new example", show_bytes(tail.slope / n)))
            .unwrap_or_default();
        verdict.evidence.push(RULE.says(format!(
                "an epoch is {} and ends at {}{per_example}: if growth ends with it, the floor stays at {}",
                epoch_length(self.axis, epoch.steps),
                place(self.axis, epoch.end()),
                show_bytes(plateau)
            )));
        verdict.evidence.push(would_change::by(format!(
            "not decidable before {}; growth that goes on for some epochs after it is a leak",
            place(self.axis, epoch.seen_at())
        )));
        verdict
    }

    /// Workers or ranks share a pass, and what each keeps of its part ends nowhere near the epoch.
    fn shared_passes(
        &self,
        mut verdict: Verdict,
        whole: &FloorLine,
        tail: &Tail,
        epoch: Epoch,
    ) -> Verdict {
        verdict.decides_at = Some(epoch.seen_at());
        verdict.safe_until_then = self.safe(whole, tail, verdict.decides_at);
        verdict.evidence.push(RULE.says(format!(
                "an epoch is {}, shared by {:.0} processes: what each keeps of its part goes on growing, ever slower, and is at half its pace after {:.0} epochs",
                epoch_length(self.axis, epoch.steps),
                self.context.shards,
                epoch.passes
            )));
        verdict.evidence.push(would_change::by(format!(
            "not decidable before {}; growth that keeps its pace long after it is a leak",
            place(self.axis, epoch.seen_at())
        )));
        verdict
    }

    /// `663 examples at 8 a step`, or the steps of an epoch.
    pub(in crate::judge) fn epoch_in_words(&self, epoch: Epoch) -> String {
        match (self.context.geometry.examples, epoch.examples_per_step) {
            (Some(examples), Some(each)) => format!("{examples} examples at {each:.0} a step"),
            _ => format!("an epoch is {}", epoch_length(self.axis, epoch.steps)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with, look_with_epoch, names, surely_leaks_after};
    use crate::judge::words::place;
    use crate::mark::Geometry;
    use crate::point::Context;
    use crate::verdict::{Axis, Class, Evidence};

    #[test]
    fn within_the_first_epoch_growth_is_open_and_its_end_is_predicted() {
        let verdict = look_with_epoch(100.0, 60, |x| 1000.0 + 10.0 * x);
        assert_eq!(verdict.verdict, Class::TooEarly);
        assert!(names(&verdict, RULE), "{:#?}", verdict.evidence);
        let comes_to = verdict.predicted_plateau.unwrap();
        assert!((comes_to / 2e9 - 1.0).abs() < 0.01, "{comes_to}");
        assert_eq!(verdict.decides_at, Some(125.0));
    }

    /// The epoch is over, and growth after it slowed: that it goes on is not shown.
    #[test]
    fn growth_that_falls_off_with_the_epoch_has_not_outlasted_it() {
        let long = 1.2 * surely_leaks_after(Some(100.0), None);
        for n in [160, 200, long as usize] {
            let verdict = look_with_epoch(100.0, n, |x| 1000.0 + 10.0 * x.min(100.0) + 0.5 * x);
            assert_ne!(verdict.verdict, Class::Leak, "{:#?}", verdict.evidence);
        }
    }

    /// After two epochs an end is not promised with the next, and what is promised is kept.
    #[test]
    fn growth_past_the_epoch_is_open_until_the_place_that_is_told() {
        let at = |n: f64| look_with_epoch(100.0, n as usize, |x| 1000.0 + 10.0 * x);
        let open = at(200.0);
        assert!(open.is_open_growth() && open.steady, "{open:#?}");
        assert!(names(&open, RULE), "{:#?}", open.evidence);
        let decides_at = open.decides_at.unwrap();
        let sure = surely_leaks_after(Some(100.0), None);
        assert!((decides_at / sure - 1.0).abs() < 0.05, "{decides_at}");
        let told = place(Axis::Step, decides_at);
        let says = |e: &Evidence| RULE.said(e) && e.says.contains(&told);
        assert!(open.evidence.iter().any(says), "{:#?}", open.evidence);
        assert_eq!(at(1.05 * decides_at).verdict, Class::Leak);
    }

    /// A loop that keeps four pictures a step, sampled within its steps: those of the step that runs are
    /// there already, and the newest window caught a moment at which the step held more.
    #[test]
    fn the_plateau_is_predicted_from_the_line_and_not_from_its_newest_point() {
        let held = |examples: f64| 566.0 + 4.2 * examples;
        let context = Context {
            marked: true,
            first_step: Some(0.0),
            geometry: Geometry {
                examples: Some(80),
                batch: Some(4),
                ..Geometry::default()
            },
            ..Context::default()
        };
        let verdict = look_with(&context, Axis::Step, 14, |step| {
            let momentary = if step == 13.0 { 30.0 } else { 0.0 };
            held(4.0 * (step + 1.0)) + momentary
        });
        let (plateau, comes) = (verdict.predicted_plateau.unwrap(), 1e6 * held(80.0));
        assert!((plateau / comes - 1.0).abs() < 0.02, "{plateau} {comes}");
    }
}
