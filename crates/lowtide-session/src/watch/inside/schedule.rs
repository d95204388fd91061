//! When a process is searched for the objects that lead to its loops; time is data. A search costs, so it waits until
//! a program has built its objects, and until no step moves.

use std::collections::VecDeque;

use lowtide_core::units::{Micros, Share};

/// Share of a core that searches may take, as looks may, and what they may take beforehand: a job that begins is
/// searched three or four times until it trains.
const BUDGET: Share = Share(0.01);
const BEFOREHAND: Micros = Micros(1_500_000);
/// Searches come at least this far apart, and at most this far while no step moves.
const SHORTEST: Micros = Micros(1_500_000);
const LONGEST: Micros = Micros(60_000_000);
/// Each search that found nothing that moves is followed by a pause so much longer.
const FACTOR: f64 = 1.5;
/// A program that imports and builds makes objects all the time; when it begins to train that ends. So there is
/// something to find when there are this many more than at the last search, and no more than that since it last worked
/// for a while.
const MORE: f64 = 0.02;
const NO_MORE: f64 = 0.002;
/// So much of a processor is a while: a tick on a machine of its own. On a busy one a program that gets no turn makes
/// no objects either; a dozen searches took that for the end of its imports, and none could be paid when it trained.
const WORKED: Micros = Micros(100_000);
/// And so long is one for who waits for others most of the time.
const STOOD: Micros = Micros(2_000_000);
/// Steps that did not move for so long may have ended, and others begun.
const STANDS_STILL: Micros = Micros(6_000_000);

/// That a search finds no steps is said after so many, and so long.
const SAY_AFTER: u32 = 3;
const SAY_SO: Micros = Micros(30_000_000);

/// What was searched, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// When the process was seen first.
    first: Option<Micros>,
    last: Option<LastSearch>,
    spent: Micros,
    in_vain: u32,
    moved_at: Option<Micros>,
    /// Something counts, and what trains with it is not known.
    seeks: bool,
    /// Searches in all.
    count: u32,
    /// What was counted, oldest first: since it last worked for a while.
    counted: VecDeque<CountedAt>,
}

/// The objects of a process, and how long it had worked by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedAt {
    pub at: Micros,
    /// Of a processor, where that is known.
    pub worked: Option<Micros>,
    pub objects: u64,
}

impl CountedAt {
    /// Whether it worked for a while since an earlier count.
    fn is_after_a_while(&self, earlier: &CountedAt) -> bool {
        let both = self.worked.zip(earlier.worked);
        let worked = both.is_some_and(|(now, then)| now.since(then) >= WORKED);
        worked || self.at.since(earlier.at) >= STOOD
    }
}

#[derive(Clone, Copy, Debug)]
struct LastSearch {
    at: Micros,
    cost: Micros,
    objects: u64,
}

impl Schedule {
    pub(super) fn moved(&mut self, at: Micros) {
        self.moved_at = Some(at);
        self.in_vain = 0;
    }

    pub(super) fn seeks(&mut self, seeks: bool) {
        self.seeks = seeks;
    }

    /// Enough of them in vain, over enough time, to say so.
    pub(super) fn is_in_vain(&self, now: Micros) -> bool {
        let long = |first: Micros| now.since(first) >= SAY_SO;
        self.moved_at.is_none() && self.count >= SAY_AFTER && self.first.is_some_and(long)
    }

    pub(super) fn counted(&mut self, counted: CountedAt) {
        self.counted.push_back(counted);
        // The newest of those that a while has passed since is all that is compared with.
        let passed = |nth: usize, of: &VecDeque<CountedAt>| {
            of.get(nth).is_some_and(|one| counted.is_after_a_while(one))
        };
        while passed(1, &self.counted) {
            self.counted.pop_front();
        }
    }

    /// At the last tick.
    fn objects(&self) -> u64 {
        self.counted.back().map_or(0, |counted| counted.objects)
    }

    pub(super) fn searched(&mut self, at: Micros, cost: Micros) {
        self.last = Some(LastSearch {
            at,
            cost,
            objects: self.objects(),
        });
        self.spent = Micros(self.spent.0 + cost.0);
        self.in_vain += 1;
        self.count += 1;
    }

    /// It has built something since the last search.
    fn has_built(&self, last: &LastSearch) -> bool {
        apart(self.objects(), last.objects) >= MORE
    }

    /// And is still at it, or has had no turn to be.
    fn builds(&self) -> bool {
        let both = self.counted.front().zip(self.counted.back());
        both.is_none_or(|(before, now)| {
            !now.is_after_a_while(before) || apart(now.objects, before.objects) > NO_MORE
        })
    }

    pub(super) fn is_due(&mut self, now: Micros) -> bool {
        let first = *self.first.get_or_insert(now);
        let Some(last) = &self.last else {
            return true;
        };
        let moves = |moved: Micros| now.since(moved) < STANDS_STILL;
        let pause = now.since(last.at);
        let moves = self.moved_at.is_some_and(moves) && !self.seeks;
        if moves || pause < SHORTEST {
            return false;
        }
        let credit = BEFOREHAND.seconds() + BUDGET.0 * now.since(first).seconds();
        if credit < self.spent.seconds() + last.cost.seconds() {
            return false;
        }
        let growing = SHORTEST.seconds() * FACTOR.powi(self.in_vain.min(30) as i32);
        let enough = self.has_built(last) || pause.seconds() >= growing;
        enough && !self.builds() || pause >= LONGEST
    }
}

fn apart(one: u64, other: u64) -> f64 {
    one.abs_diff(other) as f64 / one.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: f64) -> Micros {
        Micros((at * 1e6) as u64)
    }

    fn counted(at: f64, worked: f64, objects: u64) -> CountedAt {
        CountedAt {
            at: second(at),
            worked: Some(second(worked)),
            objects,
        }
    }

    /// When searches come that cost this much each, in so many seconds of half-second ticks.
    fn searches(
        seconds: u32,
        cost: f64,
        moves: impl Fn(f64) -> bool,
        objects: impl Fn(f64) -> u64,
    ) -> Vec<f64> {
        let (mut schedule, mut at) = (Schedule::default(), Vec::new());
        for tick in 0..2 * seconds {
            let now = f64::from(tick) / 2.0;
            schedule.counted(counted(now, now, objects(now)));
            if moves(now) {
                schedule.moved(second(now));
            }
            if schedule.is_due(second(now)) {
                schedule.searched(second(now), second(cost));
                at.push(now);
            }
        }
        at
    }

    #[test]
    fn searches_that_find_nothing_become_rare() {
        let at = searches(60, 0.01, |_| false, |_| 1000);
        assert_eq!(at, [0.0, 2.5, 6.0, 11.5, 19.5, 31.0, 48.5]);
        let late = searches(600, 0.01, |_| false, |_| 1000);
        assert!(
            late.windows(2).all(|pair| pair[1] - pair[0] <= 60.5),
            "{late:?}"
        );
    }

    #[test]
    fn a_hundredth_of_a_core_is_not_passed() {
        let at = searches(3600, 0.5, |_| false, |now| (now * 1000.0) as u64);
        let most = (BEFOREHAND.seconds() + 36.0) / 0.5;
        assert!(at.len() as f64 <= most, "{}", at.len());
    }

    #[test]
    fn a_program_that_has_built_its_objects_is_searched_at_once() {
        let builds = |now: f64| (100_000.0 + 10_000.0 * now.min(33.0)) as u64;
        let at = searches(60, 0.3, |_| false, builds);
        assert!(at.contains(&33.5), "{at:?}");
    }

    /// As watched beside three busy loops: a program that gets a tenth of a processor, in turns of 50 ms, imports for
    /// 50 s and trains from then on.
    #[test]
    fn a_program_that_gets_no_turn_still_builds() {
        let (mut schedule, mut at, mut spent) = (Schedule::default(), Vec::new(), 0.0);
        for tick in 0..400_u32 {
            let now = f64::from(tick) / 5.0;
            let worked = f64::from(tick / 3) * 0.05;
            let objects = 5_000 + (10_000.0 * (worked / 0.05).min(50.0 * 5.0 / 3.0)) as u64 * 3 / 5;
            schedule.counted(counted(now, worked, objects));
            if schedule.is_due(second(now)) {
                // What a search of so many costs.
                let cost = 0.02 + 0.8e-6 * objects as f64;
                schedule.searched(second(now), second(cost));
                spent += cost;
                at.push(now);
            }
        }
        let trains = at.iter().find(|now| **now > 50.0);
        assert!(trains.is_some_and(|now| *now < 53.0), "{at:?}");
        let before = at.iter().filter(|now| **now < 50.0).count();
        assert!(before <= 3, "{at:?}");
        assert!(spent < BEFOREHAND.seconds() + 0.8, "{spent}");
    }

    /// One that waits for its data most of the time is not waited for until it has worked.
    #[test]
    fn a_program_that_waits_is_searched_too() {
        let mut schedule = Schedule::default();
        schedule.counted(counted(0.0, 1.0, 1000));
        assert!(schedule.is_due(second(0.0)));
        schedule.searched(second(0.0), second(0.01));
        for tick in 1..=20 {
            let now = f64::from(tick) / 5.0;
            schedule.counted(counted(now, 1.0 + 0.001 * now, 2000));
            assert_eq!(schedule.is_due(second(now)), now >= 2.2, "{now}");
        }
        assert!(schedule.counted.len() <= 12);
    }

    #[test]
    fn a_counter_that_nothing_trains_with_is_worth_a_search() {
        let mut schedule = Schedule::default();
        schedule.counted(counted(0.0, 0.0, 1000));
        schedule.searched(second(0.0), second(0.01));
        schedule.counted(counted(2.0, 2.0, 1000));
        schedule.moved(second(1.0));
        assert!(!schedule.is_due(second(2.5)));
        schedule.seeks(true);
        assert!(schedule.is_due(second(2.5)));
    }

    #[test]
    fn that_nothing_is_found_is_said_late_and_never_of_steps_that_stopped() {
        let mut schedule = Schedule::default();
        assert!(schedule.is_due(second(0.0)));
        for at in [0.0, 3.0, 9.0] {
            assert!(!schedule.is_in_vain(second(40.0)));
            schedule.searched(second(at), second(0.01));
        }
        assert!(!schedule.is_in_vain(second(20.0)));
        assert!(schedule.is_in_vain(second(40.0)));
        schedule.moved(second(41.0));
        assert!(!schedule.is_in_vain(second(80.0)));
    }

    #[test]
    fn steps_that_move_need_no_search_and_those_that_stopped_do() {
        let at = searches(60, 0.01, |now| (1.0..30.0).contains(&now), |_| 1000);
        assert_eq!(at[0], 0.0);
        assert_eq!(at[1], 35.5);
    }
}
