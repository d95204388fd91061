//! Rule "an earlier attempt": a leak that one attempt of a guarded run showed stays the run's verdict.

use super::rule::Rule;
use crate::verdict::Evidence;

pub(crate) const RULE: Rule = Rule::named("an earlier attempt");

/// `number` counts from 1.
pub(crate) fn shown_in(number: u32) -> Evidence {
    RULE.says(format!(
        "shown in attempt {number}, before the guard started the job again"
    ))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::names;
    use crate::mark::Geometry;
    use crate::run::guarded::GuardedJob;
    use crate::verdict::Class;

    #[test]
    fn a_leak_outlives_the_attempt_that_showed_it() {
        let epoch = Geometry {
            epoch_steps: Some(100.0),
            ..Geometry::default()
        };
        let mut job = GuardedJob::new();
        job.steps(0..300, epoch, |step| 500.0 + 4.0 * step as f64);
        assert!(!names(&job.run.verdict(), RULE));
        job.restart(300);
        job.steps(301..306, epoch, |_| 500.0);
        let verdict = job.run.verdict();
        assert_eq!(verdict.verdict, Class::Leak);
        assert!(names(&verdict, RULE), "{:#?}", verdict.evidence);
    }
}
