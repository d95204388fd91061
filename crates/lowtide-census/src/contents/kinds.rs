//! Which objects have something behind them, by their class. Asked once a class, not once an object.

use std::collections::HashMap;

use crate::object::{Class, Heap};
use crate::source::Source;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Behind {
    Tensor,
    /// A storage as Python has it.
    Storage,
    ElementType,
    /// A step of autograd's graph as Python has it, made by C++ or in Python.
    Step,
    PythonStep,
    Array,
    Image,
    Bytearray,
    /// `array.array`.
    Numbers,
    Mapped,
    ArrowBuffer,
    Nothing,
}

impl Behind {
    pub(super) fn is_step(self) -> bool {
        matches!(self, Behind::Step | Behind::PythonStep)
    }
}

#[derive(Default)]
pub(super) struct Kinds {
    known: HashMap<u64, Behind>,
}

impl Kinds {
    pub(super) fn of<S: Source>(&mut self, heap: &Heap<'_, S>, class: &Class) -> Behind {
        let known = self.known.entry(class.address);
        *known.or_insert_with(|| {
            let bases = heap.bases(class);
            let mut found = bases.iter().map(|base| behind(heap, base));
            found
                .find(|one| *one != Behind::Nothing)
                .unwrap_or(Behind::Nothing)
        })
    }
}

fn behind<S: Source>(heap: &Heap<'_, S>, class: &Class) -> Behind {
    match class.name.as_str() {
        "torch._C.TensorBase" | "torch._C._TensorBase" => Behind::Tensor,
        "torch._C.StorageBase" => Behind::Storage,
        "torch.dtype" => Behind::ElementType,
        "torch._C._FunctionBase" => Behind::PythonStep,
        "numpy.ndarray" => Behind::Array,
        "bytearray" => Behind::Bytearray,
        "array.array" => Behind::Numbers,
        "mmap.mmap" => Behind::Mapped,
        "pyarrow.lib.Buffer" => Behind::ArrowBuffer,
        "Image" if heap.module(class).as_deref() == Some("PIL.Image") => Behind::Image,
        // C++ makes these types, one for each step, and gives them nothing but the step's name.
        name if !class.is_heap() && is_step(name) => Behind::Step,
        _ => Behind::Nothing,
    }
}

/// `AddBackward0`, `torch::autograd::CopySlices`, `AccumulateGrad`.
fn is_step(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    let without_number = last.trim_end_matches(|c: char| c.is_ascii_digit());
    without_number.ends_with("Backward")
        || name.starts_with("torch::autograd::")
        || matches!(
            last,
            "AccumulateGrad" | "CopySlices" | "GraphRoot" | "NotImplemented"
        )
}
