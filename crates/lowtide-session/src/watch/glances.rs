//! What lists say of a run that goes on: kept beside its recording when the verdict changes, and now and
//! then for the numbers in it.

use lowtide_core::units::Micros;
use lowtide_core::verdict::Verdict;

use super::Watch;

/// Numbers in a list need not be fresher.
const EVERY: Micros = Micros(10_000_000);
/// An explanation of a large tree takes longer: it may take this part of our time at most.
const PART: u64 = 500;

/// What was kept last, and when the next is due.
#[derive(Debug, Default)]
pub(super) struct Due {
    word: String,
    at: Micros,
    cost: u64,
}

impl Due {
    /// A verdict that changes to and fro does not make us busy either.
    fn is_now(&self, now: Micros, word: &str) -> bool {
        let rested = self.at.0.saturating_add(self.cost.saturating_mul(PART));
        let changed = self.word != word;
        now.0 >= rested && (changed || now.0 >= self.at.0 + EVERY.0)
    }
}

impl Watch {
    pub(super) fn keep_glance(&mut self, verdict: &Verdict) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        let (now, word) = (self.clock.now(), verdict.word());
        if !self.glance.is_now(now, &word) {
            return;
        }
        recorder.keep(self.run.glance());
        let cost = self.clock.now().since(now).0;
        self.glance = Due {
            word,
            at: now,
            cost,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_at_once_and_numbers_now_and_then() {
        let due = |cost| Due {
            word: "stable".to_owned(),
            at: Micros(5_000_000),
            cost,
        };
        assert!(Due::default().is_now(Micros(1), "too-early"));
        assert!(due(0).is_now(Micros(6_000_000), "leak"));
        assert!(!due(0).is_now(Micros(14_000_000), "stable"));
        assert!(due(0).is_now(Micros(15_000_000), "stable"));
        // One that took a tenth of a second rests for fifty.
        assert!(!due(100_000).is_now(Micros(54_000_000), "leak"));
        assert!(due(100_000).is_now(Micros(55_000_000), "leak"));
    }
}
