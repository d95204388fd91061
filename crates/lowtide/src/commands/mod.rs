//! One file a verb; the wiring of everything else.

pub(crate) mod attach;
pub(crate) mod census;
pub(crate) mod check;
pub(crate) mod common;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
mod guard_args;
pub(crate) mod judge;
pub(crate) mod ps;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod serve;
mod view;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use lowtide_core::text::shown;
use lowtide_session::failure::{Failure, code};

use crate::cli::{Cli, Verb};
use crate::show::style::Style;
use crate::tell::{print, tell};

/// Reads the command line and does what it says. The only place that decides the exit code.
pub(crate) fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(words) = words::asked_for(&arguments, Style::of(&std::io::stdout())) {
        return show_words(words);
    }
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
        Verb::Census(args) => census::run(args),
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
        Err(error) => report_failure(&error, fallback(&cli.verb)),
    };
    ExitCode::from(code as u8)
}

fn show_words(words: Result<String, String>) -> ExitCode {
    match words {
        Ok(text) => {
            // Whoever stopped reading has seen enough.
            let _ = print(&text);
            ExitCode::SUCCESS
        }
        Err(why) => {
            tell!("lowtide: {why}");
            ExitCode::from(code::USAGE as u8)
        }
    }
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
    // clap quotes what it was given: it is asked again, with words that can be seen.
    let seen = std::env::args_os().map(|word| shown(&word.to_string_lossy()).into_owned());
    let again = Cli::try_parse_from(seen).err();
    let _ = again.as_ref().unwrap_or(error).print();
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
        tell!("hint: the job goes after `--`: lowtide run -- python train.py");
    }
    ExitCode::from(code::USAGE as u8)
}

/// Prints an error once, as a chain of causes with its hint, and says which code to end with.
fn report_failure(error: &anyhow::Error, fallback: i32) -> i32 {
    let failure = error.downcast_ref::<Failure>();
    tell!("lowtide: {error:#}");
    let hint = failure
        .and_then(|failure| failure.advice().map(str::to_owned))
        .or_else(|| hint_of(error));
    if let Some(hint) = hint {
        tell!("hint: {hint}");
    }
    failure.map_or(fallback, Failure::code)
}

/// Errors of other layers know their own hints.
fn hint_of(error: &anyhow::Error) -> Option<String> {
    let recording = error.downcast_ref::<lowtide_recording::RecordingError>()?;
    Some(recording.hint().to_owned())
}
