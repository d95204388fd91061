//! Rule "growth in rounds": an evaluation or a save is the same work again and again, and after it the
//! process is where it was before. What stays behind after each of many of them never ends by itself:
//! a first evaluation may fill a cache, the tenth has nothing new to keep. That holds for what is known
//! to be an evaluation or a save: rollouts come in rounds too, and fill a buffer with each.

use crate::judge::line::FloorLine;
#[cfg(doc)]
use crate::judge::prior::Prior;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::point::{Kept, Round, RoundKind};
use crate::stats;
use crate::units::show_bytes;
use crate::verdict::Evidence;

pub(crate) const RULE: Rule = Rule::named("growth in rounds");

/// This share of the growth comes with the rounds, beyond what would fall to them if it came evenly.
const IN_ROUNDS: f64 = 0.7;
/// This share of the rounds adds something, ...
const ADDING: f64 = 0.8;
/// ... and the newer half adds at least this share of what the older half does: it does not fade. Evaluated
/// on a tenth of the data, drawn anew each time and cached, eight rounds come to 0.66.
const KEEPS_UP: f64 = 0.8;
/// With as many, the first and the last are left out. With fewer, what grows evenly would seem to come with
/// the rounds.
const LEAST_TRIMMED: usize = 5;
/// Points of the floor between two rounds, at least: with one, all growth would be the rounds'.
const LEAST_BETWEEN: usize = 2;

/// Growth that comes with rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounds {
    pub kind: RoundKind,
    /// Rounds that added to it.
    pub count: usize,
    /// Bytes of one, usually.
    pub each: f64,
    /// Nearly each of them adds to it, and the newer ones as much as the older: it does not fade.
    pub steady: bool,
    /// As many as pools of results seldom take ([`Prior::rounds`]). Not told apart: a small part of the data, drawn
    /// anew for each evaluation and cached (below 3 % of it, thirteen rounds do not fade yet).
    pub enough: usize,
}

/// What a round added, and what would have come meanwhile if all growth were even.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rise {
    bytes: f64,
    even: f64,
}

impl Rounds {
    /// By evaluations, saves or ends of epochs, whichever carry it.
    pub(crate) fn of_any(
        line: &FloorLine,
        tail: &Tail,
        rounds: &[Round],
        kept: &[Kept],
        enough: usize,
    ) -> Option<Rounds> {
        let of = |kind: RoundKind| {
            let those = rounds.iter().filter(|round| round.kind == kind);
            let levels = levels(line, those.map(|round| round.x).collect());
            let kept = kept.iter().find(|kept| kept.kind == kind);
            match kept.filter(|kept| levels.len() < 2 && kept.count > enough) {
                Some(kept) => Rounds::by_readings(kept, line, tail),
                None => Rounds::by_levels(kind, &levels),
            }
            .map(|rounds| Rounds { enough, ..rounds })
        };
        let kinds = [RoundKind::Evaluation, RoundKind::Save, RoundKind::Epoch];
        let carrying: Vec<Rounds> = kinds.into_iter().filter_map(of).collect();
        let steady = carrying.iter().find(|rounds| rounds.steady);
        steady.or(carrying.last()).copied()
    }

    /// The growth of a line's end, if rounds carry it. The first round may be a warm-up: it does not count.
    fn by_levels(kind: RoundKind, levels: &[BetweenRounds]) -> Option<Rounds> {
        let after_the_first = levels.get(1..)?;
        let between = |of: fn(&BetweenRounds) -> (f64, f64)| {
            let parts = after_the_first.iter().map(of);
            parts.map(|(first, last)| last - first)
        };
        let at_rounds = |of: fn(&BetweenRounds) -> (f64, f64)| {
            let pairs = after_the_first.windows(2);
            pairs.map(move |two| of(&two[1]).0 - of(&two[0]).1)
        };
        let (bytes, places) = (
            |level: &BetweenRounds| (level.first, level.last),
            |level: &BetweenRounds| (level.from, level.to),
        );
        let grown = at_rounds(bytes).sum::<f64>() + between(bytes).sum::<f64>();
        let length = at_rounds(places).sum::<f64>() + between(places).sum::<f64>();
        let pace = grown / length.max(f64::MIN_POSITIVE);
        let rises: Vec<Rise> = at_rounds(bytes)
            .zip(at_rounds(places))
            .map(|(bytes, length)| Rise {
                bytes,
                even: pace * length,
            })
            .collect();
        // The noise of the line would count its own stairs.
        let noise = spread(between(bytes).collect());
        Rounds::carried(kind, noise, grown, rises.len(), &rises)
    }

    /// The same by what the process held before and after some of them, where rounds lie closer than the
    /// points of the line.
    fn by_readings(kept: &Kept, line: &FloorLine, tail: &Tail) -> Option<Rounds> {
        let rises: Vec<Rise> = kept
            .each
            .iter()
            .skip(1)
            .map(|bytes| Rise {
                bytes: *bytes,
                even: 0.0,
            })
            .collect();
        let all = kept.count.saturating_sub(1);
        let (from, to) = (kept.from, line.last_x());
        let grown = tail.slope * (to - from);
        Rounds::carried(kept.kind, tail.noise, grown, all, &rises)
    }

    /// `rises` are all of so many rounds, or a part of them, in a growth of so many bytes.
    fn carried(
        kind: RoundKind,
        noise: f64,
        grown: f64,
        all: usize,
        rises: &[Rise],
    ) -> Option<Rounds> {
        let mean = |part: &[Rise], of: fn(&Rise) -> f64| {
            part.iter().map(of).sum::<f64>() / part.len().max(1) as f64
        };
        let total = all as f64 * mean(rises, |rise| rise.bytes);
        let even = all as f64 * mean(rises, |rise| rise.even);
        let carried = total > 0.0 && total - even >= IN_ROUNDS * (grown - even);
        let adds = |rise: &&Rise| rise.bytes > rise.even + noise;
        let adding = rises.iter().filter(adds).count() as f64 / rises.len().max(1) as f64;
        let (older, newer) = rises.split_at(rises.len() / 2);
        let bytes = |rise: &Rise| rise.bytes;
        let steady = adding >= ADDING && mean(newer, bytes) >= KEEPS_UP * mean(older, bytes);
        let mut each: Vec<f64> = rises.iter().map(bytes).collect();
        carried.then(|| Rounds {
            enough: usize::MAX,
            steady,
            kind,
            count: (adding * all as f64).round() as usize,
            each: stats::median(&mut each).unwrap_or(0.0),
        })
    }

    pub(crate) fn are_enough(&self) -> bool {
        self.steady && self.count >= self.enough
    }

    /// What a round is called.
    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            RoundKind::Evaluation => "evaluation",
            RoundKind::Save => "save",
            RoundKind::Epoch => "epoch",
        }
    }

    pub(crate) fn says(&self) -> Evidence {
        let why = match self.are_enough() {
            true => "the same work again has nothing new to keep".to_owned(),
            false => {
                format!(
                    "a pool of the last ones does that until it is full; {} after the first would tell",
                    self.enough
                )
            }
        };
        RULE.says(format!(
            "each {} leaves {} behind, {} of them so far: {why}",
            self.name(),
            show_bytes(self.each),
            self.count
        ))
    }
}

/// How far values usually lie from their middle.
fn spread(mut values: Vec<f64>) -> f64 {
    let Some(middle) = stats::median(&mut values) else {
        return 0.0;
    };
    values.iter_mut().for_each(|v| *v = (*v - middle).abs());
    stats::median(&mut values).unwrap_or(0.0)
}

/// The floor between two rounds: at its beginning and at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BetweenRounds {
    first: f64,
    last: f64,
    /// Where these were measured.
    from: f64,
    to: f64,
}

/// Empty where rounds lie closer than points of the line.
fn levels(line: &FloorLine, mut places: Vec<f64>) -> Vec<BetweenRounds> {
    // A loop that begins anew in the same process (folds, stages) comes by the same steps again.
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut levels = Vec::new();
    let mut from = 0;
    for place in places.iter().chain([&f64::INFINITY]) {
        let to = line.xs.partition_point(|x| x < place);
        let few = to - from < LEAST_BETWEEN;
        if few && from > 0 && to < line.len() {
            return Vec::new();
        }
        if !few {
            // The points next to a round may hold part of it: its floor before, or its height.
            let points = to - from;
            let end = to;
            let from = from + usize::from(from > 0 && points > LEAST_BETWEEN);
            let to = to - usize::from(end < line.len() && points >= LEAST_TRIMMED);
            let third = ((to - from) / 3).max(1);
            let middle = |part: &[f64]| stats::median(&mut part.to_vec()).unwrap_or(part[0]);
            levels.push(BetweenRounds {
                first: middle(&line.ys[from..from + third]),
                last: middle(&line.ys[to - third..to]),
                from: middle(&line.xs[from..from + third]),
                to: middle(&line.xs[to - third..to]),
            });
        }
        from = to;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for here; what the prior asks for is told in its own tests.
    const ENOUGH: usize = 12;

    fn rounds_of(every: usize, shape: impl Fn(usize) -> f64) -> Option<Rounds> {
        let ys: Vec<f64> = (0..240).map(shape).collect();
        let line = FloorLine {
            xs: (0..240).map(f64::from).collect(),
            crests: ys.clone(),
            ys,
        };
        let places = (1..240 / every).map(|k| (k * every) as f64).collect();
        let rounds = Rounds::by_levels(RoundKind::Evaluation, &levels(&line, places))?;
        Some(Rounds {
            enough: ENOUGH,
            ..rounds
        })
    }

    #[test]
    fn stairs_at_evaluations_are_theirs() {
        let found = rounds_of(15, |x| 1e9 + 14e6 * (x / 15) as f64).unwrap();
        assert_eq!(found.count, 14);
        assert!((found.each / 14e6 - 1.0).abs() < 0.01);
        assert!(found.are_enough());
        assert_eq!(found.name(), "evaluation");
    }

    #[test]
    fn growth_between_them_is_not() {
        assert_eq!(rounds_of(20, |x| 1e9 + 1e6 * x as f64), None);
    }

    #[test]
    fn a_ring_of_results_fades() {
        let found = rounds_of(20, |x| 1e9 + 14e6 * (x / 20).min(5) as f64).unwrap();
        assert!(!found.steady && !found.are_enough());
    }

    #[test]
    fn ten_rounds_are_not_enough() {
        let found = rounds_of(20, |x| 1e9 + 14e6 * (x / 20) as f64).unwrap();
        assert!(found.steady && found.count < ENOUGH && !found.are_enough());
        let says = found.says().says;
        assert!(
            says.contains(&format!("{ENOUGH} after the first")),
            "{says}"
        );
    }

    #[test]
    fn as_many_as_are_asked_for_are_enough() {
        let found = rounds_of(15, |x| 1e9 + 14e6 * (x / 15) as f64).unwrap();
        for (enough, are) in [(found.count, true), (found.count + 1, false)] {
            assert_eq!(Rounds { enough, ..found }.are_enough(), are);
        }
    }

    /// Three points a round, and a ripple: what an even line would show is not the rounds'.
    #[test]
    fn even_growth_under_noise_is_not() {
        let wobble = |x: usize| (x.wrapping_mul(2_654_435_761) % 1000) as f64 * 4e3;
        let slow = |x: usize| 1e7 * (x as f64 / 9.0).sin();
        for every in [3, 4, 5, 8, 13, 20] {
            for seed in 0..40 {
                let noisy = rounds_of(every, |x| 1e9 + 2.5e6 * x as f64 + wobble(x + 977 * seed));
                let rippled = rounds_of(every, |x| 1e9 + 1e6 * x as f64 + slow(x + 7 * seed));
                for found in [noisy, rippled].into_iter().flatten() {
                    assert!(!found.are_enough(), "{every} {seed} {found:?}");
                }
            }
        }
    }

    /// Folds of a cross-validation come by the same steps again.
    #[test]
    fn places_out_of_order_are_put_in_order() {
        let line = FloorLine {
            xs: (0..240).map(f64::from).collect(),
            crests: vec![1e9; 240],
            ys: (0..240).map(|x| 1e9 + 1e6 * f64::from(x)).collect(),
        };
        let fold = || (1..5).map(|k| f64::from(k) * 50.0);
        let places = fold().chain(fold()).collect();
        assert_eq!(
            Rounds::by_levels(RoundKind::Evaluation, &levels(&line, places)),
            None
        );
    }

    /// Two hundred evaluations on a line of 64 points: the readings around each tell.
    #[test]
    fn rounds_finer_than_the_line_are_told_by_readings() {
        let line = FloorLine {
            xs: (0..64).map(|x| f64::from(x) * 50.0).collect(),
            crests: vec![1e9; 64],
            ys: (0..64).map(|x| 1e9 + 42e6 * f64::from(x)).collect(),
        };
        let tail = crate::judge::tail::describe(&line, 0, 1e5).unwrap();
        let rounds: Vec<Round> = (1..190)
            .map(|k| Round {
                kind: RoundKind::Evaluation,
                x: f64::from(k) * 16.6,
            })
            .collect();
        let kept = |each: f64| {
            [Kept {
                kind: RoundKind::Evaluation,
                count: 190,
                from: 16.6,
                each: vec![each; 24],
            }]
        };
        let found = Rounds::of_any(&line, &tail, &rounds, &kept(14e6), ENOUGH).unwrap();
        assert!(found.are_enough(), "{found:?}");
        assert_eq!(
            Rounds::of_any(&line, &tail, &rounds, &kept(2e6), ENOUGH),
            None
        );
        assert_eq!(Rounds::of_any(&line, &tail, &rounds, &[], ENOUGH), None);
        // What the line can tell is not asked twice: it grows evenly.
        let spaced: Vec<Round> = rounds.iter().copied().step_by(30).collect();
        let found = Rounds::of_any(&line, &tail, &spaced, &kept(14e6), ENOUGH);
        assert_eq!(found, None);
    }
}
