//! A look into one process: where its bytes are, without hooks, read only, and while it runs. The
//! watcher schedules looks; the recorder keeps them; `explain` compares the first with the last.
//!
//! `smaps` says what each mapping holds ([`smaps`], [`taxonomy`]). Anonymous memory is then taken apart
//! ([`anon`]) by what its owners leave in it: heads of CPython's pools ([`pymalloc`]), glibc's chunks
//! ([`glibc`]), the tables of ELF files ([`elf`]). What the kernel refuses or time does not allow is
//! said in `incomplete`, and the bytes stay in a wider class.

mod anon;
mod elf;
mod glibc;
mod ledger;
mod memory;
mod pages;
mod pymalloc;
mod smaps;
mod taxonomy;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lowtide_core::look::{Allocator, Counts, Kind, Look, LookWhy, Part, TIME_RAN_OUT};
use lowtide_core::process::ProcId;
use lowtide_core::sample::{Gap, GapWhy};
use lowtide_core::units::{Bytes, Micros, show_bytes};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use self::anon::Anon;
use self::ledger::Ledger;
use self::memory::Memory;
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

    let names = || mappings.list.iter().map(|vma| mappings.name(vma));
    let allocator = taxonomy::allocator(names());
    let python = taxonomy::python(names());
    let memory = Memory::open(proc, id.pid, deadline);
    if let Err(errno) = &memory {
        incomplete.push(refusal(*errno, &proc.path(id.pid, "pagemap")));
    }
    let mut ledger = Ledger::default();
    let sorter = sorter(proc, id.pid, &mut buffer);
    let programs = programs(proc, id.pid, &mappings, &sorter);
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
        arenas: 0,
        sparse: 0,
        lost: 0,
        returned: 0,
    };
    let mut counts = Counts {
        maps: mappings.list.len() as u64,
        ..Counts::default()
    };
    // Counted where the parts were: the counters of `status` are read a look later, and a training
    // loop takes and frees tens of megabytes in between. What it frees meanwhile is in no part.
    let mut held: u64 = 0;
    let mut before: Option<&Vma> = None;
    for vma in &mappings.list {
        let name = mappings.name(vma);
        counts.code_maps += u64::from(vma.execute);
        counts.huge = counts.huge + Bytes(vma.huge);
        let sort = sorter.sort(vma.device, name);
        held += match sort {
            Sort::Shared => vma.rss,
            _ => vma.anon,
        };
        match sort {
            Sort::Heap | Sort::Anon => anon.take_apart(vma, name, before),
            Sort::Stack => anon.ledger.add(Kind::Stack, vma.anon),
            Sort::Kernel => {}
            Sort::Shared | Sort::File | Sort::Device => {
                backed(anon.ledger, sort, vma, name, &programs);
            }
        }
        before = Some(vma);
    }
    counts.arenas = anon.arenas;
    held = held.saturating_sub(anon.returned);
    if anon.has_ended() {
        return Err(gap("memory", GapWhy::Vanished));
    }
    anon.what_is_missing(&mut incomplete);
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
    // A pid that went to somebody else meanwhile would give a mixture of two processes.
    is_same(proc, id, &mut buffer).map_err(|why| gap("stat", why))?;
    Ok(Look {
        at: options.at,
        id,
        why: options.why,
        parts,
        held: Bytes(held) + status.swap,
        allocator,
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

/// Programs and libraries, and where their writable data lies.
#[derive(Debug, Default)]
struct Programs {
    /// By name, with the address of the first mapping.
    files: HashMap<String, u64>,
    /// Ascending.
    data: Vec<(u64, u64)>,
}

fn programs(proc: &Proc, pid: u32, mappings: &Mappings, sorter: &Sorter) -> Programs {
    let mut programs = Programs::default();
    let page = rustix::param::page_size() as u64;
    let mut bases: HashMap<&str, &Vma> = HashMap::new();
    for vma in &mappings.list {
        let name = mappings.name(vma);
        if sorter.sort(vma.device, name) != Sort::File {
            continue;
        }
        if vma.offset == 0 {
            bases.entry(name).or_insert(vma);
        }
        let code = vma.execute || (vma.write && !vma.shared);
        let Some(base) = bases.get(name).filter(|_| code) else {
            continue;
        };
        if programs.files.contains_key(name) {
            continue;
        }
        let Some(data) = head(proc, pid, base, name).and_then(|head| elf::parse(&head)) else {
            continue;
        };
        programs.files.insert(name.to_owned(), base.start);
        for (from, to) in data.spans {
            // A file can claim anything.
            let to = base.start.checked_add(to);
            if let Some(to) = to.and_then(|to| to.checked_next_multiple_of(page)) {
                programs.data.push((base.start.saturating_add(from), to));
            }
        }
    }
    programs.data.sort_unstable();
    programs
}

/// The beginning of a mapped file, as the process sees it: it may live in a container, or be deleted.
fn head(proc: &Proc, pid: u32, base: &Vma, name: &str) -> Option<Vec<u8>> {
    let open = |path: PathBuf| {
        // A path can have become a pipe since: opening must not wait.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        rustix::fs::open(path, flags, Mode::empty()).ok()
    };
    let read = |file: OwnedFd| {
        let mut head = vec![0; elf::HEAD];
        let count = rustix::io::pread(&file, &mut head[..], 0).ok()?;
        head.truncate(count);
        Some(head)
    };
    let in_root = name.strip_prefix('/')?;
    let mapped = format!("map_files/{:x}-{:x}", base.start, base.end);
    open(proc.path(pid, "root").join(in_root))
        .or_else(|| open(proc.path(pid, &mapped)))
        .and_then(read)
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
            "memory changed by {} while it was looked at: the parts are not those of one moment",
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
