//! Faults that tests ask for and that cannot be made from outside: `LOWTIDE_FAIL_IN` names pieces of lowtide, and
//! only builds with debug assertions obey it.

/// Whether a test wants this piece to fail.
fn is_named(piece: &str) -> bool {
    cfg!(debug_assertions)
        && std::env::var("LOWTIDE_FAIL_IN")
            .is_ok_and(|pieces| pieces.split(',').any(|named| named == piece))
}

pub(crate) fn panic_if_named(piece: &str) {
    assert!(!is_named(piece), "made to fail in {piece}");
}

/// As if somebody had killed this process here.
pub(crate) fn kill_if_named(piece: &str) {
    if is_named(piece) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
