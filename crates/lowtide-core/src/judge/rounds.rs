//! Rule "growth in rounds": an evaluation or a save is the same work again and again, and after it the
//! process is where it was before. What stays behind after each of many of them never ends by itself:
//! a first evaluation may fill a cache, the tenth has nothing new to keep. That holds for what is known
//! to be an evaluation or a save: rollouts come in rounds too, and fill a buffer with each.

use super::line::Line;
use super::tail::Tail;
use super::words::evidence;
use crate::point::{Round, RoundKind};
use crate::stats;
use crate::units::show_bytes;
use crate::verdict::Evidence;

/// Rounds that must each have added to it. Pools of the last checkpoints or the best results keep three to
/// five, those of snapshots that are averaged or played against up to ten.
const ENOUGH: usize = 12;
/// This share of the growth comes with the rounds, and not between them.
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
pub struct Rounds {
    pub kind: RoundKind,
    /// Rounds that added to it.
    pub count: usize,
    /// Bytes of one, usually.
    pub each: f64,
    /// Nearly each of them adds to it, and the newer ones as much as the older: it does not fade.
    pub steady: bool,
}

impl Rounds {
    /// By evaluations, saves or ends of epochs, whichever carry it.
    pub fn of_any(line: &Line, tail: &Tail, rounds: &[Round]) -> Option<Rounds> {
        let of = |kind: RoundKind| {
            let those = rounds.iter().copied().filter(|round| round.kind == kind);
            Rounds::of(line, tail, &those.collect::<Vec<Round>>())
        };
        let kinds = [RoundKind::Evaluation, RoundKind::Save, RoundKind::Epoch];
        let carrying: Vec<Rounds> = kinds.into_iter().filter_map(of).collect();
        let steady = carrying.iter().find(|rounds| rounds.steady);
        steady.or(carrying.last()).copied()
    }

    /// The growth of a line's end, if rounds carry it. The first round may be a warm-up: it does not count.
    fn of(line: &Line, tail: &Tail, rounds: &[Round]) -> Option<Rounds> {
        let places: Vec<f64> = rounds.iter().map(|round| round.x).collect();
        let levels = levels(line, &places);
        let rises: Vec<f64> = levels
            .windows(2)
            .skip(1)
            .map(|two| two[1].first - two[0].last)
            .collect();
        let adding = rises.iter().filter(|rise| **rise > tail.noise).count();
        let total: f64 = rises.iter().sum();
        let between: f64 = levels[levels.len().min(1)..]
            .iter()
            .map(|level| level.last - level.first)
            .sum();
        let half = rises.len() / 2;
        let (older, newer) = rises.split_at(half);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let steady =
            adding as f64 >= ADDING * rises.len() as f64 && mean(newer) >= KEEPS_UP * mean(older);
        let carried = total > 0.0 && total >= IN_ROUNDS * (total + between);
        carried.then(|| Rounds {
            steady,
            kind: rounds[0].kind,
            count: adding,
            each: stats::median(&mut rises.clone()).unwrap_or(0.0),
        })
    }

    pub fn are_enough(&self) -> bool {
        self.steady && self.count >= ENOUGH
    }

    /// What a round is called.
    pub fn name(&self) -> &'static str {
        match self.kind {
            RoundKind::Evaluation => "evaluation",
            RoundKind::Save => "save",
            RoundKind::Epoch => "epoch",
        }
    }

    pub fn says(&self) -> Evidence {
        let why = match self.are_enough() {
            true => "the same work again has nothing new to keep".to_owned(),
            false => {
                format!("a pool of the last ones does that until it is full; {ENOUGH} would tell")
            }
        };
        evidence(
            "growth in rounds",
            format!(
                "each {} leaves {} behind, {} of them so far: {why}",
                self.name(),
                show_bytes(self.each),
                self.count
            ),
        )
    }
}

/// The floor between two rounds: at its beginning and at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    first: f64,
    last: f64,
}

fn levels(line: &Line, places: &[f64]) -> Vec<Level> {
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
            levels.push(Level {
                first: middle(&line.ys[from..from + third]),
                last: middle(&line.ys[to - third..to]),
            });
        }
        from = to;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::super::tail::{describe, noise};
    use super::*;

    fn rounds_of(every: usize, shape: impl Fn(usize) -> f64) -> Option<Rounds> {
        let ys: Vec<f64> = (0..240).map(shape).collect();
        let line = Line {
            xs: (0..240).map(f64::from).collect(),
            crests: ys.clone(),
            ys,
        };
        let tail = describe(&line, 0, noise(&line)).unwrap();
        let rounds: Vec<Round> = (1..240 / every)
            .map(|k| Round {
                kind: RoundKind::Evaluation,
                x: (k * every) as f64,
            })
            .collect();
        Rounds::of(&line, &tail, &rounds)
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
        assert!(!found.are_enough());
    }
}
