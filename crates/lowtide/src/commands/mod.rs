//! One file a verb; the wiring of everything else.

pub mod export;
mod run;
pub mod runs;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Verb};

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::Run(args) => run::run(args),
    }
}
