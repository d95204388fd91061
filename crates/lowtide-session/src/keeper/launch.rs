//! What the keeper starts, where it lives, and why it may not start.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Environment that the job gets besides ours.
    pub env: Vec<(OsString, OsString)>,
    /// Where it lives; none: where we do.
    pub home: Option<Arc<Home>>,
}

/// The surroundings of a job that somebody else had started, kept in memory only: an environment holds secrets.
pub struct Home {
    pub cwd: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    /// stdin, stdout and stderr; none: ours.
    pub streams: [Option<File>; 3],
}

impl Home {
    /// Has the command run there, with nothing of our own environment.
    pub(super) fn furnish(&self, command: &mut Command) -> io::Result<()> {
        command.current_dir(&self.cwd);
        command.env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        let [stdin, stdout, stderr] = &self.streams;
        if let Some(file) = stdin {
            command.stdin(file.try_clone()?);
        }
        if let Some(file) = stdout {
            command.stdout(file.try_clone()?);
        }
        if let Some(file) = stderr {
            command.stderr(file.try_clone()?);
        }
        Ok(())
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home")
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{command}: command not found")]
    NotFound { command: String },
    #[error("{command}: cannot be executed: {source}")]
    NotExecutable { command: String, source: io::Error },
    #[error("cannot start the keeper of the job: {source}")]
    Keeper { source: io::Error },
}

impl StartError {
    /// What `lowtide run` exits with, as `env` and `timeout` do.
    pub fn code(&self) -> u8 {
        match self {
            StartError::NotFound { .. } => 127,
            StartError::NotExecutable { .. } => 126,
            StartError::Keeper { .. } => 125,
        }
    }

    pub fn hint(&self) -> String {
        match self {
            StartError::NotFound { command } if std::path::Path::new(command).exists() => {
                "the file is there, but the interpreter or loader that it names is not".into()
            }
            StartError::NotFound { command } if command.contains(' ') => {
                "give program and arguments as separate words, or use: sh -c '…'".into()
            }
            StartError::NotFound { command } if command.contains('/') => "check the path".into(),
            StartError::NotFound { .. } => "check the spelling and PATH".into(),
            StartError::NotExecutable { command, .. } if std::path::Path::new(command).is_dir() => {
                "this is a directory; name a program in it".into()
            }
            StartError::NotExecutable { command, .. } => {
                format!("chmod +x {command}, or name the interpreter: python {command}")
            }
            StartError::Keeper { source } if source.kind() == io::ErrorKind::NotFound => {
                "lowtide starts itself by /proc/self/exe: mount /proc here".into()
            }
            StartError::Keeper { .. } => {
                "see whether limits on processes or open files are reached (ulimit -a)".into()
            }
        }
    }
}
