//! Rule "reserved memory is full": the floor went past the end of what was reserved, so that end is refuted
//! and the growth is open again. How far past is the threshold of [`super::reserved`].

use super::Ending;
use crate::judge::rule::Rule;
use crate::point::Reserve;
use crate::units::show_bytes;

pub(crate) const RULE: Rule = Rule::named("reserved memory is full");

pub(crate) fn past_its_end(reserve: &Reserve) -> Ending {
    Ending::Open {
        says: RULE.says(format!(
            "{}; the floor is past {}, where that ends",
            reserve.why,
            show_bytes(reserve.end)
        )),
        decides_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::{look_with, names};
    use crate::point::{Context, Reserve};
    use crate::verdict::{Axis, Class};

    #[test]
    fn a_floor_past_the_end_refutes_it() {
        let reserved = |end: f64, left: f64| Context {
            reserved: Some(Reserve {
                end,
                left,
                share: 1.0,
                why: "a block of 1 GB".to_owned(),
            }),
            ..Context::default()
        };
        let ramp = |x: f64| 1000.0 + x;
        let past = look_with(&reserved(1.5e9, 0.0), Axis::Step, 1000, ramp);
        assert!(names(&past, RULE), "{:#?}", past.evidence);
        assert_eq!(past.verdict, Class::TooEarly);
        let within = look_with(&reserved(3e9, 1e9), Axis::Step, 1000, ramp);
        assert!(!names(&within, RULE), "{:#?}", within.evidence);
        assert_eq!(within.verdict, Class::WarmUp);
    }
}
