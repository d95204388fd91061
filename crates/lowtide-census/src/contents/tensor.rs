//! One tensor: device, element type, shape, whether gradients are asked for, which storage. Read from its object of C++,
//! so it does not matter whether Python has one, too.

use super::calibrate::{self, COUNT_BEHIND, Layout, OFFSET_BEHIND, OWNED, TYPE_BEHIND};
use super::cpp::{Classes, Role};
use super::dtype::Device;
use crate::source::{Source, is_pointer};

/// The fields of a tensor, from its beginning on.
const READ: usize = 256;
/// How many hold it: the lower half of a word.
const HOLDERS: u64 = 8;

/// Rows of different lengths: what stands where sizes are is none of its.
const NESTED: &str = "NestedTensorImpl";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    /// Of its object of C++.
    pub address: u64,
    /// Of its Python object; 0 if it has none.
    pub object: u64,
    pub device: Device,
    /// The number of its element type.
    pub element: u16,
    /// None where its class keeps sizes otherwise (nested, symbolic).
    pub shape: Option<Box<[u64]>>,
    /// Where in its storage it begins, in elements.
    pub offset: u64,
    pub requires_grad: bool,
    /// The step of autograd's graph that made it; 0 for a leaf.
    pub step: u64,
    /// What autograd knows of it; 0 if nothing.
    pub meta: u64,
    /// 0 if it has none: those of sparse tensors are in other tensors.
    pub storage: u64,
    /// C++ keeps its Python object alive, too.
    pub owns_object: bool,
    /// The table of its class.
    pub table: u64,
}

/// Reads tensors of one process.
pub(super) struct Reader<'a, S> {
    pub source: &'a S,
    pub classes: &'a Classes<'a, S>,
    pub layout: Layout,
}

impl<S: Source> Reader<'_, S> {
    /// The tensor of C++ that belongs to a Python object, which it has to point back to.
    pub(super) fn of_object(&self, object: u64) -> Option<Tensor> {
        let address = self
            .source
            .pointer(object.checked_add(self.layout.tensor)?)?;
        self.read(address).filter(|tensor| tensor.object == object)
    }

    pub(super) fn read(&self, address: u64) -> Option<Tensor> {
        let layout = &self.layout;
        let mut bytes = [0; READ];
        let bytes = bytes.get_mut(..(layout.sizes + TYPE_BEHIND + 8) as usize)?;
        if !self.source.fill(address, bytes) {
            return None;
        }
        let word = |at: u64| {
            let bytes = bytes.get(at as usize..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let table = word(0)?;
        let holders = word(HOLDERS)? as u32;
        let class = self.classes.at(table)?;
        if class.role != Role::Tensor || holders == 0 {
            return None;
        }
        let sizes = calibrate::sizes(self.source, address, layout.sizes, word(layout.sizes)?);
        let count = word(layout.sizes + COUNT_BEHIND)?;
        let last = word(layout.sizes + TYPE_BEHIND)?.to_le_bytes();
        let pointer = |at: u64| word(at).filter(|word| is_pointer(*word)).unwrap_or(0);
        let meta = pointer(layout.meta.place);
        let (requires_grad, step) = self.graph(meta);
        let object = word(layout.object)?;
        Some(Tensor {
            address,
            object: Some(object & !OWNED)
                .filter(|at| is_pointer(*at))
                .unwrap_or(0),
            device: calibrate::device(&last[2..])?,
            element: u16::from_le_bytes([last[0], last[1]]),
            shape: sizes
                .filter(|sizes| &*class.name != NESTED && calibrate::product(sizes) == Some(count))
                .map(Vec::into_boxed_slice),
            offset: word(layout.sizes + OFFSET_BEHIND)?,
            requires_grad,
            step,
            meta,
            storage: Some(pointer(layout.storage))
                .filter(|at| self.classes.role(*at) == Some(Role::Storage))
                .unwrap_or(0),
            owns_object: match layout.is_flagged() {
                true => object & OWNED == OWNED,
                false => holders > 1,
            },
            table,
        })
    }

    /// Whether gradients are asked for, and the step that it comes from.
    fn graph(&self, meta: u64) -> (bool, u64) {
        let role = match meta {
            0 => None,
            meta => self.classes.role(meta),
        };
        if !matches!(role, Some(Role::Meta | Role::ViewMeta)) {
            return (false, 0);
        }
        let step = meta
            .checked_add(self.layout.meta.step)
            .and_then(|at| self.source.pointer(at));
        let step = step.filter(|at| self.classes.role(*at) == Some(Role::Step));
        let asked = || {
            let [flag] = self
                .source
                .array(meta.checked_add(self.layout.meta.flags?)?)?;
            Some(flag == 1)
        };
        (
            step.is_some() || asked().unwrap_or(false),
            step.unwrap_or(0),
        )
    }
}
