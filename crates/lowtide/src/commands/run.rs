//! `lowtide run -- CMD…`: start a job and pass its exit code through.

use std::process::ExitCode;

use anyhow::Context;

use crate::cli::RunArgs;
use crate::keeper::{self, Event, Handle, Job};

/// lowtide itself failed.
const OWN_FAULT: u8 = 125;

pub fn run(args: RunArgs) -> ExitCode {
    let mut handle = match keeper::start(Job {
        command: args.command,
        env: Vec::new(),
    }) {
        Ok(handle) => handle,
        Err(error) => {
            eprintln!("lowtide: {error}\nhint: {}", error.hint());
            return ExitCode::from(error.code());
        }
    };
    match wait(&mut handle) {
        Ok(code) => ExitCode::from(code as u8),
        Err(error) => {
            eprintln!("lowtide: {error:#}");
            ExitCode::from(OWN_FAULT)
        }
    }
}

fn wait(handle: &mut Handle) -> anyhow::Result<i32> {
    loop {
        match handle.next(None).context("lost sight of the job")? {
            Some(Event::Exited(exit)) => return Ok(exit.code()),
            Some(Event::KeeperLost) => {
                eprintln!("lowtide: the keeper is dead, the job lost its terminal\r")
            }
            _ => {}
        }
    }
}
