//! Rule "floor is flat": shown by the upper bound of the slope, not assumed because no rise was found.

use super::plateau::Plateau;
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::{pace, place, stretch};
use crate::verdict::{Axis, Evidence};

pub(crate) const RULE: Rule = Rule::named("floor is flat");

/// Even at its upper bound the floor must need more than this many runs to double.
pub(crate) const HORIZON: f64 = 10.0;
/// Valleys of a saw-tooth are level when their slope may be nothing and would lift them by this share
/// of the teeth at most.
const SHARE_OF_DEPTH: f64 = 0.2;
/// The flat part has lasted at least this share of what was watched.
const LEAST_FLAT: f64 = 0.2;

pub(crate) fn says(axis: Axis, tail: &Tail, creeps: bool) -> Evidence {
    let creeps = if creeps {
        ": it creeps, too slowly to matter within ten times this run"
    } else {
        ""
    };
    RULE.says(format!(
        "since {} ({}) its slope is at most {}{creeps}",
        place(axis, tail.from),
        stretch(axis, tail.length()),
        pace(axis, tail.high),
    ))
}

impl Plateau {
    /// The longest end of the line that is shown to be flat, of the plateau and the other ends.
    /// `depth` is that of the saw-teeth, 0 without; an end that `grows` is not flat, however slow: it
    /// may meet the limit.
    pub(crate) fn flat(
        &self,
        line: &FloorLine,
        tails: &[Tail],
        depth: f64,
        grows: impl Fn(&Tail) -> bool,
    ) -> Option<Tail> {
        let horizon = line.span() * HORIZON;
        tails
            .iter()
            .chain([&self.tail])
            .filter(|tail| {
                let slow = tail.high * horizon <= tail.level_end.abs();
                let level = tail.low <= 0.0 && tail.high * tail.length() <= SHARE_OF_DEPTH * depth;
                (slow || level) && tail.length() >= LEAST_FLAT * line.span() && !grows(tail)
            })
            .max_by(|a, b| a.length().total_cmp(&b.length()))
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look, names};
    use crate::verdict::{Axis, Class};

    #[test]
    fn a_level_floor_is_flat_and_a_rising_one_is_not() {
        let flat = look(Axis::Time, 600, |_| 1000.0);
        assert!(names(&flat, RULE), "{:#?}", flat.evidence);
        assert_eq!(flat.verdict, Class::Stable);
        assert!(!names(&look(Axis::Time, 600, |x| 1000.0 + x), RULE));
    }

    #[test]
    fn uneven_valleys_do_not_hide_that_all_of_it_is_flat() {
        // A real fine-tune: batches come and go between 545 and 575 MB, with few clear valleys.
        let wobble = |i: usize| (i as u64).wrapping_mul(2_654_435_761) % 1000;
        for seed in 0..20 {
            let verdict = look(Axis::Step, 120, |x| {
                let i = x as usize + 1000 * seed;
                let bump = if (x as usize) % 29 < 2 { 24.0 } else { 0.0 };
                548.0 + 0.016 * wobble(i / 2) as f64 + bump
            });
            assert_ne!(verdict.verdict, Class::TooEarly, "{seed}: {verdict:#?}");
        }
    }
}
