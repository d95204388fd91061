//! Rule "few steps": without the length of an epoch, so few steps may be a first pass over the data or a
//! runtime that settles.

use super::few_points::LARGE;
use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::stretch;
use crate::units::show_bytes;
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("few steps");

/// Below this many steps only a large growth counts, against the level and in bytes. Scaled-down labs fill
/// their stores straight until step 60; forked readers copy 110 MB in 31 steps.
const FEW: f64 = 75.0;
const MANY_BYTES: f64 = 128e6;

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let few = growing.axis == Axis::Step && !growing.epoch_known && tail.length() < FEW;
    let much = (LARGE * tail.level).max(MANY_BYTES);
    (few && tail.growth() < much).then(|| Lack {
        says: RULE.says(format!(
            "{} in {}: a first pass over the data or a runtime that settles does that too; fewer than {FEW} steps need {}",
            show_bytes(tail.growth()),
            stretch(growing.axis, tail.length()),
            show_bytes(much)
        )),
        decides_at: Some(tail.from + FEW + growing.spacing()),
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{grows_steadily, is_held_back_by, look};
    use crate::verdict::Axis;

    /// A small store that fills for sixty steps, in a run whose epoch is not known.
    #[test]
    fn few_steps_need_much_growth() {
        let shape = |x: f64| 28.0 + x;
        is_held_back_by(&look(Axis::Step, 40, shape), RULE);
        is_held_back_by(&look(Axis::Step, 60, shape), RULE);
        grows_steadily(&look(Axis::Step, 90, shape));
    }
}
