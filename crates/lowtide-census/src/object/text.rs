//! Texts: names of attributes, classes and modules, descriptions of bars. Only plain (ASCII) ones are read.

use std::rc::Rc;

use super::layout::{SIZE, flag};
use super::{Heap, REMEMBERED};
use crate::source::Source;

/// The longest text that is read.
const LONGEST: u64 = 200;
/// Bits of a text's state: its letters follow its head, and all are ASCII.
const PLAIN: u8 = 1 << 5 | 1 << 6;

impl<S: Source> Heap<'_, S> {
    /// A text, if it is short and has plain letters only.
    pub(crate) fn text(&self, object: u64) -> Option<String> {
        if !self.type_of(object)?.has(flag::TEXT) {
            return None;
        }
        let head: [u8; 17] = self.source.array(object.checked_add(SIZE)?)?;
        let length = u64::from_le_bytes(*head.first_chunk()?);
        if length > LONGEST || head[16] & PLAIN != PLAIN {
            return None;
        }
        let mut bytes = vec![0; length as usize];
        let came = (self.source).fill(object.checked_add(self.layout.letters)?, &mut bytes);
        let plain = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
        (came && plain).then(|| String::from_utf8(bytes).ok())?
    }

    /// Whether a key is this name. Names are remembered by their address: the same few are asked for again
    /// and again.
    pub(crate) fn is_named(&self, key: u64, name: &str) -> bool {
        if let Some(known) = self.memo().names.borrow().get(&key) {
            return &**known == name;
        }
        let Some(text) = self.text(key) else {
            return false;
        };
        let is = text == name;
        let mut names = self.memo().names.borrow_mut();
        if names.len() < REMEMBERED {
            names.insert(key, Rc::from(text));
        }
        is
    }
}
