//! Rule "first pass over the data", in words: growth within the first epoch is open, with what it comes to if
//! it ends with the epoch.

use super::Case;
use super::epoch::Epoch;
use super::line::Line;
use super::tail::Tail;
use super::words::{epoch_length, evidence, place, turning};
use crate::units::show_bytes;
use crate::verdict::{Bound, BoundKind, Verdict};

impl Case<'_> {
    pub(super) fn within_epoch(
        &self,
        mut verdict: Verdict,
        whole: &Line,
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
        verdict.evidence.push(evidence(
            "first pass over the data",
            format!(
                "an epoch is {} and ends at {}{per_example}: if growth ends with it, the floor stays at {}",
                epoch_length(self.axis, epoch.steps),
                place(self.axis, epoch.end()),
                show_bytes(plateau)
            ),
        ));
        verdict.evidence.push(turning(&format!(
            "not decidable before {}; growth that goes on after it is a leak",
            place(self.axis, epoch.seen_at())
        )));
        verdict
    }

    /// Workers or ranks share a pass, and what each keeps of its part ends nowhere near the epoch.
    pub(super) fn shared_passes(
        &self,
        mut verdict: Verdict,
        whole: &Line,
        tail: &Tail,
        epoch: Epoch,
    ) -> Verdict {
        verdict.decides_at = Some(epoch.seen_at());
        verdict.safe_until_then = self.safe(whole, tail, verdict.decides_at);
        verdict.evidence.push(evidence(
            "first pass over the data",
            format!(
                "an epoch is {}, shared by {:.0} processes: what each keeps of its part goes on growing, ever slower, and is at half its pace after {:.0} epochs",
                epoch_length(self.axis, epoch.steps),
                self.context.shards,
                epoch.passes
            ),
        ));
        verdict.evidence.push(turning(&format!(
            "not decidable before {}; growth that keeps its pace until then is a leak",
            place(self.axis, epoch.seen_at())
        )));
        verdict
    }

    /// `663 examples at 8 a step`, or the steps of an epoch.
    pub(super) fn epoch_in_words(&self, epoch: Epoch) -> String {
        match (self.context.geometry.examples, epoch.examples_per_step) {
            (Some(examples), Some(each)) => format!("{examples} examples at {each:.0} a step"),
            _ => format!("an epoch is {}", epoch_length(self.axis, epoch.steps)),
        }
    }
}
