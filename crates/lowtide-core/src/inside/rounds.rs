//! A counter that begins anew with every epoch, added up over its rounds. Only what is certain: a round that was
//! left early, or one that may have come and gone between two moments, ends the count.

use crate::units::Micros;

/// A round that is this many times as long as the time between two moments cannot be missed.
const CANNOT_BE_MISSED: f64 = 1.5;
/// What was not seen of a round's end must have had this share of the time that it needs at its own pace.
const HAD_TIME: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
struct Round {
    id: (u64, u64),
    total: Option<u64>,
    first: (Micros, u64),
    last: (Micros, u64),
}

impl Round {
    /// Counts in a second.
    fn pace(&self) -> Option<f64> {
        let seconds = self.last.0.since(self.first.0).seconds();
        let counts = self.last.1.saturating_sub(self.first.1);
        (counts > 0 && seconds > 0.0).then(|| counts as f64 / seconds)
    }
}

/// Where one counter stands over all rounds.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    round: Option<Round>,
    offset: u64,
    seen_at: Option<Micros>,
    longest_gap: f64,
    restarts: u64,
    /// What was counted is not known any more.
    lost: bool,
}

/// A counter at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// Another one is another round.
    pub id: (u64, u64),
    pub n: u64,
    pub total: Option<u64>,
    /// Rounds done before this one, where something tells.
    pub before: Option<u64>,
}

impl Rounds {
    /// Nothing was seen of it at this moment.
    pub(super) fn absent(&mut self, at: Micros) {
        self.passed(at);
    }

    fn passed(&mut self, at: Micros) -> f64 {
        let gap = self
            .seen_at
            .map_or(0.0, |before| at.since(before).seconds());
        self.seen_at = Some(at);
        self.longest_gap = self.longest_gap.max(gap);
        gap
    }

    /// What was counted is not what it seemed.
    pub(super) fn lose(&mut self) {
        self.lost = true;
    }

    /// It began anew at least once.
    pub(super) fn began_anew(&self) -> bool {
        self.restarts > 0
    }

    /// The count over all rounds. None: it is lost, until something tells how many rounds there were.
    pub(super) fn see(&mut self, now: Counted, at: Micros) -> Option<u64> {
        self.passed(at);
        let same = |round: &Round| round.id == now.id && now.n >= round.last.1;
        match &mut self.round {
            Some(round) if same(round) => {
                round.last = (at, now.n);
                round.total = now.total;
            }
            before => {
                if let Some(before) = *before {
                    self.restarts += 1;
                    let added = ended(&before, self.longest_gap, at);
                    self.lost |= added.is_none();
                    self.offset = self.offset.saturating_add(added.unwrap_or(0));
                }
                self.longest_gap = 0.0;
                self.round = Some(Round {
                    id: now.id,
                    total: now.total,
                    first: (at, now.n),
                    last: (at, now.n),
                });
            }
        }
        if let Some((rounds, total)) = now.before.zip(now.total) {
            self.offset = rounds.saturating_mul(total);
            self.lost = false;
        }
        (!self.lost).then(|| self.offset.saturating_add(now.n))
    }
}

/// What a round counted in all, if it can only have been its total.
fn ended(round: &Round, gap: f64, at: Micros) -> Option<u64> {
    let total = round.total?;
    let left = total.checked_sub(round.last.1)?;
    let pace = round.pace()?;
    let missed = total as f64 / pace <= CANNOT_BE_MISSED * gap;
    let had_time = at.since(round.last.0).seconds() * pace >= HAD_TIME * left as f64;
    (!missed && had_time).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds places in rounds of 100, one every half second.
    fn counted(places: &[(u64, u64)]) -> Vec<Option<u64>> {
        let mut rounds = Rounds::default();
        let see = |(tick, (id, n)): (usize, &(u64, u64))| {
            let now = Counted {
                id: (*id, 0),
                n: *n,
                total: Some(100),
                before: None,
            };
            rounds.see(now, Micros(tick as u64 * 500_000))
        };
        places.iter().enumerate().map(see).collect()
    }

    #[test]
    fn rounds_are_added_up() {
        let places = [(1, 20), (1, 45), (1, 70), (1, 95), (2, 20), (2, 45)];
        let steps = counted(&places);
        assert_eq!(steps.last(), Some(&Some(145)));
        // At the same address, too.
        let places = [(1, 20), (1, 45), (1, 70), (1, 95), (1, 20)];
        assert_eq!(counted(&places).last(), Some(&Some(120)));
    }

    #[test]
    fn a_round_that_was_left_early_ends_the_count() {
        let places = [(1, 10), (1, 20), (1, 30), (2, 5), (2, 15)];
        assert_eq!(counted(&places)[3..], [None, None]);
    }

    #[test]
    fn a_round_that_may_have_been_missed_ends_the_count() {
        let places = [(1, 1), (1, 81), (2, 60)];
        assert_eq!(counted(&places)[2], None);
    }

    #[test]
    fn what_tells_the_rounds_is_believed() {
        let mut rounds = Rounds::default();
        let mut see = |id, n, before, at| {
            let now = Counted {
                id: (id, 0),
                n,
                total: Some(100),
                before,
            };
            rounds.see(now, Micros(at))
        };
        assert_eq!(see(1, 30, Some(4), 0), Some(430));
        assert_eq!(see(2, 3, Some(5), 1_000_000), Some(503));
    }
}
