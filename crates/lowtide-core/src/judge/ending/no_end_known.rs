//! Rule "no end is known": steady growth for which nothing was told that would end it. How long it has to go
//! on is told by [`crate::judge::prior`], in [`super::outlasts_fills`].

use super::Ending;
use crate::judge::rule::Rule;

pub(crate) const RULE: Rule = Rule::named("no end is known");

/// Steps of which nobody knows how long they take.
pub(crate) fn without_a_clock(lasted: &str) -> Ending {
    Ending::Open {
        says: RULE.says(format!(
            "the same pace for {lasted}; a first pass over the data or a store that fills looks the same"
        )),
        decides_at: None,
    }
}

pub(crate) fn until(lasted: &str, fills: &str, decides_at: f64) -> Ending {
    Ending::Open {
        says: RULE.says(format!(
            "the same pace for {lasted}; a first pass over the data or a store that fills looks the same for up to {fills}"
        )),
        decides_at: Some(decides_at),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{grows_steadily, look, names};
    use crate::verdict::{Axis, Class};

    /// Steady growth is open for as long as nobody knows of an end; steps without a clock say not when.
    #[test]
    fn steady_growth_without_knowledge_is_open() {
        let ramp = |x: f64| 1000.0 + x;
        for (axis, promised) in [(Axis::Time, true), (Axis::Step, false)] {
            let verdict = look(axis, 2000, ramp);
            grows_steadily(&verdict);
            assert_eq!(verdict.verdict, Class::TooEarly);
            assert!(names(&verdict, RULE), "{:#?}", verdict.evidence);
            assert_eq!(verdict.decides_at.is_some(), promised);
        }
    }
}
