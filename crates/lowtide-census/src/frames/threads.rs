//! All threads of all interpreters.

use super::layout::Places;
use crate::interpreter::Interpreter;
use crate::source::Source;

/// Threads that are looked at.
const MOST: usize = 128;

/// Those whose interpreter is the one that they were reached from, and whether each is its interpreter's first: newer
/// ones stand before it. None if a list could not be followed to its end.
pub(super) fn all(
    source: &impl Source,
    interpreter: &Interpreter,
    places: &Places,
) -> Option<Vec<(u64, bool)>> {
    let mut threads: Vec<(u64, bool)> = Vec::new();
    for one in interpreter.all(source) {
        let mut at = source.word(one.checked_add(places.threads)?)?;
        while at != 0 && threads.len() < MOST {
            let ours = source.pointer(at.checked_add(places.interpreter)?)? == one;
            if !ours || threads.iter().any(|(known, _)| *known == at) {
                return None;
            }
            let next = source.word(at.checked_add(places.next)?)?;
            threads.push((at, next == 0));
            at = next;
        }
    }
    Some(threads)
}
