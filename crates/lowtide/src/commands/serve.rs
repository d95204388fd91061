//! `lowtide serve`: the page and the API of the runs on this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lowtide_recording::Store;
use lowtide_session::failure::Failure;

use crate::serve::gate::Gate;
use crate::serve::{self, DEFAULT, Server};
use crate::show::page::random_hex;
use crate::tell::tell;

/// Show the runs of this machine on a page, live, with an API behind it
///
/// Examples:
///   lowtide serve
///   lowtide serve --listen 0.0.0.0:7380 --host node7.example
///   curl -H "Authorization: Bearer $TOKEN" -d '{"command": ["python", "train.py"]}' \
///     -H 'Content-Type: application/json' http://localhost:7380/api/v1/runs
///
/// On loopback everybody on this machine can look; starting and stopping jobs needs the token that is
/// printed at the start. On any other address everything does.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServeArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = DEFAULT)]
    listen: SocketAddr,
    /// A further name under which this machine is reached
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Ask for the token also for reading on loopback (on machines with other users)
    #[arg(long)]
    private: bool,
    /// Keep the token in this file; it is made if it does not exist [default: a new one each time]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(args: &ServeArgs) -> Result<i32> {
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
        "lowtide serves {} on http://{bound}/",
        store.runs_dir().display()
    );
    match &args.token_file {
        Some(path) => tell!("token: in {}", path.display()),
        None => tell!("token: {token}"),
    }
    let gate = Gate::new(bound, token, args.private, &args.hosts);
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
            let text = lowtide_sys::regular::read_text(path, 4096)
                .with_context(|| format!("cannot read {}", path.display()))?;
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
