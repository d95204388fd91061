//! `lowtide census`: what is in the Python heap of a running process, and who holds it. `census diff`: what grew.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use lowtide_census::{CensusOptions, Refusal, take};
use lowtide_core::census::diff;
use lowtide_core::look::{Look, LookWhy};
use lowtide_core::process::ProcId;
use lowtide_core::units::Micros;
use lowtide_session::failure::Failure;
use lowtide_sys::find::{TrainingJob, find_training};
use lowtide_sys::proc::{Proc, cmdline};
use lowtide_sys::signal::start_time;

use crate::census_file;
use crate::commands::attach::{no_job, the_one_job};
use crate::commands::runs::room;
use crate::show::{census, census_diff};
use crate::tell::{print, print_json, tell};

/// Say what is in the Python heap of a running process, and who holds it
///
/// Examples:
///   lowtide census 4242
///   lowtide census --find train.py
///   lowtide census 4242 -o before.json     and, some steps later:
///   lowtide census diff before.json 4242
///   lowtide census diff before.json after.json --json
///
/// Objects by type, tensors by device, dtype and shape, arrays, images, and the
/// holders that keep them. Nothing is injected, and nothing stopped without
/// --stop: what changes meanwhile is left out, counted and told. docs/census.md
/// says how to read it and what it cannot see.
#[derive(clap::Args, Debug)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct CensusArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// The process to look into
    #[arg(required_unless_present = "find", conflicts_with = "find")]
    pid: Option<u32>,
    /// The training process of the job with TEXT in its command line
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    find: Option<String>,
    /// Keep it for `census diff`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Stop all its threads for some milliseconds, so that all is of one moment (a system call that waits may end
    /// with EINTR)
    #[arg(long)]
    stop: bool,
    #[command(flatten)]
    shape: ShapeArgs,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    Diff(DiffArgs),
}

/// Say what grew between two censuses, by how much a step, and who holds it; the leak first
#[derive(clap::Args, Debug)]
struct DiffArgs {
    /// The earlier one: a file of `lowtide census -o`
    #[arg(value_name = "A")]
    from: String,
    /// The later one: a file, or a PID whose census is taken now
    #[arg(value_name = "B")]
    to: String,
    #[command(flatten)]
    shape: ShapeArgs,
}

#[derive(clap::Args, Debug)]
struct ShapeArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// How many lines each list has
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

/// Time on a processor after which the rest stays unread: some ten million objects.
const WITHIN: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &CensusArgs) -> Result<i32> {
    if let Some(Action::Diff(args)) = &args.action {
        return compare(args);
    }
    let proc = Proc::at("/proc")?;
    let pid = match (args.pid, &args.find) {
        (Some(pid), _) => pid,
        (None, text) => {
            let text = text.as_deref().unwrap_or_default();
            let job = the_one_job(text)?.ok_or_else(|| no_job(text).hint(FIND_HINT))?;
            job.trainer.pid
        }
    };
    let look = taken(&proc, pid, args.stop)?;
    if let Some(path) = &args.output {
        census_file::write(path, &look)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.shape.json {
        print_json(census_file::object(&look)?)?;
    } else {
        let command = command(&proc, pid);
        let room = room(&std::io::stdout());
        print(&census::text(
            &look,
            command.as_deref(),
            args.shape.top,
            room,
        ))?;
    }
    let stopped = look
        .heap
        .as_ref()
        .is_some_and(|heap| heap.stopped.is_some());
    if args.stop && !stopped {
        tell!("note: the process was not stopped");
    }
    if let Some(path) = &args.output {
        tell!(
            "note: kept in {}; what grew since: lowtide census diff {} {pid}",
            path.display(),
            path.display()
        );
    }
    Ok(0)
}

const FIND_HINT: &str =
    "`lowtide ps` lists the jobs of this machine; `lowtide census PID` takes any process";

fn compare(args: &DiffArgs) -> Result<i32> {
    let (from, to) = (either(&args.from)?, either(&args.to)?);
    let diff = diff(&from, &to);
    if args.shape.json {
        print_json(census_diff::json(&diff)?)?;
    } else {
        let room = room(&std::io::stdout());
        print(&census_diff::text(&diff, args.shape.top, room))?;
    }
    Ok(0)
}

/// A file, or else a process that runs.
fn either(word: &str) -> Result<Look> {
    let path = Path::new(word);
    match word.parse() {
        Ok(pid) if !path.exists() => taken(&Proc::at("/proc")?, pid, false),
        _ => Ok(census_file::read(path)?),
    }
}

fn taken(proc: &Proc, pid: u32, stop: bool) -> Result<Look> {
    let start = start_time(proc, pid).ok_or_else(|| {
        // One that nobody has waited for yet is still listed.
        let why = match proc.path(pid, "stat").exists() {
            true => format!("process {pid} has ended"),
            false => lowtide_sys::Error::NoSuchProcess { pid }.to_string(),
        };
        Failure::unseen(why).hint(PS_HINT)
    })?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let options = CensusOptions {
        stop,
        within: WITHIN,
        // By the wall: two that are compared come from two runs of this program.
        at: Micros::from_seconds(since.unwrap_or_default().as_secs_f64()),
        why: LookWhy::Asked,
    };
    let look = take(proc, ProcId { pid, start }, &options).map(|census| census.look);
    look.map_err(|refusal| refused(proc, pid, &refusal).into())
}

const PS_HINT: &str = "`lowtide ps` lists the training jobs of this machine";

/// Why there is no census, in one line, and what to do.
fn refused(proc: &Proc, pid: u32, refusal: &Refusal) -> Failure {
    let theirs = owner(proc, pid).filter(|uid| *uid != rustix::process::geteuid().as_raw());
    let whose = match (refusal, theirs) {
        (Refusal::Denied { .. }, Some(uid)) => format!(" of user {uid}"),
        _ => String::new(),
    };
    let why = format!("the Python objects of process {pid}{whose} cannot be read: {refusal}");
    let hint = match refusal {
        Refusal::NotPython => match trainer_of(proc, pid) {
            Some(trainer) => {
                format!("its training is in another process: lowtide census {trainer}")
            }
            None => format!("give the process that runs Python; {PS_HINT}"),
        },
        Refusal::Gone => PS_HINT.to_owned(),
        other => other.hint().unwrap_or(FROM_INSIDE).to_owned(),
    };
    Failure::unseen(why).hint(hint)
}

const FROM_INSIDE: &str = "the Python package counts objects from inside: docs/python.md";

/// Who trains in the job that this process is of.
fn trainer_of(proc: &Proc, pid: u32) -> Option<u32> {
    let jobs = find_training(proc, None).ok()?;
    let is_in =
        |job: &TrainingJob| job.root.pid == pid || job.members.iter().any(|one| one.id.pid == pid);
    let job = jobs.into_iter().find(is_in)?;
    Some(job.trainer.pid).filter(|trainer| *trainer != pid)
}

/// The user that a process runs as.
fn owner(proc: &Proc, pid: u32) -> Option<u32> {
    let mut status = Vec::new();
    proc.read(pid, "status", &mut status).ok()?;
    let text = String::from_utf8_lossy(&status);
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Its command line, secrets masked.
fn command(proc: &Proc, pid: u32) -> Option<String> {
    let mut bytes = Vec::new();
    proc.read(pid, "cmdline", &mut bytes).ok()?;
    let words = cmdline::parse(&bytes);
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn every_refusal_is_one_line_with_something_to_do() {
        let proc = Proc::at("/proc").unwrap();
        let what = "process_vm_readv";
        let error = Errno::PERM;
        for refusal in [
            Refusal::NotPython,
            Refusal::NoSymbols,
            Refusal::PyPy,
            Refusal::FreeThreaded,
            Refusal::Version(16),
            Refusal::NoVersion,
            Refusal::NotAsExpected("_PyRuntime is empty"),
            Refusal::Gone,
            Refusal::Denied { what, error },
        ] {
            let failure = refused(&proc, std::process::id(), &refusal);
            let said = failure.to_string();
            assert!(
                said.contains(&refusal.to_string()) && !said.contains('\n'),
                "{said}"
            );
            assert!(!said.contains("of user"), "it is ours: {said}");
            assert!(
                failure.advice().is_some_and(|hint| !hint.is_empty()),
                "{said}"
            );
            assert_eq!(failure.code(), 4);
        }
    }
}
