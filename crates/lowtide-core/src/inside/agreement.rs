//! Whether a counter counts steps: it has to go on with the clock of an optimizer ([`super::clock`]), and to be where that
//! clock is. One that goes on alone prepares data, evaluates or waits; one that goes on with it and is elsewhere counts
//! in an epoch only, or takes epochs for longer than they were.

use std::collections::{BTreeMap, VecDeque};

use super::clock::Hand;

/// Moments that are compared.
const POINTS: usize = 48;
/// Updates in a step, or steps (batches) in an update, at most.
const MOST_UPDATES: u32 = 12;
const MOST_BATCHES: u32 = 64;
/// How far a counter may be from the clock, in steps: it counts the batch that is in work, or the one before.
const SLACK: f64 = 1.5;
/// Steps that must have been seen, by those that are one update and by others.
const NEEDED: f64 = 3.0;
const NEEDED_OTHERS: f64 = 8.0;
/// What cannot be seen between two moments must be so much smaller than what was seen in all.
const TIMES_COARSE: f64 = 4.0;
/// The same where nothing but the pace tells.
const TIMES_COARSE_AHEAD: f64 = 10.0;
/// A counter as it is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Claim {
    pub step: u64,
    /// Where it began, if it was resumed; it may have been resumed in the middle of an epoch.
    pub start: u64,
    pub start_within: u64,
    /// It does not know which round it is in; each has so many.
    pub round: Option<u64>,
    /// It may have been set to where a resumed run was: somebody counts by hand.
    pub may_be_ahead: bool,
    /// One update for each count, at most: it is a loop of its own.
    pub single: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Too little was seen.
    Pending,
    /// The same, and what was seen fits.
    Promising,
    Refuted,
    /// `behind`: steps that it does not know of. `is_update`: each is one update, and it is where the clock is.
    Confirmed {
        behind: u64,
        is_update: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Point {
    step: f64,
    before: f64,
    now: f64,
}

/// A counter beside one optimizer.
#[derive(Debug, Default)]
struct Line {
    points: VecDeque<Point>,
    /// As it was confirmed.
    confirmed: Option<(f64, u64)>,
}

#[derive(Debug, Default)]
pub(super) struct Agreement {
    lines: BTreeMap<u64, Line>,
    last: Option<Claim>,
    verdict: Option<Verdict>,
}

impl Agreement {
    pub(super) fn see(&mut self, claim: &Claim, hands: &[Hand]) -> Verdict {
        let before = self.last.replace(*claim);
        let goes_on = |before: Claim| {
            before.step <= claim.step
                && (before.start, before.round.is_some()) == (claim.start, claim.round.is_some())
        };
        if !before.is_some_and(goes_on) {
            self.lines.clear();
            self.verdict = None;
        }
        let here = |optimizer: &u64| hands.iter().any(|hand| hand.optimizer == *optimizer);
        self.lines.retain(|optimizer, _| here(optimizer));
        // Only when it moves is it known to be of now: what is shown of a bar lags behind.
        let moved = before.is_none_or(|before| before.step != claim.step);
        if !moved && let Some(verdict) = self.verdict {
            return verdict;
        }
        let mut verdicts = Vec::new();
        for hand in hands {
            let line = self.lines.entry(hand.optimizer).or_default();
            if moved {
                line.add(Point {
                    step: claim.step as f64,
                    before: hand.before,
                    now: hand.now,
                });
            }
            verdicts.push(line.judge(claim, hand));
        }
        let confirmed = |verdict: &&Verdict| matches!(verdict, Verdict::Confirmed { .. });
        let verdict = match verdicts.iter().find(confirmed) {
            Some(verdict) => *verdict,
            None if !verdicts.is_empty() && verdicts.iter().all(|one| *one == Verdict::Refuted) => {
                self.lines.clear();
                Verdict::Refuted
            }
            None if verdicts.contains(&Verdict::Promising) => Verdict::Promising,
            None => Verdict::Pending,
        };
        self.verdict = Some(verdict);
        verdict
    }
}

impl Line {
    fn add(&mut self, point: Point) {
        if self.points.len() >= POINTS {
            // The first stays: the longer the way, the better it tells.
            self.points.remove(1);
        }
        self.points.push_back(point);
    }

    fn judge(&mut self, claim: &Claim, hand: &Hand) -> Verdict {
        let early = hand.early;
        let (Some(first), Some(last)) = (self.points.front(), self.points.back()) else {
            return Verdict::Pending;
        };
        let way = Way::between(first, last);
        // Where the clock is, or ahead of it by what nobody knows.
        let strict = Claim {
            may_be_ahead: false,
            ..*claim
        };
        let is_ahead = |line: &Line, rate, behind| !line.is_there(rate, &strict, early, behind);
        let is_update = |rate: f64| rate == 1.0 && hand.is_sure && claim.start == 0;
        let confirmed = |behind: u64, is_update: bool| Verdict::Confirmed { behind, is_update };
        if let Some((rate, behind)) = self.confirmed {
            let holds = way.is(rate) && self.is_there(rate, claim, early, behind);
            if holds {
                let is_update = is_update(rate) && !is_ahead(self, rate, behind);
                return confirmed(behind, is_update);
            }
            self.confirmed = None;
            return Verdict::Refuted;
        }
        let mut open = false;
        for rate in rates(claim.single, hand.is_sure).filter(|rate| way.is(*rate)) {
            let behind = self.behind(rate, claim);
            if !self.is_there(rate, claim, early, behind) {
                continue;
            }
            let by_pace = is_ahead(self, rate, behind);
            if way.is_long(rate, by_pace) {
                self.confirmed = Some((rate, behind));
                return confirmed(behind, is_update(rate) && !by_pace);
            }
            open = true;
        }
        match open {
            true => Verdict::Promising,
            false if way.steps < NEEDED => Verdict::Pending,
            false => Verdict::Refuted,
        }
    }

    /// Whole rounds that a counter does not know of, by the clock.
    fn behind(&self, rate: f64, claim: &Claim) -> u64 {
        let Some((last, round)) = self.points.back().zip(claim.round) else {
            return 0;
        };
        // The clock is a few ahead, and rounds are longer than that.
        if (round as f64) < 2.0 * allowed(rate) + 2.0 {
            return 0;
        }
        let missing = (last.now - SLACK) / rate - last.step;
        (missing / round as f64).round().max(0.0) as u64 * round
    }

    /// At all moments it was where the clock was.
    fn is_there(&self, rate: f64, claim: &Claim, early: f64, behind: u64) -> bool {
        let start = claim.start as f64 - behind as f64;
        self.points.iter().all(|point| {
            let step = point.step - start;
            let least = (point.before - early) / rate - allowed(rate);
            let most = point.now / rate + allowed(rate) + claim.start_within as f64;
            let is_ahead = claim.may_be_ahead && rate == 1.0 && step > most;
            is_ahead || (least..=most).contains(&step)
        })
    }
}

/// In steps.
fn allowed(rate: f64) -> f64 {
    SLACK + if rate < 1.0 { 1.0 / rate } else { 0.0 }
}

/// Updates in a step: one, several, or a part. Where updates are changes of which two may be one, a single one is either.
fn rates(single: bool, is_sure: bool) -> impl Iterator<Item = f64> {
    let most = match (single, is_sure) {
        (true, true) => 1,
        (true, false) => 2,
        (false, _) => MOST_UPDATES,
    };
    let several = (2..=most).map(f64::from);
    let parts = (2..=MOST_BATCHES).map(|batches| 1.0 / f64::from(batches));
    std::iter::once(1.0).chain(several).chain(parts)
}

/// What lies between two points.
#[derive(Clone, Copy, Debug)]
struct Way {
    steps: f64,
    /// Updates, at least and at most.
    least: f64,
    most: f64,
    coarse: f64,
}

impl Way {
    fn between(first: &Point, last: &Point) -> Way {
        Way {
            steps: last.step - first.step,
            least: last.before - first.now,
            most: last.now - first.before,
            coarse: (first.now - first.before).max(last.now - last.before),
        }
    }

    fn is(&self, rate: f64) -> bool {
        let updates = rate * self.steps;
        let slack = SLACK * rate.max(1.0);
        (self.least - slack..=self.most + slack).contains(&updates)
    }

    fn is_long(&self, rate: f64, by_pace: bool) -> bool {
        let needed = if rate == 1.0 { NEEDED } else { NEEDED_OTHERS };
        let times = match by_pace {
            true => TIMES_COARSE_AHEAD,
            false => TIMES_COARSE,
        };
        let updates = rate * self.steps;
        self.steps >= needed
            && updates >= NEEDED
            && updates >= times * (self.coarse - rate.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Micros;

    /// Shows claims, each with the updates at that moment and at the one before; the last verdict.
    fn last(moments: impl IntoIterator<Item = (Claim, f64)>) -> Verdict {
        let mut all = verdicts(moments);
        all.pop().unwrap_or(Verdict::Pending)
    }

    fn verdicts(moments: impl IntoIterator<Item = (Claim, f64)>) -> Vec<Verdict> {
        let (mut agreement, mut before) = (Agreement::default(), None);
        let see = |(claim, now): (Claim, f64)| {
            let hand = Hand::of_test(1, before.unwrap_or(now), now, Micros(0));
            before = Some(now);
            agreement.see(&claim, &[hand])
        };
        moments.into_iter().map(see).collect()
    }

    /// Refuted, and never confirmed.
    fn is_refuted(moments: impl IntoIterator<Item = (Claim, f64)>) -> bool {
        let all = verdicts(moments);
        let confirmed = |verdict: &Verdict| matches!(verdict, Verdict::Confirmed { .. });
        all.contains(&Verdict::Refuted) && !all.iter().any(confirmed)
    }

    fn at(step: u64) -> Claim {
        Claim {
            step,
            ..Claim::default()
        }
    }

    const CONFIRMED: Verdict = Verdict::Confirmed {
        behind: 0,
        is_update: true,
    };

    #[test]
    fn a_counter_that_is_where_the_optimizer_is_counts_steps() {
        let moments = (0..12).map(|n| (at(100 + 14 * n), (100 + 14 * n) as f64));
        assert_eq!(last(moments), CONFIRMED);
        // Slow steps are seen one by one: a few are enough.
        let slow = (0..5).map(|n| (at(100 + n), (100 + n) as f64));
        assert_eq!(last(slow), CONFIRMED);
    }

    #[test]
    fn one_that_goes_on_without_it_never_does() {
        let scoring = (0..60).map(|n| (at(14 * n), 50.0));
        assert!(is_refuted(scoring));
        let waiting = (0..60).map(|n| (at(10 * n), 28.0 * n as f64));
        assert!(is_refuted(waiting));
    }

    #[test]
    fn epochs_that_were_left_early_are_not_as_long_as_their_loader() {
        // 60 of 200 batches, in the second epoch: the first was right, this one is not.
        let first = (0..6).map(|n| (at(10 * n), 10.0 * n as f64));
        let second = (0..6).map(|n| (at(200 + 10 * n), 60.0 + 10.0 * n as f64));
        let all = verdicts(first.chain(second));
        assert_eq!(all[5], CONFIRMED);
        assert_eq!(all[6], Verdict::Refuted);
        assert!(all[6..].iter().all(|verdict| *verdict != CONFIRMED));
    }

    #[test]
    fn a_place_in_an_epoch_is_no_step_unless_the_clock_tells_which() {
        let moments = |round| {
            (0..10).map(move |n| {
                let claim = Claim {
                    round,
                    ..at(5 + 4 * n)
                };
                (claim, 325.0 + 4.0 * n as f64)
            })
        };
        assert!(is_refuted(moments(None)));
        let known = Verdict::Confirmed {
            behind: 320,
            is_update: true,
        };
        assert_eq!(last(moments(Some(80))), known);
        // No number of such rounds fits.
        assert!(is_refuted(moments(Some(75))));
    }

    #[test]
    fn what_was_resumed_is_ahead_of_the_clock_by_where_it_began() {
        let moments = |start| {
            (0..10).map(move |n| {
                let claim = Claim {
                    start,
                    ..at(400 + 7 * n)
                };
                (claim, 7.0 * n as f64)
            })
        };
        // It counts other updates, too, than those that the clock has seen.
        let resumed = Verdict::Confirmed {
            behind: 0,
            is_update: false,
        };
        assert_eq!(last(moments(400)), resumed);
        assert!(is_refuted(moments(0)));
    }

    #[test]
    fn who_counts_by_hand_may_begin_where_a_resumed_run_was() {
        let moments = |pace: u64| {
            (0..40).map(move |n| {
                let claim = Claim {
                    may_be_ahead: true,
                    ..at(600 + pace * n)
                };
                (claim, 300.0 + 7.0 * n as f64)
            })
        };
        let by_pace = Verdict::Confirmed {
            behind: 0,
            is_update: false,
        };
        assert_eq!(last(moments(7)), by_pace);
        assert!(is_refuted(moments(9)));
    }

    #[test]
    fn several_batches_may_be_an_update_and_several_updates_a_batch() {
        let batches = (0..30).map(|n| (at(8 * n), (2 * n) as f64));
        let several = Verdict::Confirmed {
            behind: 0,
            is_update: false,
        };
        assert_eq!(last(batches), several);
        let updates = |single| {
            (0..30).map(move |n| {
                (
                    Claim {
                        single,
                        ..at(4 * n)
                    },
                    (12 * n) as f64,
                )
            })
        };
        assert_eq!(last(updates(false)), several);
        // A loop that counts epochs, with its updates inside.
        assert!(is_refuted(updates(true)));
    }

    #[test]
    fn epochs_of_one_share_of_their_loader_are_not_taken_for_batches_that_are_left_out() {
        // 60 of 200 batches, seen from the end of an epoch on: in the long run three updates to ten batches.
        for (half, length) in [(60, 200), (100, 200)] {
            let at_batch = |n: u64| at(n / half * length + n % half);
            let moments = (0..80).map(|n| 7 * half - 10 + 13 * n);
            assert!(is_refuted(moments.map(|n| (at_batch(n), n as f64))));
        }
    }

    #[test]
    fn a_bar_that_is_drawn_seldom_is_compared_when_it_moves() {
        let drawn = (0..100).map(|n: u64| (at(n / 10 * 140), 14.0 * n as f64));
        assert_eq!(last(drawn), CONFIRMED);
    }
}
