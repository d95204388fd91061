//! The program as a library, so that its tests and benches reach the modules that the binary runs.
//!
//! Everything here wires core's decisions and sys's readings to files, terminals and people.

#![forbid(unsafe_code)]

mod census_file;
mod cli;
mod commands;
pub mod export;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod glances;
mod import;
mod listing;
mod serve;
mod show;
mod source;
mod tell;

use std::process::ExitCode;

/// What the binary does: everything but naming itself.
pub fn main() -> ExitCode {
    // The keeper is this binary too; it must not pay for what commands set up.
    if let Some(code) = lowtide_session::keeper::private_part() {
        return code;
    }
    commands::main()
}
