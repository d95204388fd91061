//! Contents by what people call them: `Tensor cpu float32 [3, 1344, 1344]`, `ndarray float64 [100, 20]`, `Image RGB 640x480
//! not decoded`. Storages that several tensors share count in one group, that of the tensor which has most of it.

use std::collections::BTreeMap;

use super::{Content, Contents, Tensor};
use crate::source::ByAddress;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub name: String,
    pub count: u64,
    /// What they add to this process's memory.
    pub bytes: u64,
    /// What they have elsewhere: on a device, in a file, or, of images that are not decoded, still to come.
    pub elsewhere: u64,
    /// Of tensors: gradients are asked for; a step of a graph hangs on them; no Python object has them.
    pub requires_grad: u64,
    pub in_graph: u64,
    pub only_in_cpp: u64,
}

impl Contents {
    /// Largest first.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        let mut of = |name: String, bytes: u64, elsewhere: u64, tensor: Option<&Tensor>| {
            let group = groups.entry(name).or_default();
            group.count += 1;
            group.bytes += bytes;
            group.elsewhere += elsewhere;
            if let Some(tensor) = tensor {
                group.requires_grad += u64::from(tensor.requires_grad);
                group.in_graph += u64::from(tensor.step != 0);
                group.only_in_cpp += u64::from(tensor.object == 0);
            }
        };
        let stored = self.stored();
        for tensor in &self.tensors {
            let (bytes, elsewhere) = stored.get(&tensor.address).copied().unwrap_or((0, 0));
            of(self.tensor_name(tensor), bytes, elsewhere, Some(tensor));
        }
        for array in &self.arrays {
            let name = format!("ndarray {} {}", array.element, shape(&array.shape));
            of(name, array.own_bytes(), 0, None);
        }
        for image in &self.images {
            let own = image.own_bytes();
            of(image_name(image), own, image.pixels - own, None);
        }
        let named = groups
            .into_iter()
            .map(|(name, group)| Group { name, ..group });
        let mut named: Vec<Group> = named.collect();
        named.sort_by(|one, other| {
            other
                .bytes
                .cmp(&one.bytes)
                .then_with(|| one.name.cmp(&other.name))
        });
        named
    }

    /// The name that an object is grouped by, if something is behind it.
    pub(crate) fn name(&self, object: u64) -> Option<String> {
        Some(match self.of(object)? {
            Content::Tensor(nth) => self.tensor_name(&self.tensors[nth as usize]),
            Content::Array(nth) => {
                let array = &self.arrays[nth as usize];
                format!("ndarray {} {}", array.element, shape(&array.shape))
            }
            Content::Image(nth) => image_name(&self.images[nth as usize]),
            Content::Buffer(_) => return None,
        })
    }

    pub(crate) fn tensor_name(&self, tensor: &Tensor) -> String {
        let shape = tensor
            .shape
            .as_ref()
            .map_or_else(|| "[?]".to_owned(), |sizes| shape(sizes));
        format!(
            "Tensor {} {} {shape}",
            tensor.device,
            self.names.of(tensor.element)
        )
    }

    /// By tensor: the bytes of its storage, here and elsewhere, if it is the one of all that share it which counts them.
    fn stored(&self) -> ByAddress<(u64, u64)> {
        let mut counts: ByAddress<(&Tensor, u64)> = ByAddress::default();
        for tensor in self.tensors.iter().filter(|tensor| tensor.storage != 0) {
            let elements = tensor
                .shape
                .as_ref()
                .and_then(|sizes| super::calibrate::product(sizes));
            let elements = elements.unwrap_or(0);
            let most = counts.entry(tensor.storage).or_insert((tensor, elements));
            // Of equals the one that people can name.
            if (elements, tensor.object != 0) > (most.1, most.0.object != 0) {
                *most = (tensor, elements);
            }
        }
        let of = self.storages.iter().filter_map(|storage| {
            let own = storage.own_bytes();
            // What an array owns is here, and counted there.
            let elsewhere = match storage.place {
                super::Place::Object => 0,
                _ => storage.bytes - own,
            };
            let (tensor, _) = counts.get(&storage.address)?;
            Some((tensor.address, (own, elsewhere)))
        });
        of.collect()
    }
}

fn image_name(image: &super::Image) -> String {
    let state = if image.is_decoded {
        "decoded"
    } else {
        "not decoded"
    };
    format!(
        "Image {} {}x{} {state}",
        image.mode, image.width, image.height
    )
}

/// As Python writes a list.
fn shape(sizes: &[u64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("[{}]", sizes.join(", "))
}
