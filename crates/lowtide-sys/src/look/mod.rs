//! A look into one process: where its bytes are, without hooks, read only, and while it runs. The
//! watcher schedules looks; the recorder keeps them; `explain` compares the first with the last.
//!
//! `smaps` says what each mapping holds (`holdings`, `taxonomy`). Anonymous memory is then taken apart
//! (`anon`) by what its owners leave in it: heads of CPython's pools (`pymalloc`), glibc's chunks
//! (`glibc`, `blocks`), the tables of ELF files (`programs`). Pieces that were asked for as a whole are
//! listed with what of them was touched (`reserved`). What the kernel refuses or time does not allow is
//! said in `incomplete`, and the bytes stay in a wider class. All reading is through [`crate::memory`].

mod anon;
mod blocks;
mod glibc;
mod holdings;
mod ledger;
mod programs;
mod pymalloc;
mod reserved;
mod subject;
mod taxonomy;

use std::time::{Duration, Instant};

use lowtide_core::look::{Allocator, CHANGED, Kind, Look, LookWhy, Part, TIME_RAN_OUT};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros, show_bytes};
use rustix::io::Errno;

use self::holdings::Holdings;
use self::subject::Subject;
use crate::memory::{Deadline, Live, Mappings};
use crate::proc::status::{self, Status};
use crate::proc::{self, Proc, stat};
use crate::sampler::processor_time;

/// Parts and total are read some milliseconds apart; more than this share between them is no rounding.
const UNSTEADY: f64 = 0.05;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The moment, on the run's clock.
    pub at: Micros,
    pub why: LookWhy,
    /// After this much time on a processor the rest stays unread.
    pub within: Duration,
}

/// Looks into a process. It is neither stopped nor changed.
pub fn take(proc: &Proc, id: ProcId, options: Options) -> Result<Look, Gap> {
    let (began, cpu) = (Instant::now(), processor_time());
    let deadline = Deadline::after(options.within);
    is_same(proc, id)?;
    let mappings = Mappings::with_sizes(proc, id.pid, deadline)
        .map_err(|errno| gap(id, "smaps", proc::why(errno)))?;
    let mut incomplete = Vec::new();
    if mappings.is_cut {
        incomplete.push("not all mappings could be listed in time".to_owned());
    }
    let subject = Subject::new(proc, id.pid, mappings);
    let memory = Live::open(proc, id.pid, deadline);
    if let Err(errno) = &memory {
        incomplete.push(refusal(*errno, &proc.path(id.pid, "pagemap")));
    }
    let holdings = Holdings::of(&subject, memory.as_ref().ok());
    let mut holdings = holdings.map_err(|why| gap(id, "memory", why))?;
    incomplete.append(&mut holdings.missing);
    // Read last, to see what changed meanwhile.
    let status = status(proc, id)?;
    holdings.counts.threads = u64::from(status.threads);
    holdings.ledger.add(Kind::Swapped, status.swap.0);
    let parts = holdings.ledger.into_parts();
    incomplete.extend(unsteady(&parts, status.anon + status.shmem + status.swap));
    let is_late = deadline.is_over();
    if is_late {
        incomplete.push(format!(
            "{TIME_RAN_OUT} after {:.1} s of work in {:.1} s: what was not read yet counts as other anonymous memory",
            processor_time().since(cpu).seconds(),
            began.elapsed().as_secs_f64()
        ));
    }
    let reserves = holdings.reserves.filter(|_| !is_late);
    let reserved = reserves.map_or_else(Vec::new, |reserves| reserves.finish(proc, id.pid));
    let python = programs::python_version(proc, id.pid, &subject.mappings, subject.python);
    // A pid that went to somebody else meanwhile would give a mixture of two processes.
    is_same(proc, id)?;
    Ok(Look {
        at: options.at,
        id,
        why: options.why,
        parts,
        held: Bytes(holdings.held) + status.swap,
        allocator: subject.allocator,
        reserved,
        pools: taxonomy::pools(subject.mappings.files(), cfg!(target_arch = "aarch64")),
        python,
        counts: holdings.counts,
        incomplete,
        wall: Micros(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)),
        cpu: processor_time().since(cpu),
    })
}

/// A process is its pid and its start time.
fn is_same(proc: &Proc, id: ProcId) -> Result<(), Gap> {
    let mut buffer = Vec::new();
    proc.read(id.pid, "stat", &mut buffer)
        .map_err(|errno| gap(id, "stat", proc::why(errno)))?;
    let stat = stat::parse(&buffer).ok_or_else(|| gap(id, "stat", GapWhy::Malformed))?;
    if stat.start == id.start && !stat.has_ended() {
        Ok(())
    } else {
        Err(gap(id, "stat", GapWhy::Vanished))
    }
}

fn status(proc: &Proc, id: ProcId) -> Result<Status, Gap> {
    let mut buffer = Vec::new();
    proc.read(id.pid, "status", &mut buffer)
        .map_err(|errno| gap(id, "status", proc::why(errno)))?;
    status::parse(&buffer).ok_or_else(|| gap(id, "status", GapWhy::Vanished))
}

fn gap(id: ProcId, what: &str, why: GapWhy) -> Gap {
    Gap {
        who: Some(id),
        what: what.to_owned(),
        why,
    }
}

/// Why something could not be read, and what to do.
fn refusal(errno: Errno, what: &std::path::Path) -> String {
    let why = match errno {
        Errno::ACCESS | Errno::PERM => {
            "denied; it takes the same user and no ptrace_scope, or CAP_SYS_PTRACE".to_owned()
        }
        other => other.to_string(),
    };
    format!(
        "{} could not be read ({why}): only mappings were told apart",
        what.display()
    )
}

/// Says when the process allocated or freed so much meanwhile that the parts are not those of one moment.
fn unsteady(parts: &[Part], held: Bytes) -> Option<String> {
    let of_held = parts.iter().filter(|part| part.kind.is_held());
    let sum: Bytes = of_held.map(|part| part.bytes).sum();
    let off = sum.as_f64() - held.as_f64();
    (off.abs() > UNSTEADY * held.as_f64()).then(|| {
        format!(
            "{CHANGED} by {} while it was looked at: the parts are not those of one moment",
            show_bytes(off.abs())
        )
    })
}

/// What stays unsaid about an allocator that cannot be walked.
fn unknown_allocator(allocator: Allocator) -> Option<&'static str> {
    match allocator {
        Allocator::Glibc => None,
        Allocator::Jemalloc => Some("malloc is jemalloc's: its blocks cannot be told apart"),
        Allocator::Tcmalloc => Some("malloc is tcmalloc's: its blocks cannot be told apart"),
        Allocator::Mimalloc => Some("malloc is mimalloc's: its blocks cannot be told apart"),
        Allocator::Musl => Some("malloc is musl's: its blocks cannot be told apart"),
        Allocator::Unknown => Some("no known malloc was found: its blocks cannot be told apart"),
    }
}
