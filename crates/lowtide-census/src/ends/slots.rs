//! A list that is as long as it will be, and whose slots are filled one after the other: with something in place of `None`,
//! or, of pictures that were opened lazily, with their pixels.

use lowtide_core::look::End;
use lowtide_core::units::Bytes;

use super::Subject;
use crate::source::Source;

/// Items that are looked at: 8 MB of addresses.
const MOST: u64 = 1 << 20;
const LIST_ITEMS: u64 = 24;
/// Shorter ones are no store.
const LEAST: u64 = 16;

/// What is known of pictures.
pub(crate) trait Pictures {
    /// Of a picture: whether its pixels are there, and how many bytes they take.
    fn picture(&self, address: u64) -> Option<(bool, u64)>;
}

impl<S: Source> Subject<'_, S> {
    pub(super) fn slots(&self, pictures: &impl Pictures) -> Option<End> {
        let heap = self.heap;
        heap.type_of(self.address)?.is_list().then_some(())?;
        let of = self.length.filter(|of| (LEAST..=MOST).contains(of))?;
        let items = heap.source.pointer(self.address.checked_add(LIST_ITEMS)?)?;
        let items = heap.source.words(items, of as usize)?;
        let (mut empty, mut lazy, mut to_come) = (0, 0, 0u64);
        for item in items {
            match pictures.picture(item) {
                Some((false, bytes)) => {
                    lazy += 1;
                    to_come = to_come.saturating_add(bytes);
                }
                Some((true, _)) => {}
                None => empty += u64::from(heap.is_none(item)),
            }
        }
        let filled = of - empty - lazy;
        // All of one kind is no store that fills: a list of nothing, or one that is full.
        if empty + lazy == 0 || filled == 0 && lazy == 0 {
            return None;
        }
        let bytes_to_come = (empty == 0).then_some(Bytes(to_come));
        Some(End::Slots {
            filled,
            of,
            bytes_to_come,
        })
    }
}
