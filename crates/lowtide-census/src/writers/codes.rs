//! All code of a process that can be had: that of its functions, that of frames, and what stands in those.

use std::collections::HashMap;

use super::body::Of;
use super::read::Reader;
use crate::source::Source;

/// Pieces of code that are remembered; a process with torch has some 60,000.
const MOST: usize = 1 << 19;
/// Functions within functions.
const DEEPEST: usize = 32;

/// A piece of code.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub address: u64,
    /// The code that it stands in.
    pub parent: Option<usize>,
    /// The globals of its function, or of one around it.
    pub globals: Option<u64>,
    /// As its function has it.
    name: Option<String>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    pub(super) all: Vec<Known>,
    by_address: HashMap<u64, usize>,
    within: HashMap<usize, Vec<usize>>,
}

impl Codes {
    /// From objects of any kind: functions and code are taken, others are not looked at.
    pub(super) fn of<S: Source>(
        reader: &Reader<'_, '_, S>,
        objects: impl IntoIterator<Item = u64>,
    ) -> Codes {
        let mut codes = Codes::default();
        for object in objects {
            let Some(class) = reader.heap.type_of(object) else {
                continue;
            };
            match class.name.as_str() {
                "function" => {
                    if let Some(function) = reader.function(object)
                        && reader.is(function.code, "code")
                    {
                        let known = Known {
                            address: function.code,
                            parent: None,
                            globals: function.globals,
                            name: function.name,
                        };
                        codes.add(reader, known, 0);
                    }
                }
                "code" => {
                    let known = Known {
                        address: object,
                        parent: None,
                        globals: None,
                        name: None,
                    };
                    codes.add(reader, known, 0);
                }
                _ => {}
            }
        }
        codes.connect();
        codes
    }

    fn add<S: Source>(&mut self, reader: &Reader<'_, '_, S>, known: Known, depth: usize) {
        if let Some(&place) = self.by_address.get(&known.address) {
            // It was found another way before, by which less was known.
            let before = &mut self.all[place];
            before.globals = before.globals.or(known.globals);
            before.name = before.name.take().or(known.name);
            before.parent = before.parent.or(known.parent);
            return;
        }
        if self.all.len() >= MOST {
            return;
        }
        let place = self.all.len();
        let address = known.address;
        self.by_address.insert(address, place);
        self.all.push(known);
        if depth == DEEPEST {
            return;
        }
        for within in reader.within(address) {
            let known = Known {
                address: within,
                parent: Some(place),
                globals: None,
                name: None,
            };
            self.add(reader, known, depth + 1);
        }
    }

    /// What stands in a function has its globals; and who stands in whom.
    fn connect(&mut self) {
        for place in 0..self.all.len() {
            let around = self.around(place);
            let known = around.iter().find_map(|one| self.all[*one].globals);
            self.all[place].globals = known;
            if let Some(parent) = self.all[place].parent {
                self.within.entry(parent).or_default().push(place);
            }
        }
    }

    /// A piece of code and those that it stands in, from within.
    pub(super) fn around(&self, place: usize) -> Vec<usize> {
        let mut around = vec![place];
        let mut at = place;
        while let Some(parent) = self.all.get(at).and_then(|known| known.parent)
            && around.len() <= DEEPEST
        {
            around.push(parent);
            at = parent;
        }
        around
    }

    pub(super) fn place(&self, address: u64) -> Option<usize> {
        self.by_address.get(&address).copied()
    }

    pub(super) fn children(&self, place: usize) -> &[usize] {
        self.within.get(&place).map_or(&[], Vec::as_slice)
    }

    /// `Metrics.update.<locals>.each`.
    pub(super) fn qualified_name<S: Source>(
        &self,
        reader: &Reader<'_, '_, S>,
        place: usize,
    ) -> String {
        let around = self.around(place);
        let mut name = String::new();
        for (nth, one) in around.iter().rev().enumerate() {
            let known = &self.all[*one];
            let own = reader.qualified_name(known.address);
            let is_last = nth + 1 == around.len();
            if let Some(own) = own.or_else(|| known.name.clone()) {
                name = own;
            } else {
                name.push_str(&reader.name(known.address));
            }
            if !is_last {
                match reader.of(known.address) {
                    Some(Of::Function) => name.push_str(".<locals>."),
                    Some(Of::Class) => name.push('.'),
                    _ => name.clear(),
                }
            }
        }
        name
    }
}
