//! A look into one process: where its bytes are, without hooks, read only, and while it runs. The
//! watcher schedules looks; the recorder keeps them; `explain` compares the first with the last.
//!
//! `smaps` says what each mapping holds ([`smaps`], [`taxonomy`]). Anonymous memory is then taken apart
//! ([`anon`]) by what its owners leave in it: heads of CPython's pools ([`pymalloc`]), glibc's chunks
//! ([`glibc`], [`blocks`]), the tables of ELF files ([`elf`], [`files`]). Pieces that were asked for as a
//! whole are listed with what of them was touched ([`reserved`]). What the kernel refuses or time does
//! not allow is said in `incomplete`, and the bytes stay in a wider class.

mod anon;
mod blocks;
mod elf;
mod elf_symbol;
mod files;
mod glibc;
mod ledger;
mod memory;
mod pages;
mod pymalloc;
mod reserved;
mod smaps;
mod taxonomy;

use std::time::{Duration, Instant};

use lowtide_core::look::{Allocator, CHANGED, Counts, Kind, Look, LookWhy, Part, TIME_RAN_OUT};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros, show_bytes};
use rustix::io::Errno;

use self::anon::Anon;
use self::files::Programs;
use self::ledger::Ledger;
use self::memory::Memory;
use self::reserved::Reserves;
use self::smaps::{Mappings, Parser, Vma};
use self::taxonomy::{Sort, Sorter};
use crate::proc::{self, Proc, limits, stat, status};
use crate::sampler::processor_time;

/// What one `read` of `smaps` asks for; the kernel hands over a page or so at a time all the same.
const PIECE: usize = 64 * 1024;
/// Parts and total are read some milliseconds apart; more than this share between them is no rounding.
const UNSTEADY: f64 = 0.05;
/// Without `ulimit -s`, glibc's choice for a thread.
const USUAL_STACK: u64 = 8 << 20;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The moment, on the run's clock.
    pub at: Micros,
    pub why: LookWhy,
    /// After this much time on a processor the rest stays unread.
    pub within: Duration,
}

/// On a machine that others keep busy a look takes this many times as long as its work: it still ends,
/// before what it reads belongs to different minutes.
const BUSY: u32 = 5;

/// When a look has to end.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    processor: Micros,
    wall: Instant,
}

impl Deadline {
    fn after(within: Duration) -> Deadline {
        let work = u64::try_from(within.as_micros()).unwrap_or(u64::MAX);
        Deadline {
            processor: Micros(processor_time().0.saturating_add(work)),
            wall: Instant::now() + within * BUSY,
        }
    }

    fn is_over(self) -> bool {
        processor_time() >= self.processor || Instant::now() >= self.wall
    }
}

/// Looks into a process. It is neither stopped nor changed.
pub fn take(proc: &Proc, id: ProcId, options: Options) -> Result<Look, Gap> {
    let (began, cpu) = (Instant::now(), processor_time());
    let gap = |what: &str, why: GapWhy| Gap {
        who: Some(id),
        what: what.to_owned(),
        why,
    };
    let denied = |what: &'static str| move |errno| gap(what, proc::why(errno));
    let deadline = Deadline::after(options.within);
    let mut buffer = Vec::new();
    is_same(proc, id, &mut buffer).map_err(|why| gap("stat", why))?;
    let mut incomplete = Vec::new();
    let mappings = mappings(proc, id.pid, deadline, &mut incomplete).map_err(denied("smaps"))?;

    let names = || {
        let names = mappings.list.iter().map(|vma| mappings.name(vma));
        names.filter(|name| name.starts_with('/'))
    };
    let allocator = taxonomy::allocator(names());
    let python = taxonomy::python(names());
    let memory = Memory::open(proc, id.pid, deadline);
    if let Err(errno) = &memory {
        incomplete.push(refusal(*errno, &proc.path(id.pid, "pagemap")));
    }
    let (mut ledger, mut reserves) = (Ledger::default(), Reserves::default());
    let sorter = sorter(proc, id.pid, &mut buffer);
    let programs = files::programs(proc, id.pid, &mappings, &sorter);
    let stack = match proc.read(id.pid, "limits", &mut buffer) {
        Ok(()) => limits::parse(&buffer).stack,
        Err(_) => None,
    };
    let mut anon = Anon {
        memory: memory.ok(),
        python,
        allocator,
        programs: &programs,
        libc: mappings
            .list
            .iter()
            .find(|vma| vma.write && vma.anon > 0 && taxonomy::is_libc(mappings.name(vma)))
            .map(|vma| (vma.start, vma.end)),
        stack: stack.map_or(USUAL_STACK, |stack| stack.0),
        ledger: &mut ledger,
        reserves: &mut reserves,
        open: None,
        arenas: 0,
        sparse: 0,
        lost: 0,
        returned: 0,
        blind: false,
    };
    let mut counts = Counts {
        maps: mappings.list.len() as u64,
        ..Counts::default()
    };
    // Counted where the parts were: the counters of `status` are read a look later, and a training
    // loop takes and frees tens of megabytes in between. What it frees meanwhile is in no part.
    let mut held: u64 = 0;
    let mut before: Option<&Vma> = None;
    let sorts: Vec<Sort> = (mappings.list.iter())
        .map(|vma| sorter.sort(vma.device, mappings.name(vma)))
        .collect();
    let reaches = reaches(&mappings.list, &sorts);
    for ((vma, sort), reach) in mappings.list.iter().zip(sorts).zip(reaches) {
        let name = mappings.name(vma);
        counts.code_maps += u64::from(vma.execute);
        counts.huge = counts.huge + Bytes(vma.huge);
        held += match sort {
            Sort::Shared => vma.rss,
            _ => vma.anon,
        };
        match sort {
            Sort::Heap | Sort::Anon => anon.take_apart(vma, name, before, reach),
            Sort::Stack => anon.ledger.add(Kind::Stack, vma.anon),
            Sort::Kernel => {}
            Sort::Shared | Sort::File | Sort::Device => {
                backed(anon.ledger, sort, vma, name, &programs);
                if sort == Sort::Shared {
                    anon.reserves.add_shared(vma, name);
                }
            }
        }
        before = Some(vma);
    }
    counts.arenas = anon.arenas;
    held = held.saturating_sub(anon.returned);
    if anon.has_ended() {
        return Err(gap("memory", GapWhy::Vanished));
    }
    anon.what_is_missing(held, &mut incomplete);
    let saw_all = anon.saw_all();
    // Read last, to see what changed meanwhile.
    proc.read(id.pid, "status", &mut buffer)
        .map_err(denied("status"))?;
    let status = status::parse(&buffer).ok_or_else(|| gap("status", GapWhy::Vanished))?;
    counts.threads = u64::from(status.threads);
    ledger.add(Kind::Swapped, status.swap.0);
    let parts = ledger.into_parts();
    incomplete.extend(unsteady(&parts, status.anon + status.shmem + status.swap));
    if deadline.is_over() {
        incomplete.push(format!(
            "{TIME_RAN_OUT} after {:.1} s of work in {:.1} s: what was not read yet counts as other anonymous memory",
            processor_time().since(cpu).seconds(),
            began.elapsed().as_secs_f64()
        ));
    }
    // Half a list would look like pieces that came or went between two looks.
    let reserved = match saw_all && !deadline.is_over() {
        true => reserves.finish(proc, id.pid),
        false => Vec::new(),
    };
    let pools = taxonomy::pools(names(), cfg!(target_arch = "aarch64"));
    let python = files::python_version(proc, id.pid, &mappings, python);
    // A pid that went to somebody else meanwhile would give a mixture of two processes.
    is_same(proc, id, &mut buffer).map_err(|why| gap("stat", why))?;
    Ok(Look {
        at: options.at,
        id,
        why: options.why,
        parts,
        held: Bytes(held) + status.swap,
        allocator,
        reserved,
        pools,
        python,
        counts,
        incomplete,
        wall: Micros(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX)),
        cpu: processor_time().since(cpu),
    })
}

/// A process is its pid and its start time.
fn is_same(proc: &Proc, id: ProcId, buffer: &mut Vec<u8>) -> Result<(), GapWhy> {
    proc.read(id.pid, "stat", buffer).map_err(proc::why)?;
    let stat = stat::parse(buffer).ok_or(GapWhy::Malformed)?;
    if stat.start == id.start && !stat.has_ended() {
        Ok(())
    } else {
        Err(GapWhy::Vanished)
    }
}

fn mappings(
    proc: &Proc,
    pid: u32,
    deadline: Deadline,
    incomplete: &mut Vec<String>,
) -> Result<Mappings, Errno> {
    let file = proc.open(pid, "smaps")?;
    let mut parser = Parser::default();
    let mut buffer = vec![0; PIECE];
    loop {
        let count = rustix::io::read(&file, &mut buffer[..])?;
        if count == 0 {
            break;
        }
        parser.feed(&buffer[..count]);
        if deadline.is_over() {
            incomplete.push("not all mappings could be listed in time".to_owned());
            break;
        }
    }
    let found = parser.finish();
    // The kernel gives an empty file for a process that has ended or has no memory.
    if found.list.is_empty() {
        return Err(Errno::SRCH);
    }
    Ok(found)
}

fn sorter(proc: &Proc, pid: u32, buffer: &mut Vec<u8>) -> Sorter {
    match proc.read(pid, "mountinfo", buffer) {
        Ok(()) => Sorter::new(buffer),
        Err(_) => Sorter::default(),
    }
}

/// For every mapping, where the row of writable anonymous ones ends that it lies in: a block that goes
/// on in the next mapping cannot go further than that.
fn reaches(list: &[Vma], sorts: &[Sort]) -> Vec<u64> {
    let mut reaches = vec![0; list.len()];
    let mut above: Option<(u64, u64)> = None;
    for (index, vma) in list.iter().enumerate().rev() {
        let reach = above
            .filter(|(start, _)| *start == vma.end)
            .map_or(vma.end, |(_, reach)| reach);
        let can_hold = sorts.get(index) == Some(&Sort::Anon) && vma.write && !vma.shared;
        reaches[index] = reach;
        above = can_hold.then_some((vma.start, reach));
    }
    reaches
}

/// Mappings of files, devices and shared memory: their names say it all.
fn backed(ledger: &mut Ledger, sort: Sort, vma: &Vma, name: &str, programs: &Programs) {
    let of_file = vma.rss.saturating_sub(vma.anon);
    let file = taxonomy::file_name(name);
    if programs.files.contains_key(name) {
        ledger.add_member(Kind::Program, file, 1, vma.anon);
    } else {
        ledger.add_member(Kind::FileDirty, file, 1, vma.anon);
    }
    match sort {
        Sort::Shared => {
            ledger.add_member(Kind::Shared, &taxonomy::shared_name(name), 1, of_file);
        }
        Sort::Device => ledger.add_member(Kind::Device, file, 1, of_file),
        _ => ledger.add_member(Kind::FileClean, file, 1, of_file),
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
