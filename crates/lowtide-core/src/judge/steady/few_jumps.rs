//! Rule "growth in few jumps": a heap that resizes itself grows by stairs, and each is its last so far.

use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::units::show_bytes;

pub(crate) const RULE: Rule = Rule::named("growth in few jumps");

/// Rises that carry the growth: four stairs may be a heap that resizes itself.
const LEAST_RISES: f64 = 5.0;
/// Valleys differ in depth by nature, which concentrates the rises.
const LEAST_VALLEY_RISES: f64 = 3.5;

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let least = match growing.toothed {
        true => LEAST_VALLEY_RISES,
        false => LEAST_RISES,
    };
    (tail.rises < least).then(|| Lack {
        says: RULE.says(format!(
            "{} came in about {}; a heap that resizes itself does that too",
            show_bytes(tail.growth()),
            match tail.rises.round() {
                many if many > 1.0 => format!("{many:.0} rises"),
                _ => "one rise".to_owned(),
            }
        )),
        decides_at: Some(growing.last() + tail.length()),
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{grows_steadily, is_held_back_by, look};
    use crate::verdict::Axis;

    #[test]
    fn four_stairs_may_be_a_heap_that_resizes_itself() {
        let stairs = |every: f64| move |x: f64| 1000.0 + 100.0 * (x / every).floor();
        is_held_back_by(&look(Axis::Step, 500, stairs(100.0)), RULE);
        grows_steadily(&look(Axis::Step, 500, stairs(25.0)));
    }
}
