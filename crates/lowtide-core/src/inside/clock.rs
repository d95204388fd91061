//! The clock of optimizers: how often each has changed its parameters. It goes on with every step and with nothing else,
//! so it tells training from whatever else counts ([`super::agreement`] compares), and counts steps itself where nothing
//! better does.

use std::collections::BTreeMap;

use super::seen::ClockSeen;
use crate::units::Micros;

/// An optimizer that did not move for this long is not at work.
const AT_WORK: Micros = Micros(10_000_000);
/// Most optimizers change a parameter once in a step, those with a weight decay of their own twice. It is once if so many
/// of its moves were odd, and so large a share: a reading may fall into a step.
const ODD: u32 = 2;
const ODD_SHARE: f64 = 0.2;
/// It is twice if so many moves were even, with so many different ones among them: a loop that beats time makes even ones,
/// too, but always the same.
const EVEN: u32 = 16;
const EVEN_SHARE: f64 = 0.9;
const DIFFERENT: usize = 5;
/// Changes of a parameter before the first step: it is made, filled, loaded.
const EARLY: f64 = 3.0;
/// What making a parameter takes, of those.
const MADE: f64 = 1.0;
/// Two optimizers that were never further apart than this go on together.
const TOGETHER: f64 = 2.0;
/// Updates that show that an optimizer is at work.
const AT_LEAST: f64 = 3.0;

/// One tensor.
#[derive(Clone, Copy, Debug)]
struct Track {
    optimizer: u64,
    is_exact: bool,
    first: u64,
    before: u64,
    ticks: u64,
    times: u32,
    is_plain: bool,
    /// How often it moved by an odd number.
    odd: u32,
    /// Some numbers by which it moved.
    moves: [u64; DIFFERENT],
    moved_at: Option<Micros>,
    seen_at: Micros,
}

impl Track {
    fn new(seen: &ClockSeen, at: Micros) -> Track {
        Track {
            optimizer: seen.optimizer,
            is_exact: seen.is_exact,
            first: seen.ticks,
            before: seen.ticks,
            ticks: seen.ticks,
            times: 0,
            is_plain: seen.is_plain,
            odd: 0,
            moves: [0; DIFFERENT],
            moved_at: None,
            seen_at: at,
        }
    }

    fn see(&mut self, seen: &ClockSeen, at: Micros) {
        if seen.ticks < self.ticks || seen.optimizer != self.optimizer {
            // Another tensor at the same address.
            *self = Track::new(seen, at);
            return;
        }
        let by = seen.ticks - self.ticks;
        if by > 0 {
            self.times += 1;
            self.moved_at = Some(at);
            self.odd += u32::from(!by.is_multiple_of(2));
            if !self.moves.contains(&by)
                && let Some(room) = self.moves.iter_mut().find(|known| **known == 0)
            {
                *room = by;
            }
        }
        (self.before, self.ticks, self.seen_at) = (self.ticks, seen.ticks, at);
    }

    /// Changes in a step, if that is known.
    fn changes(&self) -> Option<u64> {
        let share = f64::from(self.odd) / f64::from(self.times.max(1));
        if self.is_exact || self.is_plain || self.odd >= ODD && share >= ODD_SHARE {
            return Some(1);
        }
        let varied = !self.moves.contains(&0);
        (self.times >= EVEN && share <= 1.0 - EVEN_SHARE && varied).then_some(2)
    }

    fn hand(&self) -> Option<Hand> {
        let known = self.changes();
        let changes = known.unwrap_or(1) as f64;
        let early = if self.is_exact { 0.0 } else { EARLY / changes };
        Some(Hand {
            optimizer: self.optimizer,
            before: self.before as f64 / changes,
            now: self.ticks as f64 / changes,
            since: (self.ticks - self.first) as f64 / changes,
            early,
            is_sure: known.is_some(),
            moved_at: self.moved_at?,
        })
    }
}

/// An optimizer that has moved: its updates, in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hand {
    pub optimizer: u64,
    /// At the moment before, and at this one.
    pub before: f64,
    pub now: f64,
    /// Since it was seen first.
    since: f64,
    /// So many of them may have been none.
    pub early: f64,
    /// It is known how many changes are an update; else they are taken for one each.
    pub is_sure: bool,
    pub moved_at: Micros,
}

impl Hand {
    #[cfg(test)]
    pub(super) fn of_test(optimizer: u64, before: f64, now: f64, moved_at: Micros) -> Hand {
        Hand {
            optimizer,
            before,
            now,
            since: now,
            early: 0.0,
            is_sure: true,
            moved_at,
        }
    }

    pub(super) fn moved(&self, at: Micros, within: Micros) -> bool {
        at.since(self.moved_at) <= within
    }

    /// Updates, as far as can be told.
    pub(super) fn steps(&self) -> u64 {
        let made = self.early * MADE / EARLY;
        (self.now - made).max(0.0) as u64
    }
}

#[derive(Debug, Default)]
pub(super) struct Clock {
    tracks: BTreeMap<u64, Track>,
    followed: Option<u64>,
}

impl Clock {
    pub(super) fn see(&mut self, seen: &[ClockSeen], at: Micros) {
        for one in seen {
            let track = self.tracks.entry(one.address);
            track
                .and_modify(|track| track.see(one, at))
                .or_insert_with(|| Track::new(one, at));
        }
        self.tracks.retain(|_, track| track.seen_at == at);
    }

    /// One for each optimizer that has moved: of its tensors the one that moved most, since some are not part of every
    /// step; one that counts steps exactly before others.
    pub(super) fn hands(&self) -> Vec<Hand> {
        let mut best: BTreeMap<u64, &Track> = BTreeMap::new();
        for track in self.tracks.values().filter(|track| track.times > 0) {
            let worth = |track: &Track| (track.is_exact, track.ticks - track.first);
            let kept = best.entry(track.optimizer).or_insert(track);
            if worth(track) > worth(kept) {
                *kept = track;
            }
        }
        best.into_values().filter_map(Track::hand).collect()
    }

    /// The one whose steps are those of the training: the only one at work, or one of several that go on together.
    pub(super) fn leading(&mut self, at: Micros) -> Option<Hand> {
        let mut hands = self.hands();
        hands.retain(|hand| hand.moved(at, AT_WORK) && hand.since >= AT_LEAST);
        if hands.iter().any(|hand| !hand.is_sure) {
            return None;
        }
        let kept = self.followed;
        let kept = hands.iter().find(|hand| Some(hand.optimizer) == kept);
        let first = *kept.or(hands.first())?;
        let together = |hand: &Hand| {
            (hand.now - first.now).abs() <= TOGETHER.max(first.early)
                && (hand.since - first.since).abs() <= TOGETHER
        };
        if !hands.iter().all(together) {
            return None;
        }
        self.followed = Some(first.optimizer);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(optimizer: u64, address: u64, ticks: u64) -> ClockSeen {
        ClockSeen {
            optimizer,
            address,
            is_exact: false,
            is_plain: false,
            ticks,
        }
    }

    /// Shows moments, one every half second.
    fn after(moments: impl IntoIterator<Item = Vec<ClockSeen>>) -> (Clock, Micros) {
        let (mut clock, mut at) = (Clock::default(), Micros(0));
        for moment in moments {
            at = Micros(at.0 + 500_000);
            clock.see(&moment, at);
        }
        (clock, at)
    }

    fn leading(moments: impl IntoIterator<Item = Vec<ClockSeen>>) -> Option<u64> {
        let (mut clock, at) = after(moments);
        clock.leading(at).map(|hand| hand.steps())
    }

    #[test]
    fn a_step_may_be_two_changes() {
        let once = [1, 8, 15, 24, 30, 37, 41].map(|ticks| vec![seen(1, 1, ticks)]);
        assert_eq!(leading(once), Some(40));
        // Uneven moves, all of them even; one reading in the middle of a step.
        let twice = |n: u64| {
            vec![seen(
                1,
                1,
                30 * n + 2 * (n * n % 11) + 1 + u64::from(n == 7),
            )]
        };
        assert_eq!(leading((0..24).map(twice)), Some(346));
    }

    #[test]
    fn a_loop_that_beats_time_does_not_tell_how_many_changes_are_a_step() {
        let even = |n: u64| vec![seen(1, 1, 8 * n + 1)];
        assert_eq!(leading((0..60).map(even)), None);
        let plain = |n: u64| {
            vec![ClockSeen {
                is_plain: true,
                ..seen(1, 1, 8 * n + 1)
            }]
        };
        assert_eq!(leading((0..60).map(plain)), Some(472));
    }

    #[test]
    fn an_exact_one_tells_at_once() {
        let early = [1, 9, 15].map(|ticks| vec![seen(1, 1, ticks)]);
        assert_eq!(leading(early), None);
        let exact = [1, 9, 15].map(|ticks| {
            let exact = ClockSeen {
                is_exact: true,
                ..seen(1, 1, ticks)
            };
            vec![exact]
        });
        assert_eq!(leading(exact), Some(15));
    }

    #[test]
    fn what_is_frozen_or_used_now_and_then_does_not_count() {
        let three = |n: u64| vec![seen(1, 1, 1), seen(1, 2, 1 + 5 * n), seen(1, 3, 1 + n / 3)];
        assert_eq!(leading((0..12).map(three)), Some(55));
    }

    #[test]
    fn two_optimizers_count_if_they_go_on_together() {
        let both = |n: u64| vec![seen(1, 1, 1 + 7 * n), seen(2, 2, 1 + 7 * n)];
        assert_eq!(leading((0..12).map(both)), Some(77));
        let apart = |n: u64| vec![seen(1, 1, 1 + 7 * n), seen(2, 2, 1 + 11 * n)];
        assert_eq!(leading((0..12).map(apart)), None);
        let over = |n: u64| vec![seen(1, 1, 300), seen(2, 2, 1 + 11 * n)];
        assert_eq!(leading((0..12).map(over)), Some(121));
    }

    #[test]
    fn an_optimizer_that_stands_still_leads_nothing() {
        let still = (0..40).map(|n: u64| vec![seen(1, 1, 7 * n.min(12))]);
        assert_eq!(leading(still), None);
    }
}
