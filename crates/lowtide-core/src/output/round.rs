//! Where the followed counter stands over its restarts: bars and `batch N/M` begin anew with each
//! epoch, jobs begin anew after a crash.

use super::choose::Sighting;

/// A counter that restarts after it came this close to its total has finished its round (loops that
/// print every tenth batch stop short of the total); one that restarts earlier is a new attempt.
const ROUND_DONE: f64 = 0.9;

#[derive(Debug, Default)]
pub(super) struct LoopRound {
    offset: u64,
    n: u64,
    total: Option<u64>,
    epoch: Option<u64>,
    /// Rounds of one and the same total that are done.
    restarts: u64,
    /// It went on while the epoch rose: it counts the whole run.
    goes_on: bool,
}

/// What a sighting of the followed counter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundPlace {
    /// The step over all rounds.
    pub step: u64,
    /// The length of an epoch, where the counter restarts with each.
    pub per_epoch: Option<u64>,
    /// The counter's total is that of the run, as far as one can tell.
    pub whole: bool,
    pub new_attempt: bool,
}

impl LoopRound {
    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// It came to its total and has not begun anew.
    pub(super) fn full(&self) -> bool {
        self.total == Some(self.n)
    }

    pub(super) fn at(&self, n: u64) -> bool {
        self.n == n
    }

    pub(super) fn advance(
        &mut self,
        seen: &Sighting,
        first_epoch: u64,
        epochs_named: bool,
    ) -> RoundPlace {
        let mut per_epoch = None;
        let mut new_attempt = false;
        let rose = matches!((self.epoch, seen.epoch), (Some(was), Some(is)) if is > was);
        if let Some((epoch, total)) = seen.epoch.zip(seen.total).filter(|_| seen.per_epoch) {
            let done = epoch - first_epoch.min(epoch);
            let before = self.offset.saturating_add(self.n);
            per_epoch = Some(total);
            // Lightning resets the bar of an epoch that is over before it names the next one.
            if seen.n == 0 && self.epoch == Some(epoch) && self.full() {
                return RoundPlace {
                    step: before,
                    per_epoch,
                    whole: false,
                    new_attempt,
                };
            }
            self.offset = match (self.epoch, self.total) {
                // An epoch may have another total than the one before it.
                (Some(was), Some(its)) if was.checked_add(1) == Some(epoch) => {
                    self.offset.saturating_add(its)
                }
                (Some(was), Some(_)) if was == epoch => self.offset,
                _ => done.saturating_mul(total),
            };
            new_attempt = self.offset.saturating_add(seen.n) < before;
        } else if seen.n < self.n {
            let near = |total: u64| self.n as f64 >= ROUND_DONE * total as f64;
            if rose || self.total.is_some_and(near) {
                self.offset = self.offset.saturating_add(self.total.unwrap_or(self.n));
                self.restarts = match self.total == seen.total {
                    true => self.restarts + 1,
                    false => 0,
                };
            } else {
                // From its start or from a checkpoint.
                (self.offset, self.restarts) = (0, 0);
                new_attempt = true;
            }
            self.goes_on = false;
        } else if seen.n > self.n && rose {
            self.goes_on = true;
        }
        // A counter that begins anew counts epochs only where something speaks of epochs: others count
        // rollouts, or what is printed between two of them.
        let named = seen.epoch.is_some() || epochs_named;
        if per_epoch.is_none() && self.restarts > 0 && named && !seen.in_rounds {
            per_epoch = seen.total;
        }
        self.n = seen.n;
        self.total = seen.total;
        self.epoch = seen.epoch;
        RoundPlace {
            step: self.offset.saturating_add(seen.n),
            per_epoch: per_epoch.filter(|total| *total > 0),
            // `Epoch [1/5], Step [100/600]`: of an epoch or of all? The next epoch tells.
            whole: self.offset == 0 && (self.goes_on || seen.epoch.is_none()),
            new_attempt,
        }
    }
}
