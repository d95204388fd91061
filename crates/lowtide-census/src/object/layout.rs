//! Where each version of CPython has what, in bytes from an object's address. Checked against 3.9 to 3.15 on
//! x86-64; nothing of it holds a structure of the machine's own size, so aarch64 is the same.

/// The type of every object.
pub(crate) const TYPE: u64 = 8;
/// The number of items of a tuple or list, the sign and length of a number before 3.12, the length of a text.
pub(crate) const SIZE: u64 = 16;

/// In a type.
pub(crate) const TYPE_NAME: u64 = 24;
pub(super) const TYPE_BASIC_SIZE: usize = 32;
pub(super) const TYPE_ITEM_SIZE: usize = 40;
pub(super) const TYPE_FLAGS: usize = 168;
pub(super) const TYPE_WEAK_LIST: usize = 208;
pub(super) const TYPE_NEXT: usize = 224;
pub(super) const TYPE_DICT: usize = 264;
pub(super) const TYPE_DICT_OFFSET: usize = 288;
pub(super) const TYPE_ORDER: usize = 344;
/// All of the above.
pub(super) const TYPE_READ: usize = 352;

/// Flags of a type.
pub(crate) mod flag {
    /// Attributes stand right behind the object.
    pub(crate) const INLINE_VALUES: u64 = 1 << 2;
    /// The list of its weak references is reached by a word before the object.
    pub(crate) const MANAGED_WEAK_LIST: u64 = 1 << 3;
    /// Attributes are reached by words before the object.
    pub(crate) const MANAGED_DICT: u64 = 1 << 4;
    pub(crate) const HEAP: u64 = 1 << 9;
    /// Its objects are known to the collector, and have its links before them.
    pub(crate) const COLLECTED: u64 = 1 << 14;
    pub(crate) const READY: u64 = 1 << 12;
    pub(crate) const INT: u64 = 1 << 24;
    pub(crate) const LIST: u64 = 1 << 25;
    pub(crate) const TUPLE: u64 = 1 << 26;
    pub(crate) const TEXT: u64 = 1 << 28;
    pub(crate) const DICT: u64 = 1 << 29;
    pub(crate) const TYPE: u64 = 1 << 31;
}

/// How attributes of plain objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// A dictionary at the type's `tp_dictoffset`.
    Dict,
    /// Values or a dictionary, one word each before the object (3.11).
    TwoWords,
    /// One word for either (3.12).
    Tagged,
    /// A dictionary before the object, or values behind it (from 3.13 on).
    Inline,
}

/// The places that differ between versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub minor: u32,
    pub kept: Kept,
    /// The names of attributes that a class's objects share.
    pub shared_keys: u64,
    /// Where the first value stands in a table of values.
    pub first_value: u64,
    /// Where the letters of a plain text begin.
    pub letters: u64,
    /// Where the first item of a tuple stands.
    pub items: u64,
}

impl Layout {
    pub(crate) fn of(minor: u32) -> Layout {
        Layout {
            minor,
            kept: match minor {
                ..=10 => Kept::Dict,
                11 => Kept::TwoWords,
                12 => Kept::Tagged,
                13.. => Kept::Inline,
            },
            shared_keys: match minor {
                ..=9 => 864,
                10 | 11 => 872,
                12..=14 => 880,
                15.. => 888,
            },
            first_value: if minor <= 12 { 0 } else { 8 },
            letters: if minor <= 11 { 48 } else { 40 },
            // Tuples remember their hash.
            items: if minor <= 13 { 24 } else { 32 },
        }
    }
}
