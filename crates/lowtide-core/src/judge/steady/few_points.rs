//! Rule "few points": so few points in a row are a coincidence.

use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::percent;

pub(crate) const RULE: Rule = Rule::named("few points");

/// Below this many points of the floor nothing is decided: no interval of a slope says much.
pub(crate) const LEAST_TO_DECIDE: usize = 6;
/// Floor points that a straight line needs: 5 or 6 points in a row are a coincidence that people
/// post (and withdraw); 12 are what the shortest confirmed leak of the shared traces has.
const LEAST_POINTS: usize = 12;
/// Valleys of a saw-tooth are work cycles already: each is a collection that could not free it.
const LEAST_VALLEYS: usize = 6;
/// Below this many points only a large growth counts ...
pub(crate) const FEW: usize = 24;
/// ... of at least this share of the level. A writer that keeps metadata until its file is closed
/// showed 17 points in a line and 13 %.
pub(crate) const LARGE: f64 = 0.2;

/// Too few points to say more than that they rise, or not even that.
pub(crate) fn nothing_is_decided(points: usize) -> Lack {
    Lack {
        says: RULE.says(format!(
            "{points} points of the floor; nothing is decided below {LEAST_TO_DECIDE}"
        )),
        decides_at: None,
    }
}

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let least = match growing.toothed {
        true => LEAST_VALLEYS,
        false => LEAST_POINTS,
    };
    let with = |points: usize| growing.last() + growing.spacing() * (points - tail.points) as f64;
    if tail.points < least {
        return Some(Lack {
            says: RULE.says(format!(
                "{} points in a row are not enough to know; {least} are asked for",
                tail.points
            )),
            decides_at: Some(with(least)),
        });
    }
    let few = !growing.toothed && tail.points < FEW && tail.growth() < LARGE * tail.level;
    few.then(|| Lack {
        says: RULE.says(format!(
            "{} points and {} of growth: fewer than {FEW} points need {}",
            tail.points,
            percent(tail.growth() / tail.level),
            percent(LARGE)
        )),
        decides_at: Some(with(FEW)),
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{grows_steadily, is_held_back_by, look};
    use crate::verdict::Axis;

    #[test]
    fn eleven_steps_in_a_row_are_few() {
        is_held_back_by(&look(Axis::Step, 11, |x| 1000.0 + 50.0 * x), RULE);
        grows_steadily(&look(Axis::Step, 13, |x| 1000.0 + 50.0 * x));
    }

    /// A writer that keeps metadata until its file is closed: a straight line, 17 points, 13 %.
    #[test]
    fn few_points_need_a_large_growth() {
        is_held_back_by(&look(Axis::Step, 17, |x| 1000.0 + 8.0 * x), RULE);
    }

    #[test]
    fn five_points_decide_nothing() {
        for shape in [|_: f64| 1000.0, |x: f64| 1000.0 + 50.0 * x] {
            is_held_back_by(&look(Axis::Step, 5, shape), RULE);
        }
    }
}
