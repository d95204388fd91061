//! Fuzzes the target of lowtide-census that `LOWTIDE_FUZZ` names.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    lowtide_fuzz::chosen(lowtide_census::fuzzing::TARGETS)(bytes)
});
