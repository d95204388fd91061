//! What the sizes of a line are called. Lines of a log resemble each other, so nearly every answer is known
//! already: of a whole line that differs only in its numbers, or else of the words before one number.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use lowtide_core::verdict::Meter;

use super::super::header::{self, Memory};
use super::super::meaning::{self, Meaning, RANK_GPU};
use super::super::size::{self, Found, Size, Words, each_size};
use super::shape::Shapes;

/// Different labels that are remembered; a log with more is no log of memory.
const LABELS: usize = 256;

/// Ways to call a size that are remembered; a log has dozens.
const NAMES: usize = 4096;

/// What a size ranks whose words do not say memory: it is never taken, unless asked for.
pub(super) const UNNAMED: u8 = 5;

/// What a word for memory ranks at least, but for that of a GPU. A unit alone says no more in a log than that
/// something has a size.
const WORDED: u8 = 60;

/// Words behind a size that can name it.
const BEHIND: usize = 3;

#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Labels are numbered in the order in which they come.
    pub label: usize,
    pub key: Rc<str>,
    pub memory: Memory,
}

/// A size that has a name.
pub(super) struct NamedSize<'n> {
    pub value: f64,
    pub factor: Option<f64>,
    pub name: &'n Name,
}

/// The same in every line of a shape: where the number stands, and what it is.
struct Place {
    digits: Range<usize>,
    factor: Option<f64>,
    name: Name,
}

#[derive(Default)]
pub(super) struct Names {
    shapes: Shapes<Vec<Place>>,
    spoken: Spoken,
}

impl Names {
    /// Calls with each size of a line that has a name.
    pub(super) fn each(&mut self, line: &str, mut each: impl FnMut(NamedSize<'_>)) {
        let Names { shapes, spoken } = self;
        // What `free` prints is read by its values, too.
        let shape = (!size::is_free(line)).then(|| shapes.of(line)).flatten();
        let Some(shape) = shape else {
            return spoken.each(line, |found, name| {
                each(NamedSize {
                    value: found.value,
                    factor: found.factor,
                    name,
                });
            });
        };
        let places = shape.known_or(|| {
            let mut places = Vec::new();
            spoken.each(line, |found, name| {
                places.push(Place {
                    digits: found.digits.clone(),
                    factor: found.factor,
                    name: name.clone(),
                });
            });
            places
        });
        for place in places {
            if let Some(value) = size::value_of(&line.as_bytes()[place.digits.clone()]) {
                each(NamedSize {
                    value,
                    factor: place.factor,
                    name: &place.name,
                });
            }
        }
    }
}

/// Names by the words that stand before a number.
#[derive(Default)]
struct Spoken {
    words: Words,
    known: HashMap<String, Option<Name>>,
    labels: HashMap<Rc<str>, usize>,
    asked: String,
}

impl Spoken {
    fn each(&mut self, line: &str, mut each: impl FnMut(&Found<'_>, &Name)) {
        let Spoken {
            words,
            known,
            labels,
            asked,
        } = self;
        let smi = line.trim_start().starts_with('|') && line.contains("MiB /");
        each_size(line, words, |size| {
            asked.clear();
            asked.push(match (smi, size.factor.is_some()) {
                (false, false) => 'n',
                (false, true) => 'u',
                (true, false) => 's',
                (true, true) => 'S',
            });
            for word in size.near() {
                asked.push_str(word);
                asked.push(' ');
            }
            asked.push('|');
            for word in size.far() {
                asked.push_str(word);
                asked.push(' ');
            }
            asked.push('|');
            asked.push_str(size.behind());
            if let Some(name) = known.get(asked.as_str()) {
                if let Some(name) = name {
                    each(size, name);
                }
                return;
            }
            if known.len() >= NAMES {
                known.clear();
            }
            let name = label_of(smi, &size.owned())
                .and_then(|(key, memory)| numbered(labels, key, memory));
            if let Some(name) = &name {
                each(size, name);
            }
            known.insert(asked.clone(), name);
        });
    }
}

/// A name by its label, unless there are too many already.
fn numbered(labels: &mut HashMap<Rc<str>, usize>, key: String, memory: Memory) -> Option<Name> {
    let key: Rc<str> = key.into();
    let label = match labels.get(&key) {
        Some(label) => *label,
        None if labels.len() >= LABELS => return None,
        None => {
            let next = labels.len();
            labels.insert(Rc::clone(&key), next);
            next
        }
    };
    Some(Name { label, key, memory })
}

/// The words that name a size, and what they say.
fn label_of(smi: bool, size: &Size) -> Option<(String, Memory)> {
    if smi {
        return Some(("gpu memory".to_owned(), memory_of(Meter::Gpu, RANK_GPU)));
    }
    let mut named = size.near.clone();
    if named.is_empty() {
        named.clone_from(&size.far);
    }
    let unit = size.factor.is_some();
    let mut found = said(&named, unit);
    if found == Said::Nothing && !size.behind.is_empty() && size.behind.len() <= BEHIND {
        let mut more = named.clone();
        more.extend(size.behind.iter().cloned());
        let by_more = said(&more, unit);
        if by_more != Said::Nothing {
            (named, found) = (more, by_more);
        }
    }
    let memory = match found {
        Said::Memory(memory) => memory,
        Said::Else => return None,
        // It can be asked for.
        Said::Nothing if unit => memory_of(Meter::Memory, UNNAMED),
        Said::Nothing => return None,
    };
    let gpu = meaning::of(&size.far, unit) == Meaning::Memory(Meter::Gpu, RANK_GPU);
    let memory = match gpu && memory.rank > UNNAMED {
        true => memory_of(Meter::Gpu, RANK_GPU).with_unit(memory.factor),
        false => memory,
    };
    Some((named.join(" "), memory))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Memory(Memory),
    /// What is free, a limit, a peak: never the memory in use now.
    Else,
    Nothing,
}

fn said(words: &[String], unit: bool) -> Said {
    let factor = header::unit_in(words);
    let sized = unit || factor.is_some();
    if !sized && !meaning::ends_in_memory(words) {
        return Said::Nothing;
    }
    match meaning::of(words, sized) {
        Meaning::Memory(meter, rank)
            if rank >= WORDED || (rank == RANK_GPU && (sized || meaning::names_memory(words))) =>
        {
            Said::Memory(memory_of(meter, rank).with_unit(factor))
        }
        Meaning::Left | Meaning::Share(_) => Said::Else,
        _ if meaning::not_in_use(words) => Said::Else,
        _ => Said::Nothing,
    }
}

fn memory_of(meter: Meter, rank: u8) -> Memory {
    Memory {
        meter,
        factor: None,
        rank,
        share: false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Seen = (u64, Option<f64>, String, Memory);

    fn by_shape(names: &mut Names, line: &str) -> Vec<Seen> {
        let mut seen = Vec::new();
        names.each(line, |size| {
            let NamedSize {
                value,
                factor,
                name,
            } = size;
            seen.push((value.to_bits(), factor, name.key.to_string(), name.memory));
        });
        seen
    }

    fn by_words(line: &str) -> Vec<Seen> {
        let mut seen = Vec::new();
        Spoken::default().each(line, |found, name| {
            seen.push((
                found.value.to_bits(),
                found.factor,
                name.key.to_string(),
                name.memory,
            ));
        });
        seen
    }

    fn piece() -> impl Strategy<Value = String> {
        let word = " ?(ram|rss|gpu1|mem|é|used|Step|v2|delta|total|Mem:|a1b|vmRSS|MiB|\\|)";
        prop_oneof![
            3 => word,
            4 => "[0-9]{1,4}(,[0-9]{3}){0,2}(\\.[0-9]{1,3}){0,2}",
            1 => "[0-9]{14,22}",
            2 => " ?(MB|GiB|kB|K|M|%|/s|/| / |:|=|\\+| -|_|\\.|,|ms)",
            1 => " ",
        ]
    }

    proptest! {
        /// What is remembered of a line holds for every line that has other digits in the same places.
        #[test]
        fn a_shape_tells_what_the_words_do(
            pieces in prop::collection::vec(piece(), 0..14),
            digits in prop::collection::vec(0u8..10, 1..9),
        ) {
            let line = pieces.concat();
            let mut next = digits.iter().cycle();
            let other: String = line
                .chars()
                .map(|c| match next.next() {
                    Some(digit) if c.is_ascii_digit() => char::from(b'0' + digit),
                    _ => c,
                })
                .collect();
            let mut names = Names::default();
            for line in [&line, &other, &line] {
                prop_assert_eq!(by_shape(&mut names, line), by_words(line), "{}", line);
            }
        }
    }
}
