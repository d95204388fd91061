//! Rule "what would change this": every verdict ends with what would make it another one.

use super::rule::Rule;
use crate::verdict::Evidence;

pub const RULE: Rule = Rule::named("what would change this");

pub(super) fn by(says: impl Into<String>) -> Evidence {
    RULE.says(says)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::look;
    use crate::verdict::Axis;

    #[test]
    fn every_verdict_says_it_once() {
        let shapes: [fn(f64) -> f64; 3] = [|_| 1000.0, |x| 1000.0 + x, |x| 1000.0 + x.min(300.0)];
        for shape in shapes {
            for n in [2, 5, 40, 1000] {
                let said = look(Axis::Time, n, shape).evidence;
                let times = said.iter().filter(|said| RULE.said(said)).count();
                assert_eq!(times, 1, "{n}: {said:#?}");
            }
        }
    }
}
