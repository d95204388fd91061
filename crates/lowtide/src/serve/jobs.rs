//! Starting and stopping jobs for a service that wants to stay clean itself: each job is `lowtide run` in
//! a process of its own, which goes on when the server ends.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use futures_util::stream::unfold;
use lowtide_core::process::ProcId;
use lowtide_core::units::Bytes;
use lowtide_recording::summary::{RunState, Summary, this_process};
use lowtide_recording::{Recording, Store};
use lowtide_sys::proc::Proc;
use lowtide_sys::signal::Target;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::answer::Refusal;

/// Starts within [`WINDOW`]: a service that needs more is in a loop.
const STARTS: usize = 30;
const WINDOW: Duration = Duration::from_secs(60);
/// A recording begins within milliseconds; on a machine that swaps it takes longer.
const BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// Words of a command, and bytes of one word: 2,000 letters of any script, less than the kernel takes.
const WORDS: usize = 1000;
const LETTERS: usize = 8000;
/// What the job printed, beside its recording.
const OUTPUT: &str = "output.log";

/// A job to start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRequest {
    command: Vec<String>,
    /// Where it runs; the server's own folder otherwise.
    cwd: Option<PathBuf>,
    /// Added to the server's environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The memory that must not be exceeded.
    limit: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Started {
    pub name: String,
    /// Of the watcher, which ends with the job's exit code.
    pub pid: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct Stopped {
    pub name: String,
    pub stopping: bool,
}

#[derive(Default)]
pub(crate) struct Jobs {
    starts: Mutex<Vec<Instant>>,
}

impl JobRequest {
    fn check(&self) -> Result<Option<Bytes>, Refusal> {
        let words = self
            .command
            .iter()
            .chain(self.env.keys())
            .chain(self.env.values());
        let odd = |word: &String| word.len() > LETTERS || word.contains('\0');
        let bad_name = |name: &String| name.is_empty() || name.contains('=');
        if self.command.first().is_none_or(String::is_empty) || self.command.len() > WORDS {
            return Err(Refusal::unclear(
                "`command` is a list of words, the program first",
            ));
        }
        if words.clone().any(odd) || self.env.len() > WORDS || self.env.keys().any(bad_name) {
            return Err(Refusal::unclear(
                "a word of `command` or `env` cannot be passed to a program",
            ));
        }
        if self
            .cwd
            .as_ref()
            .is_some_and(|cwd| !cwd.is_absolute() || !cwd.is_dir())
        {
            return Err(Refusal::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "`cwd` is no folder, or not its whole path",
            ));
        }
        let limit = self.limit.as_ref().map(|limit| limit.parse()).transpose();
        limit.map_err(|error: lowtide_core::units::UnitError| Refusal::unclear(error.to_string()))
    }
}

/// What `scripts/fuzz` tries: any body is understood or refused.
#[cfg(any(test, fuzzing))]
pub(super) fn fuzz(bytes: &[u8]) {
    if let Ok(job) = serde_json::from_slice::<JobRequest>(bytes) {
        let fine = job.check().is_ok();
        assert!(!fine || job.command.iter().all(|word| !word.contains('\0')));
    }
}

impl Jobs {
    pub(crate) fn start(&self, store: &Store, job: &JobRequest) -> Result<Started, Refusal> {
        let limit = job.check()?;
        self.admit()?;
        let (log, output) = new_log(store).map_err(Refusal::ourselves)?;
        let own = std::env::current_exe().map_err(Refusal::ourselves)?;
        let mut command = Command::new(own);
        command.args(["run", "--quiet"]);
        if let Some(limit) = limit {
            command.arg("--limit").arg(limit.0.to_string());
        }
        command.arg("--").args(&job.command).envs(&job.env);
        command.env("LOWTIDE_HOME", store.root());
        if let Some(cwd) = &job.cwd {
            command.current_dir(cwd);
        }
        let errors = output.try_clone().map_err(Refusal::ourselves)?;
        // A group of its own: Ctrl-C at the server is not meant for the job.
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        let child = command.spawn().map_err(Refusal::ourselves)?;
        let pid = child.id();
        let name = begin(store, child, &log)?;
        // Beside the recording, now that its place is known.
        let _ = fs::rename(&log, store.runs_dir().join(&name).join(OUTPUT));
        Ok(Started { name, pid })
    }

    fn admit(&self) -> Result<(), Refusal> {
        let mut starts = self
            .starts
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        let now = Instant::now();
        starts.retain(|at| now.duration_since(*at) < WINDOW);
        if starts.len() >= STARTS {
            return Err(Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many jobs were started in this minute",
            ));
        }
        starts.push(now);
        Ok(())
    }
}

fn new_log(store: &Store) -> std::io::Result<(PathBuf, File)> {
    store.make().map_err(std::io::Error::other)?;
    let path = store
        .root()
        .join(format!("job-{}.log", crate::show::page::random_hex(8)?));
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    Ok((path, file))
}

/// Waits for the recording, until it says whose it is: who was told its name may ask for it, or stop it, at once.
/// Its name ends with the watcher's pid.
fn begin(store: &Store, mut child: Child, log: &Path) -> Result<String, Refusal> {
    let ending = format!("-{}", child.id());
    let deadline = Instant::now() + BEGINS_WITHIN;
    loop {
        let ended = child.try_wait().map_err(Refusal::ourselves)?;
        let runs = store.runs().map_err(Refusal::ourselves)?;
        let found = runs
            .into_iter()
            .rev()
            .find(|run| run.name.ends_with(&ending) && Summary::read(&run.recording()).is_ok());
        if let Some(run) = found {
            // Collected when it ends, or by nobody if we end first.
            std::thread::spawn(move || child.wait());
            return Ok(run.name);
        }
        if let Some(status) = ended {
            let said = fs::read_to_string(log).unwrap_or_default();
            let _ = fs::remove_file(log);
            let why = said.lines().next().unwrap_or("it said nothing").to_owned();
            return Err(Refusal::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("the job did not start ({status}): {why}"),
            ));
        }
        if Instant::now() > deadline {
            std::thread::spawn(move || child.wait());
            return Err(Refusal::ourselves(
                "the job was started, but its recording did not begin",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks a running job to end, as `kill` would: the watcher passes the signal on.
pub(super) fn stop(name: &str, path: &Path) -> Result<Stopped, Refusal> {
    let summary = Summary::read(path).map_err(Refusal::ourselves)?;
    let conflict = |error: &str| Refusal::new(StatusCode::CONFLICT, error);
    if summary.state != RunState::Running {
        return Err(conflict("this run is over"));
    }
    if summary.header.how != "run" {
        return Err(conflict(
            "this job was not started by lowtide, which leaves it alone",
        ));
    }
    let mut recording = Recording::open(path).map_err(Refusal::ourselves)?;
    recording.next();
    let here = this_process();
    let writer = recording
        .writer()
        .filter(|w| w.boot == here.boot && w.namespace == here.namespace);
    let writer =
        writer.ok_or_else(|| conflict("this run is watched from another machine or container"))?;
    let id = ProcId {
        pid: writer.pid,
        start: writer.start,
    };
    let proc = Proc::at("/proc").map_err(Refusal::ourselves)?;
    let target = Target::open(&proc, id).map_err(|_| conflict("this run is over"))?;
    target.send(Signal::TERM).map_err(Refusal::ourselves)?;
    Ok(Stopped {
        name: name.to_owned(),
        stopping: true,
    })
}

/// A file as a body, a piece at a time.
pub(super) fn body_of(file: File) -> Body {
    const PIECE: usize = 256 << 10;
    let pieces = unfold(Some(file), |file| async move {
        let mut file = file?;
        let read = spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let got = file.read(&mut piece)?;
            piece.truncate(got);
            Ok::<_, std::io::Error>((piece, file))
        });
        match read
            .await
            .map_err(std::io::Error::other)
            .and_then(|read| read)
        {
            Ok((piece, _)) if piece.is_empty() => None,
            Ok((piece, file)) => Some((Ok(piece), Some(file))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Body::from_stream(pieces)
}
