//! How much was asked for, from what an allocator made of it: heads, rounding, alignment.

use crate::look::{MemoryClass, PartMember};
use crate::units::{grouped, show_bytes};

use super::super::gather::block_size;

/// glibc puts its head of 8 bytes in front and rounds up to 16 (malloc.c, `request2size`).
const HEAD: u64 = 8;
const ROUND: u64 = 16;
/// What an aligned block may keep beyond that: too little to be split off (MINSIZE).
const NOT_SPLIT: u64 = 32;
/// Blocks of one size in two looks: alignment may move the smallest of them so far.
pub(crate) const SAME: u64 = NOT_SPLIT;
/// A block with a mapping of its own is rounded up to pages; torch's alignment of 64 bytes and the smallest
/// chunk are asked for on top, and another head.
const PAGE: u64 = 4096;
const ON_TOP: u64 = 64 + NOT_SPLIT + ROUND;
/// Names of larger classes are ranges, and rounding is no matter there.
const EXACT: f64 = 1024.0;

/// What one block of a class of memory may have been asked for, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asked {
    pub least: u64,
    pub most: u64,
    /// To within a head and rounding, of a block inside a heap.
    pub likely: Option<u64>,
}

impl Asked {
    pub(crate) fn of(class: MemoryClass, member: &PartMember) -> Option<Asked> {
        let usual = member.usual.map(|usual| usual.size.0);
        let small = || {
            let size = block_size(&member.name).filter(|size| *size <= EXACT)?;
            (!member.name.starts_with("blocks of")).then_some(size as u64)
        };
        match (class, usual) {
            (MemoryClass::PythonLive, _) => small().map(|slot| Asked {
                least: slot.saturating_sub(ROUND - 1),
                most: slot,
                likely: None,
            }),
            (MemoryClass::GlibcLive, Some(size)) => Some(Asked {
                least: size.saturating_sub(HEAD + ROUND + NOT_SPLIT - 1),
                most: size.saturating_sub(HEAD),
                likely: Some(size.saturating_sub(ROUND)),
            }),
            (MemoryClass::GlibcLive, None) => small().map(|size| Asked {
                least: size.saturating_sub(HEAD + ROUND - 1),
                most: size.saturating_sub(HEAD),
                likely: None,
            }),
            (MemoryClass::GlibcMapped, Some(size)) => Some(Asked {
                least: size.saturating_sub(PAGE + ON_TOP + ROUND),
                most: size.saturating_sub(HEAD + ROUND),
                likely: None,
            }),
            _ => None,
        }
    }

    pub(crate) fn fits(&self, bytes: u64) -> bool {
        (self.least..=self.most).contains(&bytes)
    }
}

/// `blocks of 131,072 B`, `Python objects of 81 to 96 B`.
pub(crate) fn in_words(class: MemoryClass, member: &PartMember, asked: Option<Asked>) -> String {
    let what = match class {
        MemoryClass::PythonLive => "Python objects",
        _ => "blocks",
    };
    match asked {
        Some(Asked {
            likely: Some(likely),
            ..
        }) => format!("{what} of {} B", grouped(likely)),
        Some(Asked { least, most, .. }) if most as f64 <= EXACT => {
            format!("{what} of {least} to {most} B")
        }
        Some(Asked { least, most, .. }) => {
            let (least, most) = (show_bytes(least as f64), show_bytes(most as f64));
            match least == most {
                true => format!("{what} of {least}, each mapped by itself"),
                false => format!("{what} of {least} to {most}, each mapped by itself"),
            }
        }
        None => match member.name.strip_prefix("blocks of ") {
            Some(range) => format!("{what} of {range}"),
            None => member.name.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::UsualSize;
    use crate::units::Bytes;

    fn member(name: &str, usual: Option<u64>) -> PartMember {
        PartMember {
            usual: usual.map(|size| UsualSize {
                size: Bytes(size),
                count: 9,
            }),
            ..PartMember::new(name, 9, Bytes(9))
        }
    }

    fn said(class: MemoryClass, name: &str, usual: Option<u64>) -> String {
        let member = member(name, usual);
        in_words(class, &member, Asked::of(class, &member))
    }

    #[test]
    fn heads_and_rounding_are_taken_off() {
        use MemoryClass::{GlibcLive, GlibcMapped, OtherAnon, PythonLive};
        let range = "blocks of 131 kB to 147 kB";
        for (class, name, usual, words) in [
            (GlibcLive, range, Some(131_088), "blocks of 131,072 B"),
            (GlibcLive, range, None, range),
            (GlibcLive, "80 B blocks", None, "blocks of 57 to 72 B"),
            (
                PythonLive,
                "96 B blocks",
                None,
                "Python objects of 81 to 96 B",
            ),
            (
                GlibcMapped,
                "blocks of 492 kB to 524 kB",
                Some(503_808),
                "blocks of 500 kB to 504 kB, each mapped by itself",
            ),
            (
                GlibcMapped,
                "blocks of 3.67 GB to 4.29 GB",
                Some(4_000_002_048),
                "blocks of 4.00 GB, each mapped by itself",
            ),
            (OtherAnon, "no name", None, "no name"),
        ] {
            assert_eq!(said(class, name, usual), words);
        }
    }

    /// Sizes that glibc 2.36 gave to torch's posix_memalign(64, 131072), in a heap and by itself, and to
    /// malloc(131072) and malloc(500000).
    #[test]
    fn what_was_asked_for_fits() {
        let of = |class, usual| Asked::of(class, &member("blocks of a to b", Some(usual))).unwrap();
        for size in [131_088, 131_104, 131_120] {
            assert!(of(MemoryClass::GlibcLive, size).fits(131_072), "{size}");
        }
        assert!(of(MemoryClass::GlibcMapped, 135_168).fits(131_072));
        assert!(of(MemoryClass::GlibcMapped, 503_808).fits(500_000));
        assert!(!of(MemoryClass::GlibcLive, 131_088).fits(131_000));
        assert!(!of(MemoryClass::GlibcLive, 131_088).fits(131_088));
    }
}
