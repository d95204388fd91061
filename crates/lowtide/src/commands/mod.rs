//! One file a verb; the wiring of everything else.

pub mod attach;
pub mod check;
pub mod common;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod export;
mod follower;
pub mod judge;
pub mod ps;
pub mod report;
pub mod run;
pub mod runs;
pub mod serve;
mod view;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::{Cli, Verb};
use crate::failure::{self, code};

/// Reads the command line and does what it says. The only place that decides the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let done = match &cli.verb {
        Verb::Run(args) => run::run(args),
        Verb::Attach(args) => attach::run(args),
        Verb::Ps(args) => ps::run(args),
        Verb::Judge(args) => judge::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Check(args) => check::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Serve(args) => serve::run(args),
        Verb::Runs(args) => runs::run(args),
        Verb::Export(args) => export::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Demo(args) => demo::run(args),
    };
    let code = match done {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => 0,
        Err(error) => failure::report(&error, fallback(&cli.verb)),
    };
    ExitCode::from(code as u8)
}

/// What an unexpected error ends with: `run` has a code of its own, for others the source or target failed.
fn fallback(verb: &Verb) -> i32 {
    match verb {
        Verb::Run(_) => code::OURSELVES,
        _ => code::UNREADABLE,
    }
}

/// `lowtide judge … | head`: nobody reads any more, which is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let asked_for = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if asked_for {
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::UnknownArgument
        && std::env::args().nth(1).as_deref() == Some("run")
    {
        eprintln!("hint: the job goes after `--`: lowtide run -- python train.py");
    }
    ExitCode::from(code::USAGE as u8)
}
