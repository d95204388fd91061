//! What a holder is called: the way to it, as a person would write it.

use super::roots::RootName;
use super::sort::{CYCLES, LRU_CACHE, Sort};
use super::step::{Labels, Step};
use super::view::View;
use super::{Slot, sort};
use crate::graph::NodeId;

/// Steps of a way that are told, half of them from its beginning and half from its end.
pub(super) const LONGEST: usize = 32;
/// Where modules of torch have their parts: those are attributes to whoever uses them.
const PARTS: [&str; 3] = ["_modules", "_parameters", "_buffers"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub name: String,
    pub path: Vec<String>,
    pub slot: Option<Slot>,
}

pub(super) fn of(view: &View<'_>, labels: &impl Labels, node: NodeId) -> Named {
    let way = view.ways.to(node);
    let Some(first) = way.first() else {
        return Named::default();
    };
    let mut spoken = Spoken::begin(view, *first);
    let addresses: Vec<u64> = way.iter().map(|node| view.address(*node)).collect();
    let left_out = LONGEST / 2..way.len().saturating_sub(LONGEST / 2);
    for nth in 1..way.len() {
        if left_out.contains(&nth) {
            if nth == left_out.start {
                spoken.leave_out(left_out.len());
            }
            continue;
        }
        let step = labels.step(&addresses[..=nth]);
        spoken.take(view, way[nth - 1], way[nth], step);
    }
    if view.kind(node) == LRU_CACHE {
        spoken.expression = format!("lru_cache of {}", spoken.expression);
        spoken.owner = None;
    }
    spoken.end()
}

/// What was said so far.
struct Spoken {
    /// As an expression: `train.STATE["rows"]`.
    expression: String,
    /// Where that is: ` in main() train.py:41`.
    place: String,
    path: Vec<String>,
    slot: Option<Slot>,
    /// We are in an object's dictionary: a key is an attribute, of whom?
    in_names: Option<NodeId>,
    in_defaults: bool,
    /// The expression before an attribute of an object was added.
    owner: Option<String>,
}

impl Spoken {
    fn begin(view: &View<'_>, first: NodeId) -> Spoken {
        let (expression, place, path) = match view.roots.name(first) {
            Some(RootName::Module { name, .. }) => {
                (name.clone(), String::new(), format!("module {name}"))
            }
            Some(RootName::Interpreter(what)) => {
                ((*what).to_owned(), String::new(), (*what).to_owned())
            }
            Some(RootName::Frame {
                function,
                file,
                line,
                is_main,
                ..
            }) => {
                let thread = if *is_main { "" } else { ", another thread" };
                let frame = format!("{function}() {file}:{line}{thread}");
                (String::new(), format!(" in {frame}"), frame)
            }
            None if view.kind(first) == CYCLES => {
                let what = "in cycles that nobody holds".to_owned();
                (String::new(), format!(", {what}"), what)
            }
            None => {
                let what = format!("held by {}", sort::NATIVE);
                (String::new(), format!(", {what}"), what)
            }
        };
        let is_names = view.sort(first) == Sort::Dict;
        Spoken {
            expression,
            place,
            path: vec![path],
            slot: None,
            in_names: is_names.then_some(first),
            in_defaults: false,
            owner: None,
        }
    }

    fn leave_out(&mut self, steps: usize) {
        self.say(&format!("...{steps} more..."));
        (self.in_names, self.owner) = (None, None);
    }

    fn say(&mut self, piece: &str) {
        self.expression.push_str(piece);
        self.path.push(piece.to_owned());
    }

    /// One step, from a node to the next.
    fn take(&mut self, view: &View<'_>, from: NodeId, to: NodeId, step: Step) {
        let names = self.in_names.take();
        let in_defaults = std::mem::take(&mut self.in_defaults);
        let step = match (step, names) {
            (Step::Key(key), Some(_)) => Step::Attribute(key.trim_matches('"').to_owned()),
            (Step::Key(key), None) if in_defaults => {
                Step::Default(key.trim_matches('"').to_owned())
            }
            (step, _) => step,
        };
        let from = names.unwrap_or(from);
        match &step {
            Step::Names => {
                self.in_names = Some(from);
                return;
            }
            Step::Attribute(name) if PARTS.contains(&name.as_str()) => {
                self.in_names = Some(from);
                return;
            }
            Step::Defaults => {
                self.in_defaults = true;
                return;
            }
            Step::Closure | Step::Content => return,
            _ => {}
        }
        self.owner = None;
        match &step {
            Step::Attribute(name) => {
                if view.sort(from) == Sort::Object {
                    let kind = view.kind(from).rsplit('.').next().unwrap_or_default();
                    let whole = format!("{}{}", self.expression, self.place);
                    self.owner = Some(format!("{kind}.{name} of {whole}"));
                }
                self.say(&format!(".{name}"));
            }
            Step::Key(key) => self.say(&format!("[{key}]")),
            Step::Index(nth) => self.say(&format!("[{nth}]")),
            Step::IsKey => self.say("<key>"),
            Step::Member => self.say("<member>"),
            Step::Class => self.say(".__class__"),
            Step::Local(name) if self.expression.is_empty() => self.say(name),
            Step::Local(name) => self.around(&format!("{name} in"), name),
            Step::Closed(name) => self.around(&format!("{name} in the closure of"), name),
            Step::Default(name) => self.around(&format!("default of {name} in"), name),
            Step::Cache => self.around("lru_cache of", "lru_cache"),
            _ => {
                let kind = sort::class_of(view.kind(to));
                match self.expression.is_empty() {
                    true => self.say(kind),
                    false => self.say(&format!(".<{kind}>")),
                }
            }
        }
        self.slot = Some(Slot { owner: from, step });
    }

    fn around(&mut self, before: &str, piece: &str) {
        self.expression = format!("{before} {}", self.expression);
        self.path.push(piece.to_owned());
    }

    fn end(self) -> Named {
        let whole = match self.expression.is_empty() {
            true => self.place.trim_start_matches([',', ' ']).to_owned(),
            false => format!("{}{}", self.expression, self.place),
        };
        Named {
            name: self.owner.unwrap_or(whole),
            path: self.path,
            slot: self.slot,
        }
    }
}
