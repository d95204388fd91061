//! Tensors, storages and steps of autograd as nodes and edges of the graph of objects, which knows nothing of C++: with
//! them, "this tensor keeps 1,800 others through `AddBackward0`" is a question like any other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use lowtide_sys::memory::Mappings;

use super::autograd::{self, Stretch};
use super::calibrate::Layout;
use super::cpp::{Classes, Role};
use super::{Contents, Device, NativeNode, Sorted, malloc, search, storage};
use crate::object::Heap;
use crate::source::Source;

/// Of an object of C++ whose block tells no length (another `malloc`): that of a tensor.
const USUAL: u64 = 208;
/// A Python object's own fields: a storage or a step of C++ is among the first; one that was made in Python has tables
/// of tensors among many.
const FIELDS: u64 = 16;
const FEW: usize = 4;

impl Contents {
    pub(super) fn graph<S: Source>(
        &mut self,
        heap: &Heap<'_, S>,
        classes: &Classes<'_, S>,
        mappings: &Mappings,
        sorted: &Sorted,
        layout: Layout,
    ) {
        let source = heap.source;
        let length = |at: u64| malloc::length(source, at).unwrap_or(USUAL);
        let tensor_name: Rc<str> = Rc::from("TensorImpl");
        let mut names: BTreeMap<Device, Rc<str>> = BTreeMap::new();
        for tensor in &self.tensors {
            self.nodes.push(NativeNode {
                address: tensor.address,
                bytes: length(tensor.address),
                name: tensor_name.clone(),
            });
            if tensor.object != 0 {
                self.edges.push((tensor.object, tensor.address));
                let back = tensor
                    .owns_object
                    .then_some((tensor.address, tensor.object));
                self.edges.extend(back);
            }
            let storage = (tensor.storage != 0).then_some((tensor.address, tensor.storage));
            self.edges.extend(storage);
        }
        for storage in &self.storages {
            let name = names.entry(storage.device);
            let name = name.or_insert_with(|| Rc::from(format!("storage {}", storage.device)));
            self.nodes.push(NativeNode {
                address: storage.address,
                bytes: length(storage.address).saturating_add(storage.own_bytes()),
                name: name.clone(),
            });
            let owner = (storage.owner != 0).then_some((storage.address, storage.owner));
            self.edges.extend(owner);
        }
        let leads = |object: u64, role: Role| {
            let words = source.words(object.checked_add(FIELDS)?, FEW);
            let mut words = words.unwrap_or_default().into_iter();
            words.find(|word| classes.role(*word) == Some(role))
        };
        for object in &sorted.storages {
            let Some(storage) = leads(*object, Role::Storage) else {
                continue;
            };
            self.edges.push((*object, storage));
            let is_kept = storage::keeps_object(source, storage, *object, layout);
            self.edges.extend(is_kept.then_some((storage, *object)));
        }
        let steps: Vec<(u64, u64)> = (sorted.steps.iter())
            .filter_map(|object| Some((*object, leads(*object, Role::Step)?)))
            .collect();
        self.edges.extend(&steps);
        let writable = stretches(mappings);
        let follower = autograd::Follower {
            heap,
            classes,
            layout,
            kinds: RefCell::default(),
            data: self.storages.iter().map(|one| (one.data, ())).collect(),
            writable: &writable,
        };
        let roots = steps.iter().map(|(_, step)| *step);
        let graph = follower.follow(self.tensors.iter(), roots);
        self.missed.is_cut |= graph.is_cut;
        self.nodes.extend(graph.steps);
        self.edges.extend(graph.edges);
    }
}

/// Memory that the process writes to.
fn stretches(mappings: &Mappings) -> Vec<Stretch> {
    let private = mappings
        .list
        .iter()
        .filter(|one| one.write && !one.shared && one.inode == 0);
    let stretch = private.map(|one| Stretch {
        start: one.start,
        end: one.end,
        is_heap: mappings.name(one) == "[heap]" || search::may_be_thread_heap(one),
    });
    stretch.collect()
}
