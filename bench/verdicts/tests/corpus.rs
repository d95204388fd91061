//! The corpus: recordings of our own programs, each with what is true of it. Every moment of each is judged
//! as a live watch would have judged it.

use std::collections::BTreeSet;
use std::fs;

use lowtide_core::entry::Entry;
use lowtide_core::mark::Geometry;
use lowtide_core::verdict::Class;
use lowtide_verdicts::corpus::{self, Case};

/// A rate, a plateau and a place may be off by this share. Steps come in bursts while other work has the
/// cores, and allocators round up.
const OFF: f64 = 0.1;
/// All of it, so that a clone stays small.
const MOST_BYTES: u64 = 8 << 20;

fn cases() -> Vec<Case> {
    corpus::load(&corpus::ours()).unwrap()
}

fn near(found: f64, truth: f64, of: f64) -> bool {
    (found - truth).abs() <= OFF * of
}

#[test]
fn it_is_whole_and_small() {
    let cases = cases();
    let leaks = cases.iter().filter(|case| case.truth.leak).count();
    assert!(
        leaks >= 8 && cases.len() - leaks >= 8,
        "{leaks} leaks of {}",
        cases.len()
    );
    let named: BTreeSet<String> = cases
        .iter()
        .map(|case| format!("{}.lowtide", case.truth.run))
        .collect();
    let (mut found, mut bytes) = (BTreeSet::new(), 0);
    for file in fs::read_dir(corpus::ours()).unwrap().map(Result::unwrap) {
        bytes += file.metadata().unwrap().len();
        let name = file.file_name().into_string().unwrap();
        if name.ends_with(".lowtide") {
            found.insert(name);
        }
    }
    assert_eq!(found, named);
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}

/// Whoever records it anew must not publish where.
#[test]
fn it_names_no_machine() {
    for case in cases() {
        for entry in &case.entries {
            match entry {
                Entry::Header(header) => {
                    assert_eq!((header.host.as_str(), header.cwd.as_str()), ("corpus", ""));
                }
                Entry::Member(member) => {
                    let facts = &member.facts;
                    assert!(facts.env.is_empty(), "{}: {:?}", case.truth.run, facts.env);
                    for word in facts.argv.iter().chain(&facts.exe) {
                        assert!(!word.starts_with('/'), "{}: {word}", case.truth.run);
                    }
                }
                Entry::Sample(sample) => {
                    let numbers = |c: char| c == '/' || c.is_ascii_digit();
                    for group in &sample.cgroups {
                        assert!(group.path.chars().all(numbers), "{}", group.path);
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn at_the_end_the_truth_is_said() {
    let mut wrong = Vec::new();
    for case in cases() {
        let truth = &case.truth;
        let end = case.end(truth.told);
        let verdict = &end.verdict;
        let steps = end.step.unwrap_or(0.0);
        let mut fault = |what: String| wrong.push(format!("{}: {what}", truth.run));
        if !truth.says.contains(&verdict.verdict) {
            fault(format!(
                "called {}: {:#?}",
                verdict.verdict, verdict.evidence
            ));
            continue;
        }
        if let Some(rate) = truth.rate
            && !near(verdict.rate.value, rate, rate)
        {
            fault(format!("{} a step, truth {rate}", verdict.rate.value));
        }
        if let (Some(step), Class::WarmUp) = (truth.settles, verdict.verdict)
            && !verdict
                .settled_at
                .is_some_and(|found| near(found, step, steps))
        {
            fault(format!("settled at {:?}, truth {step}", verdict.settled_at));
        }
        if let (Some(bytes), Class::WarmUp) = (truth.plateau, verdict.verdict)
            && !verdict
                .plateau
                .is_some_and(|found| near(found, bytes, bytes))
        {
            fault(format!("plateau {:?}, truth {bytes}", verdict.plateau));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Told or not, at no moment: an accusation of what does not leak (or not yet), or what the truth rules out.
#[test]
fn no_moment_says_what_may_never_be_said() {
    for case in cases() {
        let truth = &case.truth;
        for told in [truth.told, Geometry::default()] {
            for moment in case.moments(told) {
                let said = moment.verdict.verdict;
                let not_yet = truth.onset.is_some_and(|onset| moment.step < Some(onset));
                let accused = said == Class::Leak && (!truth.leak || not_yet);
                assert!(
                    !accused && !truth.never.contains(&said),
                    "{} at {:.0} s is called {said}: {:#?}",
                    truth.run,
                    moment.seconds,
                    moment.verdict.evidence
                );
            }
        }
    }
}

/// A leak whose end nobody can know is growth, never calm.
#[test]
fn a_leak_is_never_called_calm_at_the_end() {
    for case in cases().iter().filter(|case| case.truth.leak) {
        let verdict = case.end(Geometry::default()).verdict;
        let open = matches!(verdict.verdict, Class::Leak | Class::TooEarly);
        assert!(
            open && verdict.growing,
            "{}: {:#?}",
            case.truth.run,
            verdict.evidence
        );
    }
}
