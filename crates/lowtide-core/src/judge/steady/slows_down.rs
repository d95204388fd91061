//! Rule "growth slows down": a pace that comes down approaches a level.

use std::ops::Range;

use super::few_points;
use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::percent;
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("growth slows down");

/// A pace below this share of the earlier one is slowing.
const SLOWING: f64 = 0.7;
/// A pace that surely falls by this share from end to end approaches a level.
const SLOWS: f64 = -0.35;
/// The pace at the end is a third of that at the start, sure or not.
const HALTS: f64 = -1.0;
/// With this much bend and a stretch before it that was that many times faster, the pace is still
/// coming down. What was faster still is a start-up or a jump.
const STILL_SLOWS: f64 = -0.15;
const SLOWED: Range<f64> = 1.1..3.5;

/// The newer part against the older one.
pub(crate) fn between_parts(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    (tail.pace() < SLOWING).then(|| Lack {
        says: RULE.says(format!(
            "its newer part runs at {} of the older part's pace",
            percent(tail.pace().max(0.0))
        )),
        decides_at: Some(growing.last() + tail.length()),
    })
}

/// By the bend of all of it.
pub(crate) fn from_end_to_end(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    slows(tail, growing.axis).then(|| Lack {
        says: RULE.says(format!(
            "its pace fell by {} from end to end",
            percent(-tail.bend)
        )),
        decides_at: Some(growing.last() + tail.length()),
    })
}

/// Whether the pace comes down: surely and by much, or a little on top of a faster stretch before.
fn slows(tail: &Tail, axis: Axis) -> bool {
    let surely = tail.bend + tail.bend_reach < 0.0;
    let slowed = tail
        .before
        .map(|pace| pace.is_some_and(|pace| SLOWED.contains(&pace)));
    tail.bend < HALTS
        || surely && (tail.bend < SLOWS || tail.points < few_points::FEW)
        || slowed.contains(&true) && tail.bend < STILL_SLOWS
        || slowed == [true, true] && axis == Axis::Step
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{is_held_back_by, look, names};
    use crate::verdict::{Axis, Class};

    #[test]
    fn growth_that_slows_is_no_leak_yet() {
        let verdict = look(Axis::Time, 1000, |x| 1000.0 + 40.0 * x.sqrt());
        assert_ne!(verdict.verdict, Class::Leak, "{:#?}", verdict.evidence);
    }

    /// Half its pace at the end: all of it bends, and so do its parts.
    #[test]
    fn a_pace_that_falls_by_half_is_named() {
        let bends = |by: f64| move |x: f64| 1000.0 + x - by * x * x / 800.0;
        is_held_back_by(&look(Axis::Step, 400, bends(0.5)), RULE);
        let straight = look(Axis::Step, 400, bends(0.0));
        assert!(!names(&straight, RULE), "{:#?}", straight.evidence);
    }
}
