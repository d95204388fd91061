//! Rule "growth may have ended": a quiet stretch at the end that is longer than any before it.

use super::{GrowingEnd, Lack};
use crate::judge::rule::Rule;
use crate::judge::tail::Tail;
use crate::judge::words::stretch;

pub(crate) const RULE: Rule = Rule::named("growth may have ended");

/// A final pause this many times longer than any before it may be the end of the growth, ...
const LONG_PAUSE: f64 = 1.5;
/// ... from this share of the growth's length on: growth in stairs pauses at each.
const LEAST_PAUSE: f64 = 0.12;
/// What ends a pause: a rise by this share of the growth, or by its noise. Less is ripple on a level.
const STAIR: f64 = 0.02;

pub(crate) fn lacks(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<Lack> {
    let pause = final_pause(growing, tail)?;
    Some(Lack {
        says: RULE.says(format!(
            "nothing grew for the last {}, longer than any pause before",
            stretch(growing.axis, pause)
        )),
        decides_at: Some(growing.last() + pause),
    })
}

/// The quiet stretch at the end, when it is longer than the ones before it.
fn final_pause(growing: &GrowingEnd<'_>, tail: &Tail) -> Option<f64> {
    let line = growing.line;
    let (xs, ys) = (&line.xs[tail.start..], &line.ys[tail.start..]);
    let step = (STAIR * tail.growth()).max(tail.noise);
    let (mut since, mut base, mut longest, mut current) = (xs[0], ys[0], 0.0f64, 0.0f64);
    for (x, y) in xs.iter().zip(ys) {
        current = x - since;
        if y - base > step {
            longest = longest.max(current);
            since = *x;
            base = *y;
            current = 0.0;
        }
    }
    (current > LONG_PAUSE * longest && current > LEAST_PAUSE * tail.length()).then_some(current)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{is_held_back_by, look, names};
    use crate::verdict::Axis;

    /// Growth that stopped for the last seventh of what was watched.
    #[test]
    fn a_pause_at_the_end_may_be_its_end() {
        let until = |end: f64| move |x: f64| 1000.0 + 2.0 * x.min(end);
        is_held_back_by(&look(Axis::Step, 350, until(300.0)), RULE);
        let goes_on = look(Axis::Step, 350, until(350.0));
        assert!(!names(&goes_on, RULE), "{:#?}", goes_on.evidence);
    }
}
