//! Fuzzes the target of lowtide-session that `LOWTIDE_FUZZ` names.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    lowtide_fuzz::chosen(lowtide_session::fuzzing::TARGETS)(bytes)
});
