//! Which code adds to a holder and which empties it: by the instructions of all code in the process, with file and line.
//!
//! For an attribute, a global, a local or a closure's variable the names are in the code. `codes` finds all code, `read`
//! takes one piece apart, `machine` follows its values (`opcodes`, `tables`: what each version's instructions do),
//! `matching` says which of what it finds is about the holder that is asked for, `lines` in which line it is.
//!
//! From reading alone, so these are candidates: an alias beyond one function and code of C are not seen.

mod ask;
mod body;
mod codes;
mod jumps;
mod lines;
mod machine;
mod marks;
mod matching;
mod opcodes;
mod read;
mod site;
mod state;
mod tables;
#[cfg(test)]
mod tests;
mod value;

use std::collections::HashSet;

pub use ask::{Asked, ask};
pub(crate) use codes::Codes;

use crate::frames::Places;
use crate::object::Heap;
use crate::source::Source;
use matching::{Near, Wanted};
use read::Reader;
use site::Does;

/// Places that are told of one holder.
const MOST_PLACES: usize = 64;

/// What keeps a holder, as code can name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// An attribute of objects of a class, or of the class itself.
    Attribute { class: u64, name: String },
    /// A global of a module, by the dictionary of that module.
    Global { dict: u64, name: String },
    /// A local of a function or a variable that functions share, by a code that uses it.
    Variable { code: u64, name: String },
}

impl Slot {
    fn name(&self) -> &str {
        match self {
            Slot::Attribute { name, .. }
            | Slot::Global { name, .. }
            | Slot::Variable { name, .. } => name,
        }
    }
}

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub file: String,
    pub line: u32,
    /// With the class or the function around it: `Metrics.update`.
    pub function: String,
    /// `append`, `+=`, `[...] =`; `[...].append` to one of its items; `append, passed on` where it is handed to somebody who
    /// may call it; `= (unless ...)` where it is not known whether what came has in it what was there.
    pub how: String,
}

/// Who adds to a holder, and who empties it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    /// Those of its own class or module first.
    pub adds: Vec<Place>,
    pub empties: Vec<Place>,
    /// Places left out that add to an attribute of that name, perhaps of another object: its own class adds to it, too.
    pub others: usize,
    /// Pieces of code that use the name and could not be read.
    pub unread: usize,
}

/// All code that functions and code among these objects have. Others than those are not looked at.
pub(crate) fn codes<S: Source>(
    heap: &Heap<'_, S>,
    places: &Places,
    objects: impl IntoIterator<Item = u64>,
) -> Codes {
    Codes::of(&Reader::new(heap, places), objects)
}

/// Who writes to each of these, in one pass over all code.
pub(crate) fn find<S: Source>(
    heap: &Heap<'_, S>,
    places: &Places,
    codes: &Codes,
    slots: &[Slot],
) -> Vec<Writers> {
    let reader = Reader::new(heap, places);
    let wanted: Vec<Wanted> = slots
        .iter()
        .map(|slot| Wanted::of(&reader, codes, slot))
        .collect();
    let names: HashSet<&str> = slots.iter().map(Slot::name).collect();
    let mut found: Vec<Found> = slots.iter().map(|_| Found::default()).collect();
    for (place, known) in codes.all.iter().enumerate() {
        let used = reader.names(known.address).unwrap_or_default();
        let is_used = used.iter().any(|name| names.contains(&*reader.text(*name)));
        let is_asked = wanted.iter().any(|one| one.is_of_variable_in(place));
        if !is_used && !is_asked {
            continue;
        }
        let body = reader.body(known.address);
        let Some((body, sites)) = body.and_then(|body| {
            let sites = machine::sites(&body)?;
            Some((body, sites))
        }) else {
            let uses = |one: &Wanted| used.iter().any(|name| *reader.text(*name) == *one.name());
            for (one, found) in wanted.iter().zip(&mut found) {
                found.unread += usize::from(one.may_be_in(&reader, codes, place, uses(one)));
            }
            continue;
        };
        if sites.is_empty() {
            continue;
        }
        let mut within = matching::Within::new(&reader, codes, place, &body);
        for (one, found) in wanted.iter().zip(&mut found) {
            for site in &sites {
                let near = within.near(one, site);
                if near != Near::No {
                    found.push(near, site.does, within.place_of(site));
                }
            }
        }
    }
    found.into_iter().map(Found::finish).collect()
}

/// Goes through any bytes as if they were code: for fuzzers.
#[cfg(any(test, fuzzing))]
pub(crate) fn any(minor: u32, instructions: &[u8], rest: &[u8]) {
    let caught = crate::frames::caught(rest);
    let names: Vec<std::rc::Rc<str>> = ["rows", "append", "heappop", "setdefault"]
        .map(Into::into)
        .to_vec();
    let body = body::Body {
        minor,
        of: body::Of::Function,
        name: "update".to_owned(),
        instructions: instructions.to_vec(),
        names: names.clone(),
        fast: names.clone(),
        deref: names,
        free: vec![false, true],
        arguments: rest.len() % 4,
        caught: caught.iter().map(|one| (one.to, one.end)).collect(),
        slices: vec![1],
        cutting: vec![1],
        nones: vec![2],
    };
    let lines = lines::Lines::read(minor, rest, 1);
    for site in machine::sites(&body).unwrap_or_default() {
        assert!(site.at < instructions.len() && !site.how.is_empty());
        lines.of(site.at);
    }
}

/// What was found of one holder.
#[derive(Default)]
struct Found {
    sure: [Vec<Place>; 2],
    weak: [Vec<Place>; 2],
    unread: usize,
}

impl Found {
    fn push(&mut self, near: Near, does: Does, place: Place) {
        let rows = match near {
            Near::Sure => &mut self.sure,
            _ => &mut self.weak,
        };
        let row = match does {
            Does::Adds => &mut rows[0],
            Does::Empties => &mut rows[1],
        };
        // The same statement may stand in code twice, as that of a `finally` does.
        if row.len() < MOST_PLACES && !row.contains(&place) {
            row.push(place);
        }
    }

    fn finish(mut self) -> Writers {
        let rows = self.sure.iter_mut().chain(&mut self.weak);
        rows.for_each(|row| row.sort());
        let [mut adds, mut empties] = self.sure;
        let [weak_adds, weak_empties] = self.weak;
        let others = if adds.is_empty() { 0 } else { weak_adds.len() };
        if adds.is_empty() {
            adds = weak_adds;
        }
        // That nothing empties it is said only if nothing might.
        empties.extend(weak_empties);
        // Those that only may, depending on what is put there, stand behind those that do.
        empties.sort_by_key(|place| place.how == site::GIVEN_UNKNOWN);
        Writers {
            adds,
            empties,
            others,
            unread: self.unread,
        }
    }
}
