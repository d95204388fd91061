//! Rule "an earlier attempt": a leak that one attempt of a guarded run showed stays the run's verdict.

use super::rule::Rule;
use crate::verdict::Evidence;

pub const RULE: Rule = Rule::named("an earlier attempt");

/// `number` counts from 1.
pub fn shown_in(number: u32) -> Evidence {
    RULE.says(format!(
        "shown in attempt {number}, before the guard started the job again"
    ))
}
