//! The zoo's recordings: complete, small, nameless, and nobody accused beyond those that are known to be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lowtide_core::entry::Entry;
use lowtide_core::judge::prior::Prior;
use lowtide_core::mark::Geometry;
use lowtide_verdicts::corpus;
use lowtide_verdicts::scored::{self, real};

/// All of it, so that a clone stays small.
const MOST_BYTES: u64 = 14 << 20;

/// Harmless runs that are called a leak while they fill, over many printed epochs of a few seconds: stores, traps and steps
/// that the prior takes for rarer than leaks (docs/accuracy.md). Nobody may join them unseen.
const ACCUSED: &[&str] = &[
    "deque-ring-2",
    "drawn-weighted-2",
    "growing-inputs-1",
    "list-ring-2",
    "memory-bank-1",
    "memory-bank-2",
    "phase-ends-1",
    "replay-random-1",
    "teeth-on-warm-up-1",
    "tokenizer-cleared-2",
    "trimmed-later-3",
    "unfreezing-1",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/recordings")
}

#[test]
fn it_is_whole_small_and_broad() {
    let cases = corpus::load(&folder()).unwrap();
    let families: BTreeSet<&str> = cases
        .iter()
        .map(|case| case.truth.family.as_str())
        .collect();
    let kinds: BTreeSet<&str> = cases.iter().map(|case| case.truth.kind.as_str()).collect();
    assert!(
        families.len() >= 12 && kinds.len() >= 40,
        "{families:?} {kinds:?}"
    );
    let files = fs::read_dir(folder()).unwrap().map(Result::unwrap);
    let mut named: BTreeSet<String> = cases
        .iter()
        .map(|case| format!("{}.lowtide", case.truth.run))
        .collect();
    named.insert(corpus::TRUTH.to_owned());
    let mut bytes = 0;
    for file in files {
        bytes += file.metadata().unwrap().len();
        let name = file.file_name().into_string().unwrap();
        assert!(named.remove(&name), "{name} is nobody's");
    }
    assert!(named.is_empty(), "{named:?} are missing");
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}

/// Whoever records it anew must not publish where.
#[test]
fn it_names_no_machine() {
    for case in corpus::load(&folder()).unwrap() {
        for entry in &case.entries {
            match entry {
                Entry::Header(header) => {
                    assert_eq!((header.host.as_str(), header.cwd.as_str()), ("corpus", ""))
                }
                Entry::Member(member) => {
                    assert!(member.facts.env.is_empty(), "{}", case.truth.run);
                    let mut words = member.facts.argv.iter().chain(&member.facts.exe);
                    assert!(
                        !words.any(|word| word.starts_with('/')),
                        "{}",
                        case.truth.run
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn nobody_joins_the_accused_and_no_leak_is_called_before_it_begins() {
    let cases = corpus::load(&folder()).unwrap();
    let runs = scored::each(&cases, |case| {
        real::score(case, Prior::PUBLISHED, Geometry::default())
    });
    let accused: BTreeSet<&str> = runs
        .iter()
        .filter(|run| run.accused.is_some())
        .map(|run| run.name.as_str())
        .collect();
    let known: BTreeSet<&str> = ACCUSED.iter().copied().collect();
    assert_eq!(accused, known, "the list says who was accused until now");
    let told = runs
        .iter()
        .filter(|run| run.leak && run.end == lowtide_core::verdict::Class::Leak)
        .count();
    assert!(told >= 12, "{told} leaks are told");
}
