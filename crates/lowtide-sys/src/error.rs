//! What can go wrong for good. A process that vanishes or denies access is a `Gap`, not an error.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no process {pid}")]
    NoSuchProcess { pid: u32 },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} does not look like {expected}")]
    Malformed {
        path: PathBuf,
        expected: &'static str,
    },
    #[error("cannot send a signal to process {pid}: {source}")]
    Signal { pid: u32, source: io::Error },
}

impl Error {
    pub(crate) fn read(path: &Path, source: impl Into<io::Error>) -> Error {
        Error::Read {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}
