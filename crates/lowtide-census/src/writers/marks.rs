//! What a piece of code does to what it names: given something anew, put into, taken from, called.

use std::collections::{HashMap, HashSet};

use super::body::{Body, Of};
use super::jumps::Loops;
use super::opcodes::Sign;
use super::site::{self, Does, Owner, Site, Target};
use super::state::State;
use super::value::Value;

/// Sites of one piece of code that are kept.
const MOST_SITES: usize = 4096;
/// Names of names that are followed.
const DEEPEST: usize = 8;

/// How a thing is named in `how`.
#[derive(Clone, Copy)]
enum How<'a> {
    Method(&'a str),
    /// `+=`.
    Sign(&'a str),
    /// Behind the thing: `[...] =`.
    Behind(&'a str),
    /// Before it, and what is behind: `del`, `[...]`.
    Around(&'a str, &'a str),
}

pub(super) struct Marks<'a> {
    body: &'a Body,
    loops: &'a Loops,
    /// What variables are given that are given one thing only.
    aliases: HashMap<usize, Value>,
    /// What variables were given here, and how often; none where that was not always the same.
    given: HashMap<usize, (Option<Value>, usize)>,
    /// The first instruction that gives a variable something.
    first: HashMap<usize, usize>,
    /// Variables that a comprehension uses at this moment, and all that one ever did.
    hidden: Vec<usize>,
    ever_hidden: HashSet<usize>,
    /// The instruction that is looked at.
    pub at: usize,
    pub sites: Vec<Site>,
}

impl<'a> Marks<'a> {
    pub(super) fn new(
        body: &'a Body,
        loops: &'a Loops,
        aliases: HashMap<usize, Value>,
    ) -> Marks<'a> {
        Marks {
            body,
            loops,
            aliases,
            given: HashMap::new(),
            first: HashMap::new(),
            hidden: Vec::new(),
            ever_hidden: HashSet::new(),
            at: 0,
            sites: Vec::new(),
        }
    }

    /// Variables that were given one thing only, and what.
    pub(super) fn aliases(self) -> HashMap<usize, Value> {
        let often = |variable: &usize| {
            let given = self.given.get(variable).map_or(0, |(_, often)| *often);
            let argument = usize::from(*variable < self.body.arguments);
            given + argument > 1
        };
        let each = self.given.iter().filter_map(|(variable, (value, _))| {
            let value = value.as_ref()?;
            // Another variable that changes is not what it was.
            let changes = matches!(value, Value::Fast(other) if often(other));
            let is_argument = *variable < self.body.arguments;
            (!changes && !is_argument).then(|| (*variable, value.clone()))
        });
        each.collect()
    }

    /// Whether a variable may have something here; from now on it has.
    fn is_given(&mut self, state: &mut State, variable: usize) -> bool {
        let is = state.is_given(variable, self.first.get(&variable).copied());
        self.first.entry(variable).or_insert(self.at);
        state.give(variable);
        is
    }

    pub(super) fn hide(&mut self, variable: usize) {
        self.hidden.push(variable);
        self.ever_hidden.insert(variable);
    }

    pub(super) fn load_fast(&self, state: &State, variable: usize) -> Value {
        if self.hidden.contains(&variable) {
            return Value::Unknown;
        }
        let alias = self.aliases.get(&variable);
        match alias.or_else(|| state.kept(variable)) {
            Some(value) => value.clone().known_as(variable),
            None => Value::Fast(variable),
        }
    }

    pub(super) fn store_fast(
        &mut self,
        state: &mut State,
        variable: usize,
        value: Value,
        is_undone: bool,
    ) {
        if value == Value::Saved(variable) {
            if let Some(place) = self.hidden.iter().rposition(|one| *one == variable) {
                self.hidden.remove(place);
            }
            return;
        }
        // A comprehension's own; or what was saved comes back where an exception was dealt with.
        let comes_back = value == Value::Beneath && self.ever_hidden.contains(&variable);
        if self.hidden.contains(&variable) || comes_back {
            return;
        }
        let place = Value::Fast(variable);
        let is_given = self.is_given(state, variable);
        if !is_undone {
            self.stored(&place, &value, is_given);
        }
        let is_itself = |of: &Value| peeled(of) == place;
        let itself = match &value {
            Value::Inplace(of, _) => is_itself(&of.value),
            value => is_itself(value),
        };
        if !itself {
            let kept = value.clone().kept();
            let (known, often) = self
                .given
                .entry(variable)
                .or_insert_with(|| (kept.clone(), 0));
            *often += 1;
            if *known != kept {
                *known = None;
            }
        }
        state.keep(variable, value.kept().filter(|kept| *kept != place));
    }

    pub(super) fn store_deref(
        &mut self,
        state: &mut State,
        variable: usize,
        value: &Value,
        is_undone: bool,
    ) {
        let number = self.body.of_deref(variable);
        let is_given = self.is_given(state, number)
            || self.body.is_free(variable)
            || self.body.is_shared_argument(variable);
        self.passed_on(value);
        if !is_undone {
            self.stored(&Value::Deref(variable), value, is_given);
        }
    }

    /// A global or an attribute is given something.
    pub(super) fn store(&mut self, place: &Value, value: &Value) {
        self.passed_on(value);
        let is_attribute = matches!(place, Value::Attribute(..));
        let makes = self.body.of != Of::Function || is_attribute && self.body.makes_attributes();
        self.stored(place, value, !makes);
    }

    /// `had` says whether there was something that is lost by it.
    fn stored(&mut self, place: &Value, value: &Value, had: bool) {
        match value {
            Value::Inplace(of, sign) if peeled(&of.value) == peeled(place) => {
                let (does, how) = match sign {
                    Sign::Plus => (Does::Adds, "+="),
                    Sign::Or => (Does::Adds, "|="),
                    Sign::Minus => (Does::Empties, "-="),
                    Sign::And => (Does::Empties, "&="),
                    Sign::Other => return,
                };
                self.mark(&of.value, does, How::Sign(how));
            }
            Value::From(parts) if parts.iter().any(|part| peeled(part) == peeled(place)) => {
                self.mark_name(place, Does::Adds, "= itself + ...");
            }
            itself if peeled(itself) == peeled(place) => {}
            _ if had || self.loops.around(self.at) => {
                let how = match is_lost(place, value) {
                    true => site::GIVEN,
                    false => site::GIVEN_UNKNOWN,
                };
                self.mark_name(place, Does::Empties, how);
            }
            _ => {}
        }
    }

    pub(super) fn delete_fast(&mut self, state: &mut State, variable: usize) {
        if !self.hidden.contains(&variable) {
            self.delete(&Value::Fast(variable));
        }
        state.keep(variable, None);
    }

    pub(super) fn delete(&mut self, place: &Value) {
        self.mark_name(place, Does::Empties, "del");
    }

    pub(super) fn store_item(&mut self, container: &Value, key: &Value, value: &Value) {
        self.passed_on(value);
        let is_slice = self.body.is_slice(key);
        let (does, how) = match value {
            _ if is_slice => (Does::Empties, "[:] ="),
            Value::Inplace(_, Sign::Plus) => (Does::Adds, "[...] +="),
            _ => (Does::Adds, "[...] ="),
        };
        self.mark(container, does, How::Behind(how));
    }

    pub(super) fn delete_item(&mut self, container: &Value) {
        self.mark(container, Does::Empties, How::Around("del ", "[...]"));
    }

    /// A value goes where it is not followed. If it is a method that was taken and not called, anybody may call it later.
    pub(super) fn passed_on(&mut self, value: &Value) {
        let value = match value {
            Value::Alias(_, deep) => &deep.value,
            other => other,
        };
        let Value::Attribute(of, number) = value else {
            return;
        };
        let name = self.body.names.get(*number).map_or("", |name| &**name);
        if let Some(does) = site::method(name) {
            self.mark(&of.value, does, How::Method(&format!("{name}, passed on")));
        }
    }

    /// A call, and what it gives. The arguments are in their order from the last to the first, if all are known.
    pub(super) fn called(&mut self, callee: &Value, arguments: Option<&Vec<Value>>) -> Value {
        let body = self.body;
        let name = |number: usize| body.names.get(number).map_or("", |name| &**name);
        let callee = match callee {
            Value::Alias(_, deep) => &deep.value,
            other => other,
        };
        let (of, called) = match callee {
            Value::Attribute(of, number) => (Some(&of.value), name(*number)),
            Value::Global(number) | Value::Name(number) => (None, name(*number)),
            _ => return Value::Unknown,
        };
        if let (Some(of), Some(does)) = (of, site::method(called)) {
            self.mark(of, does, How::Method(called));
            if called == "setdefault" {
                return of.clone().item();
            }
        }
        let Some(arguments) = arguments else {
            return Value::Unknown;
        };
        if let (Some(first), Some(does)) = (arguments.last(), site::function(called)) {
            self.mark(first, does, How::Method(called));
        }
        let is_grouping = called == site::GROUPING && arguments.len() == 1;
        if site::makes(called, of.is_some()) && (is_grouping || arguments.iter().all(Value::is_new))
        {
            return Value::From([].into());
        }
        if !site::joins(called) {
            return Value::Unknown;
        }
        let each = arguments.iter().flat_map(|one| match one {
            Value::Of(items) => items,
            other => other.parts(),
        });
        // `rows.append(row)` gives a new one where `rows` is a table of pandas.
        Value::from_all(each.chain(of.map_or(&[][..], Value::parts)))
    }

    /// Something is done to the very name, and not to what it stands for.
    fn mark_name(&mut self, place: &Value, does: Does, how: &str) {
        if let Some(target) = self.target(place) {
            self.push(target, does, how.to_owned());
        }
    }

    /// Something is done to the object: to all names that it is known by.
    fn mark(&mut self, value: &Value, does: Does, how: How<'_>) {
        let mut within = String::new();
        let mut value = value.clone();
        for _ in 0..DEEPEST {
            if let Some(target) = self.target(&value) {
                let how = match how {
                    How::Method(name) if within.is_empty() => name.to_owned(),
                    How::Method(name) => format!("{within}.{name}"),
                    How::Sign(sign) if within.is_empty() => sign.to_owned(),
                    How::Sign(sign) => format!("{within} {sign}"),
                    How::Behind(what) => format!("{within}{what}"),
                    How::Around(before, behind) => format!("{before}{within}{behind}"),
                };
                self.push(target, does, how);
            }
            value = match &value {
                Value::Alias(_, deep) => deep.value.clone(),
                Value::Item(of) => {
                    within.push_str("[...]");
                    of.value.clone()
                }
                Value::Fast(variable) => match self.aliases.get(variable) {
                    Some(alias) => alias.clone(),
                    None => return,
                },
                _ => return,
            };
        }
    }

    fn push(&mut self, target: Target, does: Does, how: String) {
        if self.sites.len() < MOST_SITES {
            self.sites.push(Site {
                target,
                does,
                how,
                at: self.at,
            });
        }
    }

    fn target(&self, place: &Value) -> Option<Target> {
        Some(match place {
            Value::Fast(variable) | Value::Alias(variable, _) => Target::Fast(*variable),
            Value::Deref(variable) => Target::Deref(*variable),
            Value::Global(name) => Target::Global(*name),
            Value::Name(name) if self.body.of == Of::Module => Target::Global(*name),
            Value::Attribute(owner, name) => Target::Attribute {
                owner: self.owner(&owner.value),
                name: *name,
            },
            _ => return None,
        })
    }

    fn owner(&self, value: &Value) -> Owner {
        let is_first = |variable: usize| variable == 0 && self.body.arguments > 0;
        match value {
            Value::Alias(_, deep) if matches!(deep.value, Value::Fast(0)) => {
                self.owner(&deep.value)
            }
            Value::Fast(variable) | Value::Alias(variable, _) => match is_first(*variable) {
                true => Owner::First,
                false => Owner::Fast(*variable),
            },
            Value::Deref(variable) if self.body.is_first(*variable) => Owner::First,
            Value::Deref(variable) => Owner::Deref(*variable),
            Value::Global(name) => Owner::Global(*name),
            Value::Name(name) if self.body.of == Of::Module => Owner::Global(*name),
            _ => Owner::Other,
        }
    }
}

/// What a place had is not in what it is given, or not all of it.
fn is_lost(place: &Value, value: &Value) -> bool {
    match value {
        Value::Cut(of) => {
            let mut parts = of.value.parts().iter();
            parts.any(|part| peeled(part) == peeled(place))
        }
        value => value.is_new(),
    }
}

/// The variable itself, whatever it was given.
fn peeled(value: &Value) -> Value {
    match value {
        Value::Alias(variable, _) => Value::Fast(*variable),
        other => other.clone(),
    }
}
