//! Rule "growth is not steady": no one pace describes all of it, or too little is known of its pace.

use std::ops::Range;

use super::{GrowingEnd, Lack};
use crate::judge::line::FloorLine;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("growth is not steady");

/// Each fifth of the growth stands above the one before by this share of an even rise at least.
const LEAST_FIFTH: f64 = 0.5;
/// Cut by a fifth at either end, it keeps its pace within these bounds.
const STEADY: Range<f64> = 0.7..1.4;
/// A pace that rises by more than its own size from end to end.
const RUNS_AWAY: f64 = 1.0;
/// Where steps do not count the work, a fall of the pace by this much has to be ruled out.
const MAY_HALT: f64 = -0.6;

/// Half as long again, from the last point, may show one pace.
fn lack(tail: &Tail, last: f64, says: &str) -> Lack {
    Lack {
        says: RULE.says(says),
        decides_at: Some(last + tail.length() / 2.0),
    }
}

/// One part runs at another pace than the rest.
pub(crate) fn between_parts(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let says = if tail.fifths.iter().any(|rise| *rise < LEAST_FIFTH) {
        "cut in five, not every part stands clearly above the one before"
    } else if tail.cuts.iter().any(|pace| !STEADY.contains(pace)) {
        "without its first or its last fifth the pace is another"
    } else if tail.bend > RUNS_AWAY {
        "it came faster at the end: one jump would do that"
    } else {
        return None;
    };
    Some(lack(tail, growing.last(), says))
}

/// So wide an interval that it may slow down.
pub(crate) fn unsure(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let may_halt = growing.axis != Axis::Step && tail.bend - tail.bend_reach < MAY_HALT;
    let says = "its pace is not known well enough to tell that it does not slow down";
    may_halt.then(|| lack(tail, growing.last(), says))
}

/// Least squares may be led by a few windows; the median of all slopes has to agree, and is the rate that is
/// told then.
pub(crate) fn unless_median_grows(line: &FloorLine, tail: &mut Tail) -> Option<Lack> {
    tail.by_median(line);
    let says = "a few windows carry it; most pairs of points show none";
    (tail.low <= 0.0).then(|| lack(tail, tail.to, says))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::testing::end_of;

    fn said(axis: Axis, shape: impl Fn(f64) -> f64) -> Option<String> {
        let (line, tail) = end_of(shape);
        let growing = GrowingEnd {
            axis,
            whole: &line,
            line: &line,
            toothed: false,
        };
        let lack = between_parts(&growing, &tail).or_else(|| unsure(&growing, &tail));
        lack.map(|lack| lack.says.says)
    }

    #[test]
    fn a_part_at_another_pace_is_named() {
        assert_eq!(said(Axis::Time, |x| 1000.0 + 10.0 * x), None);
        let rests = said(Axis::Time, |x| {
            1000.0 + 10.0 * (x.min(20.0) + (x - 40.0).max(0.0))
        });
        assert!(rests.unwrap().contains("cut in five"));
        let jumps = |x: f64| 1000.0 + 10.0 * x + 6.0 * (x - 40.0).max(0.0).powi(2);
        assert!(said(Axis::Time, jumps).is_some());
    }

    /// Noise of a third of the growth: on steps the work is counted, on time it may slow down.
    #[test]
    fn where_time_counts_a_wide_interval_may_slow_down() {
        let noise = |x: f64| ((x as u64).wrapping_mul(2_654_435_761) % 1000) as f64 / 1000.0;
        let shape = |x: f64| 1000.0 + 10.0 * x + 200.0 * noise(x);
        assert!(said(Axis::Time, shape).is_some());
        assert_eq!(said(Axis::Step, shape), None);
    }

    #[test]
    fn a_few_windows_carry_nothing() {
        let (line, mut tail) = end_of(|x| if x < 60.0 { 1000.0 } else { 1400.0 });
        assert!(unless_median_grows(&line, &mut tail).is_some());
        let (line, mut tail) = end_of(|x| 1000.0 + 10.0 * x);
        assert_eq!(unless_median_grows(&line, &mut tail), None);
    }
}
