//! Where the program's own names begin: its modules, and the frames of its threads.

use std::collections::{HashMap, HashSet};

use super::sort::FRAME;
use super::{interned, native};
use crate::frames::{Frame, Frames, Level, Thread};
use crate::graph::{Graph, NodeId};
use crate::interpreter::Interpreter;
use crate::object::Heap;
use crate::source::Source;

/// In a module: its names.
const MODULE_NAMES: u64 = 16;
/// Where Python's own modules and installed ones are; who looks for a leak begins in none of them.
const INSTALLED: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib/python3"];

/// A node that is there for its own sake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    pub node: NodeId,
    pub name: RootName,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RootName {
    Module {
        name: String,
        /// None of Python's own and no installed one.
        is_own: bool,
    },
    Frame {
        function: String,
        /// Without its folder.
        file: String,
        line: u32,
        /// Of the main thread.
        is_main: bool,
        is_own: bool,
    },
    Interpreter(&'static str),
}

impl RootName {
    /// How much worse a name is that begins here: `train.CACHE` is better than a local of `main()`, and that is better
    /// than something in a library.
    pub(super) fn cost(&self) -> u8 {
        match self {
            RootName::Module { is_own: true, .. } => 0,
            RootName::Frame { is_own: true, .. } => 6,
            RootName::Module { .. } => 10,
            RootName::Frame { .. } => 14,
            RootName::Interpreter(_) => 30,
        }
    }
}

impl RootName {
    /// Written by whoever started the program, as far as the place of its file tells.
    pub(super) fn is_own(&self) -> bool {
        match self {
            RootName::Module { is_own, .. } | RootName::Frame { is_own, .. } => *is_own,
            RootName::Interpreter(_) => false,
        }
    }
}

/// All roots, the better ones first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    pub list: Vec<Root>,
    /// What frames have, by their address.
    pub variables: HashMap<u64, Vec<(String, u64)>>,
}

/// A module, as it was read.
struct Module {
    address: u64,
    names: u64,
    name: String,
    is_own: bool,
}

impl Roots {
    /// Reads them, and adds a node for every frame to the graph.
    pub(crate) fn read<S: Source>(
        graph: &mut Graph,
        heap: &Heap<'_, S>,
        interpreter: &Interpreter,
        frames: &Frames,
    ) -> Roots {
        let mut roots = Roots::default();
        roots.add_modules(graph, heap);
        roots.add_frames(graph, heap, frames, &frames.threads(heap, interpreter));
        roots.list.sort_by_key(|root| root.name.cost());
        roots
    }

    pub(super) fn name(&self, node: NodeId) -> Option<&RootName> {
        let root = self.list.iter().find(|root| root.node == node);
        root.map(|root| &root.name)
    }

    fn add_modules<S: Source>(&mut self, graph: &mut Graph, heap: &Heap<'_, S>) {
        let Some((system, imported)) = imported(graph, heap) else {
            return;
        };
        if let Some(node) = interned::release(graph, heap, system) {
            // C has it: without a root it would be told of as garbage.
            let name = RootName::Interpreter("interned texts");
            self.list.push(Root { node, name });
        }
        let mut modules = Vec::new();
        let _ = heap.find_entry(imported, |key, address| {
            modules.extend(module(heap, key, address));
            None::<()>
        });
        // That of the program before all others.
        modules.sort_by_key(|module| !module.is_own);
        // One may be imported by two names.
        let mut known = HashSet::new();
        for module in modules {
            for address in [module.names, module.address] {
                if let Some(node) = graph.at(address)
                    && known.insert(node)
                {
                    let (name, is_own) = (module.name.clone(), module.is_own);
                    let name = RootName::Module { name, is_own };
                    self.list.push(Root { node, name });
                }
            }
        }
        if let Some(node) = graph.at(imported) {
            self.list.push(Root {
                node,
                name: RootName::Interpreter("sys.modules"),
            });
        }
    }

    fn add_frames<S: Source>(
        &mut self,
        graph: &mut Graph,
        heap: &Heap<'_, S>,
        frames: &Frames,
        threads: &[Thread],
    ) {
        let each = threads
            .iter()
            .flat_map(|thread| (thread.chain.frames.iter()).map(move |frame| (thread, frame)));
        for (thread, frame) in each {
            let variables = frames.variables(heap, frame);
            // Up to 3.10 frames are objects.
            let node = graph.at(frame.address).unwrap_or_else(|| {
                let held = held(heap, frames, frame, &variables).into_iter();
                let mut to: Vec<NodeId> = held.filter_map(|one| graph.at(one)).collect();
                to.sort_unstable();
                to.dedup();
                native::add(graph, FRAME, frame.address, &to)
            });
            let name = RootName::Frame {
                function: frame.code.name.clone(),
                file: last_part(&frame.code.file).to_owned(),
                line: frames.first_line(heap, frame).unwrap_or(0),
                is_main: thread.is_main,
                is_own: is_own(&frame.code.file),
            };
            self.list.push(Root { node, name });
            self.variables.insert(frame.address, variables);
        }
    }
}

/// What a frame refers to: its variables, its code, and what its loops go through, which no variable may have.
fn held<S: Source>(
    heap: &Heap<'_, S>,
    frames: &Frames,
    frame: &Frame,
    variables: &[(String, u64)],
) -> Vec<u64> {
    let iterators = frames.levels(heap, frame).into_iter();
    let iterators = iterators.filter_map(|level| match level {
        Level::For { iterator, .. } => Some(iterator),
        _ => None,
    });
    let variables = variables.iter().map(|(_, object)| *object);
    variables
        .chain(iterators)
        .chain([frame.code.address])
        .collect()
}

/// The names of `sys`, and `sys.modules`.
fn imported<S: Source>(graph: &Graph, heap: &Heap<'_, S>) -> Option<(u64, u64)> {
    let kind = graph.kinds.iter().position(|kind| kind.name == "module")? as u32;
    let modules = graph.nodes.iter().filter(|node| node.kind == kind);
    let mut names =
        modules.filter_map(|node| heap.source.pointer(node.address.checked_add(MODULE_NAMES)?));
    names.find_map(|names| {
        let name = heap.text(heap.dict_get(names, "__name__")?)?;
        let modules = (name == "sys").then(|| heap.dict_get(names, "modules"))??;
        let is_dict = heap.type_of(modules)?.is_dict();
        is_dict.then_some((names, modules))
    })
}

fn module<S: Source>(heap: &Heap<'_, S>, key: u64, address: u64) -> Option<Module> {
    let class = heap.type_of(address)?;
    let is_module = heap.bases(&class).iter().any(|base| base.name == "module");
    let names = heap
        .source
        .pointer(address.checked_add(MODULE_NAMES)?)
        .filter(|names| heap.type_of(*names).is_some_and(|class| class.is_dict()))?;
    let name = heap.text(key)?;
    let file = (heap.dict_get(names, "__file__")).and_then(|file| heap.text(file));
    let is_main = name == "__main__";
    let module = Module {
        address,
        names,
        is_own: is_main || file.as_deref().is_some_and(is_own),
        name: match &file {
            Some(file) if is_main => stem(file).to_owned(),
            _ => name,
        },
    };
    is_module.then_some(module)
}

fn is_own(file: &str) -> bool {
    file.contains('/') && !INSTALLED.iter().any(|part| file.contains(part))
        || !file.contains(['/', '<'])
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// `train` of `jobs/train.py`.
fn stem(path: &str) -> &str {
    let file = last_part(path);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_nobodys_own() {
        assert!(is_own("/home/me/train.py") && is_own("train.py"));
        assert!(!is_own("/opt/lib/python3.11/logging/__init__.py"));
        assert!(!is_own("/venv/lib64/site-packages/torch/nn/__init__.py"));
        assert!(!is_own("<frozen importlib._bootstrap>"));
        assert_eq!(stem("jobs/train.py"), "train");
        assert_eq!(stem("train"), "train");
    }
}
