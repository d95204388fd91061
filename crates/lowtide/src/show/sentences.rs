//! What people read, over the whole corpus and at several moments of each run: no line twice, no share above all
//! of it, no article that does not fit.

use std::collections::HashSet;

use lowtide_core::entry::Entry;
use lowtide_core::run::Run;
use lowtide_recording::Recording;

use super::style::Style;
use super::{explain, text};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
/// Moments of each run, evenly from its first quarter to its end.
const MOMENTS: usize = 4;
/// So wide that no line is broken.
const STYLE: Style = Style {
    width: 100_000,
    ..Style::PLAIN
};

fn faults(page: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for line in page
        .lines()
        .filter(|line| line.trim_start().starts_with('·'))
    {
        if !seen.insert(line) {
            found.push(format!("twice: {line}"));
        }
    }
    let words: Vec<&str> = page.split_whitespace().collect();
    for pair in words.windows(2) {
        let share = pair[0].trim_start_matches('(').parse::<f64>();
        if pair[1].starts_with('%') && share.is_ok_and(|share| share.abs() > 100.0) {
            found.push(format!("above all of it: {} %", pair[0]));
        }
        let vowel = pair[1].starts_with(['a', 'e', 'i', 'o']);
        let one = pair[1].starts_with("one");
        if pair[0].eq_ignore_ascii_case("a") && vowel && !one {
            found.push(format!("article: a {}", pair[1]));
        }
    }
    found
}

#[test]
fn such_faults_are_found() {
    let bad =
        "  · it grows\n  · it grows\n  part  105 %  of a evaluation, 100 % of an epoch (102 %)";
    assert_eq!(faults(bad).len(), 4, "{:?}", faults(bad));
    assert!(faults("  · it grows: a step, a one, 100 %\n  · it falls").is_empty());
}

#[test]
fn nothing_is_said_twice_or_wrongly_anywhere_in_the_corpus() {
    let mut runs = 0;
    for file in std::fs::read_dir(CORPUS).expect("corpus/") {
        let path = file.expect("a readable folder").path();
        if path.extension().is_none_or(|ending| ending != "lowtide") {
            continue;
        }
        runs += 1;
        let mut entries: Vec<Entry> = Vec::new();
        let mut recording = Recording::open(&path).expect("a recording");
        recording
            .read_on(|entry, _| entries.push(entry))
            .expect("whole");
        let mut run = Run::new();
        let mut done = 0;
        for moment in 1..=MOMENTS {
            let until = entries.len() * moment / MOMENTS;
            entries[done..until]
                .iter()
                .for_each(|entry| run.apply(entry));
            done = until;
            let (verdict, series, explanation) = run.explained();
            let pages = [
                text::render(&verdict, series, None, STYLE),
                explain::render(&verdict, &explanation, None, STYLE),
            ];
            for page in pages {
                let found = faults(&page);
                assert!(found.is_empty(), "{path:?}, {moment}: {found:#?}\n{page}");
            }
        }
    }
    assert!(runs >= 30, "{runs}");
}
