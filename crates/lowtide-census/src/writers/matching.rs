//! Which of what code does is about a certain holder. Names alone do not tell: half of all libraries append to some
//! `rows`. So code is asked whose it is: by its function's globals for a module, by its qualified name for a class,
//! by the code around it for a variable.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::body::Body;
use super::codes::Codes;
use super::lines::Lines;
use super::read::Reader;
use super::site::{Owner, Site, Target, is_of_name};
use super::{Place, Slot};
use crate::object::Class;
use crate::source::Source;

/// In a module: its dictionary.
const MODULE_DICT: u64 = 16;
/// What programs are called that were started, and not imported.
const MAIN: &str = "__main__";
/// What the object of a method is called, where it is used in a function within one.
const SELVES: [&str; 2] = ["self", "cls"];

/// How sure it is that a place is about the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Near {
    Sure,
    /// The name fits, and it may well be.
    Weak,
    No,
}

/// A holder that is asked for, with what is known of its owner.
pub(super) enum Wanted {
    Attribute {
        name: String,
        class: u64,
        /// The class and those that it is made from: name and module of each.
        classes: Vec<(String, String)>,
        addresses: Vec<u64>,
    },
    Global {
        name: String,
        dict: u64,
        module: String,
        file: Option<String>,
        /// The object that it stands for.
        value: Option<u64>,
    },
    Variable {
        name: String,
        /// Codes that share it.
        places: HashSet<usize>,
    },
}

impl Wanted {
    pub(super) fn of<S: Source>(reader: &Reader<'_, '_, S>, codes: &Codes, slot: &Slot) -> Wanted {
        let heap = reader.heap;
        match slot {
            Slot::Attribute { class, name } => {
                let bases = heap.class(*class).map(|class| heap.bases(&class));
                let bases = bases.unwrap_or_default();
                let own = bases.iter().filter(|base| base.is_heap());
                let named = own.clone().filter_map(|base| {
                    let module = heap.module(base)?;
                    Some((base.name.clone(), module))
                });
                Wanted::Attribute {
                    name: name.clone(),
                    class: *class,
                    classes: named.collect(),
                    addresses: own.map(|base| base.address).collect(),
                }
            }
            Slot::Global { dict, name } => {
                let text = |key: &str| heap.text(heap.dict_get(*dict, key)?);
                Wanted::Global {
                    name: name.clone(),
                    dict: *dict,
                    module: text("__name__").unwrap_or_default(),
                    file: text("__file__"),
                    value: heap.dict_get(*dict, name),
                }
            }
            Slot::Variable { code, name } => Wanted::Variable {
                name: name.clone(),
                places: sharing(reader, codes, *code, name),
            },
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Wanted::Attribute { name, .. }
            | Wanted::Global { name, .. }
            | Wanted::Variable { name, .. } => name,
        }
    }

    pub(super) fn is_of_variable_in(&self, place: usize) -> bool {
        matches!(self, Wanted::Variable { places, .. } if places.contains(&place))
    }

    /// Whether code that could not be read might be about it.
    pub(super) fn may_be_in<S: Source>(
        &self,
        reader: &Reader<'_, '_, S>,
        codes: &Codes,
        place: usize,
        uses: bool,
    ) -> bool {
        let globals = codes.all.get(place).and_then(|known| known.globals);
        match self {
            Wanted::Variable { places, .. } => places.contains(&place),
            Wanted::Global { dict, .. } => uses && globals.is_none_or(|one| one == *dict),
            Wanted::Attribute { classes, .. } => {
                let module = globals.and_then(|globals| module_of(reader, globals));
                uses && module.is_none_or(|module| {
                    module == MAIN || classes.iter().any(|(_, one)| *one == module)
                })
            }
        }
    }
}

fn module_of<S: Source>(reader: &Reader<'_, '_, S>, globals: u64) -> Option<String> {
    let name = reader.heap.dict_get(globals, "__name__")?;
    reader.heap.text(name)
}

/// The code that a variable belongs to, and all within it that share it.
fn sharing<S: Source>(
    reader: &Reader<'_, '_, S>,
    codes: &Codes,
    code: u64,
    name: &str,
) -> HashSet<usize> {
    let is_free = |place: usize| {
        let address = codes.all[place].address;
        reader.body(address).is_some_and(|body| {
            let mut variables = body.deref.iter().zip(&body.free);
            variables.any(|(variable, free)| *free && **variable == *name)
        })
    };
    let mut places = HashSet::new();
    let Some(start) = codes.place(code) else {
        return places;
    };
    let around = codes.around(start);
    let owner = around.iter().copied().find(|place| !is_free(*place));
    let mut open = vec![owner.unwrap_or(start)];
    while let Some(place) = open.pop() {
        if places.insert(place) {
            open.extend(
                codes
                    .children(place)
                    .iter()
                    .copied()
                    .filter(|child| is_free(*child)),
            );
        }
    }
    places
}

/// One piece of code, while its sites are looked at.
pub(super) struct Within<'a, 'h, S> {
    reader: &'a Reader<'a, 'h, S>,
    place: usize,
    address: u64,
    globals: Option<u64>,
    body: &'a Body,
    file: String,
    name: String,
    module: Option<String>,
    lines: Lines,
    /// What names stand for in its globals.
    resolved: HashMap<usize, Option<u64>>,
}

impl<'a, 'h, S: Source> Within<'a, 'h, S> {
    pub(super) fn new(
        reader: &'a Reader<'a, 'h, S>,
        codes: &'a Codes,
        place: usize,
        body: &'a Body,
    ) -> Within<'a, 'h, S> {
        let known = &codes.all[place];
        Within {
            reader,
            place,
            address: known.address,
            globals: known.globals,
            body,
            file: reader.file(known.address),
            name: codes.qualified_name(reader, place),
            module: known.globals.and_then(|globals| module_of(reader, globals)),
            lines: reader.lines(known.address).unwrap_or_default(),
            resolved: HashMap::new(),
        }
    }

    pub(super) fn place_of(&self, site: &Site) -> Place {
        let line = self.lines.of(site.at);
        let line = line.or_else(|| self.reader.first_line(self.address));
        Place {
            file: self.file.clone(),
            line: line.unwrap_or_default(),
            function: self.name.clone(),
            how: site.how.clone(),
        }
    }

    pub(super) fn near(&mut self, wanted: &Wanted, site: &Site) -> Near {
        match wanted {
            Wanted::Variable { name, places } => {
                let is = match &site.target {
                    Target::Fast(variable) => is_named(&self.body.fast, *variable, name),
                    Target::Deref(variable) => is_named(&self.body.deref, *variable, name),
                    _ => false,
                };
                match is && places.contains(&self.place) {
                    true => Near::Sure,
                    false => Near::No,
                }
            }
            Wanted::Global { .. } => self.near_global(wanted, site),
            Wanted::Attribute { name, .. } => match &site.target {
                Target::Attribute { owner, name: own }
                    if is_named(&self.body.names, *own, name) =>
                {
                    self.near_attribute(wanted, owner)
                }
                _ => Near::No,
            },
        }
    }

    fn near_global(&mut self, wanted: &Wanted, site: &Site) -> Near {
        let Wanted::Global {
            name,
            dict,
            module,
            file,
            value,
        } = wanted
        else {
            return Near::No;
        };
        match &site.target {
            Target::Global(own) if is_named(&self.body.names, *own, name) => {
                let is = match self.globals {
                    Some(globals) if globals == *dict => true,
                    // `from train import CACHE`: the same object by another module's name, as long as that keeps it.
                    Some(_) => {
                        !is_of_name(&site.how) && value.is_some() && self.global(*own) == *value
                    }
                    // A module that is being run has no function.
                    None => file
                        .as_ref()
                        .is_some_and(|file| is_same_file(file, &self.file)),
                };
                if is { Near::Sure } else { Near::No }
            }
            Target::Attribute { owner, name: own } if is_named(&self.body.names, *own, name) => {
                match owner {
                    Owner::Global(owner) => {
                        let object = self.global(*owner);
                        let is = object.is_some_and(|object| {
                            let source = self.reader.heap.source;
                            self.reader.is(object, "module")
                                && source.word(object.wrapping_add(MODULE_DICT)) == Some(*dict)
                        });
                        if is { Near::Sure } else { Near::No }
                    }
                    // Imported within the function.
                    Owner::Fast(owner) => {
                        let last = module.rsplit('.').next().unwrap_or_default();
                        match !last.is_empty() && is_named(&self.body.fast, *owner, last) {
                            true => Near::Weak,
                            false => Near::No,
                        }
                    }
                    _ => Near::No,
                }
            }
            _ => Near::No,
        }
    }

    fn near_attribute(&mut self, wanted: &Wanted, owner: &Owner) -> Near {
        let Wanted::Attribute {
            class,
            classes,
            addresses,
            ..
        } = wanted
        else {
            return Near::No;
        };
        let heap = self.reader.heap;
        let own = |name: &str| {
            let mut classes = classes.iter();
            classes.any(|(class, module)| class == name && Some(module) == self.module.as_ref())
        };
        let parts: Vec<&str> = self.name.split('.').collect();
        let around = parts.len().checked_sub(2).map(|nth| parts[nth]);
        let is_method = around.is_some_and(|around| around != "<locals>");
        let is_own = parts[..parts.len().saturating_sub(1)]
            .iter()
            .any(|part| own(part));
        let nearby = || {
            let module = self.module.as_deref();
            let is =
                module == Some(MAIN) || classes.iter().any(|(_, one)| Some(one.as_str()) == module);
            if is { Near::Weak } else { Near::No }
        };
        let is_self = |name: Option<&str>| name.is_some_and(|name| SELVES.contains(&name));
        let variable = match owner {
            Owner::Fast(variable) => self.body.fast.get(*variable),
            Owner::Deref(variable) => self.body.deref.get(*variable),
            _ => None,
        };
        match owner {
            Owner::First if is_method => match around.is_some_and(own) {
                true => Near::Sure,
                false => Near::No,
            },
            Owner::Fast(_) | Owner::Deref(_) if is_self(variable.map(|name| &**name)) => {
                match is_own {
                    true => Near::Sure,
                    false => Near::No,
                }
            }
            Owner::Global(name) => {
                let near = nearby();
                let Some(object) = self.global(*name) else {
                    return near;
                };
                let kind = heap.type_of(object);
                // An object of a class that is made from it is another one, but has its methods.
                let bases = kind.as_ref().map(|kind| heap.bases(kind));
                let is_made_from = |bases: &Vec<Rc<Class>>| {
                    let mut bases = bases.iter();
                    bases.any(|base| base.address == *class)
                };
                if addresses.contains(&object) || kind.is_some_and(|kind| kind.address == *class) {
                    Near::Sure
                } else if bases.as_ref().is_some_and(is_made_from) {
                    near
                } else {
                    Near::No
                }
            }
            _ => nearby(),
        }
    }

    /// What a name stands for in the globals of this code.
    fn global(&mut self, name: usize) -> Option<u64> {
        let (reader, globals) = (self.reader, self.globals?);
        let text = self.body.names.get(name)?;
        let entry = self.resolved.entry(name);
        *entry.or_insert_with(|| reader.heap.dict_get(globals, text))
    }
}

fn is_named(names: &[Rc<str>], number: usize, name: &str) -> bool {
    names.get(number).is_some_and(|own| **own == *name)
}

/// One of them may be as it was written on the command line.
fn is_same_file(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        let short = short.trim_start_matches("./");
        !short.is_empty()
            && long
                .strip_suffix(short)
                .is_some_and(|rest| rest.ends_with('/'))
    };
    one == other || ends(one, other) || ends(other, one)
}
