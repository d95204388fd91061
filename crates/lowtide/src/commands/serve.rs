//! `lowtide serve`: the page and the API of the runs on this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lowtide_recording::Store;
use lowtide_session::failure::Failure;

use crate::serve::gate::Gate;
use crate::serve::{self, DEFAULT, Server, link};
use crate::show::page::random_hex;
use crate::tell::tell;

/// Show the runs of this machine on a page, live, with an API behind it
///
/// Examples:
///   lowtide serve
///   lowtide serve --listen 0.0.0.0:7380 --host node7.example --token-file ~/.lowtide-token
///   curl -H "Authorization: Bearer $(cat ~/.lowtide-token)" http://localhost:7380/api/v1/runs
///   curl -H "Authorization: Bearer $(cat ~/.lowtide-token)" -d '{"command": ["python", "train.py"]}' \
///     -H 'Content-Type: application/json' http://localhost:7380/api/v1/runs
///
/// Only who has the token sees anything: the link that is printed carries it, programs send it as a header.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServeArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = DEFAULT)]
    listen: SocketAddr,
    /// A further name under which this machine is reached
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Let everybody on this machine look without the token; starting and stopping jobs needs it still
    #[arg(long)]
    open: bool,
    /// What is always so now; taken for those who have it in their scripts
    #[arg(long, hide = true, conflicts_with = "open")]
    private: bool,
    /// Keep the token in this file; it is made if it does not exist [default: a new one each time]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(args: &ServeArgs) -> Result<i32> {
    if args.open && !args.listen.ip().is_loopback() {
        return Err(Failure::usage(
            "--open is for loopback: elsewhere everybody in the network would look",
        )
        .hint("leave it out and send the token, or put a proxy in front")
        .into());
    }
    let store = Store::from_env()?;
    let (listener, bound) = serve::listen(args.listen).map_err(|error| {
        Failure::unseen(format!("{error:#}"))
            .hint("another one may be running; --listen 127.0.0.1:0 takes any free port")
    })?;
    let token = match &args.token_file {
        Some(path) => kept_token(path)?,
        None => random_hex(16)?,
    };
    tell!(
        "lowtide serves {} on {}",
        store.runs_dir().display(),
        link(bound, "/", &token)
    );
    match &args.token_file {
        Some(path) => tell!("token: in {}", path.display()),
        None => tell!("token: {token}"),
    }
    let gate = Gate::new(bound, token, args.open, &args.hosts);
    serve::serve(listener, Server::new(store, gate, None))?;
    Ok(0)
}

/// The token in a file, or a new one put there for its owner alone.
fn kept_token(path: &Path) -> Result<String> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let token = random_hex(16)?;
            writeln!(file, "{token}")
                .with_context(|| format!("cannot write {}", path.display()))?;
            Ok(token)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = owned_text(path)?;
            let token = text.trim();
            if token.len() < 16 {
                return Err(Failure::usage(format!(
                    "the token in {} is too short",
                    path.display()
                ))
                .hint("16 characters or more; or delete the file and a new one is made")
                .into());
            }
            Ok(token.to_owned())
        }
        Err(error) => Err(error).with_context(|| format!("cannot make {}", path.display())),
    }
}

/// What a file holds that nobody but its owner can read or write, looked at through the opened file: a name can be
/// given to another one in between.
fn owned_text(path: &Path) -> Result<String> {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    let unreadable = || format!("cannot read {}", path.display());
    let refused = |why: &str| {
        let text = format!("the token in {} is nobody's secret: {why}", path.display());
        Failure::usage(text).hint(format!(
            "chown it to yourself and chmod 600 it, or delete it and a new one is made: {}",
            path.display()
        ))
    };
    let file = match lowtide_sys::regular::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            return Err(refused("it is no file").into());
        }
        opened => opened.with_context(unreadable)?,
    };
    let found = file.metadata().with_context(unreadable)?;
    let us = rustix::process::geteuid().as_raw();
    if found.uid() != us && found.uid() != 0 {
        return Err(refused("it belongs to another user").into());
    }
    if found.mode() & 0o077 != 0 {
        let mode = format!(
            "others may read or write it (mode {:o})",
            found.mode() & 0o777
        );
        return Err(refused(&mode).into());
    }
    let mut text = String::new();
    let room = 4096;
    file.take(room)
        .read_to_string(&mut text)
        .with_context(unreadable)?;
    Ok(text)
}
