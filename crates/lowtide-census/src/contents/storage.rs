//! The memory behind tensors. Several tensors may have one storage; it counts once. What lies on a device, in a mapped
//! file or in memory that a Python object owns is told apart: those bytes are not (or not again) this process's.

use lowtide_sys::memory::{Mapping, Mappings};

use super::calibrate::{Layout, OWNED};
use super::cpp::{Classes, Role};
use super::dtype::Device;
use crate::object::Heap;
use crate::source::{Source, is_pointer};

/// In a storage: how many hold it, its data, what frees that, and with which argument.
const HOLDERS: u64 = 8;
const DATA: u64 = 16;
const FREED_BY: u64 = 24;
const FREED_WITH: u64 = 32;
const READ: usize = 96;
/// An argument that is a function with what it has caught: the data, then the function.
const CAUGHT: usize = 4;
/// More than this no storage has.
const MOST: u64 = 1 << 47;

/// Where the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// This process's own memory.
    Own,
    /// Memory that processes share.
    Shared,
    /// A mapped file: pages of it can be dropped and read again.
    File,
    /// Memory that a device reads, too: pages of it cannot be moved or swapped.
    Pinned,
    /// A Python object's own, which counts them.
    Object,
    /// Not this machine's memory, or none at all.
    Elsewhere,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Storage {
    pub address: u64,
    pub device: Device,
    pub data: u64,
    pub bytes: u64,
    pub place: Place,
    /// The Python object that owns the data; 0 if none does.
    pub owner: u64,
}

impl Storage {
    /// What it adds to this process's memory.
    pub(crate) fn own_bytes(&self) -> u64 {
        match self.place {
            Place::Own | Place::Shared | Place::Pinned => self.bytes,
            Place::File | Place::Object | Place::Elsewhere => 0,
        }
    }
}

pub(super) struct Reader<'a, 'h, S> {
    pub heap: &'a Heap<'h, S>,
    pub classes: &'a Classes<'a, S>,
    pub mappings: &'a Mappings,
    pub layout: Layout,
}

impl<S: Source> Reader<'_, '_, S> {
    pub(super) fn read(&self, address: u64) -> Option<Storage> {
        let mut bytes = [0; READ];
        let bytes = bytes.get_mut(..(self.layout.bytes + 8) as usize)?;
        if !self.heap.source.fill(address, bytes) {
            return None;
        }
        let word = |at: u64| {
            let bytes = bytes.get(at as usize..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let device = word(self.layout.bytes - 8)?.to_le_bytes();
        let device = Device {
            kind: device[0] as i8,
            index: device[1] as i8,
        };
        let right = self.classes.at(word(0)?)?.role == Role::Storage && word(HOLDERS)? as u32 > 0;
        let bytes = word(self.layout.bytes)?;
        if !right || !device.is_known() || bytes >= MOST {
            return None;
        }
        let data = word(DATA)?;
        let owner = self.owner(data, word(FREED_WITH)?);
        let place = match data {
            0 => Place::Elsewhere,
            _ if !device.is_cpu() => Place::Elsewhere,
            _ if owner != 0 => Place::Object,
            data => self.place(data, word(FREED_BY)?),
        };
        Some(Storage {
            address,
            device,
            data,
            bytes,
            place,
            owner,
        })
    }

    /// A Python object that is let go when the storage is: what frees the data has it, itself or caught in a function.
    fn owner(&self, data: u64, freed_with: u64) -> u64 {
        if !is_pointer(freed_with) || freed_with == data {
            return 0;
        }
        let is_object = |at: &u64| is_pointer(*at) && self.heap.type_of(*at).is_some();
        if is_object(&freed_with) {
            return freed_with;
        }
        let Some(caught) = self.heap.source.words(freed_with, CAUGHT) else {
            return 0;
        };
        match caught[0] == data {
            true => caught[1..].iter().copied().find(is_object).unwrap_or(0),
            false => 0,
        }
    }

    fn place(&self, data: u64, freed_by: u64) -> Place {
        let by = mapping(self.mappings, freed_by).map(|by| file_name(self.mappings.name(by)));
        // Memory of the processor that a device's library frees is pinned for it.
        let device = by.is_some_and(|by| ["cuda", "hip", "xpu"].iter().any(|one| by.contains(one)));
        match mapping(self.mappings, data) {
            _ if device => Place::Pinned,
            Some(mapping) if mapping.shared && is_shared_memory(self.mappings.name(mapping)) => {
                Place::Shared
            }
            Some(mapping) if mapping.inode != 0 => Place::File,
            _ => Place::Own,
        }
    }
}

/// Whether a storage keeps its Python object alive, as whoever once asked a tensor for its storage leaves it behind: with
/// nobody in Python who has it, that object would look as if C held it, and with it the bytes of the tensor.
pub(super) fn keeps_object(
    source: &impl Source,
    storage: u64,
    object: u64,
    layout: Layout,
) -> bool {
    let Some(words) = source.words(storage, READ / 8) else {
        return false;
    };
    let back = words.iter().find(|word| **word & !OWNED == object);
    let holders = words[(HOLDERS / 8) as usize] as u32;
    back.is_some_and(|back| match layout.is_flagged() {
        true => back & OWNED == OWNED,
        false => holders > 1,
    })
}

/// The mapping that an address lies in.
pub(super) fn mapping(mappings: &Mappings, address: u64) -> Option<&Mapping> {
    let above = mappings.list.partition_point(|one| one.start <= address);
    let found = mappings.list[..above].last()?;
    (address < found.end).then_some(found)
}

/// Files without a disk behind them: `shm_open`, `memfd_create`, `mmap` without a file.
fn is_shared_memory(name: &str) -> bool {
    let places = ["/dev/shm/", "/memfd:", "/dev/zero", "/SYSV"];
    places.iter().any(|place| name.starts_with(place))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
