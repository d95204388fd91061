//! A look into one process: where its bytes are, without hooks, read only, and while it runs. The
//! watcher schedules looks; the recorder keeps them; `explain` compares the first with the last.
//!
//! `smaps` says what each mapping holds (`holdings`, `taxonomy`). Anonymous memory is then taken apart
//! (`anon`) by what its owners leave in it: heads of CPython's pools (`pymalloc`), glibc's chunks
//! (`glibc`, `blocks`), the tables of ELF files (`programs`). Pieces that were asked for as a whole are
//! listed with what of them was touched (`reserved`). What the kernel refuses or time does not allow is
//! said in `missing`, and the bytes stay in a wider class. All reading is through [`crate::memory`].

mod anon;
mod blocks;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod glibc;
mod holdings;
mod ledger;
mod programs;
mod pymalloc;
mod reserved;
mod sizes;
mod subject;
mod taxonomy;

use std::time::Instant;

use lowtide_core::look::{
    Breakdown, By, Cost, Examine, Examiner, Layout, Look, MemoryClass, Missing, Options, Part,
};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros};
use rustix::io::Errno;

use self::holdings::Holdings;
use self::subject::Subject;
use crate::memory::{Deadline, Live, Mappings};
use crate::proc::status::{self, Status};
use crate::proc::{self, Proc, stat};
use crate::sampler::processor_time;

/// Parts and total are read some milliseconds apart; more than this share between them is no rounding.
const UNSTEADY: f64 = 0.05;

/// Looks from outside, by the mappings and what allocators leave in them.
pub struct MappingExaminer {
    pub proc: Proc,
}

impl Examine for MappingExaminer {
    fn examine(&mut self, id: ProcId, options: Options) -> Result<Look, Gap> {
        take(&self.proc, id, options)
    }
}

fn take(proc: &Proc, id: ProcId, options: Options) -> Result<Look, Gap> {
    let (began, cpu) = (Instant::now(), processor_time());
    let deadline = Deadline::after(options.within);
    is_same(proc, id)?;
    let mappings = Mappings::with_sizes(proc, id.pid, deadline)
        .map_err(|errno| gap(id, "smaps", proc::why(errno)))?;
    let mut missing = Vec::new();
    if mappings.is_cut {
        missing.push(Missing::Unlisted);
    }
    let subject = Subject::new(proc, id.pid, mappings);
    let memory = Live::open(proc, id.pid, deadline);
    if let Err(errno) = &memory {
        let pagemap = proc.path(id.pid, "pagemap");
        missing.push(refusal(*errno, &pagemap.to_string_lossy()));
    }
    let holdings = Holdings::of(&subject, memory.as_ref().ok());
    let mut holdings = holdings.map_err(|why| gap(id, "memory", why))?;
    missing.append(&mut holdings.missing);
    // Read last, to see what changed meanwhile.
    let status = status(proc, id)?;
    holdings.counts.threads = u64::from(status.threads);
    holdings.ledger.add(MemoryClass::Swapped, status.swap.0);
    let parts = holdings.ledger.into_parts();
    missing.extend(unsteady(&parts, status.anon + status.shmem + status.swap));
    let is_late = deadline.is_over();
    if is_late {
        missing.push(Missing::TimeRanOut {
            work: processor_time().since(cpu),
            wall: Micros::from_seconds(began.elapsed().as_secs_f64()),
        });
    }
    let reserves = holdings.reserves.filter(|_| !is_late);
    let reserved = reserves.map_or_else(Vec::new, |reserves| reserves.finish(proc, id.pid));
    let python = programs::python_version(proc, id.pid, &subject.mappings, subject.python);
    // A pid that went to somebody else meanwhile would give a mixture of two processes.
    is_same(proc, id)?;
    Ok(Look {
        held: Some(Bytes(holdings.held) + status.swap),
        missing,
        breakdowns: vec![Breakdown::new(By::Mapping, parts)],
        layout: Some(Layout {
            allocator: subject.allocator,
            reserved,
            pools: taxonomy::pools(subject.mappings.files(), cfg!(target_arch = "aarch64")),
            python,
            counts: holdings.counts,
        }),
        cost: Cost {
            wall: Micros::from_seconds(began.elapsed().as_secs_f64()),
            cpu: processor_time().since(cpu),
        },
        ..Look::new(options.at, id, options.why, Examiner::Mappings)
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

/// Why something could not be read.
fn refusal(errno: Errno, what: &str) -> Missing {
    let what = what.to_owned();
    match errno {
        Errno::ACCESS | Errno::PERM => Missing::Denied { what },
        other => Missing::Failed {
            what,
            error: other.to_string(),
        },
    }
}

/// Says when the process allocated or freed so much meanwhile that the parts are not those of one moment.
fn unsteady(parts: &[Part], held: Bytes) -> Option<Missing> {
    let of_held = parts.iter().filter(|part| part.held);
    let sum: Bytes = of_held.filter_map(|part| part.bytes).sum();
    let by = Bytes(sum.0.abs_diff(held.0));
    (by.as_f64() > UNSTEADY * held.as_f64()).then_some(Missing::Changed { by })
}
