//! Pillow's images. One that was opened and not looked at has no pixels yet: what decoding will take is known from its
//! size and mode.

use crate::object::Heap;
use crate::source::Source;

/// Larger sides no image has.
const LONGEST: u64 = 1 << 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub object: u64,
    pub mode: String,
    pub width: u64,
    pub height: u64,
    pub is_decoded: bool,
    /// Of its pixels: here already, or to come.
    pub pixels: u64,
}

impl Image {
    pub(crate) fn own_bytes(&self) -> u64 {
        if self.is_decoded { self.pixels } else { 0 }
    }
}

pub(super) fn read<S: Source>(heap: &Heap<'_, S>, object: u64) -> Option<Image> {
    let attributes = heap.attributes(object)?;
    let mode = heap.text(attributes.get(heap, "_mode")?)?;
    let size = heap.tuple(attributes.get(heap, "_size")?, 2)?;
    let [width, height] = size[..] else {
        return None;
    };
    let (width, height) = (heap.count(width)?, heap.count(height)?);
    let pixels = width.checked_mul(height)?.checked_mul(pixel(&mode)?)?;
    if width > LONGEST || height > LONGEST {
        return None;
    }
    // Pillow keeps its core under `_im` since 11, under `im` before.
    let core = attributes
        .get(heap, "_im")
        .or_else(|| attributes.get(heap, "im"));
    let is_core = |at: u64| {
        heap.type_of(at)
            .is_some_and(|class| class.name.ends_with("ImagingCore"))
    };
    Some(Image {
        object,
        mode,
        width,
        height,
        is_decoded: core.is_some_and(is_core),
        pixels,
    })
}

/// Bytes of a pixel as Pillow's core stores it (`Storage.c`): one, two, or four for all modes of more bands.
fn pixel(mode: &str) -> Option<u64> {
    match mode {
        "1" | "L" | "P" => Some(1),
        "BGR;24" => Some(3),
        mode if mode.starts_with("I;16") || mode.starts_with("BGR;1") => Some(2),
        "I" | "F" | "LA" | "La" | "PA" | "RGB" | "RGBA" | "RGBX" | "RGBa" | "CMYK" | "YCbCr"
        | "LAB" | "HSV" => Some(4),
        _ => None,
    }
}
