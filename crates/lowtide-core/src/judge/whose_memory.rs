//! Rule "whose memory": which line decides a run's verdict, where it is not that of one process.

use super::rule::Rule;
use crate::verdict::Evidence;

pub(crate) const RULE: Rule = Rule::named("whose memory");

/// Of all processes of a role together.
pub(crate) fn role(role: &str) -> Evidence {
    RULE.says(format!("all {role} processes together"))
}

pub(crate) fn tree() -> Evidence {
    RULE.says("the whole tree, every page counted once")
}

pub(crate) fn gpu() -> Evidence {
    RULE.says("the GPU memory of the tree")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::judge::testing::names;
    use crate::mark::Geometry;
    use crate::run::Run;
    use crate::run::guarded::GuardedJob;

    /// A run without processes is judged as a whole; one process speaks for itself.
    #[test]
    fn only_what_is_not_one_process_is_named() {
        let verdict = Run::new().verdict();
        assert!(names(&verdict, RULE), "{:#?}", verdict.evidence);
        let mut job = GuardedJob::new();
        job.steps(0..100, Geometry::default(), |_| 500.0);
        let verdict = job.run.verdict();
        assert!(!names(&verdict, RULE), "{:#?}", verdict.evidence);
    }
}
