//! What lies behind objects of C: the storage of a tensor, the buffer of an array, the pixels of an image. A Python object
//! of 80 bytes may keep a gigabyte, and some tensors have no Python object at all: autograd's graph holds them.
//!
//! `graph::walk` hands over objects; each kind has its file here. What is found are values by address, names to group them
//! by, and, for what is no Python object, nodes and edges that the graph takes in. What cannot be told is counted.

mod array;
mod autograd;
mod buffer;
mod calibrate;
mod cpp;
mod dtype;
mod dump;
mod groups;
mod image;
mod kinds;
mod malloc;
mod native;
mod search;
mod storage;
mod tensor;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use lowtide_sys::memory::{Mappings, Memory};

pub(crate) use array::Array;
pub(crate) use autograd::NativeNode;
pub(crate) use buffer::Buffer;
pub(crate) use cpp::{Classes, Role};
pub(crate) use dtype::Device;
pub use dump::dump;
pub(crate) use groups::Group;
pub(crate) use image::Image;
pub(crate) use storage::{Place, Storage};
pub(crate) use tensor::Tensor;

use self::calibrate::Layout;
use self::kinds::{Behind, Kinds};
use self::search::Wanted;
use crate::object::{Class, Heap};
use crate::source::{ByAddress, Source};

/// In a `torch.dtype`: its number, then its name.
const TYPE_NUMBER: u64 = 16;
const TYPE_LENGTH: usize = 65;

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// By the address of their object of C++.
    pub tensors: Vec<Tensor>,
    /// By address.
    pub storages: Vec<Storage>,
    pub arrays: Vec<Array>,
    pub images: Vec<Image>,
    /// Of `bytearray`, `array.array` (in which `sys.getsizeof` counts them, too), `mmap.mmap` and Arrow.
    pub buffers: Vec<Buffer>,
    /// Tensors, storages and steps of autograd's graph: what the graph of objects does not have.
    pub nodes: Vec<NativeNode>,
    /// From whom to whom, by address: between those, and to and from Python objects.
    pub edges: Vec<(u64, u64)>,
    pub missed: Missed,
    /// Where this torch has what; none if there is no tensor, or none that could be made sense of.
    pub layout: Option<Layout>,
    names: dtype::Names,
    by_object: ByAddress<Content>,
}

/// What is behind an object, by its place in the list of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Tensor(u32),
    Array(u32),
    Image(u32),
    Buffer(u32),
}

/// What could not be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missed {
    pub tensors: u64,
    pub storages: u64,
    pub arrays: u64,
    pub images: u64,
    pub buffers: u64,
    /// Bytes of heaps that were searched for tensors that only C++ holds; and that time was too short for all.
    pub searched: u64,
    pub is_cut: bool,
}

/// Objects by what may be behind them.
#[derive(Default)]
struct Sorted {
    tensors: Vec<u64>,
    storages: Vec<u64>,
    steps: Vec<u64>,
    arrays: Vec<u64>,
    images: Vec<u64>,
    buffers: Vec<(u64, Behind)>,
}

impl Contents {
    /// `objects` are all Python objects, with their types.
    pub(crate) fn read<'c, S: Source, M: Memory>(
        heap: &Heap<'_, S>,
        memory: &M,
        mappings: &Mappings,
        objects: impl Iterator<Item = (u64, &'c Class)>,
    ) -> Contents {
        let mut contents = Contents::default();
        let sorted = contents.sort(heap, objects);
        let classes = Classes::new(heap.source);
        contents.torch(heap, &classes, memory, mappings, &sorted);
        for object in &sorted.arrays {
            match array::read(heap, *object) {
                Some(array) => contents.arrays.push(array),
                None => contents.missed.arrays += 1,
            }
        }
        for object in &sorted.images {
            match image::read(heap, *object) {
                Some(image) => contents.images.push(image),
                None => contents.missed.images += 1,
            }
        }
        for (object, behind) in &sorted.buffers {
            match buffer::read(heap, &classes, *object, *behind) {
                Some(buffer) => contents.buffers.push(buffer),
                None => contents.missed.buffers += 1,
            }
        }
        contents.once();
        contents.index();
        contents
    }

    fn sort<'c, S: Source>(
        &mut self,
        heap: &Heap<'_, S>,
        objects: impl Iterator<Item = (u64, &'c Class)>,
    ) -> Sorted {
        let (mut sorted, mut kinds) = (Sorted::default(), Kinds::default());
        for (object, class) in objects {
            match kinds.of(heap, class) {
                Behind::Nothing => {}
                Behind::Tensor => sorted.tensors.push(object),
                Behind::Storage => sorted.storages.push(object),
                Behind::Step | Behind::PythonStep => sorted.steps.push(object),
                Behind::Array => sorted.arrays.push(object),
                Behind::Image => sorted.images.push(object),
                Behind::ElementType => {
                    let told = heap.source.array::<TYPE_LENGTH>(object + TYPE_NUMBER);
                    self.names.hear(&told.unwrap_or([0; TYPE_LENGTH]));
                }
                behind => sorted.buffers.push((object, behind)),
            }
        }
        sorted
    }

    fn torch<S: Source, M: Memory>(
        &mut self,
        heap: &Heap<'_, S>,
        classes: &Classes<'_, S>,
        memory: &M,
        mappings: &Mappings,
        sorted: &Sorted,
    ) {
        self.missed.tensors = sorted.tensors.len() as u64;
        let Some(layout) = Layout::find(classes, heap.source, &sorted.tensors) else {
            return;
        };
        self.layout = Some(layout);
        let reader = tensor::Reader {
            source: heap.source,
            classes,
            layout,
        };
        let mut known = ByAddress::default();
        for object in &sorted.tensors {
            if let Some(tensor) = reader.of_object(*object)
                && known.insert(tensor.address, ()).is_none()
            {
                self.missed.tensors -= 1;
                self.tensors.push(tensor);
            }
        }
        let found = self.search(classes, memory, mappings);
        self.missed.searched = found.searched;
        self.missed.is_cut = found.is_cut;
        let of_tensors = self.tensors.iter().map(|tensor| tensor.storage);
        let mut storages: Vec<u64> = of_tensors.collect();
        for address in found.found {
            if known.contains_key(&address) {
                continue;
            }
            match classes.role(address) {
                Some(Role::Storage) => storages.push(address),
                Some(Role::Tensor) => {
                    // Heaps hold what was freed, too: it has no shape that fits, and nobody holds it.
                    let tensor = reader.read(address).filter(|tensor| tensor.shape.is_some());
                    if let Some(tensor) = tensor {
                        known.insert(address, ());
                        storages.push(tensor.storage);
                        self.tensors.push(tensor);
                    }
                }
                _ => {}
            }
        }
        self.tensors.sort_unstable_by_key(|tensor| tensor.address);
        storages.sort_unstable();
        storages.dedup();
        let reader = storage::Reader {
            heap,
            classes,
            mappings,
            layout,
        };
        for address in storages.into_iter().filter(|at| *at != 0) {
            match reader.read(address) {
                Some(storage) => self.storages.push(storage),
                None => self.missed.storages += 1,
            }
        }
        self.graph(heap, classes, mappings, sorted, layout);
    }

    /// Heaps are searched for tensors and storages.
    fn search<S: Source, M: Memory>(
        &self,
        classes: &Classes<'_, S>,
        memory: &M,
        mappings: &Mappings,
    ) -> search::Search {
        let mut tables: BTreeSet<u64> = self.tensors.iter().map(|tensor| tensor.table).collect();
        // One each of the others, which may be of other libraries.
        let of = |at: u64| classes.table(at);
        tables.extend(self.tensors.iter().find_map(|tensor| of(tensor.storage)));
        tables.extend(self.tensors.iter().find_map(|tensor| of(tensor.meta)));
        let stretches: BTreeSet<(u64, u64)> = (tables.iter())
            .filter_map(|table| storage::mapping(mappings, *table))
            .map(|mapping| (mapping.start, mapping.end))
            .collect();
        let stretches: Vec<(u64, u64)> = stretches.into_iter().collect();
        let is = |table: u64| {
            let class = classes.at(table);
            class.is_some_and(|class| matches!(class.role, Role::Tensor | Role::Storage))
        };
        let wanted = Wanted {
            tables: &stretches,
            is: &is,
        };
        let known: Vec<u64> = self.tensors.iter().map(|tensor| tensor.address).collect();
        search::search(memory, mappings, &wanted, &known)
    }

    /// Memory that an array owns and a tensor uses is the array's.
    fn once(&mut self) {
        let owned = self.arrays.iter().filter(|array| array.own_bytes() > 0);
        let owned: ByAddress<u64> = owned.map(|array| (array.data, array.object)).collect();
        for storage in &mut self.storages {
            if storage.place == Place::Own
                && let Some(array) = owned.get(&storage.data)
            {
                storage.place = Place::Object;
                storage.owner = *array;
            }
        }
    }

    fn index(&mut self) {
        let mut add = |object: u64, content: Content| {
            if object != 0 {
                self.by_object.insert(object, content);
            }
        };
        for (nth, tensor) in self.tensors.iter().enumerate() {
            add(tensor.object, Content::Tensor(nth as u32));
        }
        for (nth, array) in self.arrays.iter().enumerate() {
            add(array.object, Content::Array(nth as u32));
        }
        for (nth, image) in self.images.iter().enumerate() {
            add(image.object, Content::Image(nth as u32));
        }
        for (nth, buffer) in self.buffers.iter().enumerate() {
            add(buffer.object, Content::Buffer(nth as u32));
        }
    }

    /// The Python objects that something is behind.
    pub(crate) fn objects(&self) -> impl Iterator<Item = u64> {
        self.by_object.keys().copied()
    }

    /// What is behind a Python object.
    pub(crate) fn of(&self, object: u64) -> Option<Content> {
        self.by_object.get(&object).copied()
    }

    /// Bytes behind a Python object that `sys.getsizeof` does not count and that no node of its own stands for: those
    /// of tensors have one, their storage.
    pub(crate) fn bytes_behind(&self, object: u64) -> u64 {
        match self.of(object) {
            Some(Content::Array(nth)) => self.arrays[nth as usize].own_bytes(),
            Some(Content::Image(nth)) => self.images[nth as usize].own_bytes(),
            _ => 0,
        }
    }
}
