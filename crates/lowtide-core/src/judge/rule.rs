//! What an evidence line is named after: a rule, declared in the one file that holds it, its thresholds and
//! its test. Evidence is made by [`Rule::says`] alone.

use std::panic::Location;

use super::ending::{
    first_pass, may_fade, no_end_known, outlasts_epoch, outlasts_fills, reserved, reserved_full,
    rounds,
};
use super::flat::{
    ends_at_epoch, flatness_not_shown, floor_is_flat, growth_ended, memory_full, spikes,
};
use super::steady::{
    few_jumps, few_points, held_as_much_before, may_have_ended, not_steady, slows_down,
};
use super::{
    earlier_attempt, floor_grows, hardly_begun, limit, line, tail, teeth, too_short, whose_memory,
    would_change,
};
use crate::verdict::Evidence;

/// Every rule that an evidence line can name.
pub const RULES: [Rule; 30] = [
    line::RULE,
    teeth::RULE,
    hardly_begun::RULE,
    floor_grows::RULE,
    // What growth lacks before it is steady.
    few_points::RULE,
    held_as_much_before::RULE,
    few_jumps::RULE,
    slows_down::RULE,
    not_steady::RULE,
    may_have_ended::RULE,
    // What is known of its end.
    first_pass::RULE,
    may_fade::RULE,
    outlasts_epoch::RULE,
    outlasts_fills::RULE,
    no_end_known::RULE,
    rounds::RULE,
    reserved::RULE,
    reserved_full::RULE,
    // Of a leak.
    tail::RULE,
    limit::RULE,
    // Floors that do not rise.
    floor_is_flat::RULE,
    flatness_not_shown::RULE,
    growth_ended::RULE,
    ends_at_epoch::RULE,
    memory_full::RULE,
    spikes::RULE,
    // Around the verdict.
    too_short::RULE,
    would_change::RULE,
    whose_memory::RULE,
    earlier_attempt::RULE,
];

/// The name that an evidence line bears, and the file that declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: &'static str,
    file: &'static str,
}

impl Rule {
    /// A rule's file calls this once, for its `RULE`.
    #[track_caller]
    pub(super) const fn named(name: &'static str) -> Rule {
        Rule {
            name,
            file: Location::caller().file(),
        }
    }

    /// Its evidence.
    pub(crate) fn says(&self, says: impl Into<String>) -> Evidence {
        debug_assert!(RULES.contains(self), "{self:?} is not among RULES");
        Evidence {
            rule: self.name.to_owned(),
            says: says.into(),
        }
    }

    /// Whether this evidence is its own.
    pub fn said(&self, evidence: &Evidence) -> bool {
        evidence.rule == self.name
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// [`Rule::says`] is the only way to evidence and refuses a rule that is not listed: the list is whole.
    #[test]
    fn each_rule_is_declared_by_one_file_of_the_judge() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        let files: BTreeSet<&str> = RULES.iter().map(|rule| rule.file).collect();
        assert_eq!(names.len(), RULES.len(), "two rules of one name");
        assert_eq!(files.len(), RULES.len(), "two rules in one file");
        for rule in RULES {
            assert!(rule.file.contains("src/judge/"), "{rule:?}");
        }
    }
}
