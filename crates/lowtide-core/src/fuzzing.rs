//! What `scripts/fuzz` tries of this crate: what reads bytes that others wrote, and the fold over entries, whose
//! numbers a recording can make up. Only tests and fuzzers see this module. `fuzz/corpus/core` has inputs for
//! each target, which the tests run.

use std::str::FromStr;

use crate::entry::Entry;
use crate::mark::Mark;
use crate::output::{StepReader, trainer_state};
use crate::process::{Facts, Member, ProcId, Role};
use crate::report::{Detail, Picture};
use crate::tree::assign::assign;
use crate::units::{Bytes, Cap, Micros, Share, parse_duration, show_bytes, show_duration};

/// Panics if these bytes make a parser break its promise.
pub type Target = fn(&[u8]);

/// By name.
pub const TARGETS: &[(&str, Target)] = &[
    ("entries", entries),
    ("output", output),
    ("roles", roles),
    ("trainer-state", state),
    ("units", units),
];

/// What a job prints: the same marks, in whatever pieces it comes.
fn output(bytes: &[u8]) {
    let marks = |piece: usize| -> Vec<Mark> {
        let mut reader = StepReader::new();
        let at = Micros(1);
        let pieces = bytes.chunks(piece);
        let mut marks: Vec<Mark> = pieces.flat_map(|piece| reader.feed(piece, at)).collect();
        marks.extend(reader.finish(at));
        marks
    };
    let whole = marks(bytes.len().max(1));
    assert!(whole.len() <= bytes.len(), "a mark is at least a byte");
    assert_eq!(marks(1), whole, "byte by byte");
    assert_eq!(marks(13), whole, "in pieces of 13");
    let odd = whole
        .iter()
        .find(|mark| mark.epoch.is_some_and(|epoch| !epoch.is_finite()));
    assert_eq!(odd, None);
}

/// What processes say of themselves, a line each: a byte of facts, the line of the parent, then words that end with
/// zeros, as in `cmdline`. Whatever they call themselves, each has a role and a reason.
fn roles(bytes: &[u8]) {
    let id = |line: usize| ProcId {
        pid: line as u32 + 1,
        start: line as u64,
    };
    let lines = bytes.split(|byte| *byte == b'\n').take(64);
    let member = |(at, line): (usize, &[u8])| {
        let ([facts, parent], words) = line.split_first_chunk()?;
        let words = words.split(|byte| *byte == 0);
        let words: Vec<String> = (words.map(String::from_utf8_lossy))
            .map(|word| word.into_owned())
            .collect();
        let env = words.iter().filter_map(|word| word.split_once('='));
        Some(Member {
            id: id(at),
            parent: (*parent != 0).then(|| id(usize::from(*parent) - 1)),
            facts: Facts {
                comm: words[0].chars().take(15).collect(),
                exe: words.first().cloned(),
                threads: words.iter().rev().take(2).cloned().collect(),
                env: env
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                libtorch: facts & 1 != 0,
                libcuda: facts & 2 != 0,
                libpython: facts & 4 != 0,
                forked: facts & 8 != 0,
                argv: words,
            },
            role: Role::Other,
            why: String::new(),
        })
    };
    let members: Vec<Member> = lines.enumerate().filter_map(member).collect();
    let called = assign(&members.iter().collect::<Vec<_>>());
    assert_eq!(called.len(), members.len());
    assert!(called.iter().all(|(_, why)| !why.is_empty()), "{called:?}");
}

/// The file in which the Trainer keeps its state.
fn state(bytes: &[u8]) {
    let _ = trainer_state(bytes, Micros(1));
}

/// Sizes, shares and times as people write them.
fn units(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(size) = Bytes::from_str(text) {
        assert!(!show_bytes(size.as_f64()).is_empty());
    }
    if let Ok(duration) = parse_duration(text) {
        assert!(!show_duration(duration.as_secs_f64()).is_empty());
    }
    if let Ok(share) = Share::from_str(text) {
        assert!(share.0.is_finite(), "{share:?}");
    }
    let _ = Cap::from_str(text);
}

/// Few columns: what is tried is how they come about.
const FEW: Detail = Detail { main: 32, other: 8 };

/// The entries of a recording, a line of JSON each: what we read we write so that it can be read, and whatever they say, a
/// run made of them is judged, explained and shown.
fn entries(bytes: &[u8]) {
    let mut picture = Picture::new(FEW);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(entry) = serde_json::from_slice::<Entry>(line) else {
            continue;
        };
        let written = serde_json::to_vec(&entry).expect("entries are plain data");
        serde_json::from_slice::<Entry>(&written).expect("what we wrote can be read");
        picture.apply(&entry);
    }
    let report = picture.report(FEW);
    serde_json::to_vec(&report).expect("a report is plain data");
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpora_pass() {
        lowtide_testing::corpora("core", super::TARGETS);
    }
}
