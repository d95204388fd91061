//! All threads of all interpreters.

use super::layout::Places;
use crate::interpreter::Interpreter;
use crate::source::Source;

/// Threads that are looked at.
const MOST: usize = 128;

/// Those whose interpreter is the one that they were reached from. None if a list could not be followed to its end.
pub(super) fn all(
    source: &impl Source,
    interpreter: &Interpreter,
    places: &Places,
) -> Option<Vec<u64>> {
    let mut threads = Vec::new();
    for one in interpreter.all(source) {
        let mut at = source.word(one.checked_add(places.threads)?)?;
        while at != 0 && threads.len() < MOST {
            let ours = source.pointer(at.checked_add(places.interpreter)?)? == one;
            if !ours || threads.contains(&at) {
                return None;
            }
            threads.push(at);
            at = source.word(at.checked_add(places.next)?)?;
        }
    }
    Some(threads)
}
