//! Rule "it held as much before": growth that only wins back what was held and given back is a refill.

use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::units::show_bytes;

pub(crate) const RULE: Rule = Rule::named("it held as much before");

/// This share of the growth has to be above everything that was held before it: with less, most of it is
/// memory that the process is known to need.
const NEW_GROUND: f64 = 0.5;

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let refills = tail.level_end - tail.held_before < NEW_GROUND * tail.growth();
    refills.then(|| Lack {
        says: RULE.says(format!(
            "the floor was at {} before it grew to {}",
            show_bytes(tail.held_before),
            show_bytes(tail.level_end)
        )),
        decides_at: Some(growing.last() + tail.length()),
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{is_held_back_by, look};
    use crate::verdict::Axis;

    /// It only wins back what it held before.
    #[test]
    fn a_refill_is_no_leak() {
        let shape = |x: f64| {
            if x < 200.0 {
                1300.0
            } else {
                1000.0 + 0.35 * (x - 200.0)
            }
        };
        is_held_back_by(&look(Axis::Time, 1000, shape), RULE);
    }
}
