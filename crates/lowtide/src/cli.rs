//! The command line, translated at once into typed options.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

/// Tells whether the memory of a training job leaks, warms up or just spikes.
#[derive(Debug, Parser)]
#[command(name = "lowtide", version)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start a job and watch it
    Run(RunArgs),
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The job: a program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
