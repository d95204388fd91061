//! How objects refer to each other, read from the process. Which of an object's words are edges is known since the walk;
//! here one object is read again, to find under which name it has another. Only the few ways that are shown are asked
//! for, so this reads what it needs, at leisure.

mod function;
mod instance;

pub(crate) use function::code_of;

use super::roots::Roots;
use super::sort::Sort;
use super::step::{Labels, Step};
use crate::frames::Frames;
use crate::graph::Kind;
use crate::object::{Class, Heap};
use crate::source::Source;

/// Letters of a key that are shown.
const LONGEST_KEY: usize = 40;
/// In a module: its names.
const MODULE_NAMES: u64 = 16;
/// What a weak reference leads to.
const REFERENT: u64 = 16;

/// Reads labels.
pub(crate) struct Reader<'a, 'h, S> {
    pub heap: &'a Heap<'h, S>,
    pub frames: &'a Frames,
    pub roots: &'a Roots,
}

impl<S: Source> Labels for Reader<'_, '_, S> {
    fn step(&self, way: &[u64]) -> Step {
        let [before @ .., from, to] = way else {
            return Step::Referent;
        };
        // A frame is no object.
        if let Some(variables) = self.roots.variables.get(from) {
            return local(variables, *to).unwrap_or(Step::Referent);
        }
        let Some(class) = self.heap.type_of(*from) else {
            return Step::Referent;
        };
        let found = match class.name.as_str() {
            "module" => self.names_at(*from, MODULE_NAMES, *to),
            "function" => self.of_function(*from, *to),
            "cell" | "_thread._local" => Some(Step::Content),
            "generator" | "coroutine" | "async_generator" => self.of_generator(*from, *to),
            "frame" => self.of_frame(*from, *to),
            _ if class.is_type() => self.of_class(*from, *to),
            _ => None,
        };
        found
            .or_else(|| self.in_container(&class, before, *from, *to))
            .or_else(|| self.of_instance(&class, *from, *to))
            .unwrap_or(Step::Referent)
    }

    fn length(&self, address: u64) -> Option<u64> {
        self.heap.items(address)
    }

    fn sort(&self, kind: &Kind) -> Sort {
        let named = Sort::named(&kind.name);
        let Some(class) = self.heap.class(kind.address) else {
            return named;
        };
        let is = |name: &str| self.heap.bases(&class).iter().any(|base| base.name == name);
        match named {
            Sort::Object if class.is_list() || is("set") || is("collections.deque") => {
                Sort::Container
            }
            Sort::Object if class.is_dict() => Sort::Dict,
            Sort::Object if class.is_tuple() => Sort::Tuple,
            // The objects of a metaclass are classes.
            Sort::Object if is("type") => Sort::Class,
            Sort::Object if is("module") => Sort::Module,
            sort => sort,
        }
    }
}

fn local(variables: &[(String, u64)], object: u64) -> Option<Step> {
    let found = variables.iter().find(|(_, value)| *value == object)?;
    Some(Step::Local(found.0.clone()))
}

impl<S: Source> Reader<'_, '_, S> {
    fn names_at(&self, object: u64, offset: u64, to: u64) -> Option<Step> {
        let names = self.heap.source.pointer(object.checked_add(offset)?)?;
        (names == to).then_some(Step::Names)
    }

    fn of_class(&self, class: u64, to: u64) -> Option<Step> {
        let class = self.heap.class(class)?;
        (class.dict() == Some(to)).then_some(Step::Names)
    }

    fn in_container(&self, class: &Class, before: &[u64], from: u64, to: u64) -> Option<Step> {
        let heap = self.heap;
        if class.is_dict() {
            return heap.find_entry(from, |key, value| match value == to {
                true if self.is_of_thread(key) => Some(Step::Names),
                true => Some(Step::Key(self.key(key))),
                false => (key == to).then_some(Step::IsKey),
            });
        }
        if class.is_list() || class.is_tuple() {
            let nth = heap.index_of(from, to)?;
            let function = before.last().filter(|_| class.is_tuple());
            let closed = function.and_then(|function| self.in_function(*function, from, nth));
            return Some(closed.unwrap_or(Step::Index(nth)));
        }
        let is = |name: &str| heap.bases(class).iter().any(|base| base.name == name);
        if is("collections.deque") {
            return Some(Step::Index(heap.index_in_deque(from, to)?));
        }
        (is("set") || is("frozenset")).then_some(Step::Member)
    }

    /// A `threading.local` has a dictionary by such keys (up to 3.12 by weak references to them), one for each thread, of
    /// dictionaries with its attributes.
    fn is_of_thread(&self, key: u64) -> bool {
        let is = |object: u64| {
            let class = self.heap.type_of(object);
            class.is_some_and(|class| class.name == "_thread._localdummy")
        };
        let weakly = || {
            let class = self.heap.type_of(key)?;
            let is_weak = Sort::named(&class.name) == Sort::Weak;
            is_weak.then(|| self.heap.source.pointer(key.checked_add(REFERENT)?))?
        };
        is(key) || weakly().is_some_and(is)
    }

    /// A key, as it would be written.
    fn key(&self, key: u64) -> String {
        if let Some(text) = self.heap.text(key) {
            let short: String = text.chars().take(LONGEST_KEY).collect();
            let more = if short.len() < text.len() { "..." } else { "" };
            return format!("\"{short}{more}\"");
        }
        if let Some(number) = self.heap.int(key) {
            return number.to_string();
        }
        let class = self.heap.type_of(key);
        class.map_or("?".to_owned(), |class| format!("<{}>", class.name))
    }
}
