//! Where this torch keeps what. No table by version: releases have moved fields (the Python object by a word in 2026,
//! the graph's pointers by two), and builds may differ. Objects of C++ say their class ([`super::cpp`]), a tensor
//! points back to its Python object, its number of elements is the product of its sizes, its storage holds at
//! least what it spans: what agrees over many tensors is where it is.

mod meta;

pub(super) use self::meta::Meta;
use super::cpp::{Classes, Role};
use super::dtype::{self, Device};
use crate::source::{Source, is_pointer};

/// Tensors that are asked, evenly taken from all.
const ASKED: usize = 256;
/// Of those that can be read, so many in a hundred must agree: the rest are torn, or have a class of their own (sparse,
/// nested, symbolic) that uses the fields otherwise.
const AGREE: usize = 60;
/// Words of a Python object, of a tensor and of a storage, as far as we look for fields.
const OBJECT: std::ops::Range<u64> = 2..8;
const TENSOR: usize = 28;
const STORAGE: usize = 8;
/// Behind the sizes (a count, five sizes and five strides): where in the storage it begins, how many elements it has,
/// of which type, on which device.
pub(super) const OFFSET_BEHIND: u64 = 88;
pub(super) const COUNT_BEHIND: u64 = 96;
pub(super) const TYPE_BEHIND: u64 = 104;
/// As many sizes stand in the tensor itself; more in a table.
pub(super) const INLINE: u64 = 5;
/// More dimensions than this no tensor has (`at::kDimVectorStaticSize` is 5, numpy's limit 64).
pub(super) const MOST_DIMENSIONS: u64 = 64;
/// A pointer to a Python object that C++ owns has its lowest bit set, up to 2.9.
pub(super) const OWNED: u64 = 1;

/// In bytes from the beginning of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// In a Python tensor: its tensor of C++.
    pub tensor: u64,
    /// In a tensor of C++: its Python object, its sizes, its storage.
    pub object: u64,
    pub sizes: u64,
    pub storage: u64,
    /// In a storage: its bytes. The device stands before it.
    pub bytes: u64,
    /// What autograd knows of it.
    pub meta: Meta,
}

/// One tensor, read wider than it is.
struct Asked {
    object: u64,
    at: u64,
    tensor: u64,
    words: Vec<u64>,
}

/// Where a Python object's own fields begin.
const FIRST_FIELD: u64 = 16;

impl Layout {
    /// Up to 2.9 a Python tensor has a word more, and a flag says that C++ keeps it; since then whoever holds a tensor
    /// of C++ beside Python keeps both.
    pub(super) fn is_flagged(&self) -> bool {
        self.tensor > FIRST_FIELD
    }

    /// None if too few agree: then no tensor is told at all.
    pub(super) fn find<S: Source>(
        classes: &Classes<'_, S>,
        source: &S,
        objects: &[u64],
    ) -> Option<Layout> {
        let step = objects.len().div_ceil(ASKED).max(1);
        let asked: Vec<Asked> = (objects.iter().step_by(step))
            .filter_map(|object| Asked::read(classes, source, *object))
            .collect();
        let tensor = agreed(&asked, |one| vec![one.at])?;
        let object = agreed(&asked, Asked::points_back)?;
        let sizes = agreed(&asked, |one| one.sizes(source, object))?;
        let leads = |at: u64| classes.role(at) == Some(Role::Storage);
        // Not all have one: sparse tensors have none.
        let (storage, _) = most(&asked, |one| one.fields(object, leads))?;
        let stored: Vec<(&Asked, Vec<u64>)> = (asked.iter())
            .filter_map(|one| Some((one, source.words(one.pointer(storage)?, STORAGE)?)))
            .collect();
        let bytes = agreed(&stored, |(one, words)| one.bytes(words, sizes))?;
        Some(Layout {
            tensor,
            object,
            sizes,
            storage,
            bytes,
            meta: Meta::find(classes, source, meta::Place { tensor, storage }, objects),
        })
    }
}

impl Asked {
    fn read<S: Source>(classes: &Classes<'_, S>, source: &S, object: u64) -> Option<Asked> {
        let mut fields = OBJECT.map(|nth| nth * 8);
        fields.find_map(|at| {
            let tensor = source.pointer(object.checked_add(at)?)?;
            (classes.role(tensor)? == Role::Tensor).then_some(())?;
            let words = source.words(tensor, TENSOR)?;
            Some(Asked {
                object,
                at,
                tensor,
                words,
            })
        })
    }

    fn word(&self, at: u64) -> u64 {
        self.words
            .get((at / 8) as usize)
            .copied()
            .unwrap_or(u64::MAX)
    }

    fn pointer(&self, at: u64) -> Option<u64> {
        Some(self.word(at)).filter(|word| is_pointer(*word))
    }

    fn points_back(&self) -> Vec<u64> {
        let back = |at: &u64| self.word(*at) & !OWNED == self.object;
        (16..TENSOR as u64 * 8).step_by(8).filter(back).collect()
    }

    /// Fields before the Python object that lead to something.
    fn fields(&self, before: u64, is: impl Fn(u64) -> bool) -> Vec<u64> {
        let leads = |at: &u64| self.pointer(*at).is_some_and(&is);
        (16..before).step_by(8).filter(leads).collect()
    }

    fn sizes<S: Source>(&self, source: &S, object: u64) -> Vec<u64> {
        let fits = |at: &u64| {
            let count = self.word(*at);
            let Some(sizes) = sizes(source, self.tensor, *at, count) else {
                return false;
            };
            let last = self.word(at + TYPE_BEHIND).to_le_bytes();
            let device = device(&last[2..]);
            let number = u16::from_le_bytes([last[0], last[1]]);
            product(&sizes) == Some(self.word(at + COUNT_BEHIND))
                && dtype::is_type(number)
                && device.is_some()
        };
        (object + 8..=object + 32).step_by(8).filter(fits).collect()
    }

    /// Fields of its storage that could be its bytes.
    fn bytes(&self, words: &[u64], sizes: u64) -> Vec<u64> {
        let last = self.word(sizes + TYPE_BEHIND).to_le_bytes();
        let element = dtype::element(u16::from_le_bytes([last[0], last[1]])).unwrap_or(1);
        let (count, offset) = (
            self.word(sizes + COUNT_BEHIND),
            self.word(sizes + OFFSET_BEHIND),
        );
        // Repeated elements span less than they count.
        let dense =
            (0..self.word(sizes).min(INLINE)).all(|nth| self.word(sizes + 48 + nth * 8) > 0);
        let least = match dense && count > 0 {
            true => count.saturating_add(offset).saturating_mul(element),
            false => 0,
        };
        let fits = |at: &u64| {
            let (bytes, device) = (
                words[(at / 8) as usize],
                words[(at / 8) as usize - 1].to_le_bytes(),
            );
            bytes < 1 << 47 && bytes >= least && device[..2] == last[2..4]
        };
        (40..STORAGE as u64 * 8).step_by(8).filter(fits).collect()
    }
}

/// A device as an optional one stands in a tensor: its kind, its index, and that there is one.
pub(super) fn device(bytes: &[u8]) -> Option<Device> {
    let [kind, index, is, ..] = *bytes else {
        return None;
    };
    let device = Device {
        kind: kind as i8,
        index: index as i8,
    };
    (is == 1 && device.is_known()).then_some(device)
}

/// The sizes of a tensor: in itself, or in a table if there are more than five.
pub(super) fn sizes<S: Source>(source: &S, tensor: u64, at: u64, count: u64) -> Option<Vec<u64>> {
    let first = tensor.checked_add(at + 8)?;
    match count {
        0..=INLINE => source.words(first, count as usize),
        6..=MOST_DIMENSIONS => source.words(source.pointer(first)?, count as usize),
        _ => None,
    }
}

/// None where it is beyond what can be counted, as that of torn sizes is.
pub(super) fn product(sizes: &[u64]) -> Option<u64> {
    let sizes = sizes.iter();
    sizes.copied().try_fold(1u64, |product, size| {
        (size < 1 << 47).then(|| product.checked_mul(size))?
    })
}

/// The place that most have, and how many.
fn most<T>(asked: &[T], places: impl Fn(&T) -> Vec<u64>) -> Option<(u64, usize)> {
    let mut counts = std::collections::BTreeMap::<u64, usize>::new();
    for place in asked.iter().flat_map(places) {
        *counts.entry(place).or_default() += 1;
    }
    // Of equals the first.
    let best = counts
        .into_iter()
        .max_by_key(|(at, count)| (*count, std::cmp::Reverse(*at)))?;
    Some(best)
}

fn agreed<T>(asked: &[T], places: impl Fn(&T) -> Vec<u64>) -> Option<u64> {
    let (place, count) = most(asked, places)?;
    (count * 100 >= asked.len() * AGREE).then_some(place)
}
