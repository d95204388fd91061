//! Every *ruled out* is checked like a verdict: at no moment of a recording may it name what is true of the growth,
//! or may be.

use lowtide_core::mark::Geometry;
use lowtide_core::verdict::Class;
use lowtide_verdicts::corpus::{self, Explained, Truth};

/// Asked so many times on the way.
const TIMES: u64 = 30;

/// Entries that speak of what every step keeps. Growth that has ended, or whose end is known, is none of that,
/// whatever kept it until then.
const EVERY_STEP: [&str; 7] = ["P09", "P21", "P22", "P23", "P38", "P39", "P41"];

/// What was ruled out at this moment and may not be.
fn false_ones(truth: &Truth, said: &Explained) -> Vec<String> {
    let verdict = &said.moment.verdict;
    let leaks = truth.leak
        && truth
            .onset
            .is_none_or(|onset| said.moment.step >= Some(onset));
    let ended = verdict.verdict == Class::WarmUp && !leaks;
    let is_true = |about: &str| {
        let named = truth
            .causes
            .iter()
            .find(|cause| about.starts_with(cause.as_str()));
        let by_each_step = |cause: &String| EVERY_STEP.contains(&cause.as_str());
        named.is_some_and(|cause| !(ended && by_each_step(cause))) || about == "a leak" && leaks
    };
    let ruled_out = said.explanation.ruled_out.iter();
    ruled_out
        .filter(|statement| is_true(&statement.about))
        .map(|statement| {
            format!(
                "{} at {:.0} s ({}): {}: {}",
                truth.run,
                said.moment.seconds,
                verdict.word(),
                statement.about,
                statement.says
            )
        })
        .collect()
}

#[test]
fn nothing_true_is_ruled_out_at_any_moment() {
    let mut wrong = Vec::new();
    let mut asked = 0;
    for case in corpus::load(&corpus::ours()).unwrap() {
        for told in [case.truth.told, Geometry::default()] {
            for said in case.explained(told, TIMES) {
                asked += said.explanation.ruled_out.len();
                wrong.extend(false_ones(&case.truth, &said));
            }
        }
    }
    assert!(
        asked > 1000,
        "only {asked} statements were there to be checked"
    );
    assert!(
        wrong.is_empty(),
        "{} of {asked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Whoever records a run more says what is true of it.
#[test]
fn every_growth_has_its_causes() {
    for case in corpus::load(&corpus::ours()).unwrap() {
        let truth = &case.truth;
        let grows = truth.leak || truth.settles.is_some();
        assert!(!grows || !truth.causes.is_empty(), "{}", truth.run);
    }
}
