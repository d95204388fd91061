//! Who holds tensors in C++: a tensor keeps its gradient, the step of autograd's graph that made it and, as a view, what
//! it is a view of; a step keeps the steps before it and the tensors that it saved. Followed from what is known to
//! live, with classes told by the objects themselves: pointers to anything else are none.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::calibrate::Layout;
use super::cpp::{Classes, CppClass, Role};
use super::kinds::Kinds;
use super::malloc;
use super::tensor::Tensor;
use crate::object::Heap;
use crate::source::{ByAddress, Source, is_pointer};

/// From a step to what it keeps, tables lie between: its list of next steps, lists of tensors, what was packed. So many
/// blocks without a class are gone through at most, one behind the other.
const DEEPEST: u32 = 3;
/// Blocks that are gone through of one step: most have three.
const MOST_BLOCKS: usize = 4096;
/// Behind the step, weak pointers end here: those to the first step of a leaf, which it does not keep.
const KEPT_BEHIND: u64 = 32;
/// A step without a length (another `malloc`) is read so far.
const LEAST: u64 = 256;
/// An object that shares its block with its count of holders begins so far behind the block.
const COUNTED: u64 = 16;
/// What all steps have in common is shorter (464 bytes in 2.15); so many leaves are asked.
const LONGEST_BASE: u64 = 1024;
const ASKED: usize = 64;
/// How classes are named that keep an object of Python's: `PyNode`, `PyFunctionTensorPreHook`, `PySavedVariableHooks`.
const OF_PYTHON: &str = "Py";
/// How those are named that count the holders of a `std::shared_ptr`.
const COUNTS: &str = "_Sp_counted";
/// Steps at most.
const MOST: usize = 4_000_000;

/// Something that is no Python object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NativeNode {
    pub address: u64,
    pub bytes: u64,
    /// `AddBackward0`, `TensorImpl`, `storage`.
    pub name: Rc<str>,
}

/// What lies between tensors.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub steps: Vec<NativeNode>,
    pub edges: Vec<(u64, u64)>,
    pub is_cut: bool,
}

pub(super) struct Follower<'a, 'h, S> {
    pub heap: &'a Heap<'h, S>,
    pub classes: &'a Classes<'a, S>,
    pub layout: Layout,
    /// Of Python's types.
    pub kinds: RefCell<Kinds>,
    /// Where data of storages begins: no pointers are in there.
    pub data: ByAddress<()>,
    /// Memory that the process writes to, by address.
    pub writable: &'a [Stretch],
}

/// From one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub start: u64,
    pub end: u64,
    /// One of glibc's, where blocks have heads.
    pub is_heap: bool,
}

/// What a pointer leads to.
enum Target {
    Step(u64),
    Tensor(u64),
    /// Python's.
    Object(u64),
    Block(Block),
    Nothing,
}

/// What holds pointers and does not count by itself: a step's own memory, a table, a hook.
struct Block {
    at: u64,
    length: u64,
    has_class: bool,
    /// It is there to keep an object of Python's.
    of_python: bool,
}

impl<S: Source> Follower<'_, '_, S> {
    /// `roots` are steps that Python objects lead to.
    pub(super) fn follow<'t>(
        &self,
        tensors: impl Iterator<Item = &'t Tensor> + Clone,
        roots: impl Iterator<Item = u64>,
    ) -> Graph {
        let mut graph = Graph::default();
        let fields = self.fields(tensors.clone());
        let mut seen = HashSet::new();
        let mut open: Vec<u64> = Vec::new();
        for tensor in tensors.filter(|tensor| tensor.meta != 0) {
            let from = graph.edges.len();
            self.of_meta(tensor, &mut graph.edges);
            let to = graph.edges[from..].iter().map(|(_, to)| *to);
            open.extend(to.filter(|to| *to == tensor.step));
        }
        open.extend(roots);
        while let Some(step) = open.pop() {
            if !seen.insert(step) {
                continue;
            }
            if graph.steps.len() >= MOST {
                graph.is_cut = true;
                break;
            }
            let Some(class) = self
                .classes
                .of(step)
                .filter(|class| class.role == Role::Step)
            else {
                continue;
            };
            let from = graph.edges.len();
            let bytes = self.of_step(step, &class.name, fields, &mut graph.edges);
            graph.steps.push(NativeNode {
                address: step,
                bytes,
                name: class.name.clone(),
            });
            let next = graph.edges[from..].iter().map(|(_, to)| *to);
            open.extend(next.filter(|to| self.classes.role(*to) == Some(Role::Step)));
        }
        graph
    }

    /// Where a step's own fields begin, behind those that all steps have: there a leaf's step has the leaf. What all have
    /// in common holds no tensor, but room that is not used, with old words in it.
    fn fields<'t>(&self, tensors: impl Iterator<Item = &'t Tensor>) -> u64 {
        let source = self.heap.source;
        let leaves = tensors.filter(|tensor| tensor.meta != 0 && tensor.step == 0);
        let places = leaves.filter_map(|leaf| {
            let weak = source.words(leaf.meta + self.layout.meta.step + 8, 2)?;
            let mut weak = weak.into_iter().filter(|at| is_pointer(*at));
            let step = weak.find(|at| self.classes.role(*at) == Some(Role::Step))?;
            let words = source.words(step, (LONGEST_BASE / 8) as usize)?;
            let place = words.iter().position(|word| *word == leaf.address)?;
            Some(place as u64 * 8)
        });
        let places: Vec<u64> = places.take(ASKED).collect();
        let times = |place: &u64| places.iter().filter(|one| *one == place).count();
        places.iter().copied().max_by_key(times).unwrap_or(0)
    }

    fn of_meta(&self, tensor: &Tensor, edges: &mut Vec<(u64, u64)>) {
        let source = self.heap.source;
        let role = self.classes.role(tensor.meta);
        if !matches!(role, Some(Role::Meta | Role::ViewMeta)) {
            return;
        }
        let mut keeps = |at: Option<u64>, role: Role| {
            let at = at.filter(|at| *at != tensor.address && self.classes.role(*at) == Some(role));
            edges.extend(at.map(|at| (tensor.address, at)));
        };
        let step = tensor.meta + self.layout.meta.step;
        keeps(source.pointer(step - 8), Role::Tensor);
        keeps(source.pointer(step), Role::Step);
        if role == Some(Role::ViewMeta) {
            let length = malloc::length(source, tensor.meta).unwrap_or(LEAST);
            let from = self.layout.meta.step + KEPT_BEHIND;
            let count = length.saturating_sub(from) / 8;
            let words = source.words(tensor.meta + from, count as usize);
            for word in words.unwrap_or_default() {
                keeps(Some(word).filter(|word| is_pointer(*word)), Role::Tensor);
            }
        }
    }

    /// Everything that a step and its tables lead to; returns its bytes with theirs.
    fn of_step(&self, step: u64, name: &str, fields: u64, edges: &mut Vec<(u64, u64)>) -> u64 {
        let source = self.heap.source;
        let length = malloc::length(source, step);
        // One that shares its block with its count is a little shorter than that.
        let counted = || malloc::length(source, step.checked_sub(COUNTED)?)?.checked_sub(COUNTED);
        let first = Block {
            at: step,
            length: length.or_else(counted).unwrap_or(LEAST),
            has_class: true,
            of_python: name.starts_with(OF_PYTHON),
        };
        let (mut bytes, mut keeps) = (first.length, Vec::new());
        let mut gone_through = HashSet::from([step]);
        let mut open = vec![(first, 0)];
        while let Some((block, depth)) = open.pop() {
            let words = source.words(block.at, (block.length / 8) as usize);
            let words = words.unwrap_or_default();
            for (nth, word) in words.iter().enumerate() {
                match self.target(*word, &block) {
                    // What a step saved knows where it comes from, which is a next step, too: those are in a table.
                    Target::Step(next) if next != step && depth > 0 => keeps.push((step, next)),
                    Target::Tensor(tensor) if depth > 0 || nth as u64 * 8 >= fields => {
                        keeps.push((step, tensor));
                    }
                    Target::Object(object) => keeps.push((step, object)),
                    Target::Block(mut next)
                        if depth < DEEPEST
                            && gone_through.len() < MOST_BLOCKS
                            && gone_through.insert(next.at) =>
                    {
                        // A list says where it ends; what stands behind that is old. What neither ends nor has a
                        // class is led to by an old word.
                        let end = words.get(nth + 1).and_then(|end| end.checked_sub(next.at));
                        let end = end.filter(|end| *end <= next.length);
                        if end.is_some() || next.has_class {
                            bytes += next.length;
                            next.length = end.unwrap_or(next.length);
                            open.push((next, depth + 1));
                        }
                    }
                    _ => {}
                }
            }
        }
        keeps.sort_unstable();
        keeps.dedup();
        edges.extend(keeps);
        bytes
    }

    fn target(&self, word: u64, from: &Block) -> Target {
        let stretch = Some(word).filter(|word| is_pointer(*word));
        let Some(stretch) = stretch.and_then(|word| self.stretch(word)) else {
            return Target::Nothing;
        };
        let class = self.classes.of(word);
        match class.as_ref().map(|class| class.role) {
            Some(Role::Tensor) => return Target::Tensor(word),
            Some(Role::Step) => return Target::Step(word),
            // Tensors lead to these.
            Some(Role::Storage | Role::NoTensor | Role::Meta | Role::ViewMeta) => {
                return Target::Nothing;
            }
            _ => {}
        }
        // Blocks are used again and not all of their words are written: an old word may lead to any object of
        // Python's. So only what is there to keep one does.
        if let Some(class) = self.heap.type_of(word) {
            let is = from.of_python || self.kinds.borrow_mut().of(self.heap, &class).is_step();
            return if is {
                Target::Object(word)
            } else {
                Target::Nothing
            };
        }
        // Who counts holders leads to what the pointer beside leads to.
        let counts = |class: &CppClass| class.name.contains(COUNTS);
        if class.as_deref().is_some_and(counts) {
            return Target::Nothing;
        }
        if !stretch.is_heap || self.data.contains_key(&word) {
            return Target::Nothing;
        }
        match malloc::length(self.heap.source, word) {
            Some(length) => Target::Block(Block {
                at: word,
                length,
                has_class: class.is_some(),
                of_python: class.is_some_and(|class| class.name.starts_with(OF_PYTHON)),
            }),
            None => Target::Nothing,
        }
    }

    fn stretch(&self, address: u64) -> Option<Stretch> {
        let above = self.writable.partition_point(|one| one.start <= address);
        let found = self.writable[..above].last()?;
        (address < found.end).then_some(*found)
    }
}

/// How often each name occurs, most first.
pub(super) fn by_name(steps: &[NativeNode]) -> Vec<(String, u64)> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for step in steps {
        *counts.entry(&step.name).or_default() += 1;
    }
    let mut counts: Vec<_> = counts
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts
}
