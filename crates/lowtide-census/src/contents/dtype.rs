//! How torch numbers its element types and devices. Numbers were only ever added at the end, so one table serves all
//! versions; and a program that has a newer torch tells the rest itself: each `torch.dtype` carries its number and
//! its name.

use std::collections::BTreeMap;

/// Bytes of an element, and the name; by number (`c10/core/ScalarType.h`, torch 2.6 to 2.15).
const TYPES: [(&str, u64); 47] = [
    ("uint8", 1),
    ("int8", 1),
    ("int16", 2),
    ("int32", 4),
    ("int64", 8),
    ("float16", 2),
    ("float32", 4),
    ("float64", 8),
    ("complex32", 4),
    ("complex64", 8),
    ("complex128", 16),
    ("bool", 1),
    ("qint8", 1),
    ("quint8", 1),
    ("qint32", 4),
    ("bfloat16", 2),
    ("quint4x2", 1),
    ("quint2x4", 1),
    ("bits1x8", 1),
    ("bits2x4", 1),
    ("bits4x2", 1),
    ("bits8", 1),
    ("bits16", 2),
    ("float8_e5m2", 1),
    ("float8_e4m3fn", 1),
    ("float8_e5m2fnuz", 1),
    ("float8_e4m3fnuz", 1),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("uint1", 1),
    ("uint2", 1),
    ("uint3", 1),
    ("uint4", 1),
    ("uint5", 1),
    ("uint6", 1),
    ("uint7", 1),
    ("int1", 1),
    ("int2", 1),
    ("int3", 1),
    ("int4", 1),
    ("int5", 1),
    ("int6", 1),
    ("int7", 1),
    ("float8_e8m0fnu", 1),
    ("float4_e2m1fn_x2", 1),
    ("bcomplex32", 4),
];
/// Numbers are a byte in `torch.dtype`.
const MOST: u16 = 256;

/// As `torch.device` writes them, by number (`c10/core/DeviceType.h`).
const DEVICES: [&str; 21] = [
    "cpu",
    "cuda",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "fpga",
    "maia",
    "xla",
    "vulkan",
    "metal",
    "xpu",
    "mps",
    "meta",
    "hpu",
    "ve",
    "lazy",
    "ipu",
    "mtia",
    "privateuseone",
];
const CPU: i8 = 0;
const META: i8 = 14;

/// Names of element types, with those that the program itself tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    told: BTreeMap<u16, String>,
}

impl Names {
    /// What a `torch.dtype` says of itself, from its number on.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        let Some((number, name)) = bytes.split_first() else {
            return;
        };
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if usize::from(*number) >= TYPES.len() && !name.is_empty() && name.iter().all(plain) {
            let name = String::from_utf8_lossy(name).into_owned();
            self.told.insert(u16::from(*number), name);
        }
    }

    pub(super) fn of(&self, number: u16) -> &str {
        match TYPES.get(usize::from(number)) {
            Some((name, _)) => name,
            None => self.told.get(&number).map_or("?", String::as_str),
        }
    }
}

/// Whether a number could be that of an element type.
pub(super) fn is_type(number: u16) -> bool {
    number < MOST
}

/// Bytes of an element; none for types that are not known here.
pub(super) fn element(number: u16) -> Option<u64> {
    TYPES.get(usize::from(number)).map(|(_, bytes)| *bytes)
}

/// Where a tensor's data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Device {
    pub kind: i8,
    /// Which one; -1 for the one at hand.
    pub index: i8,
}

impl Device {
    pub(super) fn is_known(self) -> bool {
        usize::try_from(self.kind).is_ok_and(|kind| kind < DEVICES.len()) && self.index >= -1
    }

    pub(crate) fn is_cpu(self) -> bool {
        self.kind == CPU
    }

    /// No data at all.
    pub(crate) fn is_meta(self) -> bool {
        self.kind == META
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = usize::try_from(self.kind)
            .ok()
            .and_then(|kind| DEVICES.get(kind));
        out.write_str(name.unwrap_or(&"?"))?;
        // The processor and nothing are one each.
        match self.index {
            index if index >= 0 && !self.is_cpu() && !self.is_meta() => write!(out, ":{index}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_known_here_are_the_programs_own() {
        let mut names = Names::default();
        names.hear(b"\x32float3_new\0\0\0");
        names.hear(b"\x06something\0");
        names.hear(b"\x33\xff\xfe\0");
        names.hear(b"");
        assert_eq!(names.of(6), "float32", "what is known stays");
        assert_eq!(names.of(0x32), "float3_new");
        assert_eq!(names.of(0x33), "?");
        assert_eq!(names.of(46), "bcomplex32");
    }

    #[test]
    fn devices_are_written_as_torch_does() {
        let device = |kind, index| Device { kind, index }.to_string();
        assert_eq!(device(0, -1), "cpu");
        assert_eq!(device(1, 3), "cuda:3");
        assert_eq!(device(14, -1), "meta");
        assert_eq!(device(-3, 0), "?:0");
        assert!(!Device { kind: 21, index: 0 }.is_known());
    }
}
