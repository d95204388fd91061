//! No fault of the guard's own code may cost a run: what panics in it is caught here, told, and gone on
//! without.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lowtide_core::entry::EventKind;

use crate::watch::Watch;

/// Runs a piece of the guard; a panic in it becomes its words. What it was working on may be half done: the
/// caller goes on with what is known, and not with that.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| words(&*panic))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it gave no reason".to_owned())
}

/// Tells of it, in the recording too.
pub(crate) fn tell_failed(watch: &mut Watch, what: &str, panic: &str, then: &str) {
    let text = format!("guard: lowtide failed while it {what} ({panic}); {then}");
    watch.teller().say(&text);
    watch
        .teller()
        .hint("this is a fault of lowtide: please report it with the lines above");
    watch.event(EventKind::Guard, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_words() {
        assert_eq!(contained(|| 7), Ok(7));
        let cut = contained(|| "é7"[1..].len());
        assert!(cut.unwrap_err().contains("char boundary"));
        let number = [1, 2, 3].len();
        let failed: Result<(), String> = contained(|| panic!("step {number}"));
        assert_eq!(failed.unwrap_err(), "step 3");
    }
}
