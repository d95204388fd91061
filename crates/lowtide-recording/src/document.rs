//! Holds docs/recording.md to the code: every entry, kind and reason stands in it, with its tag or number.

use std::fmt;

use lowtide_core::entry::{Entry, EventKind, Exit};
use lowtide_core::look::{Allocator, By, End, Examiner, LookWhy, MemoryClass, Missing, Pool};
use lowtide_core::mark::{LoopObject, Mark, MarkSource, Phase, TrainingLoop};
use lowtide_core::postmortem::Cause;
use lowtide_core::process::Role;
use lowtide_core::sample::{Basis, Gap, GapWhy, Limit, LimitFrom, Sample, TreeSum};
use lowtide_core::units::{Bytes, Micros};
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};

use crate::cells::{Input, OTHER};
use crate::rows::{mark, mark_row, tree_row};
use crate::sample::State;

const DOCUMENT: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/recording.md"
));

/// What stands in the table of the document beside a word.
fn row(word: &str) -> &'static str {
    let begins = format!("| {word} |");
    DOCUMENT
        .lines()
        .find_map(|line| line.strip_prefix(&begins))
        .unwrap_or_else(|| panic!("docs/recording.md has no row `{begins}`"))
}

#[track_caller]
fn stands(word: &str, what: &str) {
    assert!(
        row(word).contains(what),
        "docs/recording.md: the row `{word}` lacks {what}"
    );
}

#[test]
fn every_tag_stands_in_the_document() {
    // Samples, marks and lengths are rows, never JSON.
    for tag in names::<Entry>() {
        let json = !["sample", "mark", "lengths"].contains(&tag.as_str());
        let found = DOCUMENT.contains(&format!("\n| `{tag}` |"));
        assert_eq!(found, json, "docs/recording.md: the entry `{tag}`");
    }
    for (word, tags) in [
        ("event: kind", names::<EventKind>()),
        ("gap: why", names::<GapWhy>()),
        ("end: exit", names::<Exit>()),
        ("member: role", names::<Role>()),
        ("limit: from", names::<LimitFrom>()),
        (
            "post-mortem: cause",
            names_by_error::<Cause>(r#"{"kind":"?"}"#),
        ),
        ("look: why", names::<LookWhy>()),
        ("look: allocator", names::<Allocator>()),
        ("look: pools", names::<Pool>()),
        ("look: class", names::<MemoryClass>()),
        ("look: missing", Missing::KINDS.map(str::to_owned).to_vec()),
        (
            "look: examiner",
            Examiner::NAMES.map(str::to_owned).to_vec(),
        ),
        ("look: heap: ends", End::KINDS.map(str::to_owned).to_vec()),
        ("look: by", By::NAMES.map(str::to_owned).to_vec()),
    ] {
        assert!(!tags.is_empty());
        for tag in tags {
            stands(word, &format!("`{tag}`"));
        }
    }
}

#[test]
fn every_number_stands_in_the_document() {
    for name in names::<GapWhy>() {
        let sample = Sample {
            gaps: vec![Gap {
                who: None,
                what: String::new(),
                why: named(&name),
            }],
            ..Sample::default()
        };
        // Three differences of time, what changed, one gap, twice its reason.
        let number = nth_number(&sample, 5) / 2;
        stands("gap: why", &format!("{number} `{name}`"));
    }
    for name in names::<LimitFrom>() {
        let from = match name.as_str() {
            "cgroup" => LimitFrom::Cgroup("/a".to_owned()),
            plain => named(plain),
        };
        let limit = Limit {
            bytes: Bytes(1),
            used: Bytes(1),
            from,
        };
        let sample = Sample {
            limit: Some(limit),
            ..Sample::default()
        };
        // Three differences of time, what changed, no cgroups, no GPUs, where the limit is from.
        let number = nth_number(&sample, 6);
        stands("limit: from", &format!("{number} `{name}`"));
    }
    for name in names::<Phase>() {
        let mark = Mark {
            phase: Some(named(&name)),
            ..Mark::default()
        };
        let number = mark_row(&mark)[4].unwrap();
        stands("mark: phase", &format!("{number} `{name}`"));
    }
    for name in names::<MarkSource>() {
        let mark = Mark {
            source: named(&name),
            ..Mark::default()
        };
        let number = mark_row(&mark)[9].unwrap();
        stands("mark: source", &format!("{number} `{name}`"));
    }
    for name in names::<TrainingLoop>() {
        let mark = Mark {
            training_loop: Some(named(&name)),
            ..Mark::default()
        };
        let number = mark_row(&mark)[16].unwrap();
        stands("mark: loop", &format!("{number} `{name}`"));
    }
    for name in names::<LoopObject>() {
        let mark = Mark {
            object: Some(named(&name)),
            ..Mark::default()
        };
        let number = mark_row(&mark)[17].unwrap();
        stands("mark: object", &format!("{number} `{name}`"));
    }
    for name in names::<Basis>() {
        let basis = match name.as_str() {
            "pss" => Basis::Pss {
                oldest: Micros(0),
                unread: 0,
            },
            plain => named(plain),
        };
        let held = Bytes(0);
        let number = tree_row(&TreeSum { held, basis }, Micros(0))[3].unwrap();
        stands("tree: basis", &format!("{number} `{name}`"));
    }
}

#[test]
fn a_choice_of_a_later_lowtide_leaves_the_mark() {
    let mut row = mark_row(&Mark {
        step: Some(7),
        ..Mark::default()
    });
    for column in [4, 9, 16, 17] {
        row[column] = Some(OTHER - 1);
    }
    let mark = mark(&row).unwrap();
    assert_eq!((mark.step, mark.phase), (Some(7), None));
    assert_eq!(mark.source, MarkSource::Other);
    assert_eq!((mark.training_loop, mark.object), (None, None));
}

fn nth_number(sample: &Sample, nth: usize) -> u64 {
    let mut body = Vec::new();
    State::default().put(&mut body, sample).unwrap();
    let mut input = Input(&body);
    let mut numbers = std::iter::from_fn(|| input.varint().ok());
    numbers.nth(nth).unwrap()
}

fn named<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_value(name.into()).unwrap()
}

/// The tags of an enum, as serde knows them.
fn names<T: DeserializeOwned>() -> Vec<String> {
    let Err(Names(names)) = T::deserialize(Asks) else {
        panic!("nothing was there to be read")
    };
    names
}

/// As [`names`], for one whose tag is a field of an object.
fn names_by_error<T: DeserializeOwned>(json: &str) -> Vec<String> {
    let Err(error) = serde_json::from_str::<T>(json) else {
        panic!("{json} was understood")
    };
    let error = error.to_string();
    let (_, expected) = error.split_once("expected one of ").unwrap();
    expected
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Holds nothing, and fails with the tags of the enum that it was to be.
struct Asks;

#[derive(Debug)]
struct Names(Vec<String>);

impl<'de> Deserializer<'de> for Asks {
    type Error = Names;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Names> {
        Err(Names(
            variants.iter().map(|&name| name.to_owned()).collect(),
        ))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Names> {
        Err(Names::custom("no enum"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl Error for Names {
    fn custom<T: fmt::Display>(message: T) -> Names {
        panic!("{message}")
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Names {}
