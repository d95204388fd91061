//! Rule "growth outlasts what fills": no store takes that long to fill.

use super::{Ending, Knowledge, no_end_known, since};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::stretch;
use crate::units::show_duration;
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("growth outlasts what fills");

/// How long a store takes to fill. The longest straight fills of the shared logs, replay buffers, take
/// half an hour: six times that. How much the growth is against the process says nothing: a cache beside
/// a large model fills as slowly as one beside a small one.
const FILL_SECONDS: f64 = 10_800.0;
/// And it has to last for this many steps where steps are counted and nobody tells how many make an
/// epoch: a first pass over the data takes as many steps as there is data. A data set of 160,000
/// examples in batches of eight is larger than what people keep in memory.
const FILL_STEPS: f64 = 20_000.0;

impl Knowledge<'_> {
    /// Growth that lasted for longer than stores take to fill. Without a clock nobody knows that: steps
    /// may be the thousandth part of a second.
    pub(super) fn by_length(&self, tail: &Tail) -> Ending {
        let since = since(self.line, tail);
        let length = tail.to - since;
        let lasted = stretch(self.axis, length);
        let Some(pace) = self.pace else {
            return no_end_known::without_a_clock(&lasted);
        };
        let by_time = FILL_SECONDS / pace;
        let fills = show_duration(FILL_SECONDS);
        let (needed, fills, lasted) = match self.axis {
            Axis::Time => (by_time, fills, lasted),
            _ => (
                by_time.max(FILL_STEPS),
                format!("{fills} and {FILL_STEPS:.0} steps"),
                format!("{lasted} in {}", show_duration(length * pace)),
            ),
        };
        if length < needed {
            return no_end_known::until(&lasted, &fills, since + needed);
        }
        Ending::Passed(RULE.says(format!(
            "the same pace for {lasted}: stores that fill are full within {fills}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look, names};
    use crate::verdict::{Axis, Class};

    #[test]
    fn three_hours_of_growth_outlast_a_fill() {
        let ramp = |x: f64| 4000.0 + x;
        let long = look(Axis::Time, 11_000, ramp);
        assert!(names(&long, RULE), "{:#?}", long.evidence);
        assert_eq!(long.verdict, Class::Leak);
        assert!(!names(&look(Axis::Time, 10_000, ramp), RULE));
    }
}
