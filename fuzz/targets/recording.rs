//! Fuzzes the target of lowtide-recording that `LOWTIDE_FUZZ` names.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    lowtide_fuzz::chosen(lowtide_recording::fuzzing::TARGETS)(bytes)
});
