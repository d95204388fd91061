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
    use crate::judge::testing::{names, surely_leaks_after};
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
        let steps = (1.1 * surely_leaks_after(Some(100.0), Some(1.0))) as u64;
        let grown = |step: u64| 1200.0 * step as f64 / steps as f64;
        job.steps(0..steps, epoch, |step| 500.0 + grown(step));
        let verdict = job.run.verdict();
        assert_eq!(verdict.verdict, Class::Leak, "{:#?}", verdict.evidence);
        assert!(!names(&verdict, RULE));
        job.restart(steps);
        job.steps(steps + 1..steps + 6, epoch, |_| 500.0);
        let verdict = job.run.verdict();
        assert_eq!(verdict.verdict, Class::Leak);
        assert!(names(&verdict, RULE), "{:#?}", verdict.evidence);
    }
}
