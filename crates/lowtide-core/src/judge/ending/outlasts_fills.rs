//! Rule "growth outlasts what fills": few stores take that long to fill.

use super::{Ending, Knowledge, no_end_known, since};
#[cfg(doc)]
use crate::judge::prior::Prior;
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::{percent, stretch};
use crate::units::show_duration;
use crate::verdict::Axis;

pub(crate) const RULE: Rule = Rule::named("growth outlasts what fills");

impl Knowledge<'_> {
    /// Growth that lasted for longer than stores, and first passes of which nobody tells how long they are, take to
    /// fill, by the clock ([`Prior::leaks`]).
    pub(super) fn by_length(&self, tail: &Tail) -> Ending {
        let since = since(self.line, tail);
        let length = tail.to - since;
        let lasted = match self.pace.filter(|_| self.axis != Axis::Time) {
            Some(pace) => {
                let clock = show_duration(length * pace);
                format!("{} in {clock}", stretch(self.axis, length))
            }
            None => stretch(self.axis, length),
        };
        // Without a clock nobody knows: steps may be the thousandth part of a second.
        let needed = self
            .pace
            .and_then(|_| self.prior.sure_after(|length| self.lasted(length)));
        let Some(needed) = needed else {
            return no_end_known::without_a_clock(&lasted);
        };
        if length < needed {
            return no_end_known::until(&lasted, &stretch(self.axis, needed), since + needed);
        }
        if !self.keeps_pace(since) {
            return self.may_fade(tail);
        }
        let surely = self.prior.leaks(self.lasted(length));
        Ending::Passed {
            says: RULE.says(format!(
                "the same pace for {lasted}: of growth that is seen so long {} never ends",
                percent(surely)
            )),
            surely,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look, names, surely_leaks_after_seconds};
    use crate::verdict::{Axis, Class};

    #[test]
    fn growth_for_longer_than_stores_take_outlasts_a_fill() {
        let ramp = |x: f64| 4000.0 + x;
        let seconds = |share: f64| (share * surely_leaks_after_seconds()) as usize;
        let long = look(Axis::Time, seconds(1.05), ramp);
        assert!(names(&long, RULE), "{:#?}", long.evidence);
        assert_eq!(long.verdict, Class::Leak);
        let short = look(Axis::Time, seconds(0.95), ramp);
        assert!(!names(&short, RULE), "{:#?}", short.evidence);
        assert_eq!(short.verdict, Class::TooEarly);
    }

    /// The place that is told is the place where it will be decided, if it goes on like this.
    #[test]
    fn what_is_promised_is_kept() {
        let late = |x: f64| 1000.0 + 0.3 * (x - 800.0).max(0.0);
        let at = look(Axis::Time, 1100, late).decides_at.unwrap();
        for (share, leaks) in [(0.95, false), (1.05, true)] {
            let verdict = look(Axis::Time, (share * at) as usize, late);
            assert_eq!(verdict.verdict == Class::Leak, leaks, "{verdict:#?}");
        }
    }
}
